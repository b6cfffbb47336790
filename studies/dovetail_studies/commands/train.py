"""``dovetail train``: the studies' trainers, which play compiled games without a broker."""

from __future__ import annotations

import importlib
from typing import Any

import typer

from dovetail.cli.common import Register, register
from dovetail.cli.group import CommandGroup, group

TRAINERS = {"2048": "game_2048", "dominion": "dominion", "tetris": "tetris"}
"""Study that contains each trainer."""


class _Trainers(CommandGroup):
    """A command group that imports a trainer on first use. Importing a trainer compiles its
    game."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(TRAINERS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in TRAINERS:
            return None
        module = importlib.import_module(f"dovetail_studies.{TRAINERS[cmd_name]}.command")
        command = typer.main.get_command(module.app)
        command.name = cmd_name
        return command


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.add_typer(trainers, name="train")


trainers = group(
    _Trainers,
    help="Train a learner in compiled games; the file it writes is the agent's state.\n\n"
    "Example: dovetail train 2048 train out/2048.state --games 10000",
)


@trainers.callback()
def _group(register_: Register = None) -> None:
    """Train a learner in compiled games; the file it writes is the agent's state."""
    register(register_)
