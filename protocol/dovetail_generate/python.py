"""The Python client's options of ``run``."""

from __future__ import annotations

import ast
import re
import textwrap

from dovetail.protocol import messages
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
_PLAIN = {"Natural": "int", "Positive": "int", "Count": "int", "Seconds": "float"}
_GIVEN = ("id", "environment", "agents")


class _Loose(ast.NodeTransformer):
    """Turns the annotation of a field into that of an argument."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        name = "Sequence" if node.id == "list" else _PLAIN.get(node.id, node.id)
        return ast.Name(id=name)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == "Annotated":
            assert isinstance(node.slice, ast.Tuple)
            kind: ast.AST = self.visit(node.slice.elts[0])
            return kind
        return self.generic_visit(node)


def _annotation(node: ast.expr) -> str:
    text = ast.unparse(_Loose().visit(ast.parse(ast.unparse(node), mode="eval")))
    return f"{text} | dict[str, Any]" if text == "ClockRule" else text


def _options() -> list[model.Declaration]:
    """Return the optional fields of ``run``, in the order of their names."""
    fields = model.declarations(messages)["Run"][2]
    return sorted((f for f in fields if f.info.name not in _GIVEN), key=lambda f: f.info.name)


def options() -> str:
    """Return the module that declares the options of ``Experiment.run``."""
    lines = [f"    {f.info.name}: {_annotation(f.annotation)}\n" for f in _options()]
    used = set(re.findall(r"\b[A-Z]\w+", "".join(lines))) - {"Any", "Sequence", "None"}
    return _HEAD.format(names=", ".join(sorted(used))) + "".join(lines)


def docstring(text: str) -> str:
    """Return the client's source with the options in the docstring of ``Experiment.run``."""
    lines = []
    for each in _options():
        default = repr(model.default_of(each.info))
        shown = "no limit" if each.info.name == "clock" else default.replace("'", '"')
        meaning = re.sub(r"\bnil\b", "None", each.meaning).replace("`", "``").rstrip(".")
        words = f"{each.info.name}: {meaning}. Default {shown}."
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
