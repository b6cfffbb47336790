"""Train n-tuple networks for 2048 in compiled games, and measure them."""
