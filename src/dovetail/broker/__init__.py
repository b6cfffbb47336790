"""The broker: matches, seats, turns, clocks, faults, the journal and the ZeroMQ shell."""
