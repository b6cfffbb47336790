"""Benchmarks, and the references they are compared with."""
