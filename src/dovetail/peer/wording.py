"""Says what is wrong with a file in the words of its reader: where, in which line, what was meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
from msgspec import Struct

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


def explained(
    error: msgspec.ValidationError, kind: type[Struct], table: Mapping[str, Any], path: Path
) -> str:
    """Return a validator's error in one line: the file, its line, the place, what was expected.

    Args:
        error: of ``msgspec.convert(table, kind)``.
        kind: what the table should have been.
        table: the file.
        path: of the file, to find the line.
    """
    text = str(error)
    found = _PLACE.search(text)
    steps = _steps(found[1] if found else "")
    what = text[: found.start()] if found else text
    steps = _named(steps, table, kind)
    fields = _fields(kind, steps, table)
    unknown, missing, expected = (each.search(what) for each in (_UNKNOWN, _MISSING, _EXPECTED))
    if unknown is not None:
        close = difflib.get_close_matches(unknown[1], fields, 1)
        meant = f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(fields)}"
        steps = [*steps, unknown[1]]
        said = f"{_dotted(steps[:-1], 'the file')} has no key {unknown[1]!r}{meant}"
    elif missing is not None:
        said = f"{_dotted(steps, 'the file')} needs {missing[1]!r}"
    elif expected is not None:
        kinds, condition, got = expected.groups()
        value = _value(table, steps)
        wanted = " or ".join(_WORDS.get(each, each) for each in kinds.split(" | "))
        more = f" {condition.replace('that', 'that').strip()}" if condition else ""
        shown = f", not {value!r}" if value is not None else f", not {_WORDS.get(got, got)}"
        said = (
            f"{_dotted(steps, 'the file')} must be {wanted}{more}{shown if len(shown) < 80 else ''}"
        )
    else:
        value = _value(table, steps)
        tail = f", not {value!r}" if what.startswith("Invalid enum") else ""
        options = _options(kind, steps, table)
        if what.startswith("Invalid enum") and options:
            close = difflib.get_close_matches(str(value), options, 1)
            meant = f"; did you mean {close[0]!r}?" if close else ""
            said = f"{_dotted(steps, 'the file')} must be one of {', '.join(options)}{tail}{meant}"
        else:
            said = f"{_dotted(steps, 'the file')}: {what}{tail}"
    line = _line(path, steps)
    return f"{path}{f', line {line}' if line else ''}: {said}"


def _steps(place: str) -> list[str | int]:
    parts = re.findall(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]", place)
    return [int(number) if number.isdecimal() else name or number for name, number in parts]


def _named(steps: list[str | int], table: Mapping[str, Any], kind: type[Struct]) -> list[str | int]:
    """Put names in place of the ``...`` that the validator says for keys of a free table."""
    done: list[str | int] = []
    for step in steps:
        if step == "...":
            inside = _value(table, done)
            rest = steps[len(done) + 1 :]
            guess = next(
                (
                    key
                    for key, each in (inside or {}).items()
                    if _wrong(kind, [*done, key], each, rest)
                ),
                None,
            )
            done.append(guess if guess is not None else "...")
        else:
            done.append(step)
    return done


def _wrong(kind: type[Struct], steps: list[str | int], value: Any, rest: list[str | int]) -> bool:
    target = _type(kind, steps)
    try:
        msgspec.convert(value, target)
    except msgspec.ValidationError:
        return True
    return False


def _type(kind: Any, steps: list[str | int]) -> Any:
    """Return the annotation at a place."""
    for step in steps:
        for each in _unfolded(kind):
            if isinstance(each, type) and issubclass(each, Struct):
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


def _unfolded(kind: Any) -> list[Any]:
    """Return the alternatives of an annotation."""
    if hasattr(kind, "__metadata__"):
        return _unfolded(kind.__origin__)
    import types
    import typing

    if isinstance(kind, types.UnionType) or get_origin(kind) is typing.Union:
        return [each for part in get_args(kind) for each in _unfolded(part)]
    return [kind]


def _fields(kind: type[Struct], steps: list[str | int], table: Mapping[str, Any]) -> list[str]:
    for each in _unfolded(_type(kind, steps)):
        if isinstance(each, type) and issubclass(each, Struct):
            return [field.encode_name for field in msgspec.structs.fields(each)]
    return []


def _options(kind: type[Struct], steps: list[str | int], table: Mapping[str, Any]) -> list[str]:
    import typing

    return [
        str(option)
        for each in _unfolded(_type(kind, steps))
        if get_origin(each) is typing.Literal
        for option in get_args(each)
    ]


def _value(table: Any, steps: list[str | int]) -> Any:
    for step in steps:
        try:
            table = table[step]
        except (LookupError, TypeError):
            return None
    return table


def _dotted(steps: list[str | int], none: str) -> str:
    """Return a place as the file writes it: ``[[phases]] number 1, episodes``."""
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


def _line(path: Path, steps: list[str | int]) -> int | None:
    """Return the line of a key in a TOML file, as far as headers and ``key =`` tell; None if they do not."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    names = [str(step) for step in steps if not isinstance(step, int)]
    numbers: dict[str, int] = {}
    prefix: list[str] = []
    index: int | None = None
    best: tuple[int, int] | None = None
    wanted = next((step for step in steps if isinstance(step, int)), None)
    for number, line in enumerate(lines, 1):
        bare = line.split("#", 1)[0].strip()
        header = re.fullmatch(r"\[(\[)?\s*(.+?)\s*\](\])?", bare)
        if header:
            prefix = [part.strip().strip("\"'") for part in header[2].split(".")]
            index = None
            if header[1]:
                index = numbers[header[2]] = numbers.get(header[2], -1) + 1
            key: list[str] = []
        else:
            assigned = re.match(r"([A-Za-z0-9_.\"'-]+)\s*=", bare)
            if not assigned:
                continue
            key = [part.strip("\"'") for part in assigned[1].split(".")]
        place = [*prefix, *key]
        if index is not None and wanted is not None and index != wanted:
            continue
        if place and names[: len(place)] == place and (best is None or len(place) > best[0]):
            best = len(place), number
    return None if best is None else best[1]
