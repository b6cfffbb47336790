"""The matches of all runs, each with the peer that serves its environment."""

from __future__ import annotations

from collections.abc import Iterable

from dovetail.broker.matches.match import Match
from dovetail.broker.matches.run import RunState
from dovetail.broker.peers.peers import Peer
from dovetail.broker.peers.state import BrokerPart, BrokerState
from dovetail.protocol import messages as m


class Matches(BrokerPart):
    """All matches that are open or being opened; nothing else adds or removes one."""

    STATE = ("_all", "_served")

    def __init__(self, broker: BrokerState) -> None:
        self._broker = broker
        self._all: dict[int, Match] = {}
        self._served: dict[Peer, dict[int, Match]] = {}
        """By the peer that serves the environment."""

    def get(self, number: int) -> Match | None:
        """Return a match of any run."""
        return self._all.get(number)

    def at(self, peer: Peer) -> list[Match]:
        """Return those whose environment a peer serves."""
        return list(self._served.get(peer, {}).values())

    def server(
        self, asked: m.Run, avoid: Peer | None = None, *, stacked: bool = False
    ) -> Peer | None:
        """Return the peer that has room for one more match of a run and has the fewest.

        A peer to ``avoid`` is taken only if there is no other; ``stacked`` asks for a group.
        """
        return min(
            (peer for peer in self.offering(asked) if self._room(peer, asked.environment, stacked)),
            key=lambda each: (each is avoid, len(self._served.get(each, ()))),
            default=None,
        )

    def _room(self, peer: Peer, name: str, stacked: bool) -> bool:
        """Return whether a peer can serve one more match of an environment, or a group."""
        offer = peer.offers[name]
        if stacked:
            return offer.stacked and not offer.matches
        if not offer.matches:
            return True
        served = self._served.get(peer, {}).values()
        return sum(match.game == name for match in served) < offer.matches

    def offering(self, asked: m.Run) -> list[Peer]:
        """Return who offers the environment of a run."""
        return [
            peer
            for peer in self._broker.sessions.values()
            if peer.role == "environment"
            and asked.environment in peer.offers
            and (asked.peer is None or asked.peer == peer.name)
        ]

    def open(self, run: RunState, now: float, avoid: Peer | None = None, *, slots: int = 0) -> bool:
        """Open a match, with ``slots`` a batched one; return whether a peer can serve it now."""
        asked = run.asked
        peer = self.server(asked, avoid, stacked=slots > 0)
        if peer is None:
            return False
        number = self._broker.number()
        wanted = slots > 0 and any(agent.offer.wants for agent in run.agents)
        opening = m.Open(
            *(number, asked.environment, asked.configuration), slots=slots, afterstates=wanted
        )
        seq = peer.outbox.ask(opening)
        due = now + run.rules.patience
        match = Match(number, run.number, peer, seq, due, slots=slots, game=asked.environment)
        self._all[number] = run.matches[number] = match
        self._serve(match, peer)
        self.watch(match)
        return True

    def watch(self, match: Match) -> None:
        """Watch the deadline of one."""
        self._broker.timers.watch(match)

    def move(self, match: Match, peer: Peer) -> None:
        """Note that the environment of a match will be another peer's."""
        self._leave(match)
        self._serve(match, peer)

    def close(self, run: RunState, match: Match) -> None:
        """Close a match that plays nothing, and forget it."""
        del self._all[match.number], run.matches[match.number]
        self._leave(match)
        if match in run.idle:
            run.idle.remove(match)
        match.close()

    def timed(self) -> Iterable[Match]:
        """Return those whose deadlines are watched."""
        return self._all.values()

    def _serve(self, match: Match, peer: Peer) -> None:
        self._served.setdefault(peer, {})[match.number] = match

    def _leave(self, match: Match) -> None:
        served = self._served[match.environment]
        del served[match.number]
        if not served:
            del self._served[match.environment]
