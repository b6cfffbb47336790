"""Learning Dominion where the games run: millions of games a few seconds each hundred thousand.

The study trains for up to ten million games.  ``kernels`` plays them compiled, with the rules, the scripted
players and the learner equal to ``env_servers.dominion``, ``dominion_bots`` and ``dominion_q`` draw by
draw; ``study`` trains and tests in turn as the study does, and what comes out is a file that
``dominion-q`` loads as its state.
"""
