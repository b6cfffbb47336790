"""Shells around the core: sockets, clocks and files."""
