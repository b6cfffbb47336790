"""The strongest learner of each game that can be trained here."""
