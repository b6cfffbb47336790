"""Connected peers: their rights, limits and outgoing messages."""
