"""Dominion: the ``rules``, and the environment that serves them."""

from dovetail_games.dominion.cards import CARDS, Card
from dovetail_games.dominion.environment import Dominion
from dovetail_games.dominion.rules import Configuration, DominionGame

__all__ = ["CARDS", "Card", "Configuration", "Dominion", "DominionGame"]
