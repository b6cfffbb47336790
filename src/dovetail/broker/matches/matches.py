"""The matches of all runs, and the peers that serve their environments."""

from __future__ import annotations

from collections.abc import Iterable

from dovetail.broker.matches.match import Match
from dovetail.broker.matches.run import RunState
from dovetail.broker.peers.peers import Peer
from dovetail.broker.peers.state import BrokerPart, BrokerState
from dovetail.protocol import messages as m


class Matches(BrokerPart):
    """All matches, open or opening; the only place that adds and removes them."""

    STATE = ("_all", "_served", "_shown")

    def __init__(self, broker: BrokerState) -> None:
        self._broker = broker
        self._all: dict[int, Match] = {}
        self._served: dict[Peer, dict[int, Match]] = {}
        """Matches by the peer that serves their environment."""
        self._shown: list[tuple[float, float]] = []
        """``shown`` and ``every`` of closed matches, which new ones take over.

        Watchers at a pace must not see more of many short matches than of a few long ones.
        """

    def get(self, number: int) -> Match | None:
        return self._all.get(number)

    def at(self, peer: Peer) -> list[Match]:
        """Return the matches whose environment a peer serves."""
        return list(self._served.get(peer, {}).values())

    def server(
        self, asked: m.Run, avoid: Peer | None = None, *, stacked: bool = False
    ) -> Peer | None:
        """Return the peer with the fewest matches that has room for another of a run.  A peer to
        ``avoid`` is the last resort; ``stacked`` asks for a batched match."""
        return min(
            self.with_room(asked, stacked=stacked),
            key=lambda each: (each is avoid, len(self._served.get(each, ()))),
            default=None,
        )

    def with_room(self, asked: m.Run, *, stacked: bool) -> list[Peer]:
        """Return the peers that have room for one more match of a run, or for a group."""
        name = asked.environment
        return [peer for peer in self.offering(asked) if self._room(peer, name, stacked)]

    def _room(self, peer: Peer, name: str, stacked: bool) -> bool:
        """Return whether a peer can serve another match of an environment, or a batched one."""
        offer = peer.offers[name]
        if stacked:
            return offer.stacked and not offer.matches
        served = self._served.get(peer, {})
        if not offer.matches or len(served) < offer.matches:
            return True
        return sum(match.game == name for match in served.values()) < offer.matches

    def offering(self, asked: m.Run) -> list[Peer]:
        """Return the peers that offer a run's environment."""
        return [
            peer
            for peer in self._broker.sessions.values()
            if peer.role == "environment"
            and asked.environment in peer.offers
            and (asked.peer is None or asked.peer == peer.name)
        ]

    def open(self, run: RunState, now: float, avoid: Peer | None = None, *, slots: int = 0) -> bool:
        """Open a match, batched if it has ``slots``; return whether a peer can serve it now."""
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
        match = Match(number, run, peer, seq, due, slots=slots, game=asked.environment)
        self._shown = sorted((each for each in self._shown if each[0] > now), reverse=True)
        if self._shown:
            match.shown, match.every = self._shown.pop()
        self._all[number] = run.matches[number] = match
        self._serve(match, peer)
        self.watch(match)
        return True

    def watch(self, match: Match) -> None:
        self._broker.timers.watch(match)

    def move(self, match: Match, peer: Peer) -> None:
        """Assign the environment of a match to another peer."""
        self._leave(match)
        self._serve(match, peer)

    def close(self, match: Match) -> None:
        """Close and remove a match without an episode."""
        run = match.run
        del self._all[match.number], run.matches[match.number]
        self._leave(match)
        self._shown.append((match.shown, match.every))
        if match in run.idle:
            run.idle.remove(match)
        match.close()

    def timed(self) -> Iterable[Match]:
        return self._all.values()

    def _serve(self, match: Match, peer: Peer) -> None:
        self._served.setdefault(peer, {})[match.number] = match

    def _leave(self, match: Match) -> None:
        served = self._served[match.environment]
        del served[match.number]
        if not served:
            del self._served[match.environment]
