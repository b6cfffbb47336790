"""Reading a journal: which episodes count, and what a damaged file gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.broker.durable.journal import Journal
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import (
    TRIED,
    EpisodeRecord,
    StateRecord,
    episode,
    read,
    uncounted,
)
from dovetail.protocol.messages import Episode


def played(label: str = "", *, again: bool = False) -> EpisodeRecord:
    result = Episode(1, 0, 1, 5, "terminated", [], will_retry=again)
    return EpisodeRecord(result, "game", {}, "learn", [], label=label)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def test_episodes_that_were_played_again_do_not_count(path: Path) -> None:
    journal = Journal(path)
    labels = ["x/train/1", "x/train/1", "x/train/2", "x/test/1", "free", "a/b", TRIED, "x/train/10"]
    journal.write([played(again=True), StateRecord("best", "td", b""), *map(played, labels)])
    journal.close()
    assert uncounted(path) == {
        1,
        2,
        3,
        4,
        8,
    }  # retried; attempts 1 and 2 of the stage x/train; an opening
    assert episode(path, "last")[0] == 9
    assert episode(path, "02")[1].label == "x/train/1"
    with pytest.raises(DovetailError, match=r"there is no episode 10; .* has 9"):
        episode(path, "10")


def test_a_journal_without_episodes_is_named(path: Path) -> None:
    Journal(path).close()
    with pytest.raises(DovetailError, match="has no episodes"):
        episode(path, "last")


def test_a_journal_that_is_not_there_or_not_one_is_named(path: Path) -> None:
    with pytest.raises(DovetailError, match=r"cannot read the journal .* No such file"):
        list(read(path))
    with pytest.raises(DovetailError, match=r"cannot write the journal .*: Is a directory"):
        Journal(path.parent)
