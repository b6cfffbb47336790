"""Dominion in compiled games: 100,000 games take a few seconds.

The study trains for up to ten million games. ``games`` plays them compiled; its rules, ``players``
and the learner of ``q_learning`` draw the same random numbers as ``env_servers.dominion``, and
``bots`` and ``q_learning`` of ``agent_servers.games.dominion``, with identical results. ``study``
alternates training and tests as the study does, and writes a state for ``dominion-q``.
"""
