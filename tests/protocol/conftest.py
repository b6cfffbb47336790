"""Hypothesis without deadlines: a busy machine must not fail a test."""

from hypothesis import settings

GROUP = "fast"

settings.register_profile("protocol", deadline=None)
settings.load_profile("protocol")
