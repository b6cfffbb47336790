"""The program that runs an agent file: one line of JSON in, one line out.

Usage: python worker.py FILE.  It imports nothing of Dovetail, which could get in the file's way.

``{"reset": true}`` runs the file in a fresh namespace, as Kaggle does for each episode, and
``{"observation": ..., "configuration": ...}`` calls the last callable defined by the file.  An
answer is ``{"ok": value}`` or ``{"error": text}``.  The file's output goes to stderr.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

LARGEST = 64 << 20
"""Maximum characters of an agent file, which can contain weights."""


class Struct(dict):  # type: ignore[type-arg]
    """A dictionary with attribute access."""

    def __init__(self, **entries: Any) -> None:
        super().__init__(**entries)
        self.__dict__ = self


def structure(value: Any) -> Any:
    """Return a value with every dictionary converted to a ``Struct``."""
    if isinstance(value, dict):
        return Struct(**{key: structure(each) for key, each in value.items()})
    if isinstance(value, list):
        return [structure(each) for each in value]
    return value


def load(path: str) -> Callable[..., Any]:
    """Run a file; return the last callable that it defined."""
    with open(path, encoding="utf-8") as file:
        source = file.read(LARGEST + 1)
    if len(source) > LARGEST:
        raise ValueError(f"the file has more than {LARGEST:,} characters")
    names: dict[str, Any] = {"__name__": "submission", "__file__": path}
    exec(compile(source, path, "exec"), names)
    found = [each for name, each in names.items() if callable(each) and name != "__builtins__"]
    if not found:
        raise LookupError("the file defines no function")
    last: Callable[..., Any] = found[-1]
    return last


def count(agent: Callable[..., Any]) -> int:
    """Return how many of the arguments observation and configuration an agent takes."""
    code = getattr(agent, "__code__", None)
    return 2 if code is None else min(2, code.co_argcount)


def plain(value: Any) -> Any:
    """Return a NumPy value as a Python value."""
    return value.tolist() if hasattr(value, "tolist") else value


def watch(parent: int) -> None:
    """Kill this process, even if it hangs, once its parent is gone."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main() -> None:
    """Answer lines until stdin ends."""
    path = os.path.abspath(sys.argv[1])
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.path.insert(0, os.path.dirname(path))
    threading.Thread(target=watch, args=(os.getppid(),), daemon=True).start()
    agent = None
    for line in sys.stdin:
        try:
            message = json.loads(line)
            if message.get("reset"):
                agent = load(path)
                answer: dict[str, Any] = {"ok": None}
            else:
                if agent is None:
                    agent = load(path)
                given = [structure(message["observation"]), structure(message["configuration"])]
                found = agent(*given[: count(agent)])
                # JSON has no infinities or NaN.
                answer = {"ok": json.loads(json.dumps(found, default=plain, allow_nan=False))}
        except Exception as error:
            import traceback

            traceback.print_exc()
            text = " ".join(str(error).split())[:200]
            answer = {"error": f"{type(error).__name__}: {text}"}
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
