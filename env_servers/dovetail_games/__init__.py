"""Environments, one folder or module a game, and bridges to other libraries' environments."""
