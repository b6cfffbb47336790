"""Who meets whom: tournaments and leagues.  Pure: from results so far to what is played next."""
