"""Dominion: the study's scripted players and its Q-learner."""
