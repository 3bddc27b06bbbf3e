"""From what a course's site gives to download, to what is graded."""
