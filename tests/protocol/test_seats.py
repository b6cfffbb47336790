"""The seats of agents that change seats."""

import numpy as np
import pytest

from dovetail.broker.matches.run import Schedule
from dovetail.protocol import messages as m


@pytest.mark.rule("S7.9")
@pytest.mark.parametrize("count", [1, 2, 3])
def test_agents_move_on_by_a_seat_each_episode(count: int) -> None:
    schedule = Schedule(m.Run(1, "game", list(range(count)), episodes=9, rotate=True))
    seatings = [schedule.seating(index) for index in range(7)]
    for index, seating in enumerate(seatings):
        assert [seating.index(agent) for agent in range(count)] == [
            (agent + index) % count for agent in range(count)
        ]
    assert np.array_equal(schedule.players(list(range(7))), seatings)
