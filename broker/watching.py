"""Who watches which runs, and what there is to see."""

from __future__ import annotations

from msgspec.structs import replace

from dovetail.broker.episode import Ending
from dovetail.broker.match import Play
from dovetail.broker.peers import Peer
from dovetail.broker.run import Run
from dovetail.protocol import messages as m


class Watching:
    """The peers that watch; nothing else changes what they see."""

    def __init__(self) -> None:
        self.peers: list[Peer] = []
        """Those who watch any run."""

    def watch(self, peer: Peer, asked: m.Watch) -> None:
        """Begin or end to send a peer the turns of a run, or of all runs."""
        run = asked.run
        if asked.on:
            peer.watching.add(run)
            peer.scenes, peer.thoughts = asked.scenes, asked.thoughts
            if peer not in self.peers:
                self.peers.append(peer)
        else:
            peer.watching.discard(run)
            self._leave()

    def of(self, run: Run) -> list[Peer]:
        """Return who watches a run."""
        if not self.peers or run.asked.secret:
            return []
        return [peer for peer in self.peers if None in peer.watching or run.number in peer.watching]

    def scenes(self, run: Run) -> bool:
        """Return whether anyone who watches a run wants scenes."""
        return any(peer.scenes for peer in self.of(run))

    def thoughts(self, run: Run) -> bool:
        """Return whether anyone who watches a run wants thoughts and may see them."""
        return any(_thoughts_for(peer, run) for peer in self.of(run))

    def show(self, run: Run, turn: m.WatchedTurn, watchers: list[Peer]) -> None:
        """Send each watcher what it asked for of a turn, and may see."""
        made: dict[tuple[bool, bool], m.WatchedTurn] = {}
        for peer in watchers:
            kind = (
                peer.scenes and turn.scene is not None,
                bool(turn.thoughts) and _thoughts_for(peer, run),
            )
            if kind not in made:
                made[kind] = replace(
                    turn,
                    scene=turn.scene if kind[0] else None,
                    thoughts=turn.thoughts if kind[1] else [],
                )
            peer.outbox.tell(made[kind])

    def tell(self, run: Run, message: m.Progress | m.Done) -> None:
        """Tell those who watch a run, but its own experiment; it may be lost."""
        for peer in self.of(run):
            if peer is not run.experiment:
                peer.outbox.tell(message)

    def over(self, run: Run) -> None:
        """Take a run off everybody's list."""
        for peer in self.peers:
            peer.watching.discard(run.number)
        self._leave()

    def forget(self, peer: Peer) -> None:
        """Send a peer nothing any more."""
        peer.watching.clear()
        self._leave()

    def _leave(self) -> None:
        self.peers = [peer for peer in self.peers if peer.watching]


def _thoughts_for(peer: Peer, run: Run) -> bool:
    return peer.thoughts and (run.asked.thoughts or peer is run.experiment)


def shown(run: Run, play: Play, ending: Ending | None) -> m.WatchedTurn:
    """Return the latest turn of an episode as a watcher may see it."""
    episode = play.episode
    turn = episode.latest
    rewards = [0.0] * len(episode.places)
    for view in turn.seats:
        rewards[view.seat] = view.reward
    seen = turn.seats if episode.spec.perfect_information else []
    return m.WatchedTurn(
        run=run.number,
        match=episode.match,
        index=episode.index,
        episode=episode.number,
        turn=turn.turn,
        to_act=turn.to_act if ending is None else [],
        actions=episode.history[-1] if episode.history else [],
        rewards=rewards,
        observations=[(view.seat, view.observation) for view in seen],
        agents=[sitter.instance.agent for sitter in play.match.sitters],
        terminated=turn.terminated,
        truncated=turn.truncated,
        outcome=turn.outcome if ending is None else ending.outcome,
        reason=None if ending is None else ending.reason,
        text=turn.text,
        scene=None if turn.scene is m.NIL else turn.scene,
        thoughts=list(episode.thoughts),
    )
