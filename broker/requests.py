"""What experiments and agents ask of other peers' programs, and the answers on their way back."""

from __future__ import annotations

from dovetail.broker.peers import Instance, Peer
from dovetail.broker.records import Kept
from dovetail.broker.state import Request, State
from dovetail.protocol import messages as m
from dovetail.protocol.errors import Code


class Requests:
    """Agents made, saved, loaded and let go; messages; lookahead."""

    def __init__(self, state: State) -> None:
        self._state = state

    def on_create(self, peer: Peer, create: m.ExperimentCreate, now: float) -> None:
        if self._state.repeated(peer, create.id):
            return
        makers = [
            each
            for each in self._state.sessions.values()
            if each.role == "agent"
            and create.agent in each.offers
            and not each.offers[create.agent].instance
            and (create.peer is None or create.peer == each.name)
        ]
        state = create.state
        if create.kept is not None:
            state = self._state.kept.get(create.kept)
            if state is None:
                self._state.complain(
                    peer, "unknown", f"nothing is kept under {create.kept!r}", id=create.id
                )
                return
        if not makers:
            where = f" at {create.peer!r}" if create.peer else ""
            self._state.complain(
                peer,
                "unknown",
                f"no agent type {create.agent!r} is offered{where}; start one with "
                f"`dovetail agent {create.agent}`",
                id=create.id,
            )
            return
        maker = min(makers, key=lambda each: len(each.instances))
        number = self._state.number()
        instance = Instance(number, create.agent, maker.offers[create.agent], maker, owner=peer)
        self._state.instances[number] = maker.instances[number] = instance
        request_number = self._state.number()
        message = m.Create(
            request_number, number, create.agent, create.parameters, create.seed, state
        )
        self._request(Request(maker, message, peer, create.id, instance), request_number)

    def on_instance_request(
        self, peer: Peer, asked: m.Save | m.Load | m.Cleanup, now: float
    ) -> None:
        if self._state.repeated(peer, asked.id):
            return
        instance = self._state.instances.get(asked.instance)
        if instance is None:
            self._state.complain(
                peer, "unknown", f"there is no agent {asked.instance}", id=asked.id
            )
            return
        number = self._state.number()
        request = Request(instance.peer, asked, peer, asked.id, instance)
        if isinstance(asked, m.Save):
            request.keep = asked.keep
            request.message = m.Save(number, instance.number)
        elif isinstance(asked, m.Load):
            state = asked.state if asked.kept is None else self._state.kept.get(asked.kept)
            if state is None:
                self._state.complain(
                    peer, "unknown", f"nothing is kept under {asked.kept!r}", id=asked.id
                )
                return
            request.message = m.Load(number, instance.number, state)
        else:
            if any(run for run in self._state.runs.values() if instance in run.agents):
                self._state.complain(
                    peer,
                    "wrong-state",
                    f"agent {instance.number} is in a run; cancel the run first",
                    id=asked.id,
                )
                return
            request.message = m.Cleanup(number, instance.number)
            self._forget_instance(instance)
        self._request(request, number)

    def on_message(self, peer: Peer, message: m.ExperimentMessage, now: float) -> None:
        if self._state.repeated(peer, message.id):
            return
        number = self._state.number()
        if message.instance is not None:
            instance = self._state.instances.get(message.instance)
            if instance is not None:
                out = m.AgentMessage(number, instance.number, message.body)
                self._request(Request(instance.peer, out, peer, message.id, instance), number)
                return
        elif message.run is not None:
            run = self._state.runs.get(message.run)
            if run is not None and run.matches:
                match = min(run.matches, key=lambda each: each.number)
                body = m.EnvironmentMessage(number, match.number, message.body)
                self._request(Request(match.environment, body, peer, message.id), number)
                return
        self._state.complain(
            peer,
            "unknown",
            "name the `instance` or the `run` that the message is for",
            id=message.id,
        )

    def on_lookahead(self, peer: Peer, asked: m.AgentLookahead, now: float) -> None:
        if self._state.repeated(peer, asked.id):
            return
        match = self._state.episodes.get(asked.episode)
        seat = None
        if match is not None and 0 <= asked.seat < len(match.seats):
            seat = match.seats[asked.seat]
        if (
            match is None
            or seat is None
            or seat.instance is None
            or seat.instance.peer is not peer
            or seat.state != "deciding"
            or match.turn != asked.turn
        ):
            text = f"seat {asked.seat} has no decision {asked.turn} in episode {asked.episode}"
            self._state.complain(peer, "wrong-state", text, id=asked.id)
            return
        if not match.rules.lookahead:
            text = "this run allows no lookahead; its field `lookahead` would"
            self._state.complain(peer, "unavailable", text, id=asked.id)
            return
        number = self._state.number()
        out = m.EnvironmentLookahead(
            number, asked.episode, asked.seat, asked.turn, asked.lines, asked.seed
        )
        self._request(Request(match.environment, out, peer, asked.id, seat.instance), number)

    def on_reply(self, peer: Peer, reply: m.Reply, now: float) -> None:
        request = self._state.requests.get(reply.id)
        if request is None or request.peer is not peer:
            return
        del self._state.requests[reply.id]
        body = reply.body
        if isinstance(request.message, m.Create) and request.instance is not None:
            request.instance.ready = True
            body = {"instance": request.instance.number}
        if request.asker is not None:
            self._state.reply(request.asker, request.id, body)

    def on_saved(self, peer: Peer, saved: m.Saved, now: float) -> None:
        request = self._state.requests.get(saved.id)
        if request is None or request.peer is not peer or not isinstance(request.message, m.Save):
            return
        del self._state.requests[saved.id]
        if request.keep is not None and request.instance is not None:
            self._state.kept[request.keep] = saved.state
            self._state.records.append(Kept(request.keep, request.instance.agent, saved.state))
        if request.asker is not None:
            answer = m.Saved(request.id, saved.state)
            request.asker.remember(answer)
            self._state.send(request.asker, answer, True)

    def failed(self, peer: Peer, number: int, message: str) -> None:
        """Take a peer's word that it could not do what was asked."""
        request = self._state.requests.get(number)
        if request is None or request.peer is not peer:
            return
        del self._state.requests[number]
        if isinstance(request.message, m.Create) and request.instance is not None:
            self._forget_instance(request.instance)
        self._answer_error(request, "unavailable", message)

    def abandon(self, peer: Peer, what: str) -> None:
        """Let go of all that was asked of a peer, or by it, that is gone."""
        for number, request in list(self._state.requests.items()):
            if request.peer is peer:
                del self._state.requests[number]
                self._answer_error(request, "unavailable", f"{peer.name} {what}")
            elif request.asker is peer:
                request.asker = None

    def dismiss(self, instance: Instance) -> None:
        """Have an agent let go that nobody asks for any more."""
        self._forget_instance(instance)
        number = self._state.number()
        message = m.Cleanup(number, instance.number)
        if instance.peer.state != "gone":
            self._request(Request(instance.peer, message, None, 0), number)

    def _answer_error(self, request: Request, code: Code, text: str) -> None:
        if request.asker is not None:
            self._state.send(request.asker, m.Error(code, text, id=request.id), True)

    def _request(self, request: Request, number: int) -> None:
        self._state.requests[number] = request
        self._state.send(request.peer, request.message, True)

    def _forget_instance(self, instance: Instance) -> None:
        instance.gone = True
        self._state.instances.pop(instance.number, None)
        instance.peer.instances.pop(instance.number, None)
