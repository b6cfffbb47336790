"""Benchmarks, and the references to compare them with."""
