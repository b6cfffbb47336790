"""The process of an agent file: JSON in both directions, with limits on time and answers."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

from dovetail.protocol import codec
from dovetail.protocol import json_text as jsontext
from dovetail.protocol.errors import Forfeit
from dovetail_bridges.child import Child
from dovetail_bridges.kaggle import worker

log = logging.getLogger("dovetail.kaggle")


class Process(Child):
    """A running ``worker.py``.

    Args:
        file: the agent file.

    Raises:
        DovetailError: it cannot be started.
    """

    def __init__(self, file: Path) -> None:
        script = str(Path(worker.__file__).resolve())
        super().__init__([sys.executable, "-u", script, str(file)], file.name, log.warning)

    def ask(self, message: Any, timeout: float) -> Any:
        """Send a message; return the answer.

        Raises:
            DovetailError: the program reports an error, has exited, does not answer in time, or
                does not answer in JSON; after the last three it is gone.
        """
        self.say(jsontext.write(message))
        line = self.until(lambda _: True, timeout)
        try:
            answer = json.loads(line)
        except codec.UNREADABLE:
            answer = None
        if not isinstance(answer, dict) or not answer.keys() & {"ok", "error"}:
            self.end()
            text = f"{self.name} answered {line[:60]!r}, which is not an answer"
            raise Forfeit("unavailable", text)
        if "error" in answer:
            raise Forfeit("unavailable", f"{self.name} raised {answer['error']}")
        return answer["ok"]
