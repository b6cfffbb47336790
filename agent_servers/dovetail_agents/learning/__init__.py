"""Building blocks of learners: networks, linear functions, sampling, random numbers."""
