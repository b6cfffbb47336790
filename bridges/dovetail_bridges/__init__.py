"""Bridges: programs and libraries that speak another protocol take a role in Dovetail, or
Dovetail's in theirs.

One module or folder for each foreign system; ``conversion`` holds what they share.
"""
