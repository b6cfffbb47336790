"""The store, with real databases."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from dovetail.peer import provenance
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Episode, SeatResult
from dovetail_experiments.records import database, episodes
from dovetail_experiments.records.records import Records
from dovetail_experiments.records.store import Store, TakenOver


def result(index: int) -> Episode:
    seats = [SeatResult("x", 0, 1.0, 3, 0.5), SeatResult("y", 1, -1.0, 2, 0.25, 1)]
    return Episode(
        run=1,
        index=index,
        episode=index,
        seed=2**62 + index,
        reason="illegal-action",
        seats=seats,
        outcome=[1.0, 0.0],
        blame=1,
        turns=5,
        message="column 9 is none",
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(database.url_of(tmp_path / "new" / "results.sqlite"))


def begin(store: Store, number: int = 0) -> tuple[int, int]:
    execution = store.begin("name", "file", 1)
    return execution, store.begin_stage(execution, number, "phase", "p", 0, ["a", "b"], False)


def test_results_come_back_as_they_were(store: Store) -> None:
    _, stage = begin(store)
    given = [result(index) for index in range(3)]
    for each in given:
        store.add(stage, each)
    store.flush()
    found = list(store.results(stage))
    assert [each.index for each in found] == [0, 1, 2]
    for field in ("seed", "reason", "outcome", "blame", "turns", "scored", "will_retry", "message"):
        assert [getattr(x, field) for x in found] == [getattr(x, field) for x in given]
    assert [s.total for s in found[0].seats] == [1.0, -1.0]
    assert [s.breaches for s in found[0].seats] == [0, 1]


def test_what_was_added_is_on_disk_when_it_is_closed(store: Store, tmp_path: Path) -> None:
    _, stage = begin(store)
    store.add(stage, result(0))
    store.close()
    with sqlite3.connect(tmp_path / "new" / "results.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM episodes").fetchone() == (1,)


def test_a_stage_and_its_states_finish_together(store: Store) -> None:
    execution, stage = begin(store)
    assert store.finished_stages(execution) == {}
    store.finish_stage(execution, 0, stage, {"a": b"one"})
    store.finish_stage(execution, 0, stage, {"a": b"two"})
    assert store.finished_stages(execution) == {0: stage}
    assert store.saved(execution) == {"a": b"two"}


def test_a_stage_that_is_begun_again_drops_what_it_left(store: Store) -> None:
    execution, stage = begin(store)
    store.add(stage, result(0))
    store.flush()
    again = store.begin_stage(execution, 0, "phase", "p", 0, ["a", "b"], False)
    assert list(store.results(stage)) == list(store.results(again)) == []


def test_the_last_unfinished_execution_of_the_same_file(store: Store) -> None:
    first, second = store.begin("n", "file", 1), store.begin("n", "file", 1)
    third = store.begin("n", "other", 1)
    assert store.unfinished("n", "file") == second
    store.finish(second)
    assert store.unfinished("n", "file") == first
    assert store.unfinished("n", "none") is None
    assert store.interrupted("n") == (third, "other")
    assert store.interrupted("m") is None


def test_a_file_is_the_same_whatever_the_order_of_its_keys(store: Store) -> None:
    number = store.begin("n", '{"a": 1, "b": [2]}', 1)
    assert store.unfinished("n", '{"b": [2], "a": 1}') == number
    assert store.unfinished("n", '{"b": [2], "a": 2}') is None


@pytest.mark.parametrize(
    "url",
    ["nonsense", "sqlite:////proc/no/results.sqlite", "nosuch://host/x", "postgresql://h:port/x"],
)
def test_no_database_costs_one_line(url: str) -> None:
    with pytest.raises(DovetailError, match="cannot use the store") as caught:
        Store(url)
    assert "\n" not in str(caught.value)


def test_a_database_that_refuses_loses_nothing(store: Store, tmp_path: Path) -> None:
    _, stage = begin(store)
    blocker = sqlite3.connect(tmp_path / "new" / "results.sqlite")
    blocker.execute("ALTER TABLE episodes RENAME TO elsewhere")
    store.add(stage, result(0))
    with pytest.raises(DovetailError, match="cannot write the store"):
        store.flush()
    blocker.execute("ALTER TABLE elsewhere RENAME TO episodes")
    blocker.close()
    store.flush()
    assert len(list(store.results(stage))) == 1


def test_a_trial_is_entered_with_its_settings_or_not_at_all(store: Store, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "new" / "results.sqlite") as other:
        other.execute("ALTER TABLE settings RENAME TO elsewhere")
    with pytest.raises(DovetailError, match="cannot write the store"):
        store.begin("name", "file", 1, trial=1, variant="a=1", settings={"a": "1"})
    assert store.last("name", "file") is None


def test_the_end_of_an_experiment_waits_for_another_writer_or_costs_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.01)
    store = Store(database.url_of(tmp_path / "results.sqlite"))
    execution, _ = begin(store)
    with closing(sqlite3.connect(tmp_path / "results.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DovetailError, match=r"cannot write the store .*: database is locked"):
            store.finish(execution)
        other.execute("ROLLBACK")
    store.finish(execution)
    assert store.last("name", "file") == (execution, True)


def test_what_agents_measured_and_who_sat_where_is_in_columns(store: Store, tmp_path: Path) -> None:
    execution = store.begin("name", "file", 1, variant="hidden=8", settings={"x": "8"})
    stage = store.begin_stage(execution, 0, "phase", "p", 0, ["a", "b"], True)
    given = result(1)
    given.seats[0].measures = {"loss": 0.5, "odd": float("nan")}
    store.add(stage, given)
    store.flush()
    (found,) = list(store.results(stage))
    assert found.seats[0].measures["loss"] == 0.5
    assert math.isnan(found.seats[0].measures["odd"])
    assert found.seats[1].measures == {}
    with sqlite3.connect(tmp_path / "new" / "results.sqlite") as connection:
        rows = connection.execute(
            'SELECT agent, seat, score, "return", variant FROM results ORDER BY seat'
        ).fetchall()
    assert rows == [("b", 0, 1.0, 1.0, "hidden=8"), ("a", 1, 0.0, -1.0, "hidden=8")]


def test_each_attempt_at_a_stage_has_its_own_label(store: Store) -> None:
    execution, stage = begin(store)
    assert store.label(stage) == f"{execution}/0/1"
    _, again = execution, store.begin_stage(execution, 0, "phase", "p", 0, ["a"], False)
    assert store.label(again) == f"{execution}/0/2"


OLD = """
CREATE TABLE executions (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, file TEXT NOT NULL,
  seed BIGINT NOT NULL, started FLOAT NOT NULL, finished FLOAT);
CREATE INDEX ix_executions_name ON executions (name);
CREATE TABLE stages (id INTEGER PRIMARY KEY, execution INTEGER NOT NULL REFERENCES executions (id),
  number INTEGER NOT NULL, kind VARCHAR NOT NULL, name VARCHAR NOT NULL, trained INTEGER NOT NULL,
  agents TEXT NOT NULL, rotate BOOLEAN NOT NULL, finished FLOAT);
CREATE INDEX ix_stages_execution ON stages (execution);
CREATE TABLE episodes (id INTEGER PRIMARY KEY, stage INTEGER NOT NULL REFERENCES stages (id),
  number INTEGER NOT NULL, seed BIGINT NOT NULL, reason VARCHAR NOT NULL, blame INTEGER,
  outcome TEXT, turns INTEGER NOT NULL, scored BOOLEAN NOT NULL, again BOOLEAN NOT NULL,
  message TEXT NOT NULL, seats TEXT NOT NULL);
CREATE INDEX ix_episodes_stage ON episodes (stage);
CREATE TABLE states (execution INTEGER NOT NULL, agent VARCHAR NOT NULL, stage INTEGER NOT NULL,
  state BLOB NOT NULL, PRIMARY KEY (execution, agent));
INSERT INTO executions VALUES (3, 'old', '{}', 7, 1.0, 2.0);
INSERT INTO stages VALUES (4, 3, 0, 'evaluation', 'e', 100, '["a", "b"]', 1, 2.0);
INSERT INTO episodes VALUES (5, 4, 0, 11, 'terminated', NULL, '[1.0, 0.0]', 9, 1, 0, '',
  '[["td", 1.0, 5, 0.5, 0], ["random", -1.0, 4, 0.25, 2]]');
INSERT INTO episodes VALUES (6, 4, 1, 11, 'truncated', NULL, NULL, 9, 1, 0, 'cut',
  '[["random", 0.0, 5, 0.5, 0], ["td", 0.0, 4, 0.25, 0]]');
INSERT INTO states VALUES (3, 'a', 0, x'616263');
"""


def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(OLD)
    return path


def test_a_database_of_the_first_version_is_upgraded(tmp_path: Path) -> None:
    path = old(tmp_path)
    store = Store(database.url_of(path))
    first, second = list(store.results(4))
    assert (first.outcome, first.seed, first.turns) == ([1.0, 0.0], 11, 9)
    assert [(s.agent, s.total, s.breaches) for s in first.seats] == [
        ("td", 1.0, 0),
        ("random", -1.0, 2),
    ]
    assert (second.outcome, second.reason, second.message) == (None, "truncated", "cut")
    assert store.saved(3) == {"a": b"abc"}
    assert store.finished_stages(3) == {0: 4}
    assert store.begin("new", "file", 1) == 4
    store.close()
    with sqlite3.connect(path) as connection:
        agents = connection.execute("SELECT episode, seat, agent FROM seats ORDER BY 1, 2")
        assert agents.fetchall() == [(5, 0, "a"), (5, 1, "b"), (6, 0, "b"), (6, 1, "a")]
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        assert not [name for (name,) in tables if name.endswith("_1")]


def test_a_database_of_the_second_version_is_upgraded(store: Store, tmp_path: Path) -> None:
    execution, stage = begin(store)
    store.close()
    path = tmp_path / "new" / "results.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        for name in ("revision", "python", "numpy", "numba"):
            connection.execute(f"ALTER TABLE executions DROP COLUMN {name}")
        connection.execute("ALTER TABLE stages DROP COLUMN software")
        connection.execute("UPDATE executions SET software = 'dovetail 0.1.0'")
        connection.execute("UPDATE dovetail_schema SET version = 2")
        connection.commit()
    with Records(path) as records:
        [row] = records.rows("executions")
        assert (row["id"], row["software"], row["numpy"]) == (execution, "dovetail 0.1.0", "")
        [part] = records.rows("stages")
        assert (part["id"], part["software"]) == (stage, "dovetail 0.1.0")


def test_a_record_says_which_code_made_it(store: Store) -> None:
    made = provenance.Provenance("9.8", "abc-dirty.12345678", "3.11.9", "2.3.0", "0.62.1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(provenance, "here", lambda: made)
        begin(store)
    store.close()
    with Records(store.url) as records:
        [row] = records.rows("executions")
        [part] = records.rows("stages")
    assert (row["software"], row["revision"]) == (
        "dovetail 9.8 (abc-dirty.12345678)",
        "abc-dirty.12345678",
    )
    assert (row["python"], row["numpy"], row["numba"]) == ("3.11.9", "2.3.0", "0.62.1")
    assert part["software"] == (
        "dovetail 9.8 (abc-dirty.12345678), Python 3.11.9, numpy 2.3.0, numba 0.62.1"
    )


NAMES = ("run%41", "feature%2Fx", "out?x=1", "a#b", "a b", "a&b=c;d", "ü:@x", "%", "c:d")


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_of_any_name_has_its_own_database(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    store = Store(database.url_of(folder / "results.sqlite"))
    begin(store)
    store.close()
    assert (folder / "results.sqlite").is_file()
    assert database.shown(store.url) == str(folder / "results.sqlite")
    assert [each.name for each in tmp_path.iterdir()] == [name]
    for where in (folder, str(folder), folder / "results.sqlite", store.url):
        with Records(where) as records:
            assert len(list(records.rows("executions"))) == 1


def test_an_upgrade_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = old(tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE episodes SET outcome = '[1.0]'")  # one score for two seats
        before = list(connection.iterdump())
    with pytest.raises(DovetailError, match=r"cannot upgrade .* nothing was changed"):
        Store(database.url_of(path))
    with sqlite3.connect(path) as connection:
        assert list(connection.iterdump()) == before


def test_a_newer_database_costs_one_line(store: Store, tmp_path: Path) -> None:
    store.close()
    with sqlite3.connect(tmp_path / "new" / "results.sqlite") as connection:
        connection.execute("UPDATE dovetail_schema SET version = 99")
    with pytest.raises(DovetailError, match=r"tables of version 99, and this .* knows version \d+"):
        Store(store.url)


def test_two_programs_write_one_database(tmp_path: Path) -> None:
    url = database.url_of(tmp_path / "shared.sqlite")
    one, other = Store(url), Store(url)
    stages = [begin(each)[1] for each in (one, other)]
    for index in range(50):
        one.add(stages[0], result(index))
        other.add(stages[1], result(index))
        one.flush()
        other.flush()
    assert [len(list(one.results(each))) for each in stages] == [50, 50]


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("sqlite:///a b/results.sqlite", "sqlite:///a b/results.sqlite"),
        ("out/small", "out/small"),
        ("postgresql://bob@there/games", "postgresql://bob@there/games"),
        ("postgresql://bob:secret@there:5/games", "postgresql://bob:***@there:5/games"),
        ("postgresql://bob:x@secret@there/games", "postgresql://bob:***@there/games"),
        ("postgresql://there/games?password=secret", "postgresql://there/games?password=hidden"),
        ("postgresql://bob:secret@there:port/games", "postgresql://***"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, named: str) -> None:
    assert database.shown(url) == named


@pytest.mark.parametrize("opened", [Store, Records])
def test_an_error_does_not_quote_the_password(opened: Callable[[str], object]) -> None:
    with pytest.raises(DovetailError, match=r"bob:\*\*\*@127\.0\.0\.1") as caught:
        opened("postgresql+psycopg://bob:secret@127.0.0.1:1/games")
    assert "secret" not in str(caught.value)


def taken_over(store: Store, execution: int, stage: int) -> list[Callable[[], object]]:
    """Return all that writes an execution."""

    def add() -> None:
        store.add(stage, result(9))
        store.flush()

    return [
        add,
        lambda: store.finish_stage(execution, 0, stage, {"a": b"late"}),
        lambda: store.begin_stage(execution, 1, "phase", "p", 0, ["a", "b"], False),
        lambda: store.keep(execution, "a", b"late"),
        lambda: store.withdraw(execution),
        lambda: store.finish(execution),
    ]


def test_an_attempt_that_was_taken_over_cannot_write(store: Store) -> None:
    """Both wrote into one stage, since SQLite gave its number again: episodes twice, states
    replaced."""
    execution, stage = begin(store)
    store.add(stage, result(0))  # waits when the other begins
    other = Store(store.url)
    assert other.take(execution) == 2
    again = other.begin_stage(execution, 0, "phase", "p", 0, ["a", "b"], False)
    assert again > stage
    for index in range(3):
        other.add(again, result(index))
    other.finish_stage(execution, 0, again, {"a": b"learned"})
    for write in taken_over(store, execution, stage):
        with pytest.raises(
            TakenOver, match=r"execution 1 in .* was resumed by process \d+ on "
        ) as no:
            write()
        assert "attempt 1 may no longer write to it" in str(no.value)
        assert "\n" not in str(no.value)
    store.close()
    assert [each.index for each in other.results(again)] == [0, 1, 2]
    assert list(other.results(stage)) == []
    assert other.saved(execution) == {"a": b"learned"}
    assert other.finished_stages(execution) == {0: again}
    other.finish(execution)
    assert other.last("name", "file") == (execution, True)


def test_who_begins_a_stage_of_anothers_execution_takes_it_over(store: Store) -> None:
    execution, stage = begin(store)
    other = Store(store.url)
    again = other.begin_stage(execution, 0, "phase", "p", 0, ["a", "b"], False)
    store.add(stage, result(0))
    with pytest.raises(TakenOver):
        store.flush()
    other.add(again, result(0))
    other.flush()
    assert len(list(other.results(again))) == 1


def test_a_change_that_fails_takes_nothing_over(store: Store, tmp_path: Path) -> None:
    execution, stage = begin(store)
    other = Store(store.url)
    with sqlite3.connect(tmp_path / "new" / "results.sqlite") as broken:
        broken.execute("ALTER TABLE states RENAME TO elsewhere")
    with pytest.raises(DovetailError, match="cannot write the store"):
        other.keep(execution, "a", b"first")
    with sqlite3.connect(tmp_path / "new" / "results.sqlite") as broken:
        broken.execute("ALTER TABLE elsewhere RENAME TO states")
    store.finish_stage(execution, 0, stage, {})
    other.keep(execution, "a", b"second")
    assert other.saved(execution) == {"a": b"second"}


def test_no_number_is_used_again(store: Store) -> None:
    reserved = store.reserve(2)
    assert (reserved, store.last("", "")) == ([1, 2], None)
    assert store.begin("n", "file", 1) == 3
    assert store.begin("n", "file", 1, number=2) == 2
    assert store.withdraw(2)
    assert store.begin("n", "file", 1) == 4


def test_an_execution_without_an_episode_can_be_withdrawn(store: Store, tmp_path: Path) -> None:
    first = store.begin("n", "file", 1, settings={"a": "1"})
    store.begin_stage(first, 0, "phase", "p", 0, ["a", "b"], False)
    store.keep(first, "a", b"first")
    second, stage = begin(store)
    store.add(stage, result(0))
    assert (store.withdraw(first), store.withdraw(second)) == (True, False)
    with Records(tmp_path / "new") as records:
        assert [row["id"] for row in records.rows("executions")] == [second]
        assert [row["id"] for row in records.rows("stages")] == [stage]
        assert [len(list(records.rows(each))) for each in ("states", "settings")] == [0, 0]
        assert len(list(records.rows("seatings"))) == 2


def test_a_database_that_used_numbers_again_is_upgraded(store: Store, tmp_path: Path) -> None:
    """As version 3 made it: ids are not counted, and no attempt is named."""
    execution, stage = begin(store)
    store.add(stage, result(0))
    store.finish_stage(execution, 0, stage, {"a": b"state"})
    store.close()
    path = tmp_path / "new" / "results.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        for column in ("attempt", "writer"):
            connection.execute(f"ALTER TABLE executions DROP COLUMN {column}")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, ' AUTOINCREMENT', '') WHERE type = 'table'"
        )
        connection.execute("DELETE FROM sqlite_sequence")
        connection.execute("UPDATE dovetail_schema SET version = 3")
        connection.commit()
    again = Store(store.url)
    assert [each.index for each in again.results(stage)] == [0]
    assert again.saved(execution) == {"a": b"state"}
    assert again.take(execution) == 2
    with closing(sqlite3.connect(path)) as connection:
        made = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
        assert {name for name, sql in made.items() if "AUTOINCREMENT" in sql} == {
            *("executions", "stages", "episodes")
        }
        assert not [name for name in made if name.endswith("_uncounted")]
        assert [name for name, sql in made.items() if "_uncounted" in sql] == []
        found = connection.execute('SELECT agent, "return" FROM results ORDER BY seat').fetchall()
        assert found == [("a", 1.0), ("b", -1.0)]
        indexes = connection.execute("SELECT name FROM sqlite_master WHERE type = 'index'")
        assert {"ix_stages_execution", "ix_episodes_stage", "ix_executions_name"} <= {
            name for (name,) in indexes
        }
    last = again.begin_stage(execution, 1, "phase", "p", 0, ["a", "b"], False)
    assert again.begin_stage(execution, 1, "phase", "p", 0, ["a", "b"], False) == last + 1


def test_a_stage_goes_on_with_the_results_that_count(store: Store) -> None:
    execution, stage = begin(store)
    label = store.label(stage)
    again, lost, whole = result(3), result(4), result(5)
    again.scored, again.will_retry = False, True
    lost.scored = False
    for each in (result(7), result(0), again, lost, whole):
        store.add(stage, each)
    store.flush()
    other = Store(store.url)
    other.take(execution)
    row = other.begin_stage(execution, 0, "phase", "p", 0, ["a", "b"], False, keep=True)
    assert (row, other.label(row)) == (stage, label)
    assert [*other.kept(row)] == [0, 5, 7]
    assert [each.index for each in other.results(row)] == [7, 0, 5]
    other.add(row, result(1))
    other.flush()
    store.add(stage, result(2))
    with pytest.raises(TakenOver):
        store.flush()
    assert [*other.kept(row)] == [0, 1, 5, 7]


def test_what_other_software_played_is_not_kept(store: Store) -> None:
    execution, stage = begin(store)
    store.add(stage, result(0))
    store.flush()
    row = store.begin_stage(execution, 0, "phase", "p", 0, ["a"], False, "other", keep=True)
    assert (row > stage, [*store.kept(row)]) == (True, [])


def test_results_are_read_in_chunks(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episodes, "CHUNK", 3)
    _, stage = begin(store)
    _, other = begin(store)
    for index in range(7):
        store.add(stage, result(index))
        store.add(other, result(100 + index))
    store.flush()
    found = store.results(stage)
    assert next(found).index == 0
    store.add(stage, result(7))
    store.flush()  # whoever reads does not hold who writes
    assert [each.index for each in found] == [1, 2, 3, 4, 5, 6, 7]
    assert all(len(each.seats) == 2 for each in store.results(other))
    again = result(2)
    again.scored, again.will_retry = False, True
    store.add(stage, again)
    store.add(stage, result(8))
    store.flush()
    assert [each.index for each in store.results(stage, again=True)] == [2]
    assert [each.index for each in store.results(stage, again=False)][-2:] == [7, 8]


def test_a_store_is_one_file_when_it_is_closed(store: Store, tmp_path: Path) -> None:
    begin(store)
    reader = Records(store.url)
    rows = reader.rows("executions")
    assert next(rows)["name"] == "name"
    begin(store)  # although somebody reads
    rows.close()  # type: ignore[attr-defined]
    reader.close()
    store.close()
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["results.sqlite"]
