"""Learning to play Tetris: feature sets, games simulated in process, and searches for weights and genomes.

Training runs where the games run, without broker or protocol, because a good controller places millions
of pieces a game; what comes out is a file that ``tetris-player`` or ``feature-network`` loads as its state.
"""
