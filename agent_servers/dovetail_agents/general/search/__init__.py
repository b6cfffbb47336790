"""Players that search: alpha-beta and Monte Carlo, in any game that supports lookahead."""
