"""The pairings of tournaments and leagues.  Pure: from results so far to what is played next."""
