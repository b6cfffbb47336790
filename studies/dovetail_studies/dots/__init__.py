"""The dots and boxes study: its trainings and matches."""
