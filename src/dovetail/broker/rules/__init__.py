"""An episode's rules: turns, clocks, legality, endings. Pure; they know no peer and no run."""
