"""Trainings and tournaments of the Amazons study."""
