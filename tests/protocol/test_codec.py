"""The codec against an independent implementation, and against whatever bytes there are."""

from __future__ import annotations

import datetime
import math
import re
import struct
import tracemalloc
from typing import Any, get_args

import msgpack
import msgspec
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dovetail.protocol import codec, tensors
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError
from dovetail_generate import examples

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(), inner, max_size=20),
    max_leaves=40,
)
DECODERS = [
    *(codec.Decoder[Any](union) for union in codec.AT_BROKER.values()),
    *(codec.Decoder[Any](union) for union in codec.AT_PEER.values()),
    codec.Decoder[Any](m.Session),
    codec.Decoder[Any](m.Hello),
    codec.Decoder[Any](Any),
]
FRAMES = [codec.encode(each.message) for each in examples.valid()]
HUGE = b"\xff\xff\xff\xff"


def same(one: Any, other: Any) -> bool:
    """Return whether values are equal, NaN to NaN, and of the same types."""
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and bool(one == other)


@pytest.mark.parametrize("of", [{"type": "n" * 10_000}, {"type": "hello", "role": "n" * 10_000}])
def test_an_error_about_a_frame_quotes_little_of_it(of: Any) -> None:
    with pytest.raises(ProtocolError) as refused:
        codec.Decoder(codec.BEFORE_HELLO).decode(codec.encode({"version": 1, **of}))
    assert len(str(refused.value)) < 700
    assert "expected one of" in str(refused.value) or "must be one of" in str(refused.value)


# -- what a name means -----------------------------------------------------------------------------


@pytest.mark.rule("S3.5")
@pytest.mark.parametrize("name", ["start", "step", "turn", "create", "message"])
def test_direction_and_role_say_what_a_frame_is(name: str) -> None:
    meant: dict[type[m.Message], list[Any]] = {}
    for union in (*codec.AT_BROKER.values(), *codec.AT_PEER.values()):
        for kind in get_args(union):
            if kind.__struct_config__.tag == name:
                meant.setdefault(kind, []).append(union)
    assert len(meant) > 1
    shown = [each.message for each in examples.valid()]
    for kind, unions in meant.items():
        frames = [codec.encode(each) for each in shown if type(each) is kind]
        assert frames, kind
        for union in unions:
            assert {type(codec.Decoder(union).decode(frame)) for frame in frames} == {kind}


# -- against msgpack -------------------------------------------------------------------------------


@given(VALUES)
@pytest.mark.learners
def test_msgpack_reads_what_the_codec_writes(value: Any) -> None:
    assert same(msgpack.unpackb(codec.encode(value)), value)


@given(VALUES)
@pytest.mark.learners
def test_the_codec_reads_what_msgpack_writes(value: Any) -> None:
    assert same(codec.decode(msgpack.packb(value)), value)


@given(VALUES, st.integers(0, 2**63 - 1), st.integers(0, 2**31))
@pytest.mark.learners
def test_payloads_pass_through_a_message_as_they_came(value: Any, episode: int, turn: int) -> None:
    frame = msgpack.packb(
        {
            "type": "turn",
            "episode": episode,
            "turn": turn,
            "to_act": [0],
            "seats": [{"seat": 0, "observation": value, "unknown": value}],
            "unknown": value,
        }
    )
    received = codec.Decoder[Any](m.FromEnvironment).decode(frame)
    assert type(received) is m.Turn
    passed_on = codec.encode(
        m.AgentStep(received.episode, 0, received.turn, observation=received.seats[0].observation)
    )
    sent = msgpack.unpackb(passed_on)
    assert same(sent["observation"], value)
    assert (sent["episode"], sent.get("turn", 0)) == (episode, turn)
    step = codec.Decoder[Any](m.ToAgent).decode(passed_on)
    assert same(step.observation, value)


@given(st.floats(width=32))
def test_floats_of_32_bits_are_read(value: float) -> None:
    frame = msgpack.Packer(use_single_float=True).pack({"type": "turn", "outcome": [value]})
    turn = codec.Decoder[Any](m.FromEnvironment).decode(frame)
    assert same(turn.outcome, [value])


def test_a_key_that_comes_twice_counts_as_it_came_last() -> None:
    frame = b"\x83\xa4type\xa4ping\xa6number\x01\xa6number\x02"
    assert codec.Decoder[Any](m.FromAgent).decode(frame) == m.Ping(2)


def test_a_type_that_comes_last_is_read() -> None:
    frame = msgpack.packb({"number": 3, "type": "ping"})
    assert codec.Decoder[Any](m.FromAgent).decode(frame) == m.Ping(3)


def test_defaults_that_are_sent_mean_the_same_as_defaults_that_are_left_out() -> None:
    decoder = codec.Decoder[Any](m.FromAgent)
    for kind in get_args(m.FromAgent):
        fields = {"role": "agent"} if kind is m.Hello else {}
        least = examples.minimal(kind, **fields)
        every = {
            "type": examples.tag(kind),
            **{name: getattr(least, name) for name in kind.__struct_fields__},
        }
        assert codec.encode(decoder.decode(codec.encode(every))) == codec.encode(least)


# -- values that cannot travel ---------------------------------------------------------------------


@pytest.mark.parametrize("value", [object(), 1j, {1, 2}.__iter__(), np.array(["a"])])
def test_a_value_that_cannot_travel_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot travel"):
        codec.encode(m.Action(1, 0, 0, value))


def test_numpy_scalars_travel_as_plain_numbers() -> None:
    assert codec.decode(codec.encode([np.int64(3), np.float32(0.5), np.bool_(True)])) == [
        3,
        0.5,
        True,
    ]


def test_opened_decodes_payloads_and_leaves_objects() -> None:
    array = np.arange(3)
    assert codec.opened(array) is array
    assert codec.opened(msgspec.Raw(codec.encode([1, "a"]))) == [1, "a"]
    assert codec.opened(m.NIL) is None


# -- rubbish ---------------------------------------------------------------------------------------


def code(decoder: codec.Decoder[Any], frame: bytes) -> str | None:
    """Return the code of the error that a frame gets; whatever is read can be written."""
    try:
        message = decoder.decode(frame)
    except ProtocolError as error:
        return error.code if str(error) else "no text"
    codec.encode(message)
    return None


def only_protocol_errors(frame: bytes) -> None:
    for decoder in DECODERS:
        assert code(decoder, frame) in (None, "malformed", "limit", "unknown-type", "invalid")


@given(st.binary(max_size=200))
@example(b"\x81\xc4\x01a\xc0")
@example(b"\xd6\xff\x00\x00\x00\x00")  # a time stamp
@example(b"\xc7\x0c\xff" + b"\xff" * 12)  # a time stamp out of range
@example(b"\x81\x90\xc0")
@example(b"\x81\x80\xc0")
@example(b"\x81\xc7\x0b\x01\x93\xa4int8\x91\x01\xc4\x01\x01\xc0")  # a tensor as a key
def test_random_bytes_raise_nothing_but_protocol_errors(frame: bytes) -> None:
    only_protocol_errors(frame)


@settings(max_examples=500)
@given(st.data())
@pytest.mark.learners
def test_mutated_frames_raise_nothing_but_protocol_errors(data: st.DataObject) -> None:
    frame = bytearray(data.draw(st.sampled_from(FRAMES)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, max(0, len(frame) - 1)))
        match data.draw(st.sampled_from(["set", "cut", "insert", "double"])):
            case "set" if frame:
                frame[place] = data.draw(st.integers(0, 255))
            case "cut":
                del frame[place : place + data.draw(st.integers(1, 8))]
            case "insert":
                frame[place:place] = data.draw(st.binary(min_size=1, max_size=8))
            case _:
                frame += frame[place:]
    only_protocol_errors(bytes(frame))


@pytest.mark.parametrize("depth", [33, 1_000, 200_000])
@pytest.mark.parametrize("opening", [b"\x91", b"\x81\xa1k", b"\xdd\x00\x00\x00\x01"])
def test_deep_nesting_is_refused(opening: bytes, depth: int) -> None:
    with pytest.raises(ProtocolError) as caught:
        codec.decode(opening * depth + b"\xc0")
    assert caught.value.code == "limit"


@pytest.mark.parametrize("where", ["alone", "in an array", "in an action", "in a name", "a tensor"])
@pytest.mark.parametrize("header", [0xC6, 0xC9, 0xDB, 0xDD, 0xDF])
def test_a_hostile_length_allocates_nothing(header: int, where: str) -> None:
    hostile = bytes([header]) + HUGE
    frame = {
        "alone": hostile,
        "in an array": b"\x92\x01" + hostile + b"\x00" * 100,
        "in an action": b"\x82\xa4type\xa6action\xa6action" + hostile,
        "in a name": b"\x82\xa4type\xa5hello\xa4name" + hostile,
        "a tensor": b"\x82\xa4type\xa6action\xa6action\xc7\x0c\x01\x93\xa4int8" + hostile + b"\x00",
    }[where]
    tracemalloc.start()
    try:
        only_protocol_errors(frame)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000


def test_a_frame_of_many_values_costs_no_more_than_its_size() -> None:
    decoder = codec.Decoder[Any](Any, m.Limits(elements=50_000))
    frame = b"\xdd\x00\x00\xc3\x50" + b"\xc0" * 50_000  # with the array itself, one too many
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError) as caught:
            decoder.decode(frame)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.code == "limit"
    assert peak < 2 * len(frame)


def _turn(**raw: bytes) -> bytes:
    pairs = [codec.encode("type"), codec.encode("turn")]
    for name, value in raw.items():
        pairs += [codec.encode(name), value]
    return bytes([0x80 + len(pairs) // 2]) + b"".join(pairs)


@pytest.mark.parametrize(
    ("raw", "code", "about"),
    [
        (
            {"episode": b"\x04", "turn": b"\x00", "terminated": b"\x01"},
            "invalid",
            {"episode": 4, "turn": 0},
        ),
        (
            {"episode": b"\x04", "id": b"\xc3", "match": b"\xa1x", "terminated": b"\x01"},
            "invalid",
            {"episode": 4},
        ),
        ({"episode": b"\x04", "seats": b"\xa2\xff\xff"}, "invalid", {"episode": 4}),
        ({"episode": b"\x04", "zzz": b"\xdc\x7f\xff" + b"\xc0" * 0x7FFF}, "limit", {"episode": 4}),
        (
            {"episode": b"\x04", "id": b"\xdd\x00\x10\x00\x00" + b"\x80" * 2**20},
            "limit",
            {"episode": 4},
        ),
        ({"episode": b"\x04", "id": b"\x91" * 100_000 + b"\xc0"}, "limit", {}),
        ({"id": b"\xdd\xff\xff\xff\xff"}, "malformed", {}),
        ({"id": b"\xc6\xff\xff\xff\xff"}, "malformed", {}),
    ],
)
def test_a_refusal_says_what_the_frame_was_about_and_costs_no_more_than_the_frame(
    raw: dict[str, bytes], code: str, about: dict[str, int]
) -> None:
    decoder = codec.Decoder[Any](m.FromEnvironment, m.Limits(elements=10_000))
    frame = _turn(**raw)
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError) as refused:
            decoder.decode(frame)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (refused.value.code, refused.value.about) == (code, about)
    assert peak < 2 * len(frame) + 100_000


def test_a_refusal_of_a_type_that_is_no_text_says_the_rest() -> None:
    frame = b"\x82" + codec.encode("type") + b"\xa2\xff\xff" + codec.encode("id") + b"\x05"
    with pytest.raises(ProtocolError) as refused:
        codec.Decoder[Any](m.FromEnvironment).decode(frame)
    assert (refused.value.kind, refused.value.about) == ("", {"id": 5})


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ({0: 1}, "keys of maps are text, not 0 (int)"),
        ({"a": [{"b": {None: 1}}]}, "keys of maps are text, not None"),
        ([{(1, 2): 1}], "keys of maps are text, not (1, 2)"),
        ({True: 1}, "keys of maps are text, not True (bool)"),
        ({b"a": 1}, "keys of maps are text, not b'a'"),
        ([datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)], "a datetime cannot travel"),
        ({"at": datetime.date(2026, 1, 1)}, "a date cannot travel"),
        (datetime.date(2026, 1, 1), "a date cannot travel"),
        (datetime.timedelta(1), "a timedelta cannot travel"),
    ],
)
def test_what_the_contract_has_no_form_for_is_not_sent_and_not_read(value: Any, wrong: str) -> None:
    """Python wrote maps whose keys no client in another language could read (S3.6)."""
    messages = [
        m.Turn(1, 0, [0], [m.View(0, value)]),
        m.Action(1, 0, 0, value),
        m.Reply(1, value),
        m.Run(1, "nim", ["taker"], configuration={"x": value}),
    ]
    for message in messages:
        with pytest.raises(TypeError, match=re.escape(wrong)):
            codec.own(message)
    if "a date " not in wrong and "delta" not in wrong:  # text to the encoder
        with pytest.raises(ProtocolError, match=r"keys of maps|cannot travel") as refused:
            codec.opened(msgspec.Raw(codec.encode(value)))
        assert refused.value.code == "invalid"


def test_tuples_nil_and_nested_maps_are_sent() -> None:
    value = {"a": (1, None, {"b": [0.5, np.float32(1)]})}
    frame = codec.own(m.Action(1, 0, 0, value))
    assert codec.decode(frame)["action"] == {"a": [1, None, {"b": [0.5, 1.0]}]}


@pytest.mark.parametrize("count", [0, 15, 16, 65_535, 65_536])
def test_the_head_of_an_array_is_the_one_of_msgpack(count: int) -> None:
    assert codec.array_head(count) == msgpack.Packer().pack_array_header(count)


SHAPES = st.lists(st.integers(0, 4), max_size=4)


def read(frame: bytes) -> Any:
    """Return the array of a frame; None if it is malformed, the only error there may be."""
    try:
        return codec.decode(frame)
    except ProtocolError as error:
        if error.code != "malformed":
            raise
        return None


@pytest.mark.parametrize("name", tensors.DTYPES)
@given(shape=SHAPES, data=st.data())
def test_every_dtype_goes_there_and_back(name: str, shape: list[int], data: st.DataObject) -> None:
    dtype = np.dtype(name)
    size = int(np.prod(shape)) * dtype.itemsize
    raw = data.draw(st.binary(min_size=size, max_size=size))
    array = np.frombuffer(raw, np.uint8)
    array = (array % 2 if name == "bool" else array).view(dtype).reshape(shape)
    back = codec.decode(codec.encode(array))
    assert back.dtype == dtype
    assert back.shape == tuple(shape)
    assert back.tobytes() == array.tobytes()


def test_the_bytes_are_little_endian_and_in_c_order() -> None:
    array = np.array([[1, 2], [3, 4]], ">i2").T  # big-endian, columns first
    extension = msgpack.unpackb(codec.encode(array))
    assert extension.code == 1
    assert msgpack.unpackb(extension.data) == ["int16", [2, 2], struct.pack("<4h", 1, 3, 2, 4)]


def test_a_part_of_an_array_travels_alone() -> None:
    array = np.arange(12, dtype=np.int32).reshape(3, 4)[::2, 1::2]
    assert codec.decode(codec.encode(array)).tolist() == [[1, 3], [9, 11]]


def test_a_decoded_array_is_read_only() -> None:
    array = codec.decode(codec.encode(np.zeros(3)))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1.0


def test_the_example_of_the_spec() -> None:
    frame = bytes.fromhex("c70c 01 93 a4696e7438 9102 c4020102")
    assert codec.encode(np.array([1, 2], np.int8)) == frame
    assert codec.decode(frame).tolist() == [1, 2]


@pytest.mark.parametrize(
    "array",
    [
        np.array(["a"]),
        np.array([object()]),
        np.array([1j]),
        np.array(["2026-01-01"], "datetime64[D]"),
        np.zeros(2, [("x", "i4")]),
        np.zeros((1,) * 33),
        np.ma.array([1, 2], mask=[False, True]),
    ],
)
def test_other_arrays_cannot_travel(array: Any) -> None:
    with pytest.raises(TypeError, match="cannot travel"):
        codec.encode(array)


@given(st.binary(max_size=60))
def test_random_payloads_are_arrays_or_value_errors(payload: bytes) -> None:
    frame = msgpack.packb(msgpack.ExtType(1, payload))
    array = read(frame)
    assert array is None or isinstance(array, np.ndarray)


@given(
    st.sampled_from([*tensors.DTYPES, "complex64", "object", "O", "<i4", ""]),
    st.lists(st.integers(-2, 2**64 - 1) | st.integers(0, 3), max_size=40),
    st.binary(max_size=16),
)
def test_a_tensor_that_contradicts_itself_is_malformed(
    name: str, shape: list[int], data: bytes
) -> None:
    frame = msgpack.packb(msgpack.ExtType(1, msgpack.packb([name, shape, data])))
    dtype = tensors.DTYPES.get(name)
    array = read(frame)
    if array is not None:
        assert dtype is not None
        assert list(array.shape) == shape
        assert array.nbytes == len(data)
