"""Files that survive the broker: the journal and the write-ahead log."""
