"""Agents that are lost in the middle of an episode, and the substitutes that play on in their seats."""

from __future__ import annotations

from dovetail.broker.matches.instances import Instance
from dovetail.broker.matches.match import Play
from dovetail.broker.matches.run import Run
from dovetail.broker.rules.clocks import SeatClock
from dovetail.broker.rules.episode import Episode
from dovetail.broker.rules.place import Place


def substitute(run: Run, play: Play, lost: Instance, now: float) -> bool:
    """Give the seats of a lost agent to its substitutes; return whether those could take them."""
    seats = {
        chair: found.instance
        for chair, found in enumerate(run.seated(play.episode.index))
        if play.match.sitters[chair].instance is lost
    }
    if not all(found.free() for found in seats.values()):
        return False
    match, episode = play.match, play.episode
    before = play.instances()
    asked = [number for number in seats if _hand_over(episode, number, lost.number)]
    for number, found in seats.items():
        sitter = match.sitters[number]
        sitter.machine.on("leave")
        sitter.sit(match.number, found, match.spec, episode.rules)
    after = play.instances()
    for each in {*before, *after}:
        each.busy += (each in after) - (each in before)
    if asked:
        play.ask(episode.decisions(asked, now))
        episode.wait()
        if play.stopped:
            play.stop(now)
    return True


def _hand_over(episode: Episode, number: int, stands_for: int) -> bool:
    """Begin a seat's account again; return whether it has to be asked again."""
    before = episode.places[number]
    asked = before.machine.state == "deciding"
    place = episode.places[number] = Place(
        number,
        before.machine,
        before.seed,
        SeatClock(episode.rules.clock, episode.rules.answer_timeout),
        before.space,
        "evaluate",
        stands_for,
        episode.turn + (not asked),
    )
    place.legal, place.action = before.legal, before.action
    return asked
