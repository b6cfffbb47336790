"""What each study ran: trainers, measurements and experiment files, a folder per study."""
