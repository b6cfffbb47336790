"""Replay recorded episodes with the installed environment."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail.peer import options
from dovetail.peer.environments.environment import Environment, Turn
from dovetail.peer.registry import registered
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import EpisodeRecord


def environment(record: EpisodeRecord) -> Environment:
    """Create the environment of a record; its name is only looked up, never imported.

    Raises:
        DovetailError: no environment of that name is installed, or it refuses the configuration.
    """
    kind: type[Environment] = registered("environment", record.environment)
    return kind(options.read(kind.Configuration, record.configuration, record.environment))


def replay(record: EpisodeRecord) -> Iterator[tuple[Environment, Turn]]:
    """Yield the environment and its turn, before the first action and after each turn.

    It is the same object each time, and is cleaned up when the iterator ends.

    Raises:
        DovetailError: as for ``environment``; or the replay differs, as it may in another version.
    """
    made = environment(record)
    try:
        made.init()
        turn = made.start(record.result.seed)
        yield made, turn
        for number, actions in enumerate(record.actions):
            if sorted(turn.to_act) != sorted(seat for seat, _ in actions):
                raise DovetailError(f"the replay differs in turn {number}")
            turn = made.step(dict(actions))
            yield made, turn
        resigned = record.result.blame is not None
        if record.result.reason == "terminated" and not turn.terminated and not resigned:
            raise DovetailError("the replay differs at the end: the game is not over")
    except DovetailError:
        raise
    except Exception as error:  # rules of another version
        text = f"{type(error).__name__}: {error}"
        raise DovetailError(f"the replay failed: {text[:200]}") from error
    finally:
        made.cleanup()
