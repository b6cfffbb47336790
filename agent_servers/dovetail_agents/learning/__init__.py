"""Parts that learners are built from: networks, linear functions, sampling, random numbers."""
