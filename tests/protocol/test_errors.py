from __future__ import annotations

import pickle

import pytest

from dovetail.client.client import RunFailed
from dovetail.protocol.errors import DovetailError, IllegalAction, ProtocolError, Refused


@pytest.mark.parametrize(
    "error",
    [
        Refused("crashed", "save failed"),
        RunFailed("unavailable", "no such agent"),
        ProtocolError("malformed", "no", "turn", {"match": 3}),
        IllegalAction("not there", 1),
    ],
)
def test_an_error_of_a_worker_process_arrives_whole(error: DovetailError) -> None:
    """One that cannot be read ends the pool of workers, and its text is lost."""
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
