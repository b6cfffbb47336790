"""Dominion: ``rules`` by themselves, and the environment that serves them."""

from dovetail.env_servers.dominion.cards import CARDS, Card
from dovetail.env_servers.dominion.environment import Configuration, Dominion
from dovetail.env_servers.dominion.rules import Game, Options

__all__ = ["CARDS", "Card", "Configuration", "Dominion", "Game", "Options"]
