"""The base classes of environments, and the host that serves them."""
