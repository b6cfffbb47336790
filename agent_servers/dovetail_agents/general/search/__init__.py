"""Players that search: alpha-beta and Monte Carlo, over any game whose environment can be asked."""
