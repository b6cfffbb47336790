"""SPEC.md, schema.json, vectors and the Python types say the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import msgpack
import msgspec
import numpy as np
import pytest

import dovetail_generate as generate
from dovetail.broker.core.core import Core, Settings
from dovetail.conform import run as kit
from dovetail.conform.reading import reading
from dovetail.peer.session import Session
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import Code, ProtocolError
from dovetail.protocol.journal import AnyRecord
from dovetail.protocol.seeds import derive
from dovetail_generate import document, examples
from dovetail_generate.model import contract

FOLDER = Path(__file__).resolve().parents[2] / "protocol"
DOCUMENTS = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
SPEC = DOCUMENTS["SPEC.md"]
SCHEMA = json.loads((FOLDER / "schema.json").read_text(encoding="utf-8"))
VALID = json.loads((FOLDER / "vectors" / "valid.json").read_text(encoding="utf-8"))
MALFORMED = json.loads((FOLDER / "vectors" / "malformed.json").read_text(encoding="utf-8"))


def named(entries: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(each, id=each["name"].replace(" ", "-")) for each in entries]


def union(vector: dict[str, Any]) -> Any:
    sender, receiver = vector["direction"].split(" to ")
    return codec.AT_BROKER[sender] if receiver == "broker" else codec.AT_PEER[receiver]


def value(json_reading: Any) -> Any:
    """Return what ``msgpack`` writes for a reading; made without Dovetail's own code."""
    match json_reading:
        case {"$bytes": digits}:
            return bytes.fromhex(digits)
        case {"$float": text}:
            return float(text)
        case {"$extension": {"code": code, "data": digits}}:
            return msgpack.ExtType(code, bytes.fromhex(digits))
        case {"$tensor": {"dtype": dtype, "shape": shape, "data": data}}:
            elements = np.array([value(each) for each in data], np.dtype(dtype).newbyteorder("<"))
            return msgpack.ExtType(1, msgpack.packb([dtype, shape, elements.tobytes()]))
        case dict():
            return {key: value(each) for key, each in json_reading.items()}
        case list():
            return [value(each) for each in json_reading]
    return json_reading


# -- what is generated -----------------------------------------------------------------------------


def test_generated_files_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert generate.main(["--check"]) == 0, capsys.readouterr().out


def test_a_lost_block_of_the_spec_is_noticed() -> None:
    with pytest.raises(ValueError, match="accepted"):
        document.document("protocol/SPEC.md", SPEC.replace("<!-- generated: accepted -->", ""))


def test_every_error_code_is_in_the_spec() -> None:
    section = SPEC.split("## 12. Errors")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `([a-z-]+)` \|", section, re.MULTILINE)) == set(get_args(Code))


def test_every_reason_is_in_the_spec() -> None:
    section = SPEC.split("### Ends")[1].split("*Forfeit*")[0]
    assert set(re.findall(r"^\| `([a-z-]+)` \|", section, re.MULTILINE)) == set(get_args(m.Reason))


def test_every_record_of_the_journal_is_in_the_spec() -> None:
    appendix = DOCUMENTS["JOURNAL.md"]
    for kind in get_args(AnyRecord):
        assert f"`record` = `{kind.__struct_config__.tag}`" in appendix
        for field in msgspec.structs.fields(kind):
            assert f"| `{field.encode_name}` |" in appendix


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^a-z0-9 _-]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("name", list(DOCUMENTS))
def test_every_link_leads_somewhere(name: str) -> None:
    for link in re.findall(r"\]\(([^)]*)\)", DOCUMENTS[name]):
        if link.startswith("https://"):
            continue
        file, _, anchor = link.partition("#")
        assert not file or (FOLDER / file).is_file(), link
        if anchor:
            text = (FOLDER / file).read_text(encoding="utf-8") if file else DOCUMENTS[name]
            assert anchor in anchors(text), link


def heading(kind: type) -> str:
    """Return the heading of a message in MESSAGES.md."""
    return document._heading(contract().record(kind.__name__))


def test_every_message_type_is_described() -> None:
    for _, _, kinds in examples.directions():
        for kind in kinds:
            assert f"\n### {heading(kind)}\n" in DOCUMENTS["MESSAGES.md"]


def test_every_numbered_message_is_called_so() -> None:
    for kind in get_args(m.Numbered):
        about = DOCUMENTS["MESSAGES.md"].split(f"\n### {heading(kind)}\n")[1]
        assert re.match(r"\n\*.*broker → [a-z ]*, numbered\.\*", about), kind


RULE = re.compile(r"S\d+\.\d+")
TESTS = Path(__file__).parents[1]
RULES = re.findall(r"^\*\*\[(S\d+\.\d+)\]\*\*", SPEC, re.MULTILINE)


def test_rules_are_numbered_in_order() -> None:
    for section in re.split(r"\n## ", SPEC)[1:]:
        number = section.split(".")[0]
        found = re.findall(r"^\*\*\[(S\d+\.\d+)\]\*\*", section, re.MULTILINE)
        assert found == [f"S{number}.{place}" for place in range(1, len(found) + 1)]
    assert len(RULES) > 70


def test_what_binds_has_a_number() -> None:
    """Text of a section after its first rule belongs to the rule before it; nothing comes before
    that."""
    for section in re.split(r"\n## ", SPEC)[1:]:
        number = int(section.split(".")[0])
        if number <= 2:
            continue
        before = (
            section[: section.index(f"**[S{number}.1]**")]
            if f"**[S{number}.1]**" in section
            else section
        )
        assert not re.search(r"\b(must|should)\b", before), section.splitlines()[0]
    for name in ("Clocks", "Ends", "Lookahead", "Lost programs", "Clocks and pace of a watcher"):
        begins = SPEC.split(f"\n### {name}\n\n")[1]
        assert begins.startswith("**[S"), name


def test_every_rule_that_is_named_exists() -> None:
    for name, text in DOCUMENTS.items():
        assert set(re.findall(r"\bS\d+\.\d+\b", text)) <= {*RULES}, name


def test_the_kit_names_rules_and_tries_what_binds_peers() -> None:
    named = {rule for cases in kit.CASES.values() for each in cases for rule in each.rules.split()}
    assert named <= {*RULES}
    assert {*RULES} - named == BROKERS, "the rules that no case of the kit names"


BROKERS = {
    *("S3.5", "S3.8", "S3.10"),
    *("S4.4", "S4.5", "S4.7", "S4.10", "S4.12"),
    *("S6.3", "S6.5", "S6.6", "S6.12", "S6.13", "S6.18", "S6.19"),
    *("S7.8", "S7.9", "S7.12", "S7.14", "S7.15", "S7.17", "S7.18"),
    *("S8.5", "S8.6", "S8.7", "S8.8"),
    *("S10.1", "S11.3", "S11.4", "S12.4"),
    *("S13.1", "S13.2", "S13.3", "S13.4", "S13.5", "S14.1", "S15.2"),
    *("S16.2", "S16.6", "S16.8", "S16.9"),
}
"""Rules that the broker keeps; this repository's own tests try them."""


def test_every_rule_is_tried_by_the_kit_or_by_a_test() -> None:
    kits = {rule for cases in kit.CASES.values() for each in cases for rule in each.rules.split()}
    marks = re.compile(r"@pytest\.mark\.rule\(([^)]*)\)")
    texts = [path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")]
    tests = {each for text in texts for mark in marks.findall(text) for each in RULE.findall(mark)}
    assert {*RULES} == kits | tests, "name them with @pytest.mark.rule"


def test_limits_in_the_spec_are_the_default_ones() -> None:
    limits = m.Limits()
    section = SPEC.split("## 11. Limits")[1].split("\n## ")[0]
    for number in (limits.frame, limits.depth, limits.elements):
        assert f"{number:,}" in section


# -- valid vectors ---------------------------------------------------------------------------------


def test_every_message_type_has_a_least_and_a_full_vector() -> None:
    names = {each["name"] for each in VALID["messages"]}
    for sender, receiver, kinds in examples.directions():
        for kind in kinds:
            for what in ("minimal", "full"):
                assert f"{sender} to {receiver}: {examples.tag(kind)}, {what}" in names


def test_full_vectors_have_every_field() -> None:
    for each in examples.valid():
        if each.name.endswith(", full"):
            sent = codec.decode(codec.encode(each.message)).keys()
            for field in msgspec.structs.fields(type(each.message)):
                always_default = isinstance(each.message, m.Welcome) and field.name == "version"
                assert field.encode_name in sent or always_default, (each.name, field.name)


@pytest.mark.parametrize("vector", named(VALID["messages"]))
def test_a_valid_vector_is_read_and_written(vector: dict[str, Any]) -> None:
    frame = bytes.fromhex(vector["hex"])
    message: m.Message = codec.Decoder(union(vector)).decode(frame)
    assert examples.tag(type(message)) == vector["type"] == vector["json"]["type"]
    assert codec.encode(message) == frame
    assert reading(codec.decode(frame)) == vector["json"]
    for field in msgspec.structs.fields(type(message)):
        if field.encode_name in vector["json"]:
            held = codec.decode(codec.encode(getattr(message, field.name)))
            assert reading(held) == vector["json"][field.encode_name]


@pytest.mark.parametrize("vector", named(VALID["values"]))
def test_a_valid_value_is_read_and_written(vector: dict[str, Any]) -> None:
    frame = bytes.fromhex(vector["hex"])
    held = codec.decode(frame)
    assert reading(held) == vector["json"]
    assert codec.encode(held) == frame


@pytest.mark.parametrize("vector", named(VALID["messages"]))
def test_what_msgpack_writes_is_read_as_the_same_message(vector: dict[str, Any]) -> None:
    # Not the same bytes: a map may have a longer header than it needs.
    frame = msgpack.packb(value(vector["json"]))
    assert codec.encode(codec.Decoder(union(vector)).decode(frame)).hex() == vector["hex"]


@pytest.mark.parametrize("vector", named(VALID["values"]))
def test_msgpack_writes_values_as_the_same_bytes(vector: dict[str, Any]) -> None:
    assert msgpack.packb(value(vector["json"])).hex() == vector["hex"]


@pytest.mark.parametrize("vector", named(VALID["messages"]))
def test_a_valid_vector_fits_the_schema(vector: dict[str, Any]) -> None:
    schema = SCHEMA["directions"][vector["direction"]]
    assert fits(vector["json"], schema), vector["json"]


def test_the_schema_refuses_what_the_types_refuse() -> None:
    schema = SCHEMA["directions"]["agent to broker"]
    good = {"type": "action", "episode": 1, "turn": 0, "seat": 0, "action": 3}
    assert fits(good, schema)
    bad: dict[str, Any] | list[Any]
    for bad in (
        {**good, "type": "dance"},
        {**good, "seat": "0"},
        {**good, "turn": 0.5},
        {key: each for key, each in good.items() if key != "episode"},
        {"type": "ping", "number": -1},
        [],
    ):
        assert not fits(bad, schema)
        with pytest.raises(ProtocolError):
            codec.Decoder(codec.AT_BROKER["agent"]).decode(msgpack.packb(bad))


def fits(held: Any, schema: dict[str, Any]) -> bool:
    """Return whether a reading fits a schema; the keywords are those that schema.json uses."""
    kinds = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": int | float,
        "boolean": bool,
        "null": type(None),
    }
    for keyword, rule in schema.items():
        match keyword:
            case "$ref":
                fine = fits(held, SCHEMA["$defs"][rule.removeprefix("#/$defs/")])
            case "anyOf":
                fine = any(fits(held, each) for each in rule)
            case "type":
                fine = isinstance(held, kinds[rule])
                fine = fine and (rule == "boolean" or not isinstance(held, bool))
            case "enum":
                fine = held in rule
            case "const":
                fine = held == rule
            case "required":
                fine = isinstance(held, dict) and all(key in held for key in rule)
            case "properties":
                fine = isinstance(held, dict)
                fine = fine and all(fits(held[k], each) for k, each in rule.items() if k in held)
            case "additionalProperties":
                known = schema.get("properties", {})
                rest = [each for key, each in held.items() if key not in known]
                fine = not rest if rule is False else all(fits(each, rule) for each in rest)
            case "prefixItems":
                fine = all(map(fits, held, rule))
            case "items":
                later = held[len(schema.get("prefixItems", [])) :]
                fine = not later if rule is False else all(fits(each, rule) for each in later)
            case "minItems":
                fine = len(held) >= rule
            case "maxItems":
                fine = len(held) <= rule
            case "minimum":
                fine = held >= rule
            case "maximum":
                fine = held <= rule
            case "exclusiveMinimum":
                fine = held > rule
            case "pattern":
                fine = re.search(rule, held) is not None
            case "title" | "description" | "default" | "discriminator":
                fine = True
            case _:
                raise NotImplementedError(keyword)
        if not fine:
            return False
    return True


# -- malformed vectors -----------------------------------------------------------------------------


def test_malformed_vectors_show_what_a_codec_can_refuse() -> None:
    codes = {each["code"] for each in MALFORMED["malformed"]}
    assert codes >= {
        *("malformed", "limit", "unknown-type", "invalid", "hello-first", "version"),
        "wrong-state",
    }


@pytest.mark.parametrize("vector", named(MALFORMED["malformed"]))
def test_a_malformed_vector_gets_its_error(vector: dict[str, Any]) -> None:
    frame = bytes.fromhex(vector["hex"])
    if vector["receiver"] == "broker":
        limits = msgspec.convert(vector.get("limits", {}), m.Limits)
        answers = told_by_broker(vector["from"], frame, limits)
    else:
        session = Session(m.Hello(m.VERSION, vector["receiver"]))
        messages, frames = session.receive([frame], 0.0)
        assert messages == []
        answers = [codec.Decoder(m.FromEnvironment).decode(each) for each in frames]
    assert [type(each) for each in answers] == [m.Error]
    assert answers[0].code == vector["code"]
    assert answers[0].message
    assert "\n" not in answers[0].message


def told_by_broker(role: Any, frame: bytes, limits: m.Limits) -> list[Any]:
    core = Core(Settings(limits=limits), b"")
    accepts = codec.BEFORE_HELLO
    if role in codec.AT_BROKER:
        accepts = codec.AT_BROKER[role]
        core.receive("here", m.Hello(m.VERSION, role), 0.0)
        core.take()
    try:
        core.receive("here", codec.Decoder(accepts, limits).decode(frame), 1.0)
    except ProtocolError as error:
        core.refuse("here", error, 1.0)
    _, out = core.take()
    assert all(connection == "here" for connection, _ in out)
    return [message for _, message in out]


# -- the worked exchange ---------------------------------------------------------------------------


def test_the_broker_says_its_part_of_the_worked_exchange() -> None:
    core = Core(Settings(), examples.EXCHANGE_SECRET)
    said: list[tuple[str, bytes]] = []
    expected: list[tuple[str, bytes]] = []
    now = 0.0
    for place, (sender, receiver, message) in enumerate(examples.exchange()):
        frame = codec.encode(message)
        if receiver != "broker":
            expected.append((receiver, frame))
            continue
        assert said == expected, f"before message {place + 1}"
        decoder: codec.Decoder[m.Message] = codec.Decoder(codec.AT_BROKER[sender])
        core.receive(sender, decoder.decode(frame), now)
        now += 0.25
        _, out = core.take()
        said += [(str(connection), codec.encode(answer)) for connection, answer in out]
    assert said == expected


def test_the_broker_says_its_part_when_a_connection_is_lost() -> None:
    """In the second exchange; what others than the agent hear is as in the first."""
    core = Core(Settings(), examples.EXCHANGE_SECRET)
    now, address = 0.0, "agent"
    said: list[bytes] = []
    expected: list[bytes] = []

    def heard() -> None:
        said.extend(
            codec.encode(each) for connection, each in core.take()[1] if connection == address
        )

    for sender, receiver, message in examples.interrupted():
        now += 0.25
        if isinstance(message, str):
            core.lost(address, now)
            address = "agent again"
        elif receiver == "broker":
            assert said == expected
            decoder: codec.Decoder[m.Message] = codec.Decoder(codec.AT_BROKER[sender])
            source = address if sender == "agent" else sender
            core.receive(source, decoder.decode(codec.encode(message)), now)
            heard()
        elif receiver == "agent":
            if isinstance(message, m.Ping):
                core.tick(now)
                heard()
            expected.append(codec.encode(message))
    assert said == expected


def test_the_seeds_in_the_spec_are_right() -> None:
    for master, word, number, seed in re.findall(
        r'`derive\((\d+), "(\w+)", (\d+)\)` is (\d+)', SPEC
    ):
        assert derive(int(master), word, int(number)) == int(seed)
    [seat] = re.findall(r'`derive\(derive\(1, "agents"\), "seat", 0, 1\)` is (\d+)', SPEC)
    assert derive(derive(1, "agents"), "seat", 0, 1) == int(seat)
