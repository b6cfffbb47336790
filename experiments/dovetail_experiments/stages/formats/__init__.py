"""Pairings of tournaments and leagues.  Pure: the results so far determine the next games."""
