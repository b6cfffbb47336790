"""What the RLGame study ran."""
