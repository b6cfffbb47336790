"""The RLGame study: its trainings and tournaments."""
