"""Write docs/gallery.md: a picture of the games, and the strength and the command of every player.

``make gallery`` plays the games, which takes some minutes, and draws their scenes.  A strength is
measured against random play, unless a page has a better yardstick.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

from msgspec import Struct

from dovetail import InProcess
from dovetail.protocol import messages as m
from dovetail.protocol.scenes import scene_of
from dovetail_experiments.reports.drawing import svg
from dovetail_experiments.statistics.estimates import wilson

DOCS = Path(__file__).resolve().parents[1]
PICTURE = DOCS / "images/gallery.svg"
HEAD = """# Gallery

Every game and every player that comes with Dovetail: how strong it is, and the command to play it.
`make gallery` wrote this page. *Against random*: its share of the points in games from alternate
seats, with a 95 % interval (Wilson). A learner that begins from nothing is measured after training,
by the page that is linked.

![A position of each game: {games}](images/gallery.svg)

"""


@dataclass(frozen=True)
class Sight:
    """A player in a game."""

    agent: str
    about: str
    strength: str = ""
    """A text on its strength; empty to play against random."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    games: int = 20
    """Games against random."""


class Room(Struct, frozen=True):
    """A game and its players."""

    title: str
    page: str
    seats: int
    players: list[Sight]
    turn: int
    """The turn that is drawn."""
    configuration: dict[str, Any] = {}


FILES = {
    "tetris-player": "tetris_players",
    "feature-network": "tetris_players",
    "ntuple-2048": "2048_learner",
}
"""Experiment files in which players of games of one seat play."""
LEARNED = "[after training](reference/example-files.md)"
ROOMS = {
    "connect_four": Room(
        "Connect Four",
        "environments/connect_four.md",
        2,
        [
            Sight("random", "chooses a random legal action; plays any game", "the yardstick"),
            Sight("greedy", "the highest immediate reward; plays any game"),
            Sight("alpha-beta", "looks ahead in any game of perfect information"),
            Sight("mcts", "UCT; plays any game", parameters={"simulations": 100}, games=10),
            Sight("rollouts", "plays the best actions out by search", games=6),
            Sight("td", "TD(λ) with a network, in any game", f"97.8 % against random {LEARNED}"),
            Sight("td-batch", "`td` for many episodes at once", f"as `td` {LEARNED}"),
            Sight(
                "q-learning",
                "a table of values, in small games",
                "[its page](agents/q-learning.md)",
            ),
            Sight(
                "ntuple-connect-four", "learns sums of tables", f"99.3 % against random {LEARNED}"
            ),
            Sight(
                "connect-four-solver",
                "plays perfectly",
                "[perfect](agents/connect-four.md)",
            ),
        ],
        turn=14,
    ),
    "amazons": Room(
        "Amazons",
        "environments/amazons.md",
        2,
        [
            Sight("amazons-player", "the study's alpha-beta, with its weights", games=4),
        ],
        turn=10,
        configuration={"rows": 6, "columns": 6},
    ),
    "dots": Room(
        "Dots and boxes",
        "environments/dots.md",
        2,
        [
            Sight("dots-player", "the study's alpha-beta, which learns its weights", games=6),
            Sight("dots-perfect", "plays perfectly on small boards", "[perfect](agents/dots.md)"),
        ],
        turn=12,
        configuration={"rows": 3, "columns": 3},
    ),
    "rlgame": Room(
        "RLGame",
        "environments/rlgame.md",
        2,
        [
            Sight("rlgame-minimax", "alpha-beta over the compiled rules", games=6),
            Sight("td-rlgame", "`td` with the study's settings", f"92 % and 98 % {LEARNED}"),
        ],
        turn=14,
    ),
    "dominion": Room(
        "Dominion",
        "environments/dominion.md",
        2,
        [
            Sight("dominion-random", "buys any card"),
            Sight("dominion-money", "treasures until two Golds"),
            Sight("dominion-greedy", "the most expensive card"),
            Sight("dominion-blacksmith", "treasures and Smithies"),
            Sight("dominion-chapel", "trashes its poor cards"),
            Sight("dominion-big-money", "the yardstick of the game's players"),
            Sight("dominion-q", "learns what to buy", "[its page](agents/dominion.md)"),
        ],
        turn=40,
    ),
    "tetris": Room(
        "Tetris",
        "environments/tetris.md",
        1,
        [
            Sight("tetris-player", "published weights", "[rows by weights](agents/tetris.md)"),
            Sight(
                "feature-network", "a network of feature modules", "[its page](agents/tetris.md)"
            ),
        ],
        turn=60,
    ),
    "2048": Room(
        "2048",
        "environments/2048.md",
        1,
        [
            Sight("ntuple-2048", "learns sums of tables", f"10,140 points {LEARNED}"),
        ],
        turn=120,
    ),
}
"""The players by game; those of other programs and files (`uci`, `gtp`, …) have no picture."""
OTHERS = """## Players from elsewhere

| player | command |
|---|---|
| `human`, a person at the terminal | `dovetail play connect_four` |
| `scripted`, `recorded`: given actions | `dovetail agent scripted` |
| `sb3`, a policy of Stable-Baselines3 | `dovetail agent sb3 --register policy:mine=policy.zip` |
| `language-model` | [language models](bridges/language-models.md) |
| `uci`, `gtp` | [engines](bridges/engines.md) |
| `kaggle` | [Kaggle](bridges/kaggle.md) |
| `openspiel-mcts`, `openspiel-policy` | [OpenSpiel](bridges/openspiel.md) |
| games in `gdl`, of `gymnasium`, `pettingzoo`, `openspiel` | [bridges](bridges/README.md) |
"""


SIDE = 220.0
"""The width of a game's picture, in pixels."""
ACROSS = 4
"""Pictures in a row."""


def drawn(game: str, room: Room) -> Xml.Element:
    """Draw the position before a turn of a game of its first player, or its last one."""
    sight = room.players[0]
    names = [game], list(dict.fromkeys([sight.agent, "random"]))
    with InProcess(*names) as experiment:
        one = experiment.create(sight.agent, seed=1, parameters=dict(sight.parameters))
        others = [experiment.create("random", seed=2)] * (room.seats - 1)
        experiment.request(m.Watch(0, None, scenes=True))
        experiment.run(
            game, [one, *others], configuration=room.configuration, mode="evaluate",
            lookahead=True, seed=1, max_turns=room.turn + 1,
        ).wait()  # fmt: skip
        turns = [each for each in experiment.turns(0.2) if each.scene is not None]
    shown = [each for each in turns if each.turn <= room.turn][-1]
    return svg(scene_of(shown.scene), SIDE)


def picture() -> bytes:
    """Return the positions of all games in rows, each under its title, as SVG."""
    sheet = Xml.Element("svg", xmlns="http://www.w3.org/2000/svg")
    title = {"font-family": "sans-serif", "font-size": "16", "fill": "#888"}
    top = high = 0.0
    for number, (game, room) in enumerate(ROOMS.items()):
        if number % ACROSS == 0:
            top, high = top + high, 0.0
        left = number % ACROSS * (SIDE + 20)
        Xml.SubElement(sheet, "text", title, x=str(left), y=str(top + 18)).text = room.title
        board = drawn(game, room)
        board.set("x", str(left))
        board.set("y", str(top + 28))
        sheet.append(board)
        high = max(high, float(board.attrib["height"]) + 48)
    sheet.set("viewBox", f"0 0 {ACROSS * (SIDE + 20) - 20:g} {top + high:g}")
    return Xml.tostring(sheet)


def strength(game: str, room: Room, sight: Sight) -> str:
    """Return its share of the points against random play."""
    if sight.strength:
        return sight.strength
    with InProcess([game], list(dict.fromkeys([sight.agent, "random"]))) as experiment:
        one = experiment.create(sight.agent, seed=1, parameters=dict(sight.parameters))
        other = experiment.create("random", seed=2)
        games = experiment.run(
            game, [one, other], configuration=room.configuration, episodes=sight.games,
            rotate=True, mode="evaluate", lookahead=True, seed=1,
        ).wait()  # fmt: skip
    points = sum(each.outcome[number % 2] for number, each in enumerate(games) if each.outcome)
    found = wilson(points, len(games))
    return (
        f"{points / len(games):.0%} of {len(games)} games against random "
        f"({found.low:.0%} to {found.high:.0%})"
    )


def rows(game: str, room: Room) -> Iterator[str]:
    """Yield the table of a game's players."""
    yield f"## [{room.title}]({room.page})\n"
    yield "| player | strength |\n|---|---|"
    for sight in room.players:
        options = "".join(f" --set {key}={value}" for key, value in room.configuration.items())
        command = f"`dovetail play {game} --against {sight.agent}{options}`"
        if room.seats == 1:
            command = f"`dovetail run {FILES[sight.agent]} --in-process`"
        said = strength(game, room, sight)
        print(game, sight.agent, said, file=sys.stderr, flush=True)
        yield f"| `{sight.agent}`: {sight.about}<br>{command} | {said} |"
    yield ""


def main() -> None:
    """Write the page and its picture."""
    PICTURE.write_bytes(picture())
    head = HEAD.format(games=", ".join(room.title for room in ROOMS.values()))
    text = "\n".join(line for game, room in ROOMS.items() for line in rows(game, room))
    (DOCS / "gallery.md").write_text(f"{head}{text}\n{OTHERS}", encoding="utf-8")


if __name__ == "__main__":
    main()
