"""Real processes under seeded schedules of faults, and results that must be those without any."""
