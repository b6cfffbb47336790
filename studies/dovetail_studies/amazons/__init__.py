"""The Amazons study: its trainings and tournaments."""
