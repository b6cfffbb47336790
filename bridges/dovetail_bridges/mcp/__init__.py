"""Seats for programs that speak the Model Context Protocol (MCP): a language model plays by tools.

``table`` plays a game in a thread and keeps what each open seat may do, ``server`` offers a seat as
tools.
"""
