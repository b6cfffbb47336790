"""Runs: their episodes, played one at a time or batched."""
