"""The course as a static site, made of the executed lessons: `python -m autograder site`."""
