"""What the Amazons study ran."""
