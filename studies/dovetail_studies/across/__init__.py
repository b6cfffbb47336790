"""The learners of all studies, at one table."""
