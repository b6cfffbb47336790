"""Archives of others: what they unpack to is bounded and checked, and what fails leaves nothing."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.arena import archive
from dovetail_experiments.arena import schema as s
from dovetail_experiments.arena.description import read
from dovetail_experiments.arena.store import FILE, ArenaStore

pytestmark = pytest.mark.fast

ARENA = 'name = "Course"\n[[ladders]]\nname = "four"\ngame = "connect_four"\n'
Files = dict[str, bytes]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Return the files of an archive."""
    folder = tmp_path_factory.mktemp("one")
    file = folder / "arena.toml"
    file.write_text(ARENA)
    with ArenaStore(folder / "arena" / FILE, create=True) as store:
        store.invite("alice")
        one = store.enter("four", "alice", "one")
        other = store.enter("four", "", "random")
        store.plan(1, "four", 0, [one, other])
        archive.export(file, read(file), folder / "one.zip")
    with zipfile.ZipFile(folder / "one.zip") as given:
        return {each: given.read(each) for each in given.namelist()}


def packed(path: Path, files: Files) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in files.items():
            out.writestr(name, content)
    return path


def refused(folder: Path, files: Files) -> str:
    """Return why an archive of these files is refused, which leaves nothing."""
    (folder / "kept").write_text("x")
    return left_alone(folder, packed(folder / "bad.zip", files))


def left_alone(folder: Path, path: Path) -> str:
    before = sorted(each.name for each in folder.iterdir())
    with pytest.raises(DovetailError) as failed:
        archive.restore(path, folder / "made")
    assert sorted(each.name for each in folder.iterdir()) == before
    assert "\n" not in str(failed.value)
    assert ".dovetail-" not in str(failed.value)
    return str(failed.value)


def test_an_archive_that_is_whole_is_imported_also_after_one_that_failed(
    tmp_path: Path, files: Files
) -> None:
    refused(tmp_path, {**files, "log.jsonl": b"[]"})
    (tmp_path / "made").mkdir()
    file = archive.restore(packed(tmp_path / "good.zip", files), tmp_path / "made")
    assert file == tmp_path / "made" / "arena.toml"
    with ArenaStore(file.parent / "arena" / FILE) as store:
        assert store.entrants() == {"alice": "active"}
        assert [each.players for each in store.planned(1)] == [[1, 2]]
    assert not list(tmp_path.glob(".dovetail-*"))


def changed(table: str, **values: Any) -> Callable[[Files], Files]:
    """Return what changes the first line of a table; None leaves a value out."""

    def change(files: Files) -> Files:
        first, *rest = files[f"{table}.jsonl"].splitlines()
        row = {**json.loads(first), **values}
        row = {key: each for key, each in row.items() if each != "left out"}
        lines = [json.dumps(row).encode(), *rest]
        return {**files, f"{table}.jsonl": b"\n".join(lines)}

    return change


@pytest.mark.parametrize("table", [each.name for each in s.metadata.sorted_tables])
@pytest.mark.parametrize(
    "line",
    [b"[]", b"3", b"null", b"{}", b'{"x": 1}', b"[" * 50_000, b'{"a":' * 50_000, b"{", b"\xff"],
    ids=["list", "number", "null", "empty", "other", "deep", "deeper", "cut off", "not text"],
)
def test_a_line_that_is_no_row_is_named(
    tmp_path: Path, files: Files, table: str, line: bytes
) -> None:
    said = refused(tmp_path, {**files, f"{table}.jsonl": line})
    assert f"{table}.jsonl, line 1: " in said


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (changed("entrants", state="king"), "entrants.jsonl, line 1: Invalid enum value"),
        (changed("entrants", name="../x"), "entrants.jsonl, line 1: Expected `str` matching"),
        (changed("entrants", token="x"), "of length >= 40"),
        (changed("entrants", name=["alice"]), "Expected `str`, got `array`"),
        (changed("entrants", why="x" * 100_000), "of length <= 65536"),
        (changed("entrants", invited="left out"), "missing required field `invited`"),
        (changed("entrants", more=1), "unknown field `more`"),
        (changed("players", id=1 << 80), "players.jsonl, line 1: "),
        (changed("players", faults=True), "Expected `int`, got `bool`"),
        (changed("seasons", began=None), "Expected `float`, got `null`"),
        (changed("seasons", began=float("nan")), "seasons.jsonl, line 1: "),
        (changed("places", player=99), "a row of places refers to a missing row of players"),
        (changed("arena", version=99), "has version 99"),
        (changed("arena", version="2"), "Expected `int`, got `str`"),
    ],
)
def test_a_row_that_makes_no_sense_is_refused(
    tmp_path: Path, files: Files, change: Callable[[Files], Files], why: str
) -> None:
    assert why in refused(tmp_path, change(files))


def test_an_archive_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "LEAST", 1 << 20)
    row = {**json.loads(files["log.jsonl"].splitlines()[0]), "text": "x" * 10_000}
    many = b"\n".join(json.dumps({**row, "id": n}).encode() for n in range(1_000))
    for bomb in (
        {"journal": bytes(50 << 20)},
        {"log.jsonl": many},
        {"log.jsonl": b'{"id":' + b" " * (50 << 20)},
        {"arena.toml": b"#" * (50 << 20)},
    ):
        said = refused(tmp_path, {**files, **bomb})
        assert "unpacks to more than" in said or "has more than" in said or "a line of more" in said


def test_what_is_no_archive_is_refused(tmp_path: Path, files: Files) -> None:
    good = packed(tmp_path / "good.zip", files).read_bytes()
    bad = tmp_path / "bad.zip"
    for content in (b"", b"not a zip", good[:-40], good[:100] + bytes(200) + good[300:]):
        bad.write_bytes(content)
        assert str(bad) in left_alone(tmp_path, bad)
    with zipfile.ZipFile(packed(bad, files), "a") as out:
        out.filelist.append(out.getinfo("arena.toml"))
        out.writestr("more", b"")  # has the list written
    assert "two files of the same name" in left_alone(tmp_path, bad)
    assert "its `folder` lies outside" in refused(
        tmp_path, {**files, "arena.toml": b'folder = "../x"\n' + files["arena.toml"]}
    )
    assert "arena.toml, line 1" in refused(tmp_path, {**files, "arena.toml": b"name = 3"})
    assert "has no seats.jsonl" in refused(
        tmp_path, {name: each for name, each in files.items() if name != "seats.jsonl"}
    )
