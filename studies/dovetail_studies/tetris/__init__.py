"""Learning to play Tetris: feature sets, compiled games, and searches for weights and genomes.

Training plays games in-process, without a broker, because a good controller places millions of
pieces per game. It writes a state for ``tetris-player`` or ``feature-network``.
"""
