"""Engines: where pieces of work and hosts of programs are placed, behind one seam."""
