"""Each study as it ran: trainers, measurements and experiment files, a folder per study."""
