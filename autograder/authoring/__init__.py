"""From a lesson's text to its notebooks, and the proof of its checks."""
