"""Training and measurement of n-tuple networks in compiled games of 2048."""
