"""The fuzzed functions of any bytes that fail only if Dovetail does."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args
from zlib import crc32

import msgspec
from tests.broker.anarchy import CONNECTIONS, Crowd
from tests.fuzz import curve
from tests.transport.packed import pack, ready

from dovetail.broker.core.core import Core
from dovetail.broker.durable import snapshot
from dovetail.broker.peers import access_file
from dovetail.conform.malformed import malformed
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError, ProtocolError
from dovetail.protocol.limits import check
from dovetail.transport.zmtp import GREETING, Wire, WireError
from dovetail_generate import examples

LIMITS = m.Limits(frame=4096, elements=200, depth=12)
"""Small ones, so that small inputs go beyond them."""
ACCEPTS: list[Any] = [
    codec.BEFORE_HELLO,
    *codec.AT_BROKER.values(),
    *codec.AT_PEER.values(),
    Any,
]
READERS: list[codec.Decoder[Any]] = [codec.Decoder(accepts, LIMITS) for accepts in ACCEPTS]


def decoder(data: bytes) -> None:
    """Read a frame as a role does, the first byte's; what is read can be sent and read again."""
    if not data:
        return
    reader = READERS[data[0] % len(READERS)]
    frame = data[1:]
    try:
        message = reader.decode(frame)
    except ProtocolError as error:
        codec.encode(m.Error(error.code, str(error)))
        return
    check(frame, LIMITS)
    try:
        again = codec.encode(message)
    except codec.UNSENDABLE:
        return  # such as half a surrogate pair, which a text of MessagePack may hold
    assert codec.encode(codec.Decoder(ACCEPTS[data[0] % len(READERS)]).decode(again)) == again


def wire(data: bytes) -> None:
    """Feed a connection, whole and in pieces of the first byte's length: the frames are the
    same."""
    if not data:
        return
    found = []
    for piece in (len(data), 1 + data[0] % 16):
        side, frames, end = Wire(b"ROUTER", 1000), [], ""
        for start in range(1, len(data), piece):
            try:
                frames += side.feed(data[start : start + piece])
            except WireError as error:
                end = str(error)
                break
        found.append((frames, end, bytes(side.out)))
    whole, pieces = found
    if whole[1]:  # what came whole was refused before its frames were handed over
        assert pieces[1]
    else:
        assert whole == pieces


def access(data: bytes) -> None:
    """Read an access file; what it admits is what it says."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "access.toml")
        path.write_bytes(data)
        try:
            read = access_file.read(path)
        except DovetailError:
            return
    for name, grant in read.keys.items():
        for role in get_args(m.Role):
            try:
                found = read.admit(grant.public, role, ["game"], 0)
            except ProtocolError:
                continue
            assert found == name
            assert read.admits(grant.public)
            assert role in grant.roles
            assert read.pinned.get("game", name) == name
        read.may_use(name, "other")


# -- the broker ----------------------------------------------------------------------------------

FRAME, SENSIBLE, LOSE, WAIT, RESUME, SET_UP, KINDS = range(7)
MOST = 120
"""Steps of an input that are taken."""
GAMES = 8
"""Of these, how many set up another environment, agent and run; each makes all that follow
slower."""
SNAPSHOTS = 1
"""One in this number of inputs goes through a snapshot, by a hash of it."""
Step = tuple[int, int, bytes]
"""A kind, a connection, and the bytes of a frame or the quarters of a second of a wait."""


def steps(data: bytes) -> Iterator[Step]:
    """Yield what an input says to do; every input says something."""
    position = 0
    while position < len(data):
        kind, connection = divmod(data[position], CONNECTIONS)
        kind %= KINDS
        position += 1
        size = 0
        if kind == FRAME:
            size = int.from_bytes(data[position : position + 2], "little")
            position += 2
        elif kind == WAIT:
            size = 1
        yield kind, connection, data[position : position + size]
        position += size


def written(given: list[Step]) -> bytes:
    """Return the input that says to do some steps."""
    out = bytearray()
    for kind, connection, rest in given:
        out.append(kind * CONNECTIONS + connection)
        if kind == FRAME:
            out += len(rest).to_bytes(2, "little")
        out += rest
    return bytes(out)


def core(data: bytes) -> None:
    """Let a crowd say anything to a broker, in any order; see ``Crowd`` for what must hold."""
    crowd = Crowd()
    games = 0
    for _, (kind, connection, rest) in zip(range(MOST), steps(data), strict=False):
        if kind == FRAME:
            crowd.hear(connection, rest)
        elif kind == SENSIBLE:
            crowd.sensible()
        elif kind == LOSE:
            crowd.lose(connection)
        elif kind == WAIT:
            crowd.wait(rest[0] / 4 if rest else 0.0)
        elif kind == RESUME:
            crowd.resume()
        elif games < GAMES:
            games += 1
            crowd.set_up()
        crowd.books_balance()
    if crc32(data) % SNAPSHOTS == 0:
        state = snapshot.write(crowd.core, {})
        again = Core(crowd.settings, b"")
        snapshot.read(state, again, lambda name: None)
        assert snapshot.write(again, {}) == state
    crowd.over()


TARGETS: dict[str, Callable[[bytes], None]] = {
    **{"access": access, "decoder": decoder, "wire": wire, "curve": curve.curve, "core": core},
}


# -- inputs --------------------------------------------------------------------------------------


def seeds(target: str) -> Iterator[bytes]:
    """Yield the inputs that a fuzz begins with."""
    frames = [codec.encode(each.message) for each in examples.valid()]
    if target == "decoder":
        for number, accepts in enumerate(ACCEPTS):
            for frame in frames:
                try:
                    codec.Decoder(accepts, LIMITS).decode(frame)
                except ProtocolError:
                    continue
                yield bytes([number]) + frame
        for bad in malformed():
            yield bytes([1]) + bad.frame
    elif target == "access":
        for line in ("", 'roles = ["agent"]', 'offers = ["g*"]', "revoked = true", 'uses = ["b"]'):
            yield f'[keys.ann]\npublic = "{"a" * 40}"\n{line}\n[pinned]\ngame = "ann"\n'.encode()
        yield f'[keys.b.limits]\npeers = 0\n[keys.b]\npublic = "{"b" * 40}"\n'.encode()
    elif target == "curve":
        yield from curve.seeds()
    elif target == "wire":
        said = GREETING + ready(b"DEALER") + pack([b"a", b"b" * 300]) + pack([b""])
        yield b"\0" + said
        yield b"\x06" + said
    else:
        yield written([(SET_UP, 0, b"")] + 8 * [(SENSIBLE, 0, b"")])
        for frame in _openings():
            begun = [(SET_UP, 0, b""), (SENSIBLE, 0, b"")]
            yield written([*begun, (FRAME, _speaker(frame), frame)] + 3 * [(SENSIBLE, 0, b"")])


@cache
def _openings() -> list[bytes]:
    """Return one frame of every kind that the broker reads, with the fewest and with all fields."""
    return [codec.encode(e.message) for e in examples.valid() if e.receiver == "broker"]


def _speaker(frame: bytes) -> int:
    """Return a connection of ``Crowd.set_up`` whose role may send a frame."""
    roles = ("environment", "agent", "experiment")
    for connection, role in enumerate(roles):
        try:
            codec.Decoder(codec.AT_BROKER[role]).decode(frame)
        except ProtocolError:
            continue
        return connection
    return len(roles)


def mutated(data: bytes, most: int, seed: int, mutate: Callable[[bytes, int], bytes]) -> bytes:
    """Return an input of the core that differs in a step, a frame, or a field of one.

    Args:
        data: an input.
        most: its length at most.
        seed: the seed of the choice.
        mutate: changes bytes, up to a length, at random.
    """
    chance = random.Random(seed)
    given = list(steps(data))[:MOST]
    place = chance.randrange(len(given) + 1)
    frames = [at for at, step in enumerate(given) if step[0] == FRAME]
    match chance.randrange(6):
        case 0:
            frame = chance.choice(_openings())
            step = (FRAME, _speaker(frame), _turned(frame, chance))
            given[place:place] = [step] + [(SENSIBLE, 0, b"")] * chance.randrange(2)
        case 1:
            kind = chance.choice([SENSIBLE, SENSIBLE, LOSE, WAIT, RESUME, SET_UP])
            rest = bytes([chance.randrange(64)]) if kind == WAIT else b""
            given.insert(place, (kind, chance.randrange(CONNECTIONS), rest))
        case 2 if given:
            start = chance.randrange(len(given))
            del given[start : start + chance.randrange(1, 4)]
        case 3 if given:
            start = chance.randrange(len(given))
            given[place:place] = given[start : start + chance.randrange(1, 6)]
        case 4 if frames:
            at = chance.choice(frames)
            frame = mutate(given[at][2], 2 * len(given[at][2]) + 8)
            given[at] = FRAME, chance.randrange(CONNECTIONS), frame
        case _ if frames:
            at = chance.choice(frames)
            given[at] = FRAME, given[at][1], _turned(given[at][2], chance)
        case _:
            return mutate(data, most)
    return written(given)[:most]


_VALUES: list[Any] = [None, True, False, -1, 0, 1, 2, 3, 5, 7, 12, 2**63, 0.5, -1.0, float("nan")]
_VALUES += [
    "",
    "a",
    "game",
    "player",
    "wait",
    "forfeit",
    [],
    [0],
    [0, 1],
    ["player"],
    {},
    b"",
    b"x",
]


def _turned(frame: bytes, chance: random.Random) -> bytes:
    """Return a frame with up to two fields of its map changed to something plausible."""
    try:
        fields = msgspec.msgpack.decode(frame, ext_hook=msgspec.msgpack.Ext)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return frame
    if not isinstance(fields, dict) or not fields:
        return frame
    for _ in range(chance.randrange(1, 3)):
        name = chance.choice(list(fields))
        if name == "type" and chance.random() < 0.9:
            continue
        fields[name] = chance.choice([*_VALUES, *range(30)])
    return msgspec.msgpack.encode(fields)
