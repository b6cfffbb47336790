"""The strongest learner of each game that we can train here."""
