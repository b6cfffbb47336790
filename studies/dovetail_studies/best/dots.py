"""Dots and boxes: learners measured by exact values on four boards."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import structs

from dovetail.client.client import Experiment
from dovetail.client.inprocess import InProcess
from dovetail.peer.agents.agent import Agent
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.environments.environment import Spec, Turn
from dovetail.protocol.errors import DovetailError
from dovetail_agents.games.dots.agent import DotsPlayer
from dovetail_agents.games.dots.perfect import MOST_LINES, DotsPerfect, ending, values
from dovetail_agents.general.td import TD
from dovetail_games.dots import Configuration, Dots
from dovetail_games.dots.rules import DotsBoard, grid
from dovetail_studies import learned
from dovetail_studies.best.parts import added, counted, percent, points, shared, train
from dovetail_studies.keeping import Hard, KeepDots, kept
from dovetail_studies.playing import DERIVATION, Score
from dovetail_studies.rows import (
    Code,
    Done,
    Drawn,
    Result,
    Unit,
    by,
    every,
    interval,
    over,
    remark,
    total,
)

BOARDS = ((3, 3), (3, 4), (4, 4), (4, 5))
"""Rows and columns of dots."""
MOST_FREE = 16
"""Maximum free lines of a hard position, whose value is tabulated over all subsets of them."""
LEARNER = {"symmetric": True, "epsilon": 0.2, "decay_episodes": 10_000}
PLAYERS: dict[str, tuple[str, dict[str, Any]]] = {
    "`td`": ("td", LEARNER),
    "`dots-player`, learned": ("dots-player", {"weights": "zeros"}),
    "`dots-player`, the study's last weights": ("dots-player", {"weights": "end"}),
    "`random`": ("random", {}),
}
LEARN = {"`td`": "games", "`dots-player`, learned": "few"}
"""Key of each learner's number of training games in the values of a size."""
MOST_POSITIONS = 10_000
"""Positions that ``dots-player`` evaluates per decision on 4 x 5 dots."""
HELD_OUT = 1_000_000
"""Offset of the seeds of positions and openings, which keeps them apart from training."""
AGENTS: list[type[Agent[Any]]] = [TD, DotsPlayer, DotsPerfect, Random]


def _safe(board: DotsBoard) -> list[int]:
    """Return the lines that are not the third of a box."""
    drawn, beside = board.drawn, board.grid.beside
    return [
        line
        for line in board.legal()
        if all((drawn & mask).bit_count() != 2 for _, mask in beside[line])
    ]


@lru_cache(maxsize=4096)
def hard(seed: int, configuration: Configuration) -> Hard:
    """Return a hard position and the net boxes that each free line still wins.

    The position follows a random opening that avoids third lines of boxes while it can; at most
    ``MOST_FREE`` lines are free. After entirely random lines there are boxes to take, which nearly
    every player does.
    """
    rng = random.Random(seed)
    rows, columns = configuration.rows, configuration.columns
    lines = grid(rows, columns).lines
    least = lines - min(MOST_FREE, 3 * lines // 4)
    while True:
        board, played = DotsBoard(rows, columns), []
        for _ in range(rng.randint(least, lines - lines // 4)):
            played.append(rng.choice(_safe(board) or board.legal()))
            board.draw(played[-1])
        found = ending(board.grid, board.drawn)
        if len(set(found.values())) > 1:
            return played, found


class KeepBoxes(KeepDots):
    """Hard positions of dots and boxes, measured in boxes."""

    hard = staticmethod(hard)

    def __init__(self, configuration: Any = None) -> None:
        super().__init__(configuration)
        self.most = 2 * self._game.board.grid.boxes


@lru_cache(maxsize=4096)
def opening(seed: int, rows: int, columns: int) -> tuple[tuple[int, ...], int]:
    """Return random lines and the nonzero margin, in boxes, by which seat 0 then wins in perfect
    play."""
    rng = random.Random(seed)
    exact = values(rows, columns)
    while True:
        board, played = DotsBoard(rows, columns), []
        for _ in range(board.grid.lines // 6):
            played.append(rng.choice(board.legal()))
            board.draw(played[-1])
        left = int(exact[board.drawn])
        lead = board.scores[0] - board.scores[1] + (left if board.mover == 0 else -left)
        if lead:
            return tuple(played), lead


class WonDots(Dots):
    """Dots and boxes from an opening after which one seat can win.

    The final reward is the difference in boxes divided by the number of boxes.
    """

    name = "dots_won"

    def init(self) -> Spec:
        return structs.replace(super().init(), name=Dots.name)

    def start(self, seed: int) -> Turn:
        turn = super().start(seed)
        for line in opening(seed, self.configuration.rows, self.configuration.columns)[0]:
            turn = super().step({self.board.mover: line})
        return turn

    def step(self, actions: Mapping[int, Any]) -> Turn:
        turn = super().step(actions)
        if not self.board.over:
            return turn
        lead = self.board.scores[0] - self.board.scores[1]
        won = lead / self.board.grid.boxes
        winners = [0] if lead > 0 else [1] if lead < 0 else [0, 1]
        return Turn.end(map(self.observation, (0, 1)), [won, -won], winners=winners)


def _kept(experiment: Experiment, player: int, unit: Unit, board: Mapping[str, int]) -> Result:
    count, seed, boxes = unit["positions"], HELD_OUT + unit["seed"], 2.0 * grid(**board).boxes
    found = kept(experiment, player, count, seed, "dots", board, KeepBoxes, boxes)
    return {"right": [found.kept, count], "lost": found.lost, "chance": found.chance}


def _won(experiment: Experiment, player: int, unit: Unit, board: Mapping[str, int]) -> Result:
    """Play the winning side against the perfect player."""
    perfect = experiment.create(
        "dots-perfect", parameters={"rows": board["rows"]}, seed=1000 + unit["seed"]
    )
    rng = random.Random(HELD_OUT + unit["seed"])
    seeds = [rng.getrandbits(32) for _ in range(unit["tests"])]
    score, given = Score(), 0.0
    for seat in (0, 1):
        mine = [seed for seed in seeds if (opening(seed, **board)[1] > 0) == (seat == 0)]
        if not mine:
            continue
        run = experiment.run(
            WonDots.name,
            [player, perfect] if seat == 0 else [perfect, player],
            episodes=len(mine),
            seeds=mine,
            configuration=dict(board),
            derivation=DERIVATION,
            modes=["evaluate"] * 2,
        )
        for episode in run:
            if episode.outcome is None:
                raise DovetailError(f"a player did not answer: {episode.message}")
            score.games += 1
            score.wins += episode.outcome[seat] > 0.5
            score.losses += episode.outcome[seat] < 0.5
            score.digests.add(f"{opening(episode.seed, **board)[0]} {episode.digest}")
            lead = episode.seats[seat].total * grid(**board).boxes
            given += abs(opening(episode.seed, **board)[1]) - lead
    return {**counted(score), "given": given / score.games}


def _work(unit: Unit) -> Result:
    board = {"rows": unit["rows"], "columns": unit["columns"]}
    kind, given = PLAYERS[unit["player"]]
    parameters = dict(given)
    if kind == "dots-player":
        parameters["rows"] = unit["rows"]
        if grid(**board).lines > MOST_LINES:
            parameters["most_positions"] = MOST_POSITIONS
    found: Result = {"games": 0, "matches": {}}
    with InProcess([Dots, KeepBoxes, WonDots], AGENTS) as experiment:
        player = experiment.create(kind, parameters=parameters, seed=unit["seed"])
        if unit["player"] in LEARN:
            games = unit[LEARN[unit["player"]]]
            learned.train(
                experiment,
                {f"{kind}-{unit['rows']}x{unit['columns']}-{unit['seed']}": player},
                lambda: train(experiment, "dots", [player, player], games, unit["seed"], board),
            )
            found["games"] += games
        found["kept"] = _kept(experiment, player, unit, board)
        if grid(**board).lines <= MOST_LINES:
            found["matches"]["perfect"] = won = _won(experiment, player, unit, board)
            found["games"] += won["games"]
    return found


def _units(values: Mapping[str, int], seeds: Sequence[int]) -> list[Unit]:
    return [
        unit
        for rows, columns in BOARDS
        for unit in every(values, seeds, rows=[rows], columns=[columns], player=PLAYERS)
    ]


def _draw(done: Done) -> Drawn:
    groups = by(done, "rows", "columns", "player")
    lines = []
    for rows, columns in dict.fromkeys((unit["rows"], unit["columns"]) for unit, _ in done):
        each = [groups[rows, columns, name] for name in PLAYERS]
        name = f"{rows} x {columns} dots"
        keeps = [percent(shared([tuple(r["kept"]["right"]) for r in part])) for part in each]
        lines.append([f"{name}: lines that keep the value, %", *keeps, "100"])
        lost = [interval(over(part, "kept", "lost"), 2) for part in each]
        lines.append([f"{name}: boxes lost a position", *lost, "0"])
        if all(part[0]["matches"] for part in each):
            won = [percent(points(part, "matches", "perfect")) for part in each]
            lines.append([f"{name}: points from won openings, %", *won, "100"])
            boxes = [interval(over(part, "matches", "perfect", "given"), 2) for part in each]
            lines.append([f"{name}: boxes given away a game", *boxes, "0"])
    note = remark("best", "dots", free=MOST_FREE, lines=MOST_LINES, positions=MOST_POSITIONS)
    tested = added([result for _, result in done], "matches")
    text = f"{tested['distinct']:,} of {tested['games']:,} after training"
    head = ["", *PLAYERS, "perfect play"]
    return Drawn(head, lines, total(done, "games"), text, (), note)


CODE: Code = (_units, _work, _draw)
