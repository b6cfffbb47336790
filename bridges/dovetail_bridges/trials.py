"""One random episode of each installed foreign game, in a process with limits of time."""

from __future__ import annotations

import importlib
import multiprocessing
import random
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from msgspec import Struct

from dovetail.peer import plugins
from dovetail.peer.agents.sampling import sample
from dovetail.peer.environments.environment import Environment
from dovetail.peer.presets import preset
from dovetail.peer.registry import one_line
from dovetail.protocol import outside
from dovetail.protocol.spaces import Text
from dovetail_bridges import conversion
from dovetail_bridges.gdl.environment import bundled

TURNS = 300
"""Maximum turns of an episode."""
PATIENCE = 10.0
"""The time that may pass, for each second of processor time that a game may take."""
BRACKETED = re.compile(r"\[[^\[\]\n]{1,20}\]")
Options = dict[str, Any]


class GameTrial(Struct, frozen=True):
    """The trial of one game."""

    bridge: str
    game: str
    problem: str
    """The reason why no episode could be played; empty on success."""
    seconds: float
    """Processor time; of a game that was killed, its limit or the time that passed."""


def gymnasium(modules: Sequence[str]) -> list[tuple[str, Options]]:
    """Return Gymnasium's registered environments, including those that the modules register."""
    import gymnasium as theirs

    found = [(each, {"id": each}) for each in theirs.registry]
    for module in modules:
        importlib.import_module(module)
        known = {name for name, _ in found}
        found += [
            (each, {"id": f"{module}:{each}"}) for each in theirs.registry if each not in known
        ]
    return [each for each in found if not each[0].startswith("dovetail/")]


def pettingzoo(modules: Sequence[str]) -> list[tuple[str, Options]]:
    """Return PettingZoo's registered environments, in both of its APIs."""
    import pettingzoo as theirs

    return [
        (f"{name} ({api})", {"id": name, "api": api})
        for api in ("aec", "parallel")
        for name in getattr(theirs, f"{api}_registry")
        if not name.startswith("dovetail/")
    ]


def openspiel(modules: Sequence[str]) -> list[tuple[str, Options]]:
    """Return the games of OpenSpiel that need no parameters."""
    import pyspiel

    importlib.import_module("open_spiel.python.games")
    games = (each for each in pyspiel.registered_games() if each.default_loadable)
    return [(each.short_name, {"game": each.short_name}) for each in games]


def textarena(modules: Sequence[str]) -> list[tuple[str, Options]]:
    """Return the games of TextArena, each without its wrappers."""
    import textarena as theirs

    ids = theirs.envs.registration.ENV_REGISTRY
    names = sorted(each.removesuffix("-raw") for each in ids if each.endswith("-raw"))
    return [(each, {"id": each}) for each in names]


def gdl(modules: Sequence[str]) -> list[tuple[str, Options]]:
    """Return the descriptions that come with Dovetail."""
    return [(each, {"game": each}) for each in bundled()]


def descriptions(folder: Path) -> list[tuple[str, Options]]:
    """Return the descriptions in a folder's ``.kif`` files.

    Raises:
        DovetailError: a description is too long.
    """
    files = sorted(folder.rglob("*.kif"))
    return [
        (
            str(each.relative_to(folder)),
            {"rules": outside.data(each, outside.TEXT).decode("utf-8", "replace")},
        )
        for each in files
    ]


BRIDGES: dict[str, tuple[str, Callable[[Sequence[str]], list[tuple[str, Options]]]]] = {
    "gymnasium": ("gymnasium", gymnasium),
    "pettingzoo": ("pettingzoo", pettingzoo),
    "openspiel": ("open_spiel", openspiel),
    "textarena": ("textarena", textarena),
    "gdl": ("", gdl),
}
"""The package of each bridge and the function that lists its games."""


def installed(bridge: str) -> str:
    """Return a bridge's package and version; empty if the package is absent or none is needed."""
    package = BRIDGES[bridge][0]
    try:
        return f"{package} {version(package)}" if package else ""
    except PackageNotFoundError:
        return ""


def play(bridge: str, options: Mapping[str, Any], seed: int = 0) -> None:
    """Play one random episode of at most ``TURNS`` turns.

    Raises:
        Exception: the game raised it, or an observation or legal action lies outside its space.
    """
    kind = preset(plugins.find("environment", bridge), dict(options), f"environment {bridge}")
    game: Environment = kind()
    rng = random.Random(seed)
    try:
        spec = game.init()
        turn = game.start(seed)
        for _ in range(TURNS):
            for view in turn.seats:
                space = spec.observation_space(view.seat)
                if not space.contains(view.observation):
                    raise ValueError(f"what seat {view.seat} sees is not in its space")
            if not turn.to_act:
                break
            actions = {}
            for view in turn.seats:
                if view.seat in turn.to_act:
                    space = spec.action_space(view.seat)
                    legal = conversion.numbers(view.legal, space)
                    words = _said(space, view.observation)
                    actions[view.seat] = rng.choice(legal or words or [sample(space, rng)])
            turn = game.step(actions)
    finally:
        game.cleanup()


def _said(space: Any, observation: Any) -> list[str]:
    """Return a text's bracketed parts, which is how TextArena's games name actions."""
    if not isinstance(space, Text) or not isinstance(observation, str):
        return []
    return BRACKETED.findall(observation) or ["[0]", "[1]", "[2]", "[3]"]


def _limit(seconds: float) -> None:
    """End this process after that much processor time, where the system can; 0 for no limit."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _serve(link: Connection, seconds: float) -> None:
    """Play the requested games until the other end closes, or one takes too much time."""
    with suppress(EOFError, KeyboardInterrupt), redirect_stdout(sys.stderr):
        while True:
            bridge, options = link.recv()
            begun = time.process_time()
            _limit(seconds)
            try:
                play(bridge, options)
                problem = ""
            except Exception as error:
                problem = one_line(error) or type(error).__name__
            _limit(0.0)
            link.send((problem, time.process_time() - begun))


def run(
    bridge: str, games: Sequence[tuple[str, Options]], seconds: float, patience: float | None = None
) -> Iterator[GameTrial]:
    """Try games one after another; a process that is late is killed and replaced.

    Args:
        games: names and options.
        seconds: the processor time of each game.
        patience: the seconds after which a game that does nothing is given up; ``PATIENCE`` times
            ``seconds`` by default, since other programs may need the processor.
    """
    context = multiprocessing.get_context("spawn")
    patience = PATIENCE * seconds if patience is None else patience
    worker: Any = None
    for game, options in games:
        if worker is None:
            link, theirs = context.Pipe()
            worker = context.Process(target=_serve, args=(theirs, seconds), daemon=True)
            worker.start()
            theirs.close()
        begun = time.monotonic()
        answer: tuple[str, float] | None = None
        try:
            link.send((bridge, options))
            if link.poll(patience):
                answer = link.recv()
            else:
                problem, took = f"not over after {patience:g} s", patience
        except (EOFError, OSError):
            worker.join()
            problem, took = "its process ended", time.monotonic() - begun
            if sys.platform != "win32" and worker.exitcode == -signal.SIGPROF:
                problem, took = f"not over after {seconds:g} s of processor time", seconds
        if answer is None:
            worker.kill()
            worker.join()
            link.close()
            worker = None
        yield GameTrial(bridge, game, *(answer or (problem, took)))
    if worker is not None:
        link.close()
        worker.join()
