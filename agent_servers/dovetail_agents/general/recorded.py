"""A player that repeats a recorded game."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from dovetail.peer.agents.agent import Agent, Decision, Seat
from dovetail.peer.presets import local
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import episode
from dovetail.protocol.outside import LimitedNatural


class RecordedParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``Recorded``."""

    journal: Annotated[
        str,
        Meta(
            description="A broker's journal; only for the program that serves the agent: "
            "dovetail agent recorded --set journal=FILE"
        ),
    ]
    episode: Annotated[
        str | LimitedNatural,
        Meta(description="The number of its episode as `dovetail replay` lists them, or `last`."),
    ] = "last"
    off: Annotated[
        Literal["fail", "random"],
        Meta(
            description="Where the recorded action is not legal, or there is none: give up, or "
            "play at random from there on."
        ),
    ] = "fail"


class _Place(Struct):
    """A seat's episode: the number of its actions played; None once it has left the record."""

    played: int | None = 0


class Recorded(Agent[RecordedParameters]):
    """Repeats its seat's actions from an episode in a broker's journal.

    With the original seeds and opponents it repeats the game; against another opponent it follows
    the record as long as the actions are legal.

    Only the local user can set the journal, as a preset (``peer.presets``).

    Raises:
        DovetailError: the journal came over the wire, cannot be read or has no such episode.
    """

    name = "recorded"
    Memory = _Place
    capacity = 0

    def __init__(self, parameters: RecordedParameters, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        journal = parameters.journal
        if journal != local(type(self), "journal"):
            raise DovetailError(
                f"agent recorded, option 'journal': {journal!r:.200} is a file, which only the "
                "program that serves the agent may name: dovetail agent recorded --set "
                "journal=FILE"
            )
        self._game = episode(Path(journal), str(parameters.episode))[1]

    def init(self, seat: Seat) -> None:
        game = self._game
        if (game.environment, len(game.result.seats)) != (seat.spec.name, seat.spec.seats):
            raise DovetailError(
                f"recorded: that episode is of {game.environment} with {len(game.result.seats)} "
                f"seats, not of {seat.spec.name} with {seat.spec.seats}"
            )

    def step(self, decision: Decision) -> Any:
        seat = decision.seat.seat
        memory: _Place = decision.memory
        place = memory.played
        legal = decision.legal
        if place is not None:
            played = [a for turn in self._game.actions for who, a in turn if who == seat]
            memory.played = place + 1
            if place < len(played) and (legal is None or played[place] in legal):
                return played[place]
            memory.played = None
            if self.parameters.off == "fail" or legal is None:
                raise DovetailError(
                    f"recorded: action {played[place]} of decision {place} is not legal here"
                    if place < len(played)
                    else f"recorded: the record has no action for decision {place}"
                )
        assert legal is not None
        return decision.rng.choice(legal)
