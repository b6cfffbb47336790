"""Learning to play Tetris: feature sets, compiled games, and searches for weights and genomes.

Training plays the games in its own process, without a broker, because a good controller places
millions of pieces per game. It writes a file that ``tetris-player`` or ``feature-network`` loads as
its state.
"""
