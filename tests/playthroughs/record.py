"""Write one random episode of each game and configuration to a file a game, for diffs to show
changes of rules.

`make playthroughs` writes them; tests/playthroughs/test_playthroughs.py compares.
"""

from __future__ import annotations

import hashlib
import json
import random
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from tests.env_servers.cases import CASES

from dovetail.peer import options, plugins
from dovetail.protocol import codec
from dovetail.protocol.messages import Turn, View
from dovetail.testing.environments import legal_of, play

HERE = Path(__file__).parent
TOP = HERE.parents[1]
SEED = 20
TITLE = "\n=== "
"""The mark before the title of an episode."""
SHOWN, LINES = 4, 30
"""Turns with the position; turns in a line each.  The rest is in the closing hash."""

ABSENT = ("kaggle", "openenv", "textarena")
"""Environments whose packages or servers no test has."""
Case = tuple[str, dict[str, Any]]


def cases() -> dict[str, Case]:
    """Return each game and configuration of the tests and of the experiments' files, by title."""
    found = list(CASES)
    found += [(name, {}) for name in plugins.names("environment") if name not in ABSENT]
    found = [case for number, case in enumerate(found) if case not in found[:number]]
    for path in sorted((TOP / "experiments/dovetail_experiments/examples").glob("*.toml")):
        environment = tomllib.loads(path.read_text(encoding="utf-8")).get("environment", {})
        case = (str(environment.get("name", "")), dict(environment.get("configuration", {})))
        if case[0] in plugins.names("environment") and case not in found:
            found.append(case)
    return {_name(case): case for case in found}


def _name(case: Case) -> str:
    """Return the game's name and its options, shortened by a hash where they are long."""
    parts = [f"{key}={_plain(value)}" for key, value in sorted(case[1].items())]
    name = "-".join([case[0], *parts])
    if len(name) > 80:
        name = f"{name[:70]}-{_hash(json.dumps(case[1], sort_keys=True).encode(), 6)}"
    return name


def _plain(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return "".join(each if each.isalnum() or each in "._" else "" for each in text)


def _hash(data: bytes, length: int = 10) -> str:
    return hashlib.sha256(data).hexdigest()[:length]


def _observed(value: Any) -> str:
    digest = _hash(codec.encode(value))
    if isinstance(value, np.ndarray):
        total = float(np.sum(value, dtype=np.float64))
        return f"{value.dtype}{list(value.shape)} sum {total:g} hash {digest}"
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{type(value).__name__} hash {digest}"


def _seen(view: View) -> str:
    line = f"  seat {view.seat}: sees {_observed(view.observation)}, earned {view.reward:g}"
    legal = legal_of(view)
    if legal:
        first = ", ".join(map(str, legal[:8])) + (", ..." if len(legal) > 8 else "")
        line += f"\n    {len(legal)} legal: {first} hash {_hash(codec.encode(list(legal)))}"
    return line


def record(case: Case) -> str:
    """Return the text of an episode of a game."""
    kind = plugins.find("environment", case[0])
    environment = kind(options.read(kind.Configuration, case[1], case[0]))
    spec = environment.init()
    lines = [f"game: {case[0]}", f"configuration: {json.dumps(case[1], sort_keys=True)}"]
    lines += [f"seats: {spec.seats}"]
    for what in ("observation_spaces", "action_spaces"):
        encoded = codec.encode(getattr(spec, what))
        lines.append(f"{what}: {len(getattr(spec, what))} hash {_hash(encoded)}")
    lines += [f"reward range: {spec.reward_range}", f"forfeit: {spec.forfeit}"]
    lines += [f"most turns: {spec.max_turns}", f"seed: {SEED}"]
    everything = hashlib.sha256()
    number = 0
    for number, (turn, actions) in enumerate(
        play(environment, spec, SEED, random.Random(SEED), "record")
    ):
        everything.update(codec.encode(turn) + repr(sorted(actions.items())).encode())
        last = not turn.to_act
        if number < LINES or last:
            lines += ["", f"turn {number}: {_who(turn)}"]
        if number < SHOWN or last:
            lines += [f"  | {line}".rstrip() for line in environment.text().splitlines()]
            lines += [_seen(view) for view in turn.seats]
        elif number < LINES:
            lines.append(f"  hash {_hash(codec.encode(turn))}")
        if actions and number < LINES:
            lines.append("  " + ", ".join(f"seat {s} plays {a}" for s, a in actions.items()))
    lines += ["", f"turns: {number}", f"hash of all turns: {everything.hexdigest()[:20]}"]
    return "\n".join(lines) + "\n"


def _who(turn: Turn) -> str:
    if turn.to_act:
        return f"to act {', '.join(map(str, turn.to_act))}"
    how = "terminated" if turn.terminated else "truncated"
    return f"{how}, outcome {turn.outcome}"


def kept() -> dict[str, str]:
    """Return the text of each episode in the files, by title."""
    found: dict[str, str] = {}
    for path in HERE.glob("*.txt"):
        for section in path.read_text(encoding="utf-8").split(TITLE)[1:]:
            title, _, text = section.partition("\n\n")
            found[title] = text
    return found


def main() -> None:
    """Write every file, and delete those of games that no longer exist."""
    pages: dict[str, str] = {}
    for title, case in sorted(cases().items()):
        print(title)
        pages[case[0]] = pages.get(case[0], "") + f"{TITLE}{title}\n\n{record(case)}"
    for path in HERE.glob("*.txt"):
        path.unlink()
    for game, text in pages.items():
        (HERE / f"{game}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
