"""Writing the journal: every episode and every kept state, on disk before anybody hears of it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import AnyRecord, StateRecord, scan


class Journal:
    """A journal open for writing.

    Raises:
        DovetailError: the file cannot be written or is no journal.
    """

    def __init__(self, path: Path, *, sync: bool = False) -> None:
        self.path = path
        self.sync = sync
        """Whether to force each write to the device, against loss of power."""
        self.states: dict[str, bytes] = {}
        end = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_file():
                for position, record in scan(path):
                    end = position
                    if isinstance(record, StateRecord):
                        self.states[record.name] = record.state
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            if path.is_file():
                os.ftruncate(self._file, end)
                os.lseek(self._file, end, os.SEEK_SET)
        except OSError as error:
            raise DovetailError(f"cannot write the journal {path}: {error.strerror}") from None
        self._end = end
        self._pending = b""

    def write(self, records: Sequence[AnyRecord]) -> None:
        """Append records; what could not be written is tried again by the next call.

        Raises:
            OSError: the disk refuses, and nothing of ``records`` counts as written.
        """
        now = time.time()
        parts = [self._pending]
        for record in records:
            record.time = now
            data = codec.encode(record)
            parts.append(len(data).to_bytes(4, "big"))
            parts.append(data)
        self._pending = b"".join(parts)
        while self._pending:
            written = os.write(self._file, self._pending)
            self._pending = self._pending[written:]
        if self.sync:
            os.fsync(self._file)

    def close(self) -> None:
        """Force everything to the device and close."""
        with contextlib.suppress(OSError):
            os.fsync(self._file)
        os.close(self._file)
