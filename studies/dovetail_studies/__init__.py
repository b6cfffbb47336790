"""Trainers, measurements and experiment files of five published studies, in a folder each."""
