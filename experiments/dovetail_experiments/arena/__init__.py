"""A standing competition: who plays whom, what was played, and who leads; docs/arena.md describes
it."""
