"""Complaints about frames and errors name the message and what was expected, in the contract's
words."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from dovetail.client.client import RunFailed
from dovetail.conform.malformed import malformed
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError, IllegalAction, ProtocolError, Refused

RUN = {"type": "run", "id": 1, "environment": "e", "agents": ["x"]}


def complaint(accepts: Any, frame: bytes) -> tuple[str, str]:
    with pytest.raises(ProtocolError) as refused:
        codec.Decoder[Any](accepts).decode(frame)
    return refused.value.code, str(refused.value)


@pytest.mark.rule("S12.3")
@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"clock": {"decision": -1}}, "`clock.decision` of `run` must be a number > 0"),
        (
            {"clock": {"decision": "1"}},
            "`clock.decision` of `run` must be a number or nil, not text",
        ),
        ({"agents": [None]}, "`agents[0]` of `run` must be an integer or text, not nil"),
        ({"agents": {"a": 1}}, "`agents` of `run` must be an array, not a map"),
        ({"rotate": 1}, "`rotate` of `run` must be a boolean, not an integer"),
        (
            {"on_illegal": "z"},
            "`on_illegal` of `run` must be one of forfeit, random, truncate, not 'z'",
        ),
        ({"modes": ["play"]}, "`modes[0]` of `run` must be one of learn, evaluate, not 'play'"),
        ({"episodes": -1}, "`episodes` of `run` must be an integer ≥ 1"),
        (
            {"configuration": {1: 2}},
            "`configuration` of `run` has a key that is an integer; keys of maps are text (S3.6)",
        ),
        ({"id": 2.0}, "`id` of `run` must be an integer, not a float"),
    ],
)
def test_what_is_wrong_with_a_field(fields: dict[str, Any], text: str) -> None:
    assert complaint(m.FromExperiment, codec.encode(RUN | fields)) == ("invalid", text)


@pytest.mark.rule("S3.3", "S9.1", "S11.2")
@pytest.mark.parametrize(
    ("frame", "code", "text"),
    [
        (b"", "malformed", "send no delimiter (S3.3)"),
        (codec.encode({"type": "run", "id": 1}), "invalid", "`run` needs `environment`"),
        (codec.encode([RUN]), "invalid", "must be a map with a `type` (S3.3), not an array"),
        (codec.encode("hi"), "invalid", "must be a map with a `type` (S3.3), not text"),
        (codec.encode({"id": 1}), "unknown-type", "the frame has no `type` (S3.3); expected one"),
        (codec.encode({"type": "dance"}), "unknown-type", "'dance' is not a message that may be"),
        (
            b"\x82\xa4type\xa3bye\xa4type\xa4ping",
            "unknown-type",
            "two different `type` keys (S3.6)",
        ),
        (codec.encode(RUN)[:-1], "malformed", "ends inside a value"),
        (b"\x93\x01\x02", "malformed", "3 values announced with 2 bytes to come"),
        (codec.encode(RUN | {"id": "x"})[:-1], "malformed", "ends inside a value"),
        (codec.encode(RUN) + b"\xc0", "malformed", "each frame is one message (S3.3)"),
        (codec.encode(RUN | {"id": "x"}) + b"\xc0", "malformed", "continues after"),
        (b"\x81\xa4type\xa3bye\xa1\xff"[:-1] + b"\xff", "malformed", ""),
    ],
)
def test_what_is_wrong_with_a_frame(frame: bytes, code: str, text: str) -> None:
    found, said = complaint(m.FromExperiment, frame)
    assert (found, text in said) == (code, True), said


def test_no_complaint_speaks_of_the_library() -> None:
    """A map is called a map, and each complaint about a message that can be told names it."""
    for each in malformed():
        at_broker = codec.AT_BROKER[each.role] if each.role else codec.BEFORE_HELLO
        accepts = at_broker if each.receiver == "broker" else codec.AT_PEER[each.receiver]
        if each.code in ("hello-first", "version", "wrong-state"):
            continue  # they can be read
        with pytest.raises(ProtocolError) as refused:
            codec.Decoder[Any](accepts, each.limits).decode(each.frame)
        error = refused.value
        said = str(error)
        assert not any(word in said for word in ("object", "Expected", "`int`", "$", "msgspec"))
        assert error.code != "invalid" or not error.kind or f"`{error.kind}`" in said


@pytest.mark.parametrize(
    "error",
    [
        Refused("crashed", "save failed"),
        RunFailed("unavailable", "no such agent"),
        ProtocolError("malformed", "no", "turn", {"match": 3}),
        IllegalAction("not there", 1),
    ],
)
def test_an_error_of_a_worker_process_arrives_whole(error: DovetailError) -> None:
    """One that cannot be read ends the pool of workers, and its text is lost."""
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
