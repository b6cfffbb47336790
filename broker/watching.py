"""Who watches which runs, and what there is to see."""

from __future__ import annotations

from typing import Any

import msgspec

from dovetail.broker.match import Match, Over
from dovetail.broker.peers import Peer
from dovetail.broker.run import Running
from dovetail.broker.state import State
from dovetail.protocol import messages as m


class Watching:
    """The turns for those who watch, and the catalogue for those who ask."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._peers: list[Peer] = []

    def on_watch(self, peer: Peer, watch: m.Watch, now: float) -> None:
        if watch.run is not None and watch.run not in self._state.runs:
            self._state.complain(peer, "unknown", f"there is no run {watch.run}", id=watch.id)
            return
        if watch.on:
            peer.watching.add(watch.run)
        else:
            peer.watching.discard(watch.run)
        self._peers = [each for each in self._state.sessions.values() if each.watching]
        self._state.reply(peer, watch.id, None)

    def on_catalogue(self, peer: Peer, asked: m.Catalogue, now: float) -> None:
        self._state.reply(peer, asked.id, self.catalogue())

    def of(self, run: Running) -> list[Peer]:
        """Return who watches a run."""
        if not self._peers or run.asked.secret:
            return []
        return [
            peer for peer in self._peers if None in peer.watching or run.number in peer.watching
        ]

    def over(self, run: Running) -> None:
        """Take a run off everybody's list."""
        for peer in self._peers:
            peer.watching.discard(run.number)
        self._peers = [peer for peer in self._peers if peer.watching]

    def leave(self, peer: Peer) -> None:
        """Send a peer nothing any more."""
        if peer.watching:
            self._peers.remove(peer)

    def show(self, match: Match, turn: m.Turn, over: Over | None, watchers: list[Peer]) -> None:
        """Send a turn to those who watch, and to the experiment that drives step by step."""
        run: Running = match.run
        assert match.spec is not None
        rewards = [0.0] * len(match.seats)
        for view in turn.seats:
            rewards[view.seat] = view.reward
        shown = m.WatchedTurn(
            run=run.number,
            match=match.number,
            index=match.index,
            episode=match.episode,
            turn=turn.turn,
            to_act=turn.to_act if over is None else [],
            actions=match.history[-1] if match.history else [],
            rewards=rewards,
            observations=[(view.seat, view.observation) for view in turn.seats]
            if match.spec.perfect_information
            else [],
            agents=[seat.instance.agent for seat in match.seats if seat.instance is not None],
            terminated=turn.terminated,
            truncated=turn.truncated,
            outcome=turn.outcome if over is None else over.outcome,
            reason=None if over is None else over.reason,
            text=turn.text,
        )
        for peer in watchers:
            self._state.send(peer, shown)
        if run.request is not None:
            number, run.request = run.request, None
            self._state.reply(run.experiment, number, shown)

    def catalogue(self) -> dict[str, Any]:
        """Return what is connected; the form is SPEC.md's."""
        peers = self._state.sessions.values()
        return {
            "peers": [
                {"name": p.name, "role": p.role, "state": p.state, "software": p.software}
                for p in peers
            ],
            "environments": [
                {"peer": p.name, **msgspec.to_builtins(offer)}
                for p in peers
                if p.role == "environment"
                for offer in p.offers.values()
            ],
            "agents": [
                {"peer": p.name, **msgspec.to_builtins(offer)}
                for p in peers
                if p.role == "agent"
                for offer in p.offers.values()
            ],
            "instances": [
                {"instance": i.number, "agent": i.agent, "peer": i.peer.name, "busy": i.busy}
                for i in self._state.instances.values()
                if i.ready
            ],
            "runs": [
                {
                    "run": r.number,
                    "environment": r.asked.environment,
                    "agents": [i.agent for i in r.agents],
                    "state": r.state,
                    "finished": r.finished,
                    "playing": r.playing,
                    "episodes": r.asked.episodes,
                }
                for r in self._state.runs.values()
            ],
            "kept": sorted(self._state.kept),
            "counters": dict(self._state.counters),
        }
