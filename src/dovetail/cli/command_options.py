"""Commands whose options are the fields of one dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, TypeVar, get_type_hints

import typer

T = TypeVar("T")


def add_command(app: typer.Typer, options: type[T], run: Callable[[T], None]) -> None:
    """Add a command that calls ``run`` with its options, a dataclass with Typer's annotations, and
    has its name and help."""

    def command(**given: Any) -> None:
        run(options(**given))

    hints = get_type_hints(options, include_extras=True)
    signature: list[inspect.Parameter] = []
    for each in fields(options):  # type: ignore[arg-type]  # a dataclass, as typed above
        assert each.default is not MISSING
        kind = inspect.Parameter.KEYWORD_ONLY
        annotation = hints[each.name]
        signature.append(
            inspect.Parameter(each.name, kind, default=each.default, annotation=annotation)
        )
    command.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    command.__annotations__ = hints
    command.__name__, command.__doc__ = run.__name__, run.__doc__
    app.command()(command)
