"""Stages: schedules, the programs that play them, and the runner."""
