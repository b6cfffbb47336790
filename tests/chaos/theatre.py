"""The processes of the chaos, what can happen to them, and runs that must not be affected."""

from __future__ import annotations

import itertools
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tests.chaos.disturb import Disturbance
from tests.chaos.proxy import Proxy

from dovetail import Experiment, InProcess
from dovetail.protocol import messages as m
from dovetail.protocol.journal import EpisodeRecord, read
from dovetail_games.connect_four import ConnectFour

LEISURELY = ("leisurely", f"{Path(__file__).with_name('players.py')}:Leisurely")
KINDS = {
    **{"kill broker": 6, "kill env": 3, "kill agent": 2},
    **{"stop": 6, "cut": 6, "half open": 4, "slow": 2, "full disk": 3},
    **{"no space": 3, "slow disk": 3, "clock jump": 3},
}
"""The possible events, and their relative rates."""
DISTURBED = {"no space", "slow disk", "clock jump"}
"""Events only for a broker that runs with a ``Disturbance``."""
DAY = 86_400.0
CLIENTS = Path(__file__).resolve().parents[2] / "clients"
PATIENCE = 60.0
"""Seconds after the last fault within which a run must end, or another episode of it."""
LIMIT = 600.0
"""Seconds that a run may take altogether."""

Account = tuple[int, int, str, int, list[float], Any, str]
"""Of an episode: index, seed, reason, turns, totals, outcome, digest of the actions."""


class Process(Protocol):
    """As much of ``subprocess.Popen`` as is used."""

    pid: int
    returncode: int | Any

    def poll(self) -> int | None:
        """Return the exit status, or None while it runs."""
        ...

    def wait(self) -> int:
        """Return the exit status once it has ended."""
        ...

    def kill(self) -> None:
        """Send SIGKILL."""
        ...

    def send_signal(self, sig: int, /) -> None:
        """Send a signal."""
        ...


class Chaos(Exception):
    """A promise was broken."""


def account(episode: m.Episode) -> Account:
    totals = [seat.total for seat in episode.seats]
    return (
        *(episode.index, episode.seed, episode.reason, episode.turns, totals),
        *(episode.outcome, episode.digest),
    )


def undisturbed(seed: int, episodes: int) -> list[Account]:
    """Return the episodes of a run in which nothing happens."""
    from tests.chaos.players import Leisurely

    class Quick(Leisurely):
        name = "leisurely"
        pause = 0.0

    with InProcess([ConnectFour], [Quick]) as experiment:
        agents = [experiment.create("leisurely", seed=number) for number in (1, 2)]
        run = experiment.run("connect_four", agents, episodes=episodes, seed=seed, mode="evaluate")
        return sorted(account(each) for each in run.wait())


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def _program(language: str) -> tuple[list[str], Path]:
    """Return the command of a client's player at random, and the folder it runs in."""
    folder = CLIENTS / language
    words: list[str] = json.loads((folder / "programs.json").read_text())["random"]
    found = shutil.which(words[0]) if "/" not in words[0] else folder / words[0]
    if found is None or not Path(found).exists():
        raise Chaos(f"{words[0]} is not there; build it first: make -C clients/{language} build")
    return [str(found), *words[1:]], folder


class Theatre:
    """A broker, two environments and two agents, each a process behind a proxy of its own.

    Args:
        folder: for the journal and the logs.
        say: called with a line about each thing that happens.
        peer_timeout: the broker's, in seconds.
        grace: the broker's, in seconds.
        player: the offer of the agents, and what serves it.
        kinds: the possible events, each with its relative frequency.
        pythons: interpreters that run the broker, in turn.
        language: the language of the second agent, which plays at random; None for Python.  The
            language's client must be built.
        pace: the factor of all seconds of the faults, and between them.
        named: whether programs have names, so that one that is killed is replaced at once, and not
            after ``grace``.
        popen: starts a program, as ``subprocess.Popen`` does.
        disturbance: makes the broker's disk slow and its clock jump; None for neither.

    Raises:
        Chaos: the language's client is not built, or the broker does not listen.
    """

    def __init__(
        self,
        folder: Path,
        say: Callable[[str], None] = lambda line: None,
        peer_timeout: float = 12.0,
        grace: float = 4.0,
        player: tuple[str, str] = LEISURELY,
        kinds: Mapping[str, int] = KINDS,
        pythons: Sequence[str] = (sys.executable,),
        language: str | None = None,
        pace: float = 1.0,
        named: bool = False,
        popen: Callable[..., Process] = subprocess.Popen,
        disturbance: Disturbance | None = None,
    ) -> None:
        self._disturbance = disturbance
        self._pace = pace
        self._named = named
        self._popen = popen
        self._peer_timeout = peer_timeout
        self._grace = grace
        offer, self._program = player
        self._second = None if language is None else _program(language)
        self._offers = [offer, offer if language is None else f"random-{language}"]
        self._kinds = {
            kind: weight
            for kind, weight in kinds.items()
            if disturbance is not None or kind not in DISTURBED
        }
        self._pythons = itertools.cycle(pythons)
        self.folder = folder
        self.journal = folder / "chaos.journal"
        self._say = say
        self._port = _free_port()
        self.address = f"tcp://127.0.0.1:{self._port}"
        self._log = (folder / "log").open("wb")
        self.proxies = {
            name: Proxy(self._port) for name in ("env0", "env1", "agent0", "agent1", "experiment")
        }
        self.processes: dict[str, Process] = {}
        self._start("broker")
        self._listening()
        for name in ("env0", "env1", "agent0", "agent1"):
            self._start(name)
        self.experiment = Experiment.connect(
            self.proxies["experiment"].address, wait=60.0, give_up=PATIENCE
        )
        self.experiment.expect(["connect_four"], self._offers, timeout=60.0)
        while len(self.experiment.catalogue()["agents"]) < 2:
            self.experiment.wait(0.05)

    def _command(self, name: str) -> tuple[list[str], Path]:
        """Return what runs a program, and in which folder."""
        if name == "agent1" and self._second is not None:
            return self._second
        python = sys.executable
        if name == "broker":
            python = next(self._pythons)
            arguments = [
                *("broker", "--bind", self.address, "--heartbeat", "0.3"),
                *("--journal", str(self.journal), "--grace", str(self._grace)),
                *("--peer-timeout", str(self._peer_timeout)),
            ]
            if self._disturbance is not None:
                arguments += ["--sync", "always"]
        elif name.startswith("env"):
            arguments = ["env", "connect_four"]
        else:
            arguments = ["agent", self._program]
        if self._named and name != "broker":
            arguments += ["--name", name]
        return [python, "-m", "dovetail", *arguments], self.folder

    def _start(self, name: str) -> None:
        command, folder = self._command(name)
        environ = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
        if name in self.proxies:
            environ["DOVETAIL_BROKER"] = self.proxies[name].address
        if name == "broker" and self._disturbance is not None:
            environ |= self._disturbance.environment
        quiet = {"stdin": subprocess.DEVNULL, "stdout": self._log, "stderr": self._log}
        self.processes[name] = self._popen(command, cwd=folder, env=environ, **quiet)

    def _listening(self) -> None:
        """Wait until the broker accepts connections."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self._port), 1.0).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise Chaos(f"the broker does not listen; see {self.folder / 'log'}")

    def _supervise(self) -> None:
        """Start what has ended by itself again, such as a program that found no broker."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                self._say(f"{name} ended with {process.returncode}")
                self._start(name)

    # -- what can happen -------------------------------------------------------------------------

    def kill(self, name: str, chance: random.Random) -> None:
        """SIGKILL, and another in its place after a moment."""
        process = self.processes[name]
        process.kill()
        process.wait()
        time.sleep(self._pace * chance.random())
        self._start(name)

    def stop(self, name: str, chance: random.Random) -> None:
        """SIGSTOP for less than anyone's patience."""
        process = self.processes[name]
        process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(self._pace * (0.2 + 3 * chance.random()))
        finally:
            process.send_signal(signal.SIGCONT)

    def fill_disk(self, chance: random.Random) -> None:
        """Let the broker's files grow no more for a while; what it cannot write it holds back."""
        broker = self.processes["broker"].pid
        most = min(each.stat().st_size for each in self.folder.glob("chaos.journal*"))
        before = resource.prlimit(broker, resource.RLIMIT_FSIZE)
        resource.prlimit(broker, resource.RLIMIT_FSIZE, (most, before[1]))
        time.sleep(self._pace * (0.2 + 2 * chance.random()))
        resource.prlimit(broker, resource.RLIMIT_FSIZE, before)

    def disturb_disk(
        self, chance: random.Random, run: Any, results: list[m.Episode], *, full: bool
    ) -> bool:
        """Have each write of the broker fail, or take long; return whether the run ended meanwhile.

        Raises:
            Chaos: the experiment was told of an episode that is not in the journal.
        """
        assert self._disturbance is not None
        end = time.monotonic() + self._pace * (0.2 + 2 * chance.random())
        self._disturbance.disk(full=full, delay=0.0 if full else 0.01 + 0.04 * chance.random())
        try:
            while time.monotonic() < end:
                found = run.poll(0.02)
                if found is None:
                    return True
                results += found
                if found:
                    self._compare_some(found)
        finally:
            self._disturbance.disk()
        return False

    def jump(self, chance: random.Random) -> None:
        """Set the broker's clock to another time, up to ten days off."""
        assert self._disturbance is not None
        self._disturbance.jump(DAY * (20 * chance.random() - 10))

    def happens(self, chance: random.Random, run: Any, results: list[m.Episode]) -> bool:
        """Let one thing happen; return whether the run ended meanwhile."""
        kind = chance.choices(list(self._kinds), list(self._kinds.values()))[0]
        link = chance.choice(sorted(self.proxies))
        match kind:
            case "kill broker":
                self._say(kind)
                self.kill("broker", chance)
            case "kill env":
                name = chance.choice(["env0", "env1"])
                self._say(f"kill {name}")
                self.kill(name, chance)
            case "kill agent":
                name = chance.choice(["agent0", "agent1"])
                self._say(f"kill {name}")
                self.kill(name, chance)
            case "stop":
                name = chance.choice(sorted(self.processes))
                self._say(f"stop {name}")
                self.stop(name, chance)
            case "cut":
                self._say(f"cut {link}")
                self.proxies[link].cut()
            case "half open":
                self._say(f"half open {link}")
                self.proxies[link].half_open(self._pace * (0.5 + 2 * chance.random()))
            case "full disk":
                self._say(kind)
                self.fill_disk(chance)
            case "slow":
                self._say(f"slow {link}")
                self.proxies[link].slow(0.02, self._pace)
            case "no space" | "slow disk":
                self._say(kind)
                return self.disturb_disk(chance, run, results, full=kind == "no space")
            case "clock jump":
                self._say(kind)
                self.jump(chance)
        return False

    # -- a run -----------------------------------------------------------------------------------

    def play(self, seed: int, episodes: int, faults: int) -> list[Account]:
        """Play a run under a schedule; return the episodes that count.

        The faults come after a time, or when their part of the episodes is over, so that all of
        them come.

        Raises:
            Chaos: the run hangs, an episode is lost or doubled, or the journal has others.
        """
        chance = random.Random(seed)
        experiment = self.experiment
        self._supervise()
        experiment.expect(["connect_four"], self._offers, timeout=PATIENCE)  # after other schedules
        agents = [
            experiment.create(offer, seed=number, timeout=PATIENCE)
            for number, offer in enumerate(self._offers, 1)
        ]
        options: dict[str, Any] = {"episodes": episodes, "seed": seed, "mode": "evaluate"}
        options |= {"concurrency": 2, "on_agent_lost": "wait", "retries": 10 * faults}
        run = experiment.run("connect_four", agents, **options)
        results: list[m.Episode] = []
        limit = time.monotonic() + LIMIT
        done = False
        for left in range(faults, -1, -1):
            until = time.monotonic() + self._pace * chance.random()
            end = time.monotonic() + PATIENCE
            part = episodes * (faults + 1 - left) // (faults + 1)
            while not done and time.monotonic() < (until if left else end):
                if left and len(results) >= part:
                    break
                self._supervise()
                found = run.poll(0.05)
                done = found is None
                if found:
                    results += found
                    end = min(time.monotonic() + PATIENCE, limit)
            if left and not done:
                done = self.happens(chance, run, results)
        if not done and time.monotonic() > limit:
            raise Chaos(f"{len(results)} of {episodes} episodes in {LIMIT:g} s")
        if not done:
            raise Chaos(f"no episode for {PATIENCE:g} s after {len(results)} of {episodes}")
        for agent in agents:
            experiment.cleanup(agent, timeout=PATIENCE)
        told = sorted(account(each) for each in results)
        self._compare(told, run.number)
        return sorted(account(each) for each in results if each.scored)

    def _compare_some(self, told: Sequence[m.Episode]) -> None:
        """Find what the experiment was told of in the journal."""
        written = {
            each.result.episode for each in read(self.journal) if isinstance(each, EpisodeRecord)
        }
        lacking = [each.episode for each in told if each.episode not in written]
        if lacking:
            raise Chaos(f"the journal lacks episodes that the experiment was told of: {lacking}")

    def _compare(self, told: Sequence[Account], run: int) -> None:
        """Compare what the experiment was told of a run with the journal."""
        records = [each for each in read(self.journal) if isinstance(each, EpisodeRecord)]
        written = sorted(account(each.result) for each in records if each.result.run == run)
        if written != told:
            raise Chaos("the journal has other episodes than the experiment was told of")
        numbers = [each.result.episode for each in records]
        if len(set(numbers)) != len(numbers):
            raise Chaos("the journal has an episode twice")

    def close(self) -> None:
        """End everything."""
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
        for proxy in self.proxies.values():
            proxy.close()
        self.experiment.close()
        self._log.close()
