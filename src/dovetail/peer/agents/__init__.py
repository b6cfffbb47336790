"""The base classes of agents, and the host that serves them."""
