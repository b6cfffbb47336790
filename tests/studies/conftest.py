"""The group of the tests in this folder."""

GROUP = "learners"
