"""``dovetail replay``: list or replay the episodes of a journal."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from hashlib import sha256
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli.common import RecordedEnv, UsageError, position, show, table
from dovetail.cli.common import environment as find_environment
from dovetail.cli.watching import ending
from dovetail.protocol.display_text import coloured, line
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.seats import player

if TYPE_CHECKING:
    from dovetail.peer.environments.environment import Environment
    from dovetail.protocol.journal import EpisodeRecord
    from dovetail.protocol.messages import Spec, Turn


QUOTED = 60
"""Characters that an error quotes of an action."""


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(replay)


def replay(
    journal: Annotated[Path, typer.Argument(metavar="JOURNAL")],
    episode: Annotated[str | None, typer.Argument(metavar="[EPISODE]")] = None,
    list_: Annotated[bool, typer.Option("--list")] = False,
    delay: Annotated[float, typer.Option(min=0.0, metavar="SECONDS")] = 0.0,
    video: Annotated[Path | None, typer.Option(metavar="OUT.gif")] = None,
    svg: Annotated[Path | None, typer.Option(metavar="OUT")] = None,
    turn: Annotated[int | None, typer.Option(min=0)] = None,
    env: RecordedEnv = None,
) -> None:
    """Replay a recorded episode move by move and check that it ends as recorded.

    Example: dovetail replay dovetail.journal last --delay 0.5

    Example: dovetail replay dovetail.journal last --video game.gif

    Example: dovetail replay dovetail.journal 3 --svg end.svg

    Args:
        journal: A broker's journal.
        episode: Its number in the list, or `last`.
        list_: List the episodes (the default without EPISODE).
        delay: Pause after each turn.
        video: Write it as a film instead.
        svg: Write a position as a picture (.svg, .png) instead.
        turn: With --svg: the position; the last unless given.
    """
    if episode is None or list_:
        list_episodes(journal)
        return
    from dovetail.protocol.journal import episode as pick

    if episode != "last" and not (episode.isdecimal() and int(episode) > 0):
        raise UsageError(f"{episode!r} is not an episode number; --list shows them")
    number, played = pick(journal, episode)
    result = played.result
    if video is not None:
        _drawing("film")(played, video, delay)
    if svg is not None:
        _drawing("position")(played, svg, turn)
    if video is not None or svg is not None:
        return

    def say(text: str) -> None:
        print(coloured(text))

    say(
        f"episode {number}: {played.environment}, "
        f"{' against '.join(map(line, played.players))}, seed {result.seed}"
    )
    replayed(played, env, delay, say)
    print(ending(result.reason, result.outcome))
    if result.message:
        print(line(result.message))
    print("the replay ends as recorded")


def _drawing(name: str) -> Callable[..., None]:
    """Return a function that draws episodes, from the package of the page."""
    for each in entry_points(group="dovetail.drawings", name=name):
        found: Callable[..., None] = each.load()
        return found
    raise UsageError("pictures need the page; install it with: pip install 'dovetail[web]'")


def list_episodes(journal: Path) -> None:
    """Print a table of a journal's episodes."""
    from dovetail.protocol.journal import TRIED, episodes, uncounted

    void = uncounted(journal)
    rows: list[list[Any]] = []
    for number, played in episodes(journal):
        result = played.result
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(played.time))
        outcome = "" if result.outcome is None else ", ".join(f"{s:g}" for s in result.outcome)
        reason = (
            result.reason if result.blame is None else f"{result.reason} ({player(result.blame)})"
        )
        if number in void:
            what = "an opening was tried" if played.label == TRIED else "an interrupted attempt"
            reason += f"; {what}, not counted"
        agents = ", ".join(map(line, played.players))
        row = [when, played.environment, agents, played.mode, result.turns, outcome, reason]
        rows.append([number, *row])
    columns = ("#", "when", "environment", "agents", "mode", "turns", "outcome", "reason")
    show(table(columns, rows) if rows else f"{journal} has no episodes")


def recorded(environment: str, name: str | None) -> type[Environment]:
    """Return the class of a recorded environment.

    Args:
        environment: the name in the record, which is only looked up.
        name: the name that the user typed instead, which may be imported.

    Raises:
        DovetailError: it does not exist.
    """
    from dovetail.peer.registry import registered

    if name:
        return find_environment(name)
    try:
        kind: type[Environment] = registered("environment", environment)
    except DovetailError as error:
        raise UsageError(
            f"{error}; use --env FILE.py:Class for an environment that is not installed"
        ) from None
    return kind


def replayed(
    played: EpisodeRecord, name: str | None, delay: float, say: Callable[[str], object]
) -> None:
    """Replay an episode in the named or registered environment, and compare each turn with the
    record.

    Raises:
        DovetailError: the replay differs, or the environment does not exist.
    """
    from dovetail.peer import options

    kind = recorded(played.environment, name)
    result = played.result
    configuration = options.read(
        kind.Configuration, played.configuration, f"environment {played.environment}"
    )
    environment = kind(configuration)
    breached = {(turn, seat) for turn, seat in played.breached}
    try:
        spec = environment.init()
        totals = [0.0] * spec.seats
        if len(result.seats) != spec.seats:
            _differs(0, f"{spec.seats} seats instead of {len(result.seats)}")
        if result.turns == 0 and result.reason == "environment-failed":
            say(f"it never started: {line(result.message)}")
            return
        turn = environment.start(result.seed)
        _count(turn, totals)
        say(f"-- turn 0\n{position(environment.text())}".rstrip())
        for number, actions in enumerate(played.actions):
            if sorted(turn.to_act) != sorted(seat for seat, _ in actions):
                _differs(number, f"to act are {turn.to_act}, not {[seat for seat, _ in actions]}")
            time.sleep(delay)
            say(f"-- turn {number + 1}")
            for seat, action in actions:
                forced = " (chosen by the broker)" if (number, seat) in breached else ""
                say(f"{player(seat)} ({line(played.players[seat])}): {line(str(action))}{forced}")
            failed_here = result.reason == "environment-failed" or result.blame is not None
            if not (failed_here and number + 1 == len(played.actions)):
                _legal(number, turn, spec, actions)
            try:
                turn = environment.step(dict(actions))
            except Exception as error:
                if failed_here and number + 1 == len(played.actions):
                    say(f"the environment refuses: {line(str(error))}")
                    break
                raise DovetailError(
                    f"the replay differs in turn {number + 1}: {type(error).__name__}: "
                    f"{line(str(error))}"
                ) from error
            _count(turn, totals)
            say(position(environment.text()))
        _check(played, turn, totals)
    finally:
        environment.cleanup()


def _legal(number: int, turn: Turn, spec: Spec, actions: list[tuple[int, Any]]) -> None:
    from dovetail.broker.rules.legality import allowed

    legal = {view.seat: view.legal for view in turn.seats}
    for seat, action in actions:
        if not allowed(action, legal.get(seat), spec.action_space(seat)):
            _differs(number, f"action {_short(action)} of seat {seat} is not legal")


def _short(action: Any) -> str:
    """Return an action for an error."""
    text = line(str(action))
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}..."


def _count(turn: Turn, totals: list[float]) -> None:
    for view in turn.seats:
        totals[view.seat] += view.reward


def _check(played: EpisodeRecord, turn: Turn, totals: list[float]) -> None:
    """Compare the end of a replay with the record."""
    from dovetail.protocol import codec

    result = played.result
    number = len(played.actions)
    if result.digest and result.digest != sha256(codec.encode(played.actions)).hexdigest()[:16]:
        _differs(number, "the digest of the actions is another")
    over = "terminated" if turn.terminated else "truncated" if turn.truncated else None
    judged = result.blame is not None and turn.blame == result.blame
    # The broker, too, truncates episodes, with a message; only rules terminate one.
    by_broker = result.reason == "truncated" and bool(
        result.message or (result.blame is not None and not judged)
    )
    resigned = result.reason == "terminated" and result.blame is not None and not judged
    if result.reason in ("terminated", "truncated") and not by_broker and not resigned:
        if over != result.reason:
            _differs(number, f"it is {over or 'not over'}, not {result.reason}")
        if turn.outcome != result.outcome:
            _differs(number, f"the outcome is {turn.outcome}, not {result.outcome}")
        if result.turns != number:
            _differs(number, f"it has {number} turns, not {result.turns}")
    elif over is not None:
        _differs(number, f"it is {over}, and was stopped ({result.reason})")
    elif by_broker and result.outcome is not None:
        _differs(number, f"it is not over, and has the outcome {result.outcome}")
    if (result.blame is None or judged) and result.scored:
        for seat, (total, recorded) in enumerate(zip(totals, result.seats, strict=True)):
            if not math.isclose(total, recorded.total, rel_tol=1e-9, abs_tol=1e-9):
                _differs(number, f"seat {seat} has a return of {total:g}, not {recorded.total:g}")


def _differs(turn: int, what: str) -> None:
    raise DovetailError(f"the replay differs in turn {turn}: {what}")
