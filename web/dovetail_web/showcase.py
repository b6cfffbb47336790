"""Games between strong agents at a pace that visitors can follow.

Their openings are played at once, so that the first visitor has something to see, and the rest
while one is looking.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from dovetail.client.client import Experiment
from dovetail.protocol.errors import DovetailError
from dovetail_web.opponents import Player, state
from dovetail_web.tables import SHOWN, Sitter

PACE = 1.6
"""Seconds between two turns of a game."""
OPENING = 8
QUICK = 0.25
"""Seconds between its first turns, so that a visitor soon sees more than an empty board."""
HEAD_START = 0.7
"""Seconds between the starts of two games; the first one is shown large."""
REST = 6
"""The time for which an end is shown, in turns."""
AGAIN = 2.0
GAMES: tuple[tuple[str, tuple[Player, ...]], ...] = (
    (
        "connect_four",
        (Player("td", trained=("connect_four",)), Player("alpha-beta", {"depth": 5})),
    ),
    ("2048", (Player("ntuple-2048", {"plies": 1}, ("2048",)),)),
    (
        "dots",
        (Player("dots-player", trained=("dots",)), Player("mcts", {"simulations": 200})),
    ),
)
"""The games and their players; none has rules to compile, which would delay a visitor's game."""


def sitters(game: str) -> dict[str, Sitter]:
    """Return the players of a game that is shown to visitors, by name; none if it is not."""
    found = next((players for name, players in GAMES if name == game), ())
    return {
        each.called: Sitter("agent", each.name, each.parameters, trained=each.trained)
        for each in found
    }


class Showcase:
    """Plays games, each in a thread of its own, so that none delays another.

    Args:
        address: the broker's address.
        token: its access token, if it has one.
        watched: returns whether a visitor is looking.
    """

    def __init__(self, address: str, token: str | None, watched: Callable[[], bool]) -> None:
        self._address, self._token = address, token
        self._watched = watched
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(seed,), name="showcase", daemon=True)
            for seed in range(len(GAMES))
        ]
        for each in self._threads:
            each.start()

    def close(self) -> None:
        """End the games."""
        self._stop.set()
        for each in self._threads:
            each.join(2)

    def _run(self, seed: int) -> None:
        pause = HEAD_START * (1 + seed)
        while not self._stop.wait(pause):
            pause = AGAIN
            with contextlib.suppress(DovetailError):  # not connected yet, or gone
                self._play(seed)

    def _play(self, seed: int) -> None:
        with Experiment.connect(self._address, token=self._token) as client:
            shown = _Shown(client, *GAMES[seed], seed)
            while not self._stop.wait(shown.pause):
                if shown.opening or self._watched():
                    shown.step()


class _Shown:
    """An endless series of games of the same players."""

    def __init__(
        self, client: Experiment, game: str, players: tuple[Player, ...], seed: int
    ) -> None:
        self._client, self._game, self._players, self._seed = client, game, players, seed
        self._agents: list[Any] = []
        self._run: Any = None
        self._rest = 0
        self._turns = 0
        self._games = 0

    @property
    def opening(self) -> bool:
        """True until the first game has something to show to the first visitor."""
        return self._games == 0 or (self._games == 1 and self._turns < OPENING)

    @property
    def pause(self) -> float:
        """Return the seconds until its next turn."""
        return QUICK if self._turns < OPENING else PACE

    def step(self) -> None:
        """Play a turn, or start the next game."""
        if self._rest:
            self._rest -= 1
            return
        if self._run is None:
            self._begin()
        elif self._run.step().to_act:
            self._turns += 1
        else:
            self._run, self._rest, self._seed = None, REST, self._seed + 101

    def _begin(self) -> None:
        if not self._agents:
            self._agents = [
                self._client.create(
                    each.name,
                    seed=self._seed + place,
                    parameters=each.parameters,
                    state=state(each.trained[0]) if each.trained else None,
                )
                for place, each in enumerate(self._players)
            ]
        self._run = self._client.run(
            self._game,
            self._agents,
            seed=self._seed,
            mode="evaluate",
            lookahead=True,
            stepwise=True,
            texts=False,  # else the first turn, and those between two shown, come undrawn
            names=[each.called for each in self._players],
            label=SHOWN,
        )
        self._run.start()
        self._turns, self._games = 0, self._games + 1
