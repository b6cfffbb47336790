"""Bytes of others that are nested thousands deep are refused in one line, wherever they are
decoded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from dovetail.cli.common import settings
from dovetail.protocol import codec, columns
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Spec
from dovetail.protocol.spaces import Box
from dovetail_agents.games.tetris.weights import Weights
from dovetail_agents.general import human
from dovetail_agents.general.feature_network.saved import Genome
from dovetail_agents.learning import saving
from dovetail_bridges.gdl import kif
from dovetail_bridges.language_model import endpoint, prompt
from dovetail_experiments.files import openings
from dovetail_experiments.records import states

DEPTH = 20_000
DECISION = SimpleNamespace(
    legal=None, scene=None, seat=SimpleNamespace(seat=0, spec=Spec(action_spaces=[Box([1])]))
)
JSON = "[" * DEPTH + "]" * DEPTH
PACKED = b"\x91" * DEPTH + b"\xc0"


class Nothing(msgspec.Struct, frozen=True):
    pass


def state() -> bytes:
    parts: dict[str, Any] = {"agent": "me", "version": 1, "seed": 0, "settings": {}, "arrays": {}}
    return msgspec.msgpack.encode({**parts, "parameters": {"deep": msgspec.Raw(PACKED)}})


READERS: dict[str, Callable[[], object]] = {
    "a frame": lambda: codec.decode(PACKED),
    "a payload": lambda: codec.opened(msgspec.Raw(PACKED)),
    "columns": lambda: columns.values("x", msgspec.Raw(PACKED), 1),
    "a saved agent": lambda: saving.unpack("me", state(), 1, Nothing, Nothing),
    "a genome": lambda: Genome.read(f'{{"x": {JSON}}}'.encode()),
    "weights": lambda: Weights.read(f'{{"x": {JSON}}}'.encode()),
    "a person": lambda: human._read(JSON, None, Box([1])),
    "a model": lambda: prompt.read(f"ACTION: {JSON}", DECISION),  # type: ignore[arg-type]
    "a model's server": lambda: endpoint._read(JSON.encode(), []),
    "a game's rules": lambda: kif.parse("(" * DEPTH + ")" * DEPTH),
    "states": lambda: states._opened(JSON.encode()),
}


@pytest.mark.parametrize("reader", READERS)
def test_they_are_refused(reader: str) -> None:
    with pytest.raises((DovetailError, ValueError)) as caught:
        READERS[reader]()
    assert "\n" not in str(caught.value)


def test_they_are_shown_as_they_are_or_named(tmp_path: Path) -> None:
    assert endpoint._problem(JSON.encode()) == "[" * 200
    assert settings([f"deep={JSON}"]) == {"deep": JSON}
    book = tmp_path / "book.txt"
    book.write_text(JSON)
    with pytest.raises(DovetailError, match=r"book.txt:1: '\[+' is not an opening"):
        openings.read(book)
