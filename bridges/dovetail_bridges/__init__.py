"""Bridges: foreign programs and libraries take roles in Dovetail, and its programs in theirs.

Each foreign system has a module or folder; ``conversion`` is shared.
"""
