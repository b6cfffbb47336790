"""How frames travel over ZeroMQ."""
