"""The cost of hostile peers to an honest match: its speed before, during and after each attack, and
the broker's memory.

Each party is its own process, on loopback: a broker, an environment, an agent, the experiment here,
and the attacker.  Episodes must be the same as without an attack.

The attacker has the machine's last processor to itself, and the others share the rest: what it
spends on its own work, such as encrypting 16 MB, costs no one else's machine anything.  The last
column but one is how much of its processor it used.

The machine's other work shows in the speed; the processor time that the broker needs for a turn of
the honest match hardly feels it.

    python -m tests.chaos.attacks [--guarded] [ATTACK ...]

With --guarded the broker has keys, and the attacker has one that it lets in.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from tests.transport.packed import pack, ready

from dovetail import Experiment
from dovetail.protocol import codec, spaces
from dovetail.protocol import messages as m
from dovetail.transport import keys, zmtp
from dovetail.transport.dealer import Dealer

KEY = "bench.key"
SECONDS = 4.0
"""How long each speed is measured."""
EPISODES = 20
"""Episodes in one run, all with the same seed."""
RECOVERY = 2.0
"""Seconds from the end of an attack to the measurement after it."""


def times(rounds: int | None) -> Iterable[int]:
    """Return what to count rounds with; None is for ever."""
    return itertools.count() if rounds is None else range(rounds)


def connect(address: str, first: bytes) -> Dealer:
    """Return a connection that says something first."""
    return Dealer(address, lambda: first, keys.chosen(None))


def dealer(address: str, role: Any = "observer", **fields: Any) -> Dealer:
    """Return a connection that has said hello, or was refused."""
    made = connect(address, codec.encode(m.Hello(m.VERSION, role, **fields)))
    end = time.monotonic() + 5.0
    while not made.receive(0.05) and time.monotonic() < end:
        pass
    return made


def flood(
    address: str,
    rounds: int | None,
    message: m.Message,
    number: bool,
    role: m.Role = "observer",
    together: int = 200,
) -> None:
    """Send one kind of message as fast as the broker takes it, in groups of a given size."""
    peer = dealer(address, role)
    count = 0
    for _ in times(rounds):
        frames = []
        for _ in range(together):
            count += 1
            if number:
                message.id = count  # type: ignore[attr-defined]
            frames.append(codec.encode(message))
        peer.send(frames)
        peer.receive(0.0)


def pieces(address: str, rounds: int | None, frame: bytes) -> None:
    """Send one frame as fast as the broker takes it."""
    peer = dealer(address)
    for _ in times(rounds):
        peer.send([frame] * 4)
        peer.receive(0.0)


def lists(address: str, rounds: int | None) -> None:
    """Ask for a catalogue in which six peers have much to be listed."""
    offers = [m.Offer(f"offer {number}", parameters={"x": [0] * 19_000}) for number in range(4)]
    kept = [dealer(address, "environment", name=f"{n} of much", offers=offers) for n in range(6)]
    flood(address, rounds, m.Catalogue(1), number=True, together=20)
    for each in kept:
        each.close(0.0)


def resumptions(address: str, rounds: int | None) -> None:
    """Have all that was never confirmed sent again, over and over."""
    peer = connect(address, codec.encode(m.Hello(m.VERSION, "agent")))
    frames: list[bytes] = []
    end = time.monotonic() + 5.0
    while not frames and time.monotonic() < end:
        frames = peer.receive(0.05)
    heard = [msgspec.msgpack.decode(frame) for frame in frames]
    session = next((each["session"] for each in heard if "session" in each), "")
    again = codec.encode(m.Hello(m.VERSION, "agent", resume=session))
    asked = itertools.count(1)
    for _ in times(rounds):
        peer.send([codec.encode(m.AgentLookahead(next(asked), 1, 0, 0, [])) for _ in range(200)])
        peer.send([again] * 50)
        peer.receive(0.0)


def hellos(address: str, rounds: int | None, **fields: Any) -> None:
    """Say hello over connection after connection, and keep 57 of them."""
    kept: list[Dealer] = []
    for _ in times(rounds):
        made = connect(address, codec.encode(m.Hello(m.VERSION, "environment", **fields)))
        made.receive(0.2)
        kept.append(made)
        if len(kept) > 57:
            kept.pop(0).close(0.0)


def watchers(address: str, rounds: int | None) -> None:
    """Watch everything with 200 peers that read all of it; with fewer if it is for some rounds
    only."""
    peers = [dealer(address) for _ in range(200 if rounds is None else 10)]
    for peer in peers:
        peer.send([codec.encode(m.Watch(1))])
    for _ in times(rounds):
        for peer in peers:
            peer.receive(0.0)
        time.sleep(0.01)


def strangers(address: str, rounds: int | None) -> None:
    """Send what is not a message, without a session."""
    for _ in times(rounds):
        peer = connect(address, b"\xc1")
        with contextlib.suppress(OSError):
            for _ in range(50):
                peer.receive(0.0)
                peer.send([b"\xc1"] * 100)
        peer.close(0.0)


class Head(msgspec.Struct):
    """The fields of a message that a player needs."""

    type: str
    id: int = 0
    seq: int = 0
    number: int = 0
    episode: int = 0
    turn: int = 0
    seat: int = 0


HEAD = msgspec.msgpack.Decoder(Head)
AT_ONCE = 16
"""Saves that are under way for each."""


class Hoard:
    """An agent's program with a large state, and an experiment that has it stored over and over.

    Args:
        address: the address of the broker.
        size: bytes of the state.
        capacity: episodes that the agent plays at a time; 0 for any number.
    """

    def __init__(self, address: str, size: int, capacity: int = 0) -> None:
        self.kind = f"hoarder {id(self)}"
        self.program = dealer(address, "agent", offers=[m.Offer(self.kind, capacity=capacity)])
        self.experiment = dealer(address, "experiment")
        self.state = bytes(size)
        self.seen: dict[Dealer, int] = {}
        self.asked = self.answered = 0
        self.instance = 0
        self.over = False

    def heard(self, peer: Dealer, seconds: float) -> list[dict[str, Any]]:
        """Return what a peer is told; confirm it, to be sent more."""
        found = [msgspec.msgpack.decode(frame) for frame in peer.receive(seconds)]
        self.seen[peer] = max([self.seen.get(peer, 0), *(each.get("seq", 0) for each in found)])
        pings = [each["number"] for each in found if each["type"] == "ping"]
        peer.send([codec.encode(m.Pong(number, self.seen[peer])) for number in pings])
        return found

    def ask(self, message: Any) -> None:
        """Have the experiment ask for something."""
        self.asked += 1
        message.id = self.asked
        self.experiment.send([codec.encode(message)])

    def serve(self) -> None:
        """Answer what the program is asked, until it is closed."""
        while not self.over:
            for each in self.heard(self.program, 0.02):
                if each["type"] == "create":
                    self.program.send([codec.encode(m.Reply(each["id"]))])
                elif each["type"] == "save":
                    self.program.send([codec.encode(m.Saved(each["id"], self.state))])

    def turn(self) -> None:
        """Ask for more."""
        for each in self.heard(self.experiment, 0.02):
            self.answered += each["type"] in ("reply", "saved", "error")
            if each["type"] == "reply" and each.get("body"):
                self.instance = each["body"]["instance"]
        if not self.asked:
            self.ask(m.ExperimentCreate(1, self.kind))
        while self.instance and self.asked - self.answered < AT_ONCE:
            name = f"state {id(self)} {self.asked % 1000}"
            self.ask(m.Save(1, self.instance, state_name=name))

    def run(self, rounds: int | None) -> None:
        """Play both parts."""
        served = threading.Thread(target=self.serve, daemon=True)
        served.start()
        for _ in times(rounds):
            self.turn()
        self.over = True
        served.join()
        self.program.close(0.0)
        self.experiment.close(0.0)


class Giant(Hoard):
    """An experiment, its game and its player, all of whose observations are ``seen``.

    Nothing is decoded or made twice that need not be, as in a faster language.
    """

    answers = True
    """Answers what the player is asked."""

    def __init__(self, address: str, seen: Any, at_once: int = 8, capacity: int = 0) -> None:
        super().__init__(address, 0, capacity)
        self.at_once = at_once
        self.made = msgspec.msgpack.decode(codec.encode(m.Turn.ask(0, seen)))
        self.game = dealer(address, "environment", offers=[m.Offer(self.kind)])

    def serve(self) -> None:
        """Answer what the player is asked, and in a thread what the game is, until both are
        closed."""
        played = threading.Thread(target=self.play, daemon=True)
        played.start()
        seen = 0
        while not self.over:
            answers: list[m.Message] = []
            for each in map(HEAD.decode, self.program.receive(0.02)):
                seen = max(seen, each.seq)
                if each.type == "ping":
                    answers.append(m.Pong(each.number, seen))
                elif each.type == "create":
                    answers.append(m.Reply(each.id))
                elif self.answers and each.type in ("start", "step"):
                    answers.append(m.Action(each.episode, each.turn, each.seat, 0))
            self.program.send([codec.encode(each) for each in answers])
        played.join()
        self.game.close(0.0)

    def play(self) -> None:
        """Answer what the game is asked."""
        space = spaces.Discrete(2)
        while not self.over:
            answers: list[Any] = []
            for each in self.heard(self.game, 0.02):
                if each["type"] == "open":
                    spec = m.Spec(seats=1, observation_spaces=[space], action_spaces=[space])
                    spec.match = each["match"]
                    answers.append(spec)
                elif each["type"] in ("start", "step"):
                    numbers = {"episode": each["episode"], "turn": each.get("turn", -1) + 1}
                    answers.append({**self.made, **numbers})
            self.game.send([codec.encode(each) for each in answers])

    def turn(self) -> None:
        """Begin the run, and wait."""
        for each in self.heard(self.experiment, 0.02):
            if each["type"] == "reply" and each.get("body") and not self.instance:
                self.instance = each["body"].get("instance", 0)
                number = {"episodes": self.at_once, "concurrency": self.at_once}
                options: Any = {**number, "check": False}
                self.ask(m.Run(1, self.kind, [self.instance], **options))
        if not self.asked:
            self.ask(m.ExperimentCreate(1, self.kind))


class Queue(Giant):
    """An experiment all of whose runs wait for one agent, which never moves; it cancels some and
    begins others."""

    answers = False
    waiting = 1_000
    """Runs that wait."""

    def __init__(self, address: str) -> None:
        super().__init__(address, 0, capacity=1)
        self.runs: list[int] = []

    def turn(self) -> None:
        """Begin runs until enough wait, then end one for each that begins."""
        for each in self.heard(self.experiment, 0.001):
            self.answered += each["type"] in ("reply", "error")
            if each["type"] == "reply" and (body := each.get("body")):
                self.instance = body.get("instance", self.instance)
                self.runs += [body["run"]] if "run" in body else []
        if not self.asked:
            self.ask(m.ExperimentCreate(1, self.kind))
        while self.instance and self.asked - self.answered < AT_ONCE:
            if len(self.runs) >= self.waiting:
                self.ask(m.Cancel(1, self.runs.pop()))
            self.ask(m.Run(1, self.kind, [self.instance], answer_timeout=3600.0))


def queue(address: str, rounds: int | None) -> None:
    """Have runs wait for one agent."""
    Queue(address).run(rounds)


def tower(address: str, rounds: int | None, seen: Any, at_once: int = 8) -> None:
    """Play a game of large observations against nobody."""
    Giant(address, seen, at_once).run(rounds)


def plain(address: str) -> socket.socket:
    """Return a socket that has greeted the broker."""
    if address.startswith("ipc://"):
        made = socket.socket(socket.AF_UNIX)
        made.connect(address.removeprefix("ipc://"))
    else:
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        made = socket.create_connection((host, int(port)))
    made.sendall(zmtp.GREETING + ready(b"DEALER"))
    return made


def slow_frames(address: str, rounds: int | None) -> None:
    """Send long frames over 1,000 connections, a piece at a time; over ten for some rounds only."""
    beginning = b"\x02" + (1 << 20).to_bytes(8, "big")
    made = [plain(address) for _ in range(1_000 if rounds is None else 10)]
    for each in made:
        with contextlib.suppress(OSError):
            each.sendall(beginning)
        each.setblocking(False)
    for _ in times(rounds):
        for each in made:
            with contextlib.suppress(OSError):
                each.send(bytes(10_000))
    for each in made:
        each.close()


def returns(address: str, rounds: int | None) -> None:
    """Say hello over one connection after another, and break the protocol."""
    hello = pack([codec.encode(m.Hello(m.VERSION, "agent"))])
    for _ in times(rounds):
        with plain(address) as made, contextlib.suppress(OSError):
            made.settimeout(1.0)
            made.sendall(hello + b"\xff" * 9)
            while made.recv(1 << 16):
                pass


def controls(address: str, rounds: int | None) -> None:
    """Send ZeroMQ's PING as fast as the broker takes it, and say nothing."""
    hello = pack([codec.encode(m.Hello(m.VERSION, "agent"))])
    pings = zmtp.command(b"PING", b"\0\0") * zmtp.CONTROLS
    for _ in times(rounds):
        with plain(address) as made, contextlib.suppress(OSError):
            made.sendall(hello)
            made.settimeout(1.0)
            while rounds is None:
                made.sendall(pings)
                made.recv(1 << 16)


def empty_frames(address: str, rounds: int | None) -> None:
    """Say hello over one connection after another, and send as many frames as fit in a read."""
    hello = pack([codec.encode(m.Hello(m.VERSION, "agent"))])
    for _ in times(rounds):
        with plain(address) as made, contextlib.suppress(OSError):
            made.settimeout(1.0)
            made.sendall(hello)
            made.recv(1 << 16)
            made.sendall(bytes(1 << 18))


def hoard(address: str, rounds: int | None, size: int) -> None:
    """Store one large state after another."""
    Hoard(address, size).run(rounds)


ATTACKS: dict[str, Callable[[str, int | None], None]] = {
    "pings": partial(flood, message=m.Ping(1), number=False),
    "pings of 90 kB": partial(
        pieces, frame=msgspec.msgpack.encode({"type": "ping", "more": [[]] * 90_000})
    ),
    "refused frames": partial(pieces, frame=msgspec.msgpack.encode([[]] * 100_010)),
    "late actions": partial(
        flood, message=m.Action(1, 0, 0, [[0]] * 45_000), number=False, role="agent", together=4
    ),
    "lookaheads": partial(
        flood, message=m.AgentLookahead(1, 1, 0, 0, []), number=True, role="agent"
    ),
    "20,000 seats": partial(
        flood,
        message=m.Run(1, "connect_four", ["random"] * 20_000),
        number=True,
        role="experiment",
        together=4,
    ),
    "resumptions": resumptions,
    "catalogues": partial(flood, message=m.Catalogue(1), number=True),
    "long catalogues": lists,
    "names of 9 MB": partial(hellos, name="n" * 9_000_000),
    "hellos of 16 MB": partial(hellos, software="s" * 16_000_000),
    "30,000 offers": partial(
        hellos, offers=[m.Offer(f"offer {number}") for number in range(30_000)]
    ),
    "states of 8 MB": partial(hoard, size=8_000_000),
    "states of 90 kB": partial(hoard, size=90_000),
    "turns of 1 MB": partial(tower, seen=bytes(1_000_000)),
    "turns of lists": partial(tower, seen=[[]] * 90_000),
    "small turns": partial(tower, seen=0, at_once=2_000),
    "waiting runs": queue,
    "slow frames": slow_frames,
    "broken sessions": returns,
    "control frames": controls,
    "empty frames": empty_frames,
    "200 watchers": watchers,
    "strangers": strangers,
}
"""By name; each takes the broker's address, and how often to do it, None for ever."""
JOURNALED = ("states of 8 MB", "states of 90 kB")
"""Those against a broker with a journal, since what they have it write down is what they cost."""


def settle() -> set[int]:
    """Leave the last processor to the attacker; return the attacker's processors.

    They are all there are if there is only one, or if the system cannot say.
    """
    if not hasattr(os, "sched_setaffinity"):
        return set()
    every = os.sched_getaffinity(0)
    last = {max(every)}
    if every != last:
        os.sched_setaffinity(0, every - last)
    return last


@contextlib.contextmanager
def program(*arguments: str, stdout: int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program until the end of the block."""
    made = subprocess.Popen([sys.executable, *arguments], stdout=stdout, stderr=subprocess.DEVNULL)
    try:
        yield made
    finally:
        made.kill()
        made.wait()


def make_keys(folder: Path) -> None:
    """Write an access file that lets in one key."""
    server = keys.make()
    key = keys.make(server.public)
    keys.write(folder / "access.key", server, "of the broker")
    keys.write(folder / KEY, key, "bench")
    (folder / "access.toml").write_text(f'[keys.bench]\npublic = "{key.public}"\n')


def processor(process: int) -> float:
    """Return the processor time that a process has used, in seconds (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(process: int) -> float:
    """Return a process's largest resident memory so far, in MB (Linux)."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the system does not say how much memory a process used")


def speed(
    experiment: Experiment, player: int, broker: int
) -> tuple[float, float, set[tuple[Any, ...]]]:
    """Return turns per second, the broker's processor time per turn in microseconds, and the runs.

    Each run is given as its episodes.
    """
    turns = 0
    seen = set()
    start, used = time.monotonic(), processor(broker)
    while time.monotonic() < start + SECONDS:
        run = experiment.run("connect_four", [player, player], episodes=EPISODES, seed=1)
        played = sorted(run.wait(), key=lambda each: each.index)
        turns += sum(each.turns for each in played)
        seen.add(tuple((each.index, each.digest, each.reason) for each in played))
    cost = (processor(broker) - used) / turns * 1e6
    return turns / (time.monotonic() - start), cost, seen


def main(names: list[str]) -> None:
    """Print a line for each attack."""
    if names[:1] == ["--attack"]:
        print(flush=True)  # it begins
        ATTACKS[names[1]](names[2], None)
    guarded = "--guarded" in names
    names = [name for name in names if name != "--guarded"]
    if unknown := [name for name in names if name not in ATTACKS]:
        raise SystemExit(f"no attack {unknown[0]!r}; the attacks are {', '.join(ATTACKS)}")
    apart = settle()
    print(f"{'':18} {'turns/s':>8} {'during':>8} {'after':>8} {'broker, µs/turn':>24}")
    print(
        f"{'attack':18} {'before':>8} {'/before':>8} {'/before':>8} {'before':>8}"
        f"{'during':>8}{'after':>8} {'peak':>9} {'attacker':>9}  episodes"
    )
    for name in names or ATTACKS:
        with tempfile.TemporaryDirectory() as folder:
            address = f"ipc://{folder}/broker"
            journal = f"{folder}/journal" if name in JOURNALED else "none"
            broker = ["-m", "dovetail", "broker", "--journal", journal, "--bind", address]
            if guarded:
                make_keys(Path(folder))
                broker += ["--access", f"{folder}/access.toml"]
                os.environ[keys.FILE] = f"{folder}/{KEY}"
            with (
                program(*broker) as served,
                program("-m", "dovetail", "env", "connect_four", "--connect", address),
                program("-m", "dovetail", "agent", "random", "--connect", address),
                Experiment.connect(address, wait=60.0) as experiment,
            ):
                experiment.expect(["connect_four"], ["random"])
                player = experiment.create("random", seed=1)
                speed(experiment, player, served.pid)
                before, cost, expected = speed(experiment, player, served.pid)
                attack = ("-m", "tests.chaos.attacks", "--attack", name, address)
                with program(*attack, stdout=subprocess.PIPE) as attacker:
                    if apart:
                        os.sched_setaffinity(attacker.pid, apart)
                    assert attacker.stdout is not None
                    attacker.stdout.readline()  # its imports may take seconds
                    time.sleep(1.0)
                    begun, used = time.monotonic(), processor(attacker.pid)
                    during, cost_during, seen = speed(experiment, player, served.pid)
                    if attacker.poll() is not None:
                        raise SystemExit(f"{name}: the attacker ended by itself")
                    busy = (processor(attacker.pid) - used) / (time.monotonic() - begun)
                time.sleep(RECOVERY)
                after, cost_after, again = speed(experiment, player, served.pid)
                same = "the same" if seen == again == expected else "DIFFERENT"
                peak = memory(served.pid)
            print(
                f"{name:18} {before:8.0f} {during / before:8.2f} {after / before:8.2f} "
                f"{cost:8.0f}{cost_during:8.0f}{cost_after:8.0f} {peak:6.0f} MB {busy:9.2f}  {same}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
