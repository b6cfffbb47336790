"""A round robin of all studies' learners."""
