"""The store in PostgreSQL: a server of Debian's package is started in a folder of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.test_store import begin, result

from dovetail_experiments.records.records import Records
from dovetail_experiments.records.store import Store, TakenOver

FOUND = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
pytestmark = pytest.mark.skipif(
    not FOUND and "CI" not in os.environ, reason="needs PostgreSQL, the package postgresql"
)


@contextmanager
def started() -> Iterator[str]:
    """Yield the URL of a database of a server on a Unix socket."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # a socket's path must be short
    user: dict[str, Any] = {}
    if os.getuid() == 0:  # which PostgreSQL refuses to run as
        user = {"user": "postgres", "group": "postgres", "extra_groups": []}
        who = pwd.getpwnam("postgres")
        os.chown(folder, who.pw_uid, who.pw_gid)

    def run(name: str, *words: str) -> None:
        command = [str(FOUND[-1].with_name(name)), "-D", f"{folder}/data", *words]
        subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL, **user)

    try:
        run("initdb", "-U", "tester", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run("pg_ctl", "-w", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield f"postgresql+psycopg://tester@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Return the URL of a server's database."""
    with started() as url:
        yield url


@pytest.fixture
def store(server: str) -> Iterator[Store]:
    made = Store(server)
    yield made
    made.close()


def test_results_come_back_as_they_were(store: Store) -> None:
    _, stage = begin(store)
    given = [result(index) for index in range(3)]
    given[1].seats[0].measures = {"loss": 0.5, "odd": float("nan")}
    given[2].opening = [[3, None]]
    for each in given:
        store.add(stage, each)
    store.flush()
    found = list(store.results(stage))
    for field in ("index", "seed", "reason", "outcome", "blame", "message", "opening"):
        assert [getattr(x, field) for x in found] == [getattr(x, field) for x in given]
    assert found[1].seats[0].measures["loss"] == 0.5
    assert [s.total for s in found[0].seats] == [1.0, -1.0]
    with Records(store.url) as records:
        rows = list(records.rows(by=["agent"], where=["played=p"]))
    assert [row["agent"] for row in rows] == ["a", "b"]


def test_two_writers_share_it(server: str, store: Store) -> None:
    other = Store(server)
    stages = [begin(each)[1] for each in (store, other)]
    for index in range(50):
        store.add(stages[0], result(index))
        other.add(stages[1], result(index))
    other.close()
    store.flush()
    assert [[x.index for x in store.results(each)] for each in stages] == 2 * [[*range(50)]]


def test_an_old_attempt_is_refused(server: str, store: Store) -> None:
    execution, stage = begin(store)
    store.add(stage, result(0))
    store.flush()
    other = Store(server)
    assert other.take(execution) == 2
    again = other.begin_stage(execution, 0, "phase", "p", 0, ["a", "b"], False)
    assert again > stage
    other.add(again, result(1))
    other.finish_stage(execution, 0, again, {"a": b"learned"})
    store.add(stage, result(2))
    with pytest.raises(TakenOver, match=r"was resumed by process \d+ on "):
        store.flush()
    for write in (
        lambda: store.finish_stage(execution, 0, stage, {"a": b"late"}),
        lambda: store.begin_stage(execution, 1, "phase", "p", 0, ["a", "b"], False),
        lambda: store.finish(execution),
    ):
        with pytest.raises(TakenOver):
            write()
    assert [each.index for each in other.results(again)] == [1]
    assert other.saved(execution) == {"a": b"learned"}
    other.close()


def test_what_was_played_of_a_stage_is_kept(server: str, store: Store) -> None:
    execution, stage = begin(store)
    for index in (0, 1, 4):
        store.add(stage, result(index))
    store.flush()
    other = Store(server)
    other.take(execution)
    row = other.begin_stage(execution, 0, "phase", "p", 0, ["a", "b"], False, keep=True)
    assert row == stage
    assert [*other.kept(row)] == [0, 1, 4]
    other.close()
