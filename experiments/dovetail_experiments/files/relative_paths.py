"""Paths in an experiment file: those that start with ``./`` or ``../`` are relative to its folder.

Other relative paths are relative to the current folder, as on the command line.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = ("./", "../", ".\\", "..\\")
NAMED = ("name", "type", "state", "openings")
"""Keys whose value may be a path, or a path with a class."""


def beside(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the tables of a file with paths that are relative to its folder made absolute."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key == "agents" and isinstance(value, Mapping):
            found[key] = {name: _part(part, folder) for name, part in value.items()}
        elif key == "sweep":
            found[key] = _sweep(value, folder)
        elif key == "environment":
            found[key] = _part(value, folder)
        elif isinstance(value, list):
            found[key] = [_stage(each, folder) for each in value]
        else:
            found[key] = value
    return found


def _part(part: Any, folder: Path) -> Any:
    """Return a table such as ``[environment]`` or ``[agents.NAME]`` with absolute paths."""
    if not isinstance(part, Mapping):
        return part
    return {key: _value(key, value, folder) for key, value in part.items()}


def _stage(part: Any, folder: Path) -> Any:
    """Return a table such as one of ``[[evaluations]]`` with an absolute path to its openings."""
    if not isinstance(part, Mapping) or "openings" not in part:
        return part
    return {**part, "openings": _text(part["openings"], folder)}


def _value(key: str, value: Any, folder: Path) -> Any:
    if key in NAMED:
        return _text(value, folder)
    if key == "command" and isinstance(value, list):
        return [_text(each, folder) for each in value]
    if key == "register" and isinstance(value, list):
        return [_registered(each, folder) for each in value]
    return value


def _registered(text: Any, folder: Path) -> Any:
    if not isinstance(text, str):
        return text
    name, equals, where = text.partition("=")
    return f"{name}{equals}{_text(where, folder)}"


def _sweep(sweep: Any, folder: Path) -> Any:
    """Return ``[sweep]`` with absolute paths among the values of its parameters and tasks."""
    if not isinstance(sweep, Mapping):
        return sweep
    found = dict(sweep)
    if isinstance(given := found.get("parameters"), Mapping):
        found["parameters"] = {
            key: [_set(key, each, folder) for each in values]
            if isinstance(values, list)
            else values
            for key, values in given.items()
        }
    if isinstance(tasks := found.get("tasks"), Mapping):
        found["tasks"] = {name: _task(task, folder) for name, task in tasks.items()}
    return found


def _task(task: Any, folder: Path) -> Any:
    if not isinstance(task, Mapping) or not isinstance(task.get("set"), Mapping):
        return task
    return {**task, "set": {key: _set(key, value, folder) for key, value in task["set"].items()}}


def _set(key: str, value: Any, folder: Path) -> Any:
    """Return a value for a key of the file, possibly a whole ``environment``, with absolute
    paths."""
    if isinstance(value, Mapping):
        return _part(value, folder)
    return _value(key.rpartition(".")[2], value, folder)


def _text(text: Any, folder: Path) -> Any:
    if not isinstance(text, str) or not text.startswith(HERE):
        return text
    return os.path.normpath(os.path.join(os.path.abspath(folder), text))
