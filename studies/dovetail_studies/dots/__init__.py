"""What the dots and boxes study ran."""
