"""Pieces of work of the RLGame study's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dovetail.client.inprocess import InProcess
from dovetail.protocol.errors import IllegalAction
from dovetail_agents.general.td import RLGameTD
from dovetail_games.connect_four import ConnectFour
from dovetail_games.rlgame import RLGameBoard
from dovetail_studies.playing import DERIVATION
from dovetail_studies.rlgame import kernels as k
from dovetail_studies.rlgame import plain
from dovetail_studies.rlgame.play import LearningPair, joined
from dovetail_studies.rlgame.profiles import PROFILES
from dovetail_studies.rlgame.tables import counted, distinct
from dovetail_studies.rows import Result, Unit, every

BOTH = ("seed-fidelity", "thesis-text")


def minimax_units(values: Mapping[str, int], seeds: Sequence[int]) -> list[Unit]:
    """Return all pieces of work of the two profiles, and the first phase of the others."""
    others = [name for name in PROFILES if name not in BOTH]
    first = {**values, "set": 0, "sets": 0, "control": 0}
    return every(values, seeds, profile=BOTH) + every(first, seeds, profile=others)


def self_play(unit: Unit) -> Result:
    """Play two new learners against each other on 8 x 8, in sets."""
    played = LearningPair("rlgame-8", unit["seed"]).play(
        unit["set"] * unit["sets"], PROFILES[unit["profile"]]
    )
    return {
        "sets": counted(played, unit["sets"]),
        "all": counted(played)[0],
        "distinct": distinct(played),
        "games": len(played.stats),
    }


def minimax(unit: Unit) -> Result:
    """Play two new learners against each other on 6 x 6, then White by minimax, in sets.

    As a control, the learners also continue without minimax.
    """
    profile = PROFILES[unit["profile"]]
    pair = LearningPair("rlgame-6", unit["seed"])
    played = [pair.play(unit["first"], profile)]
    sets: list[Result] = []
    if unit["sets"]:
        control = pair.copy()
        games = unit["set"] * unit["sets"]
        played.append(pair.play(games, profile, minimax=True, depth=unit["depth"]))
        sets = counted(played[-1], unit["sets"])
        played.append(control.play(unit["control"], profile))
    return {
        "phases": [counted(each)[0] for each in played],
        "sets": sets,
        "distinct": sum(distinct(each) for each in played),
        "minimax distinct": distinct(*played[1:2]),
        "games": sum(len(each.stats) for each in played),
    }


def minimax_bug(unit: Unit) -> Result:
    """Play White by minimax against a new learner on 6 x 6.

    The games are played with the error of version 1.3 and without it.
    """
    profile = replace(PROFILES[unit["profile"]], even=False)
    found = {}
    games = []
    for name, blind in (("with", True), ("without", False)):
        played = LearningPair("rlgame-6", unit["seed"]).play(
            unit["games"], profile, minimax=True, blind=blind, depth=unit["depth"]
        )
        found[name] = counted(played)[0]
        games.append(played)
    return {**found, "distinct": sum(map(distinct, games)), "games": 2 * unit["games"]}


def connect_four(unit: Unit) -> Result:
    """Play two new learners, or White by minimax of depth 3, in Connect Four, in sets."""
    played = LearningPair("connect-four", unit["seed"]).play(
        unit["set"] * unit["sets"], PROFILES[unit["profile"]], minimax=unit["minimax"]
    )
    return {
        "sets": counted(played, unit["sets"]),
        "all": counted(played)[0],
        "distinct": distinct(played),
        "games": len(played.stats),
    }


def alpha(unit: Unit) -> Result:
    """Replay the last game of each block of self-play over the plain rules, move by move."""
    pair, profile = LearningPair("rlgame-8", unit["seed"]), PROFILES[unit["profile"]]
    faults = checked = 0
    parts = []
    for _ in range(unit["blocks"]):
        played = pair.play(unit["block"], profile)
        parts.append(played)
        board = RLGameBoard()
        try:
            for action in played.last:
                board.play(action)
        except IllegalAction:
            faults += 1
            continue
        end = played.stats[-1]
        ours = (-1 if board.winner is None else board.winner, *map(board.alive, (0, 1)))
        faults += ours != (end[k.WINNER], end[k.ALIVE], end[k.ALIVE + 1])
        checked += len(played.last)
    return {
        "faults": faults,
        "replayed": unit["blocks"],
        "moves": checked,
        "all": counted(joined(parts))[0],
        "distinct": distinct(*parts),
        "games": unit["blocks"] * unit["block"],
    }


def old_and_new(unit: Unit) -> Result:
    """Do the three checks of the study's section on its old and its new program."""
    profile = PROFILES[unit["profile"]]
    greedy = replace(profile, epsilon=0.0)
    long = LearningPair("rlgame-8", unit["seed"])
    long.play(unit["long"], profile)
    endless = long.play(unit["greedy"], greedy, cap=10_000)
    short = LearningPair("rlgame-8", unit["seed"] + 1000)
    short.play(unit["short"], profile)
    again = short.play(unit["greedy"], greedy, cap=10_000)
    small = LearningPair("rlgame-6", unit["seed"] + 2000)
    wanted = plain.self_play(small, unit["equal"], profile)
    equal = 0
    for actions in wanted:
        equal += small.play(1, profile).last == actions
    return {
        "endless": counted(endless)[0],
        "short": counted(again)[0],
        "short distinct": distinct(again),
        "greedy": unit["greedy"],
        "equal": equal,
        "compared": unit["equal"],
        "moves": sum(map(len, wanted)),
        "games": unit["long"] + unit["short"] + 2 * unit["greedy"] + unit["equal"],
    }


def pilot(unit: Unit) -> Result:
    """Play Connect Four between two agents through the broker.

    Separate counts are kept for each agent, which RL-Glue could not tell apart.
    """
    steps, returns, wins = [0, 0], [0.0, 0.0], [0, 0]
    unequal, digests = 0, set()
    with InProcess([ConnectFour], [RLGameTD]) as experiment:
        players = [experiment.create("td-rlgame", seed=unit["seed"] + n) for n in (0, 1000)]
        run = experiment.run(
            "connect_four",
            players,
            episodes=unit["games"],
            seed=unit["seed"],
            derivation=DERIVATION,
        )
        for episode in run:
            digests.add(episode.digest)
            first, second = episode.seats
            unequal += not 0 <= first.decisions - second.decisions <= 1
            for seat in (0, 1):
                steps[seat] += episode.seats[seat].decisions
                returns[seat] += episode.seats[seat].total
                wins[seat] += episode.outcome is not None and episode.outcome[seat] == 1
    return {
        "steps": steps,
        "returns": returns,
        "wins": wins,
        "unequal": unequal,
        "distinct": len(digests),
        "games": unit["games"],
    }
