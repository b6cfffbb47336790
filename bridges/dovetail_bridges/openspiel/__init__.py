"""OpenSpiel: its games as our environments, its bots and policies as our agents, our agents as its
bots."""
