"""Trainings and tournaments of the RLGame study."""
