"""A standing competition: pairing, play and standings; docs/arena.md describes it."""
