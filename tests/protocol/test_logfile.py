"""Records read from a file were written there, whatever peers chose and whatever was
torn."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import TITLE, TITLE_2, StateRecord, entries, read, write
from dovetail.protocol.logfile import MARK, MARK_2, Damage, Entry, Framing, scan, scan_2

OURS = Framing(TITLE, bytes(range(100, 100 + MARK)))
"""With a mark that those who choose the contents do not know."""
GUESSED = [Framing(TITLE, mark) for mark in (bytes(MARK), MARK_2 * 4, bytes(range(MARK)))]


def old(number: int, data: bytes, *, length: int | None = None) -> bytes:
    """Return a record as version 2 wrote it; ``length`` is a false one."""
    head = struct.pack(">4sIQ", MARK_2, len(data) if length is None else length, number)
    return head + struct.pack(">I", zlib.crc32(data, zlib.crc32(head))) + data


numbers = st.integers(0, 1 << 62)
forged = codec.encode(StateRecord("champion", "td", b"the attacker's"))
framed = st.one_of(
    st.builds(old, numbers, st.just(forged)),
    st.builds(old, numbers, st.binary(max_size=20), length=st.integers(0, 1 << 31)),
    st.builds(lambda by, n: by.pack(n, forged), st.sampled_from(GUESSED), numbers),
    st.sampled_from([each.head for each in GUESSED]),
    st.just(OURS.mark[:-1]),
)
hostile = st.lists(st.one_of(framed, st.binary(max_size=60)), max_size=6).map(b"".join)


@st.composite
def torn(draw: st.DrawFn, packed: list[bytes]) -> bytes:
    """Return a file of these records, with one of them torn, and perhaps more after it."""
    at = draw(st.integers(0, len(packed) - 1))
    cut = draw(st.integers(0, len(packed[at])))
    gap = draw(st.one_of(st.just(b""), hostile, st.integers(0, 64).map(bytes)))
    following = packed[at + 1 :] if draw(st.booleans()) else []
    return b"".join([*packed[:at], packed[at][:cut], gap, *following])


def found(path: Path, title: bytes = TITLE) -> list[tuple[int, bytes]]:
    return [(each.number, each.data) for each in scan(path, title) if isinstance(each, Entry)]


@given(st.lists(hostile, min_size=1, max_size=5), st.data())
def test_what_is_read_was_written(
    tmp_path_factory: pytest.TempPathFactory, contents: list[bytes], data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile"
    written = list(enumerate(contents, 1))
    packed = [OURS.pack(number, content) for number, content in written]
    path.write_bytes(OURS.head + b"".join(packed))
    assert found(path) == written
    path.write_bytes(OURS.head + data.draw(torn(packed)))
    seen = found(path)
    assert set(seen) <= set(written)
    assert [number for number, _ in seen] == sorted({number for number, _ in seen})


@given(st.lists(hostile, min_size=1, max_size=5), st.data())
def test_a_torn_record_of_version_2_hides_none(
    tmp_path_factory: pytest.TempPathFactory, contents: list[bytes], data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile of version 2"
    written = list(enumerate(contents, 1))
    packed = [old(number, content) for number, content in written]
    path.write_bytes(TITLE_2 + b"".join(packed))
    assert [(e.number, e.data) for e in scan_2(path, TITLE_2) if isinstance(e, Entry)] == written
    last = packed.pop()
    cut = data.draw(st.integers(0, len(last) - 1))
    path.write_bytes(TITLE_2 + b"".join(packed) + last[:cut])
    *whole, rest = [*scan_2(path, TITLE_2), None]
    seen = [(e.number, e.data) for e in whole if isinstance(e, Entry)]
    assert seen == written[:-1]
    assert rest is None
    assert all(each.torn for each in whole if isinstance(each, Damage))


def test_a_flipped_bit_of_the_head_costs_no_record(tmp_path: Path) -> None:
    path = tmp_path / "file"
    whole = OURS.head + OURS.pack(1, b"one") + OURS.pack(2, b"two")
    for bit in range(len(OURS.head) * 8):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        assert found(path) == [(1, b"one"), (2, b"two")], bit
        assert isinstance(next(scan(path, TITLE)), Damage), bit


def test_numbers_rise(tmp_path: Path) -> None:
    path = tmp_path / "file"
    again = [OURS.pack(number, b"%d" % number) for number in (1, 2, 2, 1, 0, 1 << 63, 3)]
    path.write_bytes(OURS.head + b"".join(again))
    assert found(path) == [(1, b"1"), (2, b"2"), (3, b"3")]
    assert len([each for each in scan(path, TITLE) if isinstance(each, Damage)]) == 4


@given(st.binary(max_size=300), st.integers(0, 400))
def test_what_an_older_file_left_behind_the_last_record_is_not_read(rest: bytes, cut: int) -> None:
    """Nothing is said of it, whether the last write over it was whole or cut short."""
    records = [OURS.pack(1, b"one"), OURS.pack(2, b"two" * 100)]
    older = GUESSED[2].head + GUESSED[2].pack(1, b"\xff" * 500) + rest
    written = OURS.head + b"".join(records)
    end = max(len(OURS.head), len(written) - cut)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(written[:end] + older[end:])
        seen = list(scan(path, TITLE, over=True))
    ends = (len(OURS.head) + len(records[0]), len(written))
    assert [(each.number, each.end) for each in seen if isinstance(each, Entry)] == [
        (number, at) for number, at in enumerate(ends, 1) if at <= end
    ]
    assert not [each for each in seen if isinstance(each, Damage)]


def halves(size: int, record: Any) -> bytes:
    """Return marks whose lengths are half of what follows each: each was hashed, 0.3 s for 80
    kB."""
    step = len(record(0))
    return b"".join(record((size - at) // 2) for at in range(0, size, step))


@pytest.mark.parametrize("version", [2, 3])
def test_the_work_is_proportional_to_the_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    path = tmp_path / "file"
    if version == 2:
        content = TITLE_2 + halves(80_000, lambda length: old(1, b"", length=length))
        scanned = scan_2(path, TITLE_2)
    else:  # of one who knows the mark
        empty = OURS.pack(1, b"")
        content = OURS.head + halves(
            80_000, lambda length: empty[:MARK] + struct.pack(">I", length) + empty[MARK + 4 :]
        )
        scanned = scan(path, TITLE)
    path.write_bytes(content)
    hashed = Mock(side_effect=zlib.crc32)
    monkeypatch.setattr(zlib, "crc32", hashed)
    damages = list(scanned)
    assert damages
    assert sum(len(call.args[0]) for call in hashed.call_args_list) < 2 * len(content)


FIRST = [
    ("torn", OURS.pack(1, b"x" * 100)[:60]),
    ("nothing of it", b""),
    ("unknown", OURS.pack(1, b"\x81\xa6record\xa1?")),
    ("nested deeply", OURS.pack(1, b"\x91" * 100_000)),
    ("broken", OURS.pack(1, b"x" * 100)[:-1] + b"y"),
]


@pytest.mark.parametrize(("content"), [each for _, each in FIRST], ids=[name for name, _ in FIRST])
def test_the_first_record_is_like_any_other(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    kept = StateRecord("a", "td", b"state")
    path.write_bytes(OURS.head + content)
    assert list(read(path)) == []
    path.write_bytes(OURS.head + content + OURS.pack(2, codec.encode(kept)))
    assert list(read(path)) == [kept]


def test_a_title_without_more_is_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for cut in range(1, len(OURS.head)):
        path.write_bytes(OURS.head[:cut])
        assert list(read(path)) == []
        (rest,) = entries(path) if len(OURS.head) - cut > MARK + 4 else [None]
        assert rest is None or (isinstance(rest, Damage) and rest.torn), cut


@pytest.mark.parametrize("content", [b"a letter to a friend\n" * 9, b"\x89PNG" * 99, b"\0" * 99])
def test_another_file_is_no_journal(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(DovetailError, match="is not a Dovetail journal"):
        list(read(tmp_path / "file"))


def test_each_file_has_its_own_mark_and_is_private(tmp_path: Path) -> None:
    heads = set()
    for name in ("one", "two"):
        write(tmp_path / name, [])
        heads.add((tmp_path / name).read_bytes())
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert len(heads) == 2
    (tmp_path / "one").chmod(0o644)
    write(tmp_path / "one", [])
    assert (tmp_path / "one").stat().st_mode & 0o777 == 0o644
