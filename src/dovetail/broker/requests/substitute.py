"""Seats the substitutes of an agent that was lost during an episode."""

from __future__ import annotations

from dovetail.broker.matches.instances import Instance
from dovetail.broker.matches.match import Play
from dovetail.broker.matches.run import RunState
from dovetail.broker.rules.clocks import SeatClock


def substitute(run: RunState, play: Play, lost: Instance, now: float) -> bool:
    """Give a lost agent's seats to its substitutes; return whether they were free."""
    seats = {
        assignment: found.instance
        for assignment, found in enumerate(run.assignments(play.episode.index))
        if play.match.seats[assignment].instance is lost
    }
    if not all(found.free() for found in seats.values()):
        return False
    match, episode = play.match, play.episode
    before = play.instances()
    asked = [seat for seat in seats if match.seats[seat].machine.state == "deciding"]
    for number, found in seats.items():
        seat = match.seats[number]
        legal, action = seat.legal, seat.action
        clock = SeatClock(episode.rules.clock, episode.rules.answer_timeout)
        since = episode.turn + (number not in asked)
        seat.begin(seat.seed, clock, seat.space, "evaluate", lost.number, since)
        seat.legal, seat.action = legal, action
        seat.machine.on("leave")
        seat.sit(match.number, found, match.spec, episode.rules)
    after = play.instances()
    for each in {*before, *after}:
        each.busy += (each in after) - (each in before)
    if asked:
        play.ask(episode.decisions(asked, now))
        episode.wait()
        if play.stopped:
            play.stop(now)
    return True
