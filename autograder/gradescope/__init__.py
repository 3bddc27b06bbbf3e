"""A lesson's autograder for Gradescope.

`package` writes the zip on the instructor's machine. On Gradescope, `setup.sh` installs what
grading needs when the image is built, and `run` grades one submission with the same engine as the
command `grade`; `outcome` says what students see of it. Gradescope's side of the bargain:
https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""
