"""The journal proves itself: what is damaged is found, what is not is read, and one broker writes
it."""

from __future__ import annotations

import contextlib
import os
import struct
import tracemalloc
import zlib
from pathlib import Path
from typing import Any, get_args
from unittest.mock import Mock

import pytest

from dovetail import InProcess
from dovetail.broker.durable.append_file import AppendFile, MappedFile, Sync
from dovetail.broker.durable.journal import Journal
from dovetail.peer import provenance
from dovetail.peer.agents.random_agent import Random
from dovetail.protocol import codec, logfile
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import (
    TITLE,
    TITLE_2,
    EpisodeRecord,
    NumberRecord,
    StateRecord,
    Written,
    entries,
    read,
)
from dovetail.protocol.logfile import (
    CHUNK,
    HIGHEST,
    MARK_2,
    Damage,
    Entry,
    Framing,
    new_framing,
    scan,
)
from dovetail_games.connect_four import ConnectFour


def play(path: Path, episodes: int = 3, **options: Any) -> list[Any]:
    with InProcess([ConnectFour], [Random], journal=path) as experiment:
        agents = [experiment.create("random", seed=seed) for seed in (1, 2)]
        return experiment.run("connect_four", agents, episodes=episodes, seed=9, **options).wait()


def damage(path: Path) -> list[Damage]:
    return [each for each in entries(path) if isinstance(each, Damage)]


def test_a_journal_says_what_wrote_it_and_where_that_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    for revision in ("abc", "abc", "def"):
        made = provenance.Provenance("1.0", revision, "3.11", "2.0", "")
        monkeypatch.setattr(provenance, "here", lambda made=made: made)
        play(path, 2)
    episodes = [each for each in read(path) if isinstance(each, EpisodeRecord)]
    assert [each.software.partition(",")[0] for each in episodes] == [
        *("dovetail 1.0 (abc)", "", "", "", "dovetail 1.0 (def)", "")
    ]


@pytest.mark.learners
def test_every_flipped_bit_is_found(tmp_path: Path) -> None:
    path, bad = tmp_path / "whole", tmp_path / "flipped"
    play(path)
    whole = path.read_bytes()
    count = len(list(read(path)))
    records = [each for each in entries(path) if isinstance(each, Written)]
    assert damage(path) == []
    for bit in range(0, len(whole) * 8, 23):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        bad.write_bytes(flipped)
        found = damage(bad)
        assert found, f"bit {bit} goes unnoticed"
        first = found[0]
        assert first.start <= bit // 8 < max(first.end, first.start + 1), (bit, found)
        hit = [each for each in records if each.start <= bit // 8 < each.end]
        expected = count - sum(not hasattr(each.record, "next") for each in hit)
        assert len(list(read(bad))) == expected, bit  # what follows is read


def test_damage_is_survived_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "games"
    play(path, 4)
    places = [each for each in entries(path) if isinstance(each, Written)]
    data = bytearray(path.read_bytes())
    data[places[1].start + 40] ^= 1
    path.write_bytes(data)
    play(path, 2)
    assert len([each for each in read(path) if isinstance(each, EpisodeRecord)]) == 5
    assert len(damage(path)) == 1


def test_a_missing_record_is_named(tmp_path: Path) -> None:
    path = tmp_path / "games"
    play(path, 4)
    places = [each for each in entries(path) if isinstance(each, Written)]
    data = path.read_bytes()
    path.write_bytes(data[: places[1].start] + data[places[1].end :])
    assert [each.what for each in damage(path)] == ["record 3 follows record 1"]


def test_a_cut_end_is_kept_aside(tmp_path: Path) -> None:
    path = tmp_path / "games"
    play(path, 3)
    whole = path.read_bytes()
    for cut in (1, 19, 20, 21, 25, 60):
        path.write_bytes(whole[:-cut])
        (found,) = damage(path)
        assert found.torn
        Journal(path).close()
        assert damage(path) == []
        torn = path.with_name("games.torn")
        assert path.read_bytes() + torn.read_bytes() == whole[:-cut]
        torn.unlink()


def test_no_other_broker_writes_between_reading_and_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "games"
    Journal(path).close()
    seen = []
    whole = Journal._read

    def reads(journal: Journal, begin: int) -> int:
        end = whole(journal, begin)
        with monkeypatch.context() as patch:
            patch.setattr(Journal, "_read", whole)
            with pytest.raises(DovetailError, match="in use by another broker"):
                Journal(path).write([StateRecord("late", "other", b"lost")])
        seen.append(end)
        return end

    monkeypatch.setattr(Journal, "_read", reads)
    Journal(path).close()
    assert len(seen) == 1
    assert not path.with_name("games.torn").exists()


def test_the_old_format_is_read_and_upgraded(tmp_path: Path) -> None:
    path = tmp_path / "games"
    play(path, 3)
    records = list(read(path))
    old = b"".join(len(d).to_bytes(4, "big") + d for d in map(codec.encode, records))
    path.write_bytes(old)
    assert list(map(codec.encode, read(path))) == list(map(codec.encode, records))
    for bit in range(0, len(old) * 8, 31):
        flipped = bytearray(old)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        with contextlib.suppress(DovetailError):  # anything else fails
            list(read(path))
    path.write_bytes(old)
    play(path, 1)
    assert path.read_bytes().startswith(TITLE)
    assert len(list(read(path))) == 4
    assert not path.with_name("games.v1").exists()


def test_what_is_no_journal_is_left_as_it_was(tmp_path: Path) -> None:
    foreign, path = tmp_path / "foreign", tmp_path / "games"
    foreign.write_bytes(b"a file of somebody else\n")
    path.symlink_to(foreign)
    with pytest.raises(DovetailError):
        Journal(path)
    assert foreign.read_bytes() == b"a file of somebody else\n"
    assert sorted(tmp_path.iterdir()) == [foreign, path]


@pytest.mark.parametrize("what", ["pipe", "device"])
def test_what_is_not_a_file_is_refused_before_it_is_read(tmp_path: Path, what: str) -> None:
    path = tmp_path / "games"
    if what == "pipe":
        os.mkfifo(path)
        keeper = os.open(path, os.O_RDWR)  # else opening it would wait, and this test with it
    else:
        path.symlink_to("/dev/zero")
        keeper = os.open(os.devnull, os.O_RDONLY)
    try:
        for read_ in (Journal, lambda each: list(entries(each))):
            with pytest.raises(DovetailError, match=r"games: Not a regular file$"):
                read_(path)
        assert path.is_fifo() or path.is_symlink()
    finally:
        os.close(keeper)


@pytest.mark.parametrize("start", ["records", "head", "title", "version 2", "version 1", "nothing"])
def test_a_hole_takes_neither_memory_nor_disk(tmp_path: Path, start: str) -> None:
    path = tmp_path / "games"
    play(path)
    data = path.read_bytes()
    size = 300 << 20
    begin = {
        "records": data,
        "head": data[: len(TITLE) + 40],
        "title": TITLE,
        "version 2": TITLE_2 + MARK_2 + (200 << 20).to_bytes(4, "big") + bytes(8),
        "version 1": (200 << 20).to_bytes(4, "big") + b"\x81",
        "nothing": b"",
    }
    path.write_bytes(begin[start])
    os.truncate(path, size)
    tracemalloc.start()
    try:
        with contextlib.suppress(DovetailError):
            list(entries(path))
        with contextlib.suppress(DovetailError):
            Journal(path).close()
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
    assert sum(each.stat().st_blocks for each in tmp_path.iterdir()) * 512 < 1 << 20
    if start == "records":
        assert path.read_bytes()[: len(data)] == data


def test_a_hole_is_summed_without_being_read() -> None:
    class Read(bytes):
        def __getitem__(self, which: Any) -> Any:
            assert which.start < CHUNK
            return super().__getitem__(which)

    data = b"some" + bytes(2 * CHUNK + 3)
    assert logfile._sum(Read(data), 1, len(data) - 1, 7, 4) == zlib.crc32(data[1:], 7)


@pytest.mark.parametrize("where", ["run", "record", "next"])
def test_a_journal_whose_numbers_are_used_up_is_not_continued(tmp_path: Path, where: str) -> None:
    path = tmp_path / "games"
    play(path, 1)
    [record] = [each for each in read(path) if isinstance(each, EpisodeRecord)]
    framed = new_framing(TITLE)
    number, last = 1, record
    if where == "run":
        record.result.run = (1 << 63) - 1
    elif where == "record":
        number = HIGHEST
    else:
        last = NumberRecord((1 << 63) - 1)  # type: ignore[assignment]
    path.write_bytes(framed.head + framed.pack(number, codec.encode(last)))
    with pytest.raises(DovetailError, match="after which too few are left; move it away"):
        Journal(path)


def test_numbers_are_not_used_twice(tmp_path: Path) -> None:
    path = tmp_path / "games"
    for _ in range(3):
        play(path, 2)
    results = [each.result for each in read(path) if isinstance(each, EpisodeRecord)]
    assert len({each.episode for each in results}) == 6
    assert len({each.run for each in results}) == 3


def test_a_second_broker_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "games"
    first = Journal(path)
    for _ in range(2):
        with pytest.raises(DovetailError, match=r"games is in use by another broker; choose ano"):
            Journal(path)
    first.close()
    Journal(path).close()


def test_what_could_not_be_forced_to_the_device_is_written_again_in_its_place(
    tmp_path: Path, monkeypatch: Any
) -> None:
    """It was there twice, under one number."""
    journal = Journal(tmp_path / "games", sync="always")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", Mock(side_effect=OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="No space"):
            journal.write([StateRecord("a", "x", b"1" * 50)])
    journal.write([StateRecord("b", "x", b"2")])
    journal.close()
    assert [each.name for each in read(tmp_path / "games") if isinstance(each, StateRecord)] == [
        *("a", "b")
    ]
    assert damage(tmp_path / "games") == []


@pytest.mark.parametrize("sync", get_args(Sync))
def test_what_was_refused_is_written_later(tmp_path: Path, sync: Any, monkeypatch: Any) -> None:
    """A disk that takes a part of a record and then nothing leaves no trace of that part."""
    journal = Journal(tmp_path / "games", sync=sync)
    journal.write([StateRecord("a", "x", b"1" * 50)])
    real, calls = os.pwrite, iter([10, None, 30, None])

    def full(file: int, data: Any, where: int) -> int:
        share = next(calls)
        if share is None:
            raise OSError(28, "No space left on device")
        return real(file, bytes(data)[:share], where)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        for _ in range(2):
            with pytest.raises(OSError, match="No space"):
                journal.write([StateRecord("b", "x", b"2" * 70)])
    journal.write([StateRecord("c", "x", b"3")])
    journal.close()
    assert [each.name for each in read(tmp_path / "games") if isinstance(each, StateRecord)] == [
        *("a", "b", "b", "c")
    ]
    assert damage(tmp_path / "games") == []
    assert Journal(tmp_path / "games").states == {"a": b"1" * 50, "b": b"2" * 70, "c": b"3"}


@pytest.fixture
def framing() -> Framing:
    return new_framing(b"title\n")


@pytest.mark.parametrize("sync", get_args(Sync))
def test_a_mapped_file_holds_what_was_written_when_the_program_dies(
    tmp_path: Path, framing: Framing, sync: Any
) -> None:
    path = tmp_path / "file"
    file = MappedFile(path, framing.head, 0, sync)
    records = [framing.pack(number, bytes([number]) * (700 * number)) for number in range(1, 20)]
    for record in records:
        file.append(record)
    left = path.read_bytes()  # as another program sees it
    written = framing.head + b"".join(records)
    assert left == written.ljust(len(left), b"\0")
    assert MappedFile.ROOM < len(written) < len(left) < len(written) + 2 * MappedFile.ROOM
    *whole, rest = scan(path, b"title\n")
    assert [each.number for each in whole if isinstance(each, Entry)] == [*range(1, 20)]
    assert isinstance(rest, Damage)
    assert rest.torn
    file.close()
    assert path.read_bytes() == written


def test_a_write_that_was_cut_short_in_a_mapped_file_is_torn(
    tmp_path: Path, framing: Framing
) -> None:
    path = tmp_path / "file"
    records = [framing.pack(1, b"first\0\0"), framing.pack(2, b"second\0")]
    whole = framing.head + b"".join(records)
    for length in range(len(framing.head) + len(records[0]), len(whole) - 1):
        path.write_bytes(whole[:length].ljust(300, b"\0"))
        first, rest = scan(path, b"title\n")
        assert isinstance(first, Entry), length
        assert isinstance(rest, Damage), length
        assert rest.torn, length


def test_a_full_disk_leaves_a_mapped_file_as_it_was(
    tmp_path: Path, framing: Framing, monkeypatch: Any
) -> None:
    path = tmp_path / "file"
    file = MappedFile(path, framing.head, 0, "none")
    file.append(framing.pack(1, b"small"))

    def full(file: int, *_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        patch.setattr(os, "pwrite", full)
        for large in (b"l" * (MappedFile.HUGE - 100), b"large" * MappedFile.ROOM) * 2:
            file._room = 0
            with pytest.raises(OSError, match="No space"):
                file.append(framing.pack(2, large))
            assert path.read_bytes() == framing.head + framing.pack(1, b"small")
    file.append(framing.pack(2, b"large" * MappedFile.ROOM))
    file.append(framing.pack(3, b"small"))
    file.close()
    assert [each.number for each in scan(path, b"title\n") if isinstance(each, Entry)] == [1, 2, 3]


def test_a_mapped_file_asks_for_little_more_than_is_written(
    tmp_path: Path, framing: Framing
) -> None:
    """Sixteen times a state of 7 MB stopped a broker on a disk with 20 MB free."""
    path = tmp_path / "file"
    file = MappedFile(path, framing.head, 0, "none")
    for number in (1, 2):
        file.append(framing.pack(number, b"x" * 7_000_000))
        written = len(framing.head) + number * len(framing.pack(number, b"x" * 7_000_000))
        assert written <= path.stat().st_size <= written + MappedFile.ROOM
    file.close()


def test_small_writes_between_huge_ones_reserve_nothing(
    tmp_path: Path, framing: Framing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reservation after each frame of a megabyte cost as much as to write the frame."""
    path = tmp_path / "file"
    file = MappedFile(path, framing.head, 0, "none")
    reserved = []
    fallocate = os.posix_fallocate

    def counted(*arguments: int) -> None:
        reserved.append(arguments)
        fallocate(*arguments)

    monkeypatch.setattr(os, "posix_fallocate", counted)
    for number in range(1, 20, 2):
        file.append(framing.pack(number, b"x" * 1_000_000))
        file.append(framing.pack(number + 1, b"small"))
    assert not reserved
    for number in range(21, 31):
        file.append(framing.pack(number, b"small"))
    assert len(reserved) == 1
    file.close()
    numbers = [each.number for each in scan(path, b"title\n") if isinstance(each, Entry)]
    assert numbers == list(range(1, 31))


@pytest.mark.parametrize("kind", [AppendFile, MappedFile])
@pytest.mark.parametrize("sync", ["none", "always"])
def test_who_tears_a_write_cuts_it_off(
    tmp_path: Path, framing: Framing, kind: Any, sync: Any, monkeypatch: Any
) -> None:
    path = tmp_path / "file"
    file = kind(path, framing.head, 0, sync)
    file.append(framing.pack(1, b"one"))
    before = framing.head + framing.pack(1, b"one")
    real, calls = os.pwrite, iter([5_000, None])

    def full(file: int, data: Any, where: int) -> int:
        share = next(calls)
        if share is None:
            raise OSError(28, "No space left on device")
        return real(file, bytes(data)[:share], where)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(OSError, match="No space"):
            file.append(framing.pack(2, b"x" * 9_000))
    assert path.read_bytes() == before
    file.append(framing.pack(2, b"two"))
    file.close()
    assert path.read_bytes() == before + framing.pack(2, b"two")


def forged(number: int) -> list[bytes]:
    """Return records as an attacker writes them, of each format."""
    data = codec.encode(StateRecord("champion", "td", b"the attacker's"))
    head = struct.pack(">4sIQ", MARK_2, len(data), number)
    second = head + struct.pack(">I", zlib.crc32(data, zlib.crc32(head))) + data
    return [second, new_framing(TITLE).pack(number, data)]


@pytest.mark.parametrize("version", [2, 3])
def test_a_torn_write_of_a_peers_state_forges_nothing(
    tmp_path: Path, version: int, monkeypatch: Any
) -> None:
    """A full disk tore it, the torn part stayed, and the broker was killed and started again."""
    path = tmp_path / "games"
    journal = Journal(path)
    journal.write([StateRecord("champion", "td", b"ours")])
    state = b"".join(each for number in range(2, 9) for each in forged(number)) * 9
    real, calls = os.pwrite, iter([len(state) // 2, None])

    def full(file: int, data: Any, where: int) -> int:
        share = next(calls)
        if share is None:
            raise OSError(28, "No space left on device")
        return real(file, bytes(data)[:share], where)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        patch.setattr(os, "ftruncate", Mock(side_effect=OSError(5, "Input/output error")))
        with pytest.raises(OSError, match="No space"):
            journal.write([StateRecord("mine", "td", state)])
    os.close(journal._file._file)  # killed
    if version == 2:
        ours = codec.encode(StateRecord("champion", "td", b"ours"))
        mine = codec.encode(StateRecord("mine", "td", state))
        heads = [struct.pack(">4sIQ", MARK_2, len(e), n) for n, e in ((1, ours), (2, mine))]
        sums = [struct.pack(">I", zlib.crc32(ours, zlib.crc32(heads[0]))), b"\0\0\0\0"]
        torn = heads[0] + sums[0] + ours + heads[1] + sums[1] + mine
        path.write_bytes(TITLE_2 + torn[: len(torn) // 2])
    assert [(e.name, e.state) for e in read(path) if isinstance(e, StateRecord)] == [
        ("champion", b"ours")
    ]
    again = Journal(path)
    assert again.states == {"champion": b"ours"}
    again.write([StateRecord("mine", "td", b"small")])
    again.close()
    assert Journal(path).states == {"champion": b"ours", "mine": b"small"}
    assert damage(path) == []


def test_the_second_format_is_upgraded_and_kept_if_damaged(tmp_path: Path) -> None:
    path = tmp_path / "games"
    bodies = [codec.encode(StateRecord(f"state {n}", "td", bytes(n))) for n in range(1, 6)]
    heads = [struct.pack(">4sIQ", MARK_2, len(e), n) for n, e in enumerate(bodies, 1)]
    packed = [
        head + struct.pack(">I", zlib.crc32(body, zlib.crc32(head))) + body
        for head, body in zip(heads, bodies, strict=True)
    ]
    path.write_bytes(TITLE_2 + b"".join(packed))
    assert len(list(read(path))) == 5
    Journal(path).close()
    assert path.read_bytes().startswith(TITLE)
    assert len(list(read(path))) == 5
    assert not path.with_name("games.v2").exists()
    packed[2] = packed[2][:-1] + b"x"
    path.write_bytes(broken := TITLE_2 + b"".join(packed))
    (tmp_path / "games.v2").write_text("another")
    Journal(path).close()
    names = [each.name for each in read(path) if isinstance(each, StateRecord)]
    assert names == ["state 1", "state 2", "state 4", "state 5"]
    assert (tmp_path / "games.v2").read_text() == "another"
    assert (tmp_path / "games.v2.1").read_bytes() == broken


def test_a_journal_whose_head_is_lost_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "games"
    play(path, 1)
    data = bytearray(path.read_bytes())
    data[len(TITLE) : len(TITLE) + 40] = bytes(40)
    path.write_bytes(data)
    with pytest.raises(DovetailError, match="games has a damaged head, without which no record"):
        Journal(path)
    assert path.read_bytes() == data
