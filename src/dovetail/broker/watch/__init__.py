"""Watchers and the turns that they are shown."""
