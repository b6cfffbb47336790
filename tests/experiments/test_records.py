"""The records of an experiment: queried, exported, and its states taken out, compared and put
back."""

from __future__ import annotations

import csv
import importlib
import io
import json
import operator
import shutil
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from tensorboardX.proto import event_pb2

from dovetail.cli.common import UsageError
from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError
from dovetail_agents.general.q_learning.table import Table, entries
from dovetail_experiments.commands import results as commands
from dovetail_experiments.files.file import read
from dovetail_experiments.records import export, states, tensorboard
from dovetail_experiments.records.records import Records, read_state, saved
from dovetail_experiments.reports import games
from dovetail_experiments.stages.runner import ExecutionResult, RunnerOptions, execute

from .conftest import SMALL


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> ExecutionResult:
    folder = tmp_path_factory.mktemp("records")
    path = folder / "small.toml"
    path.write_text(SMALL)
    return execute(path, out=folder / "out", options=RunnerOptions(in_process=True))


@pytest.fixture
def out(played: ExecutionResult) -> Path:
    return played.folder


def test_a_row_for_each_seat_of_each_episode(played: ExecutionResult, out: Path) -> None:
    with Records(out) as records:
        rows = list(records.rows())
        evaluated = list(records.rows(where=["kind=evaluation", "trained>=50", "agent=one"]))
    expected = [each for stage in played.played for each in stage.episodes]
    assert len(rows) == 2 * len(expected)
    assert sum(row["return"] for row in rows) == sum(
        seat.total for each in expected for seat in each.seats
    )
    assert len(evaluated) == 10
    assert {(row["agent"], row["type"], row["trained"]) for row in evaluated} == {("one", "td", 50)}
    assert {row["seat"] for row in evaluated} == {0, 1}  # rotated
    assert all(row["digest"] for row in rows)


@pytest.mark.parametrize(
    "damage",
    ["FROM seats WHERE episode = 2 AND seat = 1", "FROM seats", "FROM seatings WHERE place = 1"],
)
def test_a_record_without_the_seats_of_an_episode_is_called_damaged(
    out: Path, tmp_path: Path, damage: str
) -> None:
    copy = shutil.copytree(out, tmp_path / "copy")
    with closing(sqlite3.connect(copy / "results.sqlite")) as connection:
        connection.execute(f"DELETE {damage}")
        connection.commit()
    with pytest.raises(DovetailError, match=r"is damaged: episode .*; restore a copy, or play"):
        commands.report(copy)


def test_groups_have_counts_and_means(out: Path) -> None:
    with Records(out) as records:
        found = list(records.rows(where=["kind=evaluation"], by=["agent", "trained"]))
        scores = [
            row["score"]
            for row in records.rows(where=["kind=evaluation", "agent=one", "trained=20"])
        ]
    [mine] = [row for row in found if (row["agent"], row["trained"]) == ("one", 20)]
    assert mine["count"] == 10
    assert mine["score"] == pytest.approx(sum(scores) / 10)


@pytest.mark.parametrize(
    ("selection", "complaint"),
    [
        ({"table": "result"}, "there is no table 'result'; did you mean 'results'?"),
        ({"columns": ["agnet"]}, "has no column 'agnet'; did you mean 'agent'?"),
        ({"where": ["turns=many"]}, "turns is a number, not 'many'"),
        ({"where": ["turns"]}, "is not a condition; write COLUMN=VALUE"),
        ({"where": ["turns=1; DROP TABLE seats"]}, "is a number"),
        ({"by": ["agnet"]}, "did you mean 'agent'?"),
    ],
)
def test_a_wrong_question_costs_one_line(
    out: Path, selection: dict[str, Any], complaint: str
) -> None:
    with Records(out) as records, pytest.raises(DovetailError) as caught:
        list(records.rows(**selection))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_record(tmp_path: Path) -> None:
    with pytest.raises(DovetailError, match=r"has no results\.sqlite; name the folder"):
        Records(tmp_path)
    with pytest.raises(DovetailError, match="does not exist"):
        Records(tmp_path / "none.sqlite")
    sqlite3.connect(tmp_path / "other.sqlite").execute("CREATE TABLE x (y)").connection.close()
    with pytest.raises(DovetailError, match="is not a record of Dovetail"):
        Records(tmp_path / "other.sqlite")


def test_the_same_rows_in_every_form(out: Path, tmp_path: Path) -> None:
    with Records(out) as records:
        names = records.types()
        rows = list(records.rows())
        for form in ("csv", "jsonl", "json"):
            assert export.rows(tmp_path / f"x.{form}", names, rows) == len(rows)
    with (tmp_path / "x.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    assert [float(each["return"]) for each in found] == [row["return"] for row in rows]
    assert json.loads((tmp_path / "x.json").read_text()) == rows
    lines = (tmp_path / "x.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == rows


def test_parquet(out: Path, tmp_path: Path) -> None:
    parquet = importlib.import_module("pyarrow.parquet")
    with Records(out) as records:
        rows = list(records.rows())
        export.rows(tmp_path / "x.parquet", records.types(), rows)
    assert parquet.read_table(tmp_path / "x.parquet").to_pylist() == rows


def test_a_folder_has_a_parquet_file_of_each_finished_stage(out: Path, tmp_path: Path) -> None:
    dataset = importlib.import_module("pyarrow.dataset")
    folder = tmp_path / "shards"
    with Records(out) as records:
        count = len(list(records.rows("stages")))
        assert export.shards(records, folder, [], []) == count
        assert export.shards(records, folder, [], []) == 0
        next(folder.iterdir()).unlink()
        assert export.shards(records, folder, [], []) == 1
        rows = list(records.rows())
        kinds = list(records.rows(by=["agent"]))
        assert set(records.types(by=["agent"])) == set(kinds[0])
    there = dataset.dataset(folder, format="parquet").to_table().to_pylist()
    order = operator.itemgetter("stage", "episode", "seat")
    assert sorted(there, key=order) == sorted(rows, key=order)
    commands.export(str(out), f"{folder}/", where=["agent=one"])
    with pytest.raises(UsageError, match="is a folder, which takes --table results"):
        commands.export(str(out), f"{folder}/", by="agent")


def test_a_disk_that_fills_up_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("old")

    def rows() -> Any:
        yield {"a": 1}
        raise OSError(28, "No space left on device")

    with pytest.raises(DovetailError, match=r"cannot write .*x\.csv: No space left on device"):
        export.rows(path, {"a": int}, rows())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(DovetailError, match=r"unknown form 'xls'; name a file that ends in \.csv"):
        export.rows(tmp_path / "x.xls", {"a": int}, rows())


def test_games_are_text_with_headers(played: ExecutionResult, out: Path) -> None:
    with Records(out) as records:
        known = commands.labels(records)
    found = list(games.texts(out / "games-1.journal", known))
    assert len(found) == sum(each.endings.games for each in played.played)
    first = next(iter(played.played[0].episodes))
    head, moves, _ = (
        found[0].split("\n\n")
        if found[0].count("\n\n") > 1
        else [
            *found[0].rstrip().split("\n\n"),
            "",
        ]
    )
    assert '[Experiment "small"]' in head
    assert f'[Seed "{first.seed}"]' in head
    assert f'[Turns "{first.turns}"]' in head
    assert '(random)"]' in head or '(td)"]' in head
    assert f"{first.turns}. " in moves
    assert moves.endswith("{terminated}")


def test_a_state_is_named_by_experiment_and_agent(
    played: ExecutionResult, out: Path, tmp_path: Path
) -> None:
    assert read_state(f"{out}:one") == read_state(f"{out}:one@1") == played.states["one"]
    assert read_state(f"{out / 'results.sqlite'}:two") == played.states["two"]
    (tmp_path / "a.state").write_bytes(b"bytes")
    assert read_state(str(tmp_path / "a.state")) == b"bytes"
    for text, complaint in (
        (f"{out}:on", r"no state of 'on'; did you mean 'one'\? it has one@1, two@1"),
        (f"{out}:one@7", "no state of 'one@7'"),
        (f"{out}:one@x", "expected the number of an execution after @"),
        (str(out / "results.sqlite"), "is a record, not a state; write .*:AGENT"),
        (str(tmp_path / "none"), "cannot read the state .*none: No such file"),
    ):
        with pytest.raises(DovetailError, match=complaint):
            read_state(text)


@pytest.mark.usefixtures("undrawn")
def test_an_experiment_begins_with_the_state_of_another(
    played: ExecutionResult, out: Path, tmp_path: Path
) -> None:
    path = tmp_path / "next.toml"
    path.write_text(SMALL.replace('"small"', '"next"'))
    none = {"phases.0.episodes": 1, "phases.0.evaluate_every": 0, "evaluations": []}
    begun = {**none, "phases.0.mode": "evaluate", "agents.one.state": f"{out}:one"}
    execute(path, out=tmp_path, options=RunnerOptions(in_process=True), overrides=begun)
    wrong = {**begun, "agents.two.state": f"{out}:dice"}
    with pytest.raises(
        DovetailError, match=r"--set agents.two.state: \[agents.two\]: .* has no state of 'dice'"
    ):
        execute(path, out=tmp_path, options=RunnerOptions(in_process=True), overrides=wrong)


def test_states_are_compared_value_by_value(played: ExecutionResult) -> None:
    one, two = played.states["one"], played.states["two"]
    assert states.differences(one, one) == []
    found = states.differences(one, two)
    assert any("numbers differ, by" in line for line in found), found
    assert states.differences(b"\xc1\xc1a", b"\xc1\xc1b") == [
        "3 and 3 bytes, which differ first at byte 2"
    ]


def table(values: dict[int, float], first: int = 0) -> bytes:
    """Return a saved agent that was in each state, and tried one action there, ``first`` being met
    first."""
    made = Table("x", 4, None, 1 << 20)
    for state in sorted(values, key=lambda state: (state != first, state)):
        row = made.row(bytes([state]))
        made.values[row, 2], made.visits[row, 2] = values[state], 1
    kept = entries(made)
    return codec.encode({"settings": {"entries": structs.asdict(kept)}})


def test_tables_are_compared_by_state_and_action() -> None:
    one = {state: state / 8 for state in range(200)}
    assert states.differences(table(one), table(one, first=9)) == []
    changed = {state: value + 0.5 * (state < 2) for state, value in one.items() if state != 7}
    assert states.differences(table(one), table(changed)) == [
        "settings.entries.states: 200 and 199",
        "settings.entries.values.00, action 2: 0.0 and 0.5",
        "settings.entries.values.01, action 2: 0.125 and 0.625",
        "settings.entries.values.07, action 2: only in the first",
        "settings.entries.visits.07, action 2: only in the first",
    ]
    other = {state: state / 8 + 0.25 * (state > 150) for state in range(30, 240)}
    assert states.differences(table(one), table(other)) == [
        "settings.entries.states: 200 and 210",
        "settings.entries.values: 30 entries only in the first, 40 only in the second; "
        "49 of 170 in both differ, by 0.25 at most",
        "settings.entries.visits: 30 entries only in the first, 40 only in the second; "
        "0 of 170 in both differ",
    ]


FEW = {"actions": 1, "states": None, "places": bytes(8), "values": bytes(8), "visits": bytes(4)}


@pytest.mark.parametrize(
    "strange",
    [
        {"dtype": "<f8", "shape": [1 << 63, 0], "data": b"", "packed": False},
        {"dtype": "(9,", "shape": [], "data": b"", "packed": False},
        {"actions": 1, "states": 1, "keys": 5, "places": b"", "values": b"", "visits": b""},
        FEW | {"keys": {"a": 1}},
        FEW | {"keys": 7},
    ],
)
def test_states_that_only_look_like_arrays_and_tables(strange: dict[str, Any]) -> None:
    one, other = (codec.encode({"x": strange, "y": y}) for y in (1, 2))
    assert states.differences(one, other) == ["y: 1 and 2"]


def test_states_that_are_nested_deep_are_compared_as_bytes() -> None:
    one, other = (("[" * 900 + each + "]" * 900).encode() for each in "12")
    assert states.differences(one, other) == [
        "1,801 and 1,801 bytes, which differ first at byte 900"
    ]


def test_the_order_in_which_earlier_versions_saved_a_table_changes_no_entry() -> None:
    saved = codec.decode(table({0: 1.0, 1: 2.0}))
    swapped = saved["settings"]["entries"]
    swapped["keys"].reverse()
    swapped["places"] = np.array([6, 2], "<u8").tobytes()
    found = states.differences(table({0: 1.0, 1: 2.0}), codec.encode(saved))
    assert found == ["settings.entries: the same entries in another order"]


def test_many_entries_that_differ_are_summed_up() -> None:
    one, other = (
        json.dumps({str(n): {"left": n * by} for n in range(at, at + 100)}).encode()
        for at, by in ((0, 1.0), (3, 1.5))
    )
    assert states.differences(one, other) == [
        "the state: 3 entries only in the first, 3 only in the second; "
        "97 of 97 in both differ, by 49.5 at most"
    ]


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [("<f4", [-1]), ("<f4", [2**63]), ("<f4", [2**28 + 1]), ("<f4", [0.5]), ("f4,(", [1])],
)
def test_an_array_of_unknown_length_is_compared_as_it_was_saved(
    dtype: str, shape: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Bomb:
        def decompress(self, data: bytes, most: int) -> bytes:
            assert 0 < most <= states.MOST + 1
            return b""

    monkeypatch.setattr(zlib, "decompressobj", Bomb)
    one, other = (
        codec.encode({"dtype": dtype, "shape": shape, "packed": True, "data": data})
        for data in (b"one", b"other")
    )
    assert states.differences(one, other) == ["data: 3 bytes and 5 bytes"]


def test_only_a_state_of_the_same_agent_is_put_back(played: ExecutionResult, out: Path) -> None:
    was = saved(out, "one")
    with pytest.raises(DovetailError, match=r"^other is not a state of 'one'"):
        states.check(was, b"other", "other")
    states.check(was, played.states["two"], "two")
    states.replace(out, was, played.states["two"])
    assert saved(out, "one").state == played.states["two"]
    states.replace(out, was, was.state)
    assert saved(out, "one").state == was.state


def test_means_over_what_different_software_played_say_so(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied = tmp_path / "copied.sqlite"
    shutil.copy(out / "results.sqlite", copied)
    with closing(sqlite3.connect(copied)) as connection, connection:
        connection.execute("UPDATE stages SET software = 'dovetail 1.0 (abc)' WHERE trained < 50")
        connection.execute("UPDATE stages SET software = 'dovetail 1.0 (def)' WHERE trained >= 50")
    commands.results(str(copied), by="agent")
    warning = "were made by different software: dovetail 1.0 (abc); dovetail 1.0 (def)"
    assert warning in " ".join(capsys.readouterr().out.split())
    commands.results(str(copied), by="agent", where=["trained>=50"])
    assert "software" not in capsys.readouterr().out


@pytest.mark.parametrize("wide", [40, 80, 200])
def test_a_table_shows_the_columns_that_fit(
    out: Path, wide: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(wide))
    commands.results(str(out), limit=1)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= wide
    assert {"agent", "score"} <= set(lines[1].split())
    assert len(lines[1].split()) > wide // 20
    assert "choose with --columns" in " ".join(lines)
    commands.results(str(out), limit=1, columns="agent,type,digest")
    shown = capsys.readouterr().out
    assert "without" not in shown
    assert {"agent", "type", "digest"} <= set(shown.splitlines()[1].split())


def test_a_table_that_goes_to_a_file_has_all_columns(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    commands.results(str(out), limit=1)
    header, *_ = [line for line in capsys.readouterr().out.splitlines() if "agent" in line]
    assert {"execution", "digest", "refused"} <= set(header.split())


def test_text_goes_to_any_stream(out: Path) -> None:
    stream = io.StringIO()
    with Records(out) as records:
        export.text(stream, ["agent"], records.rows(columns=["agent"], limit=1), "csv")
    assert stream.getvalue().startswith("agent\n")
    assert read(out.parent.parent / "small.toml").name == "small"


def events(folder: Path) -> dict[str, dict[int, float]]:
    """Read TensorBoard's records: a length, its check, an event, its check."""
    [path] = folder.glob("events.out.tfevents.*")
    data, found = path.read_bytes(), dict[str, dict[int, float]]()
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        event = event_pb2.Event.FromString(data[at + 12 : at + 12 + size])
        at += size + 16
        for value in event.summary.value:
            found.setdefault(value.tag, {})[event.step] = value.simple_value
    return found


def test_curves_and_measures_go_to_tensorboard(out: Path, tmp_path: Path) -> None:
    logs = tmp_path / "runs"
    with Records(out) as records:
        for _ in range(2):  # the second time, the logs are replaced
            [(folder, count)] = tensorboard.write(records, logs)
        curve = {
            row["trained"]: row["score"]
            for row in records.rows(where=["kind=evaluation"], by=["played", "agent", "trained"])
            if (row["played"], row["agent"]) == ("one", "one")
        }
        measured = [row["value"] for row in records.rows("measures", where=["name=td_error"])]
    assert folder.name == "001-small-seed-5"
    found = events(folder)
    assert count == sum(map(len, found.values()))
    assert found["one/one/score"] == pytest.approx(curve)
    assert measured
    assert sum(len(steps) for tag, steps in found.items() if tag.endswith("/td_error")) == len(
        [each for each in measured if each is not None]
    )
    assert max(found["two/td_error"]) == 50
    (folder / "dovetail.txt").unlink()
    with Records(out) as records, pytest.raises(DovetailError, match="has other files"):
        list(tensorboard.write(records, logs))
