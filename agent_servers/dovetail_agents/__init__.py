"""Agents: learners and players, for any game or for one."""
