"""Find submissions that share what is rare in their class: evidence, never a verdict.

`pieces` normalises statements so that names and formatting do not matter, `parts` collects them by
exercise, `compare` finds the pairs, and `page` shows them side by side. No library fits: copydetect
0.5 (2024) compares all pairs, drops the names of libraries along with the student's own, and does
not weight by rarity; JPlag needs Java, and MOSS a network.
"""
