"""Engines: a common interface to clusters that run pieces of work and hosts of programs."""
