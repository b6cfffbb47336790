"""The five studies as they were run: trainers, measurements and experiment files, in a folder
each."""
