"""Experiment files: their structure, checks, sweeps and openings."""
