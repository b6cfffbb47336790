"""The tests.  A package of its own, as some libraries install one of this name."""
