"""Seats for programs that speak the Model Context Protocol (MCP): a language model plays by tools.

``server`` offers a seat of an ``OpenTable`` as tools.
"""
