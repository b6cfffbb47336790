"""The Python client's options of ``run``."""

from __future__ import annotations

import re
import textwrap

from dovetail_generate import model

_HEAD = '''"""The options of ``Experiment.run``, written by ``make generate``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from dovetail.protocol.messages import {names}


class RunOptions(TypedDict, total=False):
    """The options of ``Experiment.run``, each a field of the message ``run``."""

'''
_OPTIONS = re.compile(r"(        Options:\n).*?(\n        Raises:)", re.DOTALL)
_TYPES = {"integer": "int", "number": "float", "text": "str", "boolean": "bool", "any": "Any"}
_GIVEN = ("id", "environment", "agents")


def _annotation(kind: model.Type) -> str:
    """Return the annotation of an argument that may have any value of a type."""
    match kind:
        case model.Scalar(name):
            return _TYPES[name]
        case model.Reference("ClockRule"):
            return "ClockRule | dict[str, Any]"
        case model.Reference(name):
            return name
        case model.Optional(item):
            return f"{_annotation(item)} | None"
        case model.Array(item):
            return f"Sequence[{_annotation(item)}]"
        case model.Map(value):
            return f"dict[str, {_annotation(value)}]"
        case model.OneOf(items):
            return " | ".join(map(_annotation, items))
    raise NotImplementedError(f"no annotation for {kind}")


def _options() -> list[model.Field]:
    """Return the optional fields of ``run``, in the order of their names."""
    fields = model.contract().record("Run").fields
    return sorted((f for f in fields if f.name not in _GIVEN), key=lambda f: f.name)


def options() -> str:
    """Return the module that declares the options of ``Experiment.run``."""
    lines = [f"    {f.name}: {_annotation(f.type)}\n" for f in _options()]
    used = set(re.findall(r"\b[A-Z]\w+", "".join(lines))) - {"Any", "Sequence", "None"}
    return _HEAD.format(names=", ".join(sorted(used))) + "".join(lines)


def docstring(text: str) -> str:
    """Return the client's source with the options in the docstring of ``Experiment.run``."""
    lines = []
    for each in _options():
        shown = "no limit" if each.name == "clock" else repr(each.default).replace("'", '"')
        meaning = re.sub(r"\bnil\b", "None", each.meaning).replace("`", "``").rstrip(".")
        words = f"{each.name}: {meaning}. Default {shown}."
        words = words.replace("see ``lookahead``", "docs/lookahead.md")
        lines += textwrap.wrap(
            words,
            100,
            initial_indent=" " * 12,
            subsequent_indent=" " * 16,
            break_on_hyphens=False,
            break_long_words=False,
        )
    return _OPTIONS.sub(lambda m: f"{m.group(1)}{chr(10).join(lines)}\n{m.group(2)}", text)
