"""The learners of all studies against each other."""
