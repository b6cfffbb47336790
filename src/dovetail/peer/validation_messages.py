"""Readable validation errors of files and options: place, expectation, suggestion."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from dovetail.peer.config_location import ConfigSource, Step
from dovetail.protocol.validation_errors import unfolded

_PLACE = re.compile(r" - at `(?:key in )?\$(.*?)`$")
_UNKNOWN = re.compile(r"unknown field `(.*?)`")
_MISSING = re.compile(r"missing required field `(.*?)`")
_EXPECTED = re.compile(r"^Expected `(.*?)`(?: ([^,]*?))?(?:, (?:got|not) `(.*?)`)?$")

_WORDS = {
    "int": "an integer",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}
_NAMES = {
    int: "an integer",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
    NoneType: "nothing",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """The complaint of a validator."""

    steps: tuple[Step, ...]
    """The place: keys of tables and indices of lists."""
    subject: tuple[Step, ...]
    """The subject of the sentence: the same place, or the table with an unknown or missing key."""
    text: str
    """The rest of the sentence, such as ``must be an integer, not 'five'``."""
    hint: str = ""
    """The form of the value outside a file, such as on the command line."""


def explained(
    error: msgspec.ValidationError,
    kind: type[Struct],
    table: Mapping[str, Any],
    source: ConfigSource,
    more: Iterable[str] = (),
) -> str:
    """Return a validator's error as one line: the file, its line, the place, the expectation.

    Args:
        error: the error of ``msgspec.convert(table, kind)``.
        kind: the expected struct.
        table: the contents of the file.
        source: the file, to find the line.
        more: keys that are allowed in addition to those of ``kind``.
    """
    found = problem(error, kind, table, more)
    hint = found.hint if source.overridden(*found.steps) else ""
    return f"{source.at(*found.steps)}: {_dotted(found.subject, 'the file')}{found.text}{hint}"


def problem(
    error: msgspec.ValidationError,
    kind: type[Struct],
    table: Mapping[str, Any],
    more: Iterable[str] = (),
) -> Problem:
    """Explain an error of ``msgspec.convert(table, kind)``; ``more`` as for ``explained``."""
    text = str(error)
    found = _PLACE.search(text)
    what = text[: found.start()] if found else text
    steps = _named(_steps(found[1] if found else ""), table, kind)
    unknown, missing, expected = (each.search(what) for each in (_UNKNOWN, _MISSING, _EXPECTED))
    whole = _type(kind, steps)
    kinds = unfolded(whole)
    structs = [each for each in kinds if _is_struct(each)]
    fields = [field.encode_name for each in structs[:1] for field in msgspec.structs.fields(each)]
    options = [
        str(word) for each in kinds if get_origin(each) is Literal for word in get_args(each)
    ]
    if unknown is not None:
        fields += [] if steps else more
        hint = meant(unknown[1], fields) or f"; there are {', '.join(fields)}"
        return Problem((*steps, unknown[1]), steps, f" has no key {unknown[1]!r}{hint}")
    if missing is not None:
        return Problem(steps, steps, f" needs {missing[1]!r}{_neighbour(steps, table, kind)}")
    value = _value(table, steps)
    if expected is not None:
        listed, condition, got = expected.groups()
        names = listed.split(" | ")
        inner = [get_args(each)[0] for each in kinds if get_origin(each) is list]
        tables = any(_is_struct(part) for each in inner for part in unfolded(each))
        if names == ["array"] and isinstance(value, dict) and tables:
            place = ".".join(str(each) for each in steps if isinstance(each, str))
            return Problem(steps, steps, f" must be a list of tables; write [[{place}]]")
        if condition is not None and (form := _form(whole)):
            return Problem(steps, steps, f" must be {form}, not {value!r}")
        if names == ["str"] and options:
            wanted = f"one of {', '.join(options)}"
        else:
            wanted = " or ".join(
                quoted
                for each in names
                for quoted in (
                    map(repr, options) if each == "str" and options else [_WORDS.get(each, each)]
                )
            )
        known = value is not None or got == "null"
        shown = f", not {value!r}" if known else f", not {_WORDS.get(got, got)}"
        said = f" must be {wanted}{f' {condition}' if condition else ''}"
        hint = _as_json(value, names, fields) if isinstance(value, str) else ""
        return Problem(steps, steps, f"{said}{shown if len(shown) < 80 else ''}", hint)
    if what.startswith("Invalid enum") and options:
        others = [_NAMES[each] for part in kinds if (each := get_origin(part) or part) in _NAMES]
        if others:
            said = " or ".join([*map(repr, options), *others])
        else:
            said = f"one of {', '.join(options)}"
        return Problem(steps, steps, f" must be {said}, not {value!r}{meant(str(value), options)}")
    return Problem(steps, steps, f": {what}")


def _as_json(text: str, wanted: Sequence[str], keys: Sequence[str]) -> str:
    """Return how to write a list or table in JSON, if text was given for one.

    >>> _as_json("3,4", ["array"], [])
    '; write it as JSON, e.g. [3,4]'
    >>> _as_json("{decision=1.0}", ["object"], ["decision", "episode"])
    '; write it as JSON, e.g. {"decision": VALUE}'
    """
    if "array" in wanted:
        example = f"[{text}]" if len(text) < 60 else ""
        try:
            msgspec.json.decode(example)
        except msgspec.DecodeError:
            example = "[1, 2]"
    elif "object" in wanted:
        example = f'{{"{keys[0] if keys else "KEY"}": VALUE}}'
    else:
        return ""
    return f"; write it as JSON, e.g. {example}"


def meant(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'hidden'?`` if a known name is close; empty if none is.

    >>> meant("hiden", ["epsilon", "hidden"])
    "; did you mean 'hidden'?"
    """
    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def among(name: str, known: Iterable[str], there: str) -> str:
    """Return a suggestion, if a known name is close, and ``there``.

    >>> among("hiden", ["epsilon", "hidden"], "it has epsilon, hidden")
    "; did you mean 'hidden'? it has epsilon, hidden"
    """
    return f"{meant(name, known) or ';'} {there}"


def _neighbour(steps: tuple[Step, ...], table: Mapping[str, Any], kind: type[Struct]) -> str:
    """Return a suggestion from the other names of a table with free keys."""
    if not steps or get_origin(_type(kind, steps[:-1])) is not dict:
        return ""
    others = [each for each in _value(table, steps[:-1]) if each != steps[-1]]
    return meant(str(steps[-1]), others)


def _steps(place: str) -> list[Step]:
    parts = re.findall(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]", place)
    return [int(number) if number.isdecimal() else name or number for name, number in parts]


def _named(steps: list[Step], table: Mapping[str, Any], kind: type[Struct]) -> tuple[Step, ...]:
    """Replace each ``...``, the validator's word for a free key, by the key that is wrong."""
    done: tuple[Step, ...] = ()
    for step in steps:
        if step == "...":
            inside = _value(table, done) or {}
            wrong = (key for key, each in inside.items() if _wrong(kind, (*done, key), each))
            step = next(wrong, step)
        done = (*done, step)
    return done


def _wrong(kind: type[Struct], steps: tuple[Step, ...], value: Any) -> bool:
    try:
        msgspec.convert(value, _type(kind, steps))
    except msgspec.ValidationError:
        return True
    return False


def _type(kind: Any, steps: tuple[Step, ...]) -> Any:
    for step in steps:
        for each in unfolded(kind):
            if _is_struct(each):
                found = {f.encode_name: f.type for f in msgspec.structs.fields(each)}
                if step in found:
                    kind = found[str(step)]
                    break
            elif get_origin(each) is dict:
                kind = get_args(each)[1]
                break
            elif get_origin(each) is list and isinstance(step, int):
                kind = get_args(each)[0]
                break
        else:
            return Any
    return kind


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _form(kind: Any) -> str:
    """Return the form of a text, if its annotation has ``extra={"form": ...}``."""
    for each in (kind, *get_args(kind)):  # of a union, an alternative may have it
        for meta in getattr(each, "__metadata__", ()):
            if isinstance(meta, Meta) and meta.extra and "form" in meta.extra:
                return str(meta.extra["form"])
    return ""


def _value(table: Any, steps: tuple[Step, ...]) -> Any:
    for step in steps:
        try:
            table = table[step]
        except (LookupError, TypeError):
            return None
    return table


def _dotted(steps: tuple[Step, ...], none: str) -> str:
    """Return a place in the file's notation: ``[[phases]] number 1, episodes``."""
    if not steps:
        return none
    words: list[str] = []
    rest = list(steps)
    if len(rest) > 1 and isinstance(rest[1], int):
        words.append(f"[[{rest[0]}]] number {rest[1] + 1}")
        rest = rest[2:]
    elif len(rest) > 1 and rest[0] in ("agents", "keys"):
        words.append(f"[{rest[0]}.{rest[1]}]")
        rest = rest[2:]
    elif len(rest) > 2:
        words.append(f"[{rest[0]}]")
        rest = rest[1:]
    if rest:
        words.append(".".join(map(str, rest)))
    return ", ".join(words)
