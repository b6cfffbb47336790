"""The broker as one state machine: messages and the time in, messages out."""
