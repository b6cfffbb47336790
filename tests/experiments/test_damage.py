"""A record that is damaged is said to be, before anything of it is shown or continued."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.records import damage
from dovetail_experiments.records import schema as s
from dovetail_experiments.records.database import Url
from dovetail_experiments.records.records import FILE, Records
from dovetail_experiments.records.store import Store
from dovetail_experiments.stages.runner import RunnerOptions, execute
from dovetail_web.results import Results

from .conftest import SMALL

PAGE = 4096


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damage")
    path = folder / "small.toml"
    path.write_text(SMALL)
    done = execute(path, out=folder / "out", options=RunnerOptions(in_process=True))
    return done.folder / FILE


@pytest.fixture
def copy(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(sound, tmp_path / FILE))


def change(path: Path, *statements: str) -> int:
    """Execute statements on a record; return the number of rows that the last one changed."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            count = connection.execute(statement).rowcount
        connection.commit()
    return count


def complaint(path: Path) -> str:
    """Return the one line that a record costs its reader; empty if it is sound."""
    try:
        with Records(path) as records:
            for table in s.metadata.tables.keys() & {"executions", "stages", "episodes", "seats"}:
                list(records.rows(table))
            return ""
    except DovetailError as error:
        found = str(error)
    assert "\n" not in found
    return found


def test_a_sound_record_is_read(sound: Path) -> None:
    assert complaint(sound) == ""


COLUMNS = [(table, column.name) for table, each in s.metadata.tables.items() for column in each.c]


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_value_of_another_type_is_damage(copy: Path, table: str, column: str) -> None:
    kind = s.metadata.tables[table].c[column].type.python_type
    wrong = ["x'ff'", "'many'"] if kind in (int, float, bool) else ["x'ff'"] * (kind is str)
    wrong += ["0.5"] * (kind is int) + ["2"] * (kind is bool) + ["7"] * (kind is bytes)
    assert wrong
    key = s.metadata.tables[table].primary_key.columns.keys()
    if len(key) == 1 and kind is int and column in key:
        return  # SQLite itself refuses other row numbers
    names = [each.name for each in s.metadata.tables[table].c]
    for value in wrong:
        path = Path(shutil.copy(copy, copy.with_name("other")))
        first = f'(SELECT "{column}" FROM {table} LIMIT 1)'
        if not change(
            path, f'UPDATE OR IGNORE {table} SET "{column}" = {value} WHERE "{column}" IS {first}'
        ):
            filled = [value if each == column else "1" for each in names]
            change(path, f"INSERT INTO {table} VALUES ({', '.join(filled)})")
        assert re.search("damaged|cannot read", complaint(path)), value


STATEMENTS = {
    **{f"no {table}": f"DROP TABLE {table}" for table in s.metadata.tables},
    **{
        f"no rows of {t}": f"DELETE FROM {t}" for t in ("executions", "stages", "seatings", "seats")
    },
    "no view": "DROP VIEW results",
    "a trigger": "CREATE TRIGGER other AFTER INSERT ON seats BEGIN DELETE FROM seats; END",
    "a missing seat": "DELETE FROM seats WHERE episode = 2 AND seat = 1",
    "a seat too many": "INSERT INTO seats SELECT episode, 2, agent, type, instance, return, score, "
    "decisions, seconds, breaches, ignored, refused FROM seats WHERE episode = 2 AND seat = 1",
    "seats from 1": "UPDATE seats SET seat = 2 WHERE episode = 2 AND seat = 0",
    "a score without the other": "UPDATE seats SET score = NULL WHERE episode = 2 AND seat = 1",
    "another name": "ALTER TABLE seats RENAME COLUMN refused TO more",
}


@pytest.mark.parametrize("what", STATEMENTS)
def test_missing_parts_are_damage(copy: Path, what: str) -> None:
    change(copy, STATEMENTS[what])
    assert complaint(copy)


def test_a_changed_view_is_damage(copy: Path) -> None:
    change(copy, "DROP VIEW results", s.RESULTS.replace("seats.score AS", "1.0 AS"))
    assert "its view results is missing or was changed" in complaint(copy)


def pages(sound: Path) -> Iterator[tuple[str, bytes]]:
    """Yield files in which a page is lost, and what follows it."""
    good = sound.read_bytes()
    for at in range(0, len(good), PAGE):
        yield f"page {at // PAGE} is zero", good[:at] + bytes(PAGE) + good[at + PAGE :]
        yield f"cut at {at + 100}", good[: at + 100]


def test_a_lost_page_is_damage(sound: Path, copy: Path) -> None:
    with Records(sound) as records:
        expected = {
            table: list(records.rows(table))
            for table in s.metadata.tables
            if table in ("executions", "stages", "seatings", "episodes", "seats", "measures")
        }
    unseen = []
    for what, data in pages(sound):
        copy.write_bytes(data)
        if complaint(copy):
            continue
        with Records(copy) as records:  # only an index, or nothing, was on that page
            for table, rows in expected.items():
                assert list(records.rows(table)) == rows, what
        unseen.append(what)
    assert len(unseen) <= 12, unseen


def test_an_opening_that_is_not_json_is_damage(copy: Path) -> None:
    change(copy, "UPDATE episodes SET opening = '[1' WHERE id = 3")
    store = Store(f"sqlite:///{copy}")
    try:
        stages = store.finished_stages(1).values()
        with pytest.raises(DovetailError, match="damaged: the opening of episode 3 is not JSON"):
            _ = [list(store.results(stage)) for stage in stages]
    finally:
        store.close()


def test_an_error_of_the_caller_is_not_damage(copy: Path) -> None:
    store = Store(f"sqlite:///{copy}")
    try:
        for kind in (ValueError, TypeError):
            with pytest.raises(kind, match="mine"), store._reading():
                raise kind("mine")
    finally:
        store.close()


@pytest.mark.parametrize("option", ["resume", "extend"])
def test_a_damaged_record_is_not_continued(sound: Path, tmp_path: Path, option: str) -> None:
    out = tmp_path / "out"
    shutil.copytree(sound.parent, out / sound.parent.name)
    change(out / sound.parent.name / FILE, "UPDATE episodes SET turns = 'many' WHERE id = 3")
    with pytest.raises(DovetailError, match="value of turns that is not a whole number; restore"):
        execute(
            sound.parents[2] / "small.toml",
            out=out,
            options=RunnerOptions(in_process=True),
            resume=option == "resume",
            extend=option == "extend",
        )


def test_the_page_finds_damage_once(
    copy: Path, sound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[object] = []
    check = damage.check

    def seen(engine: Engine, url: Url) -> None:
        looked.append(url)
        check(engine, url)

    monkeypatch.setattr(damage, "check", seen)
    page = Results([str(copy)])
    for _ in range(2):
        assert [each.problem for each in page.listed()] == [""]
    assert len(looked) == 1
    change(copy, "UPDATE episodes SET turns = 'many' WHERE id = 3")
    for _ in range(2):
        (found,) = page.listed()
        assert "damaged" in found.problem
