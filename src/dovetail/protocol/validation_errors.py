"""Errors about frames in the contract's words; msgspec's are about Python types."""

from __future__ import annotations

import re
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

DELIMITER = (
    "an empty frame; each part of a ZeroMQ message is a message, so send no delimiter (S3.3)"
)

MAX_QUOTED = 40
"""Maximum characters of a frame's text that an error quotes."""

_PLACE = re.compile(r" - at (?:`(?P<key>key)` in )?`\$\.?(?P<path>.*?)`$", re.DOTALL)
_EXPECTED = re.compile(
    r"Expected `(?P<kinds>[^`]*)`(?: (?P<sign>[<>]=?) (?P<bound>\S+?))?"
    r"(?: of (?P<length>(?:at (?:most|least) )?length \d+))?(?:, got `?(?P<got>[^`]*)`?)?$"
)
_MISSING = re.compile(r"Object missing required field `(.*)`$")
_WORDS = {
    "int": "an integer",
    "float": "a number",
    "str": "text",
    "bool": "a boolean",
    "bytes": "binary",
    "array": "an array",
    "object": "a map",
    "null": "nil",
    "None": "nil",
    "ext": "a tensor or another extension",
    "datetime": "a time stamp",
}
_GOT = {**_WORDS, "float": "a float"}
_SIGNS = {">=": "≥", "<=": "≤", ">": ">", "<": "<"}


def invalid(text: str, kind: str, accepts: Any) -> str:
    """Return the error for a frame that is not a valid message of its type.

    Args:
        text: msgspec's error.
        kind: the frame's ``type``; empty if it has none.
        accepts: the messages that the reader accepts.
    """
    at = _PLACE.search(text)
    what = text[: at.start()] if at else text
    path = at["path"] if at else ""
    where = f"`{kind[:MAX_QUOTED]}`" if kind else "the message"
    if path:
        where = f"`{path}` of {where}"
    if at is not None and at["key"]:
        got = _EXPECTED.match(what)
        shown = f"is {_word(got['got'], _GOT)}" if got and got["got"] else "is not text"
        return f"{where} has a key that {shown}; keys of maps are text (S3.6)"
    if missing := _MISSING.match(what):
        return f"{where} needs `{missing[1]}`"
    if expected := _EXPECTED.match(what):
        if not path and not kind:
            wanted = "a frame must be a map with a `type` (S3.3)"
        else:
            wanted = f"{where} must be {_wanted(expected)}"
        came = expected["got"]
        return f"{wanted}, not {_word(came, _GOT)}" if came else wanted
    if what.startswith("Invalid "):
        words = _options(accepts, kind, path)
        given = what.partition(" '")[2].rstrip("'")
        wanted = f"one of {', '.join(words)}" if words else "a word of the contract"
        return f"{where} must be {wanted}, not {_short(given)}"
    return f"{where}: {what[:1].lower()}{what[1:]}"


def unknown_type(text: str, kind: str, accepts: Any) -> str:
    """Return the error for a frame's ``type``; arguments as for ``invalid``."""
    tags = sorted(map(_tag, get_args(accepts)))
    known = ", ".join(tags)
    if "missing required" in text:
        return f"the frame has no `type` (S3.3); expected one of {known}"
    if not kind:
        return f"`type` must be text (S3.3); expected one of {known}"
    if kind in tags:
        return "the frame has two different `type` keys (S3.6); expected one"
    return f"{_short(kind)} is not a message that may be sent here (S9.1); expected one of {known}"


def malformed(text: str, frame: bytes) -> str:
    """Return the error for a frame that is not one well-formed MessagePack value."""
    if not frame:
        return DELIMITER
    if text == "Input data was truncated":
        return f"the frame of {len(frame):,} bytes ends inside a value"
    if "trailing characters" in text:
        return "the frame continues after its value; each frame is one message (S3.3)"
    if text.startswith("'utf-8'"):
        return "a text is not UTF-8"
    return text.removeprefix("MessagePack data is malformed: ") or "not MessagePack"


def _short(text: str) -> str:
    return repr(text) if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]!r}..."


def _word(name: str, words: dict[str, str]) -> str:
    return words.get(name, name)


def _wanted(found: re.Match[str]) -> str:
    kinds = found["kinds"].split(" | ")
    words = [_word(each, _WORDS) for each in kinds]
    wanted = " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
    if found["sign"]:
        bound = found["bound"].removesuffix(".0") if "float" in kinds else found["bound"]
        return f"{wanted} {_SIGNS[found['sign']]} {bound}"
    if found["length"]:
        return f"{wanted} of {found['length']}"
    return wanted


def _tag(kind: type[msgspec.Struct]) -> str:
    tag = kind.__struct_config__.tag
    return tag if isinstance(tag, str) else kind.__name__


def unfolded(kind: Any) -> list[Any]:
    """Return the alternatives of an annotation."""
    if hasattr(kind, "__metadata__"):
        return unfolded(kind.__origin__)
    if isinstance(kind, UnionType) or get_origin(kind) is Union:
        return [each for part in get_args(kind) for each in unfolded(part)]
    return [kind]


def _options(accepts: Any, kind: str, path: str) -> list[str]:
    """Return the words that are allowed at a place of a message."""
    here = [each for each in unfolded(accepts) if accepts is not Any and _tag(each) == kind]
    for step in re.findall(r"[^.\[\]]+", path):
        following: list[Any] = []
        for each in here:
            if isinstance(each, type) and issubclass(each, msgspec.Struct):
                config = each.__struct_config__
                if step == config.tag_field:
                    return [_tag(other) for other in here if isinstance(other, type)]
                for field in msgspec.structs.fields(each):
                    if field.encode_name == step:
                        following += unfolded(field.type)
            else:
                following += [part for item in get_args(each) for part in unfolded(item)]
        here = following
    return [str(word) for each in here if get_origin(each) is Literal for word in get_args(each)]
