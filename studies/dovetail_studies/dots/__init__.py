"""Trainings and matches of the dots and boxes study."""
