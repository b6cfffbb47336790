"""Agents, one module a learner or player, and bridges to players of other kinds."""
