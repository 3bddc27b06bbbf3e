"""Which submissions are alike where hardly anyone else is: evidence for a talk, never a verdict.

`pieces` cuts a solution into statements that are the same up to names and formatting, `parts`
gathers them by exercise, `compare` finds the pairs, `page` shows them side by side. No library does
it: copydetect 0.5 (of 2024) compares all pairs, forgets a library's names along with the student's
own, and weighs nothing by how many wrote it; JPlag needs Java, and MOSS a network.
"""
