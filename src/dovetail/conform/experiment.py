"""The cases for experiment programs."""

from __future__ import annotations

from typing import Any

from dovetail.conform import sessions, values
from dovetail.conform.case import Failed
from dovetail.conform.program import ANY, Fields, Program, brief, holds, require, same


def asked(p: Program, kind: str, answer: Any = None, **fields: Any) -> Fields:
    """Make the program send a request, and answer it."""
    request = sent(p, kind, **fields)
    p.send(reply(request, answer))
    p.line("reply", answer)
    return request


def sent(p: Program, kind: str, **fields: Any) -> Fields:
    """Make the program send a request; return it."""
    p.command(type=kind, **fields)
    return p.expect(kind, **fields)


def reply(request: Fields, body: Any) -> Fields:
    """Return the ``reply`` to a request."""
    return {"type": "reply", "id": request["id"], "body": body}


def error(request: Fields, code: str, text: str) -> Fields:
    """Return the ``error`` in answer to a request."""
    return {"type": "error", "code": code, "message": text, "id": request["id"]}


def done(finished: int, **more: Any) -> Fields:
    """Return the ``done`` of run 5."""
    return {"type": "done", "run": 5, "finished": finished, **more}


def result(run: int, index: int, episode: int, **more: Any) -> Fields:
    """Return an ``episode``."""
    seats = [{"agent": "td", "instance": 1, "total": 1.0, "decisions": 3, "seconds": 0.5}]
    about = {"type": "episode", "run": run, "index": index, "episode": episode, "seed": 2**63 - 1}
    return {**about, "reason": "terminated", "seats": seats, "outcome": [1.0], "turns": 3, **more}


TURN = {"type": "turn", "run": 5, "match": 6, "index": 0, "episode": 8, "turn": 0, "to_act": [0]}


def wait(p: Program, what: str) -> None:
    """Make the program wait for a turn or the end of a run."""
    p.command(type="wait", **{"for": what})


def ended(p: Program, *episodes: int) -> None:
    """Check that the program reports these episodes, then the end of the run."""
    seen = [p.line("episode")["episode"] for _ in episodes]
    require(seen == list(episodes), f"episodes {brief(list(episodes))}", seen)
    p.line("done")


def running(p: Program, run: int = 5, **fields: Any) -> None:
    """Make the program ask for a run, and number it."""
    asked(p, "run", {"run": run}, environment="trial", agents=[1, "somebody"], **fields)


class ExperimentCases(sessions.SessionCases):
    """The cases for experiment programs."""

    def works(self, p: Program) -> None:
        """Check that a request of the program is answered, after any turn that it waits for."""
        if p.listening:
            p.send(TURN)
            p.line("turn")
            p.listening = False
        asked(p, "catalogue", {"peers": []})

    def listen(self, p: Program) -> None:
        """Make the program wait for a turn; it need not read while it waits for a command."""
        asked(p, "watch")
        wait(p, "turn")
        p.listening = True

    def requests_and_replies(self, p: Program) -> None:
        """S7.1 S5.6: A request has an `id` higher than those before it; the reply with that `id` is
        its answer."""
        ids = [asked(p, "catalogue", {"number": i})["id"] for i in range(5)]
        require(ids == sorted(set(ids)), "ids that rise", ids)

    def a_request_that_is_refused(self, p: Program) -> None:
        """S7.1: Any request may get an `error` with its `id` instead; the program gets the code and
        the text."""
        request = sent(p, "create", agent="unheard-of")
        text = "there is no such agent"
        p.send(error(request, "unknown", text))
        found = p.line("error")
        if found.get("code") != "unknown" or text not in found.get("message", ""):
            raise Failed('code "unknown" and the text', brief(found))
        self.works(p)

    def a_request_that_ends_without_an_answer(self, p: Program) -> None:
        """S7.2: A request that takes too long or is cancelled gets an `error` `timeout` or
        `cancelled`; a late answer is ignored."""
        for code in ("timeout", "cancelled"):
            request = sent(p, "create", agent="slow", timeout=0.5)
            p.send(error(request, code, "too slow"))
            holds(p.line("error"), code=code)
            p.send(reply(request, {"instance": 9}))
            self.works(p)

    def answers_of_others(self, p: Program) -> None:
        """S7.1: Answers may come in any order, matched by `id`."""
        request = sent(p, "catalogue")
        p.send({"type": "reply", "id": request["id"] + 1000, "body": "wrong"})
        wrong = {"type": "error", "id": request["id"] + 1001, "code": "unknown", "message": "wrong"}
        p.send(wrong, {"type": "ping", "number": 4})
        p.expect("pong", number=4)
        p.send(reply(request, "right"))
        p.line("reply", "right")

    def every_request(self, p: Program) -> None:
        """S7.1 S7.2: The program can send every request of MESSAGES.md with its fields, and read
        the answer."""
        given: Fields = {"parameters": {"hidden": 64, "deep": [1]}, "seed": 2**63 - 1}
        asked(p, "create", {"instance": 3}, agent="td", **given)
        asked(p, "create", {"instance": 4}, agent="td", state=b"\x00\x01", peer="north")
        asked(p, "create", {"instance": 5}, agent="td", state_name="champion", timeout=0.5)
        asked(p, "create", {"instance": 6}, agent="td", timeout=None)
        asked(p, "pause", run=5)
        asked(p, "pause", run=5, paused=False)
        asked(p, "drain", run=5)
        asked(p, "cancel", run=5, request=None)
        asked(p, "cancel", run=None, request=17)
        asked(p, "load", instance=3, state=b"\xff\x00", timeout=30.0)
        asked(p, "load", instance=3, state_name="champion")
        asked(p, "cleanup", instance=3, timeout=2.5)
        asked(p, "message", {"answer": [1, 2]}, instance=3, body={"question": 1})
        asked(p, "message", "x", run=5, body=None, timeout=None)
        asked(p, "watch")
        asked(p, "watch", run=5, on=False)

    def a_run_with_every_field(self, p: Program) -> None:
        """S7.1: `run` has the fields of MESSAGES.md."""
        running(
            p,
            configuration={"rows": 6, "nested": {"a": [1]}},
            episodes=3,
            seed=2**63 - 1,
            seeds=[1, 2**62, 3],
            first_index=2,
            mode="evaluate",
            concurrency=4,
            rotate=True,
            clock={"decision": 2.5, "episode": 60.0, "increment": 0.5, "margin": 0.25},
            answer_timeout=5.0,
            max_turns=100,
            on_timeout="random",
            on_illegal="truncate",
            retries=2,
            check=True,
            secret=True,
            lookahead=True,
        )

    def save(self, p: Program) -> None:
        """S7.1: `save` is answered with `saved` and the state's bytes."""
        state = bytes(range(256)) * 300
        request = sent(p, "save", instance=3, state_name="champion")
        p.send({"type": "saved", "id": request["id"], "state": state})
        p.line("saved", state)

    def values_of_every_kind(self, p: Program) -> None:
        """S8.2 S3.9: The body of a reply and of a message may be any value."""
        wrong = []
        for what, value in values.values():
            p.command(type="message", instance=1, body=value)
            request = p.expect("message", instance=1)
            if not same(request.get("body"), value):
                wrong.append(f"{what} in the request: {brief(request.get('body'))[:100]}")
            p.send(reply(request, value))
            try:
                p.line("reply", value)
            except Failed as failed:
                wrong.append(f"{what} in the reply: {failed.got[:100]}")
        if wrong:
            raise Failed("the same values", "; ".join(wrong[:5]))

    # -- runs --------------------------------------------------------------------------------------

    def results(self, p: Program) -> None:
        """S7.10: `episode` and `progress` come during a run, and `done` at its end; none gets an
        answer."""
        running(p, episodes=2)
        progress = {"type": "progress", "run": 5, "finished": 1, "running": 1, "total": 2}
        p.send(result(5, 0, 11), progress)
        p.send(result(5, 1, 12, outcome=None), done(2))
        wait(p, "done")
        first = p.line("episode")
        holds(first, run=5, index=0, episode=11, seed=2**63 - 1, outcome=[1.0], turns=3)
        holds(first["seats"][0], seconds=0.5)
        p.line("progress")
        p.line("episode")
        holds(p.line("done"), run=5, finished=2)
        p.command(type="catalogue")
        p.expect("catalogue")  # and nothing before it

    def events_with_the_reply(self, p: Program) -> None:
        """S7.10: A run's first results may come in the same message as the reply that names the
        run, or before it."""
        request = sent(p, "run", environment="trial", agents=[1])
        p.send(
            result(5, 0, 11),
            reply(request, {"run": 5}),
            done(1),
        )
        p.line("reply", {"run": 5})
        wait(p, "done")
        ended(p, 11)

    def a_result_that_comes_again(self, p: Program) -> None:
        """S5.2, level 2: A repeated `episode` or `done` counts once."""
        running(p, episodes=2)
        first = p.send(result(5, 0, 11))
        later = p.send(result(5, 1, 12), *first)
        p.send(*first, *later)
        over = p.send(done(2))
        p.send(*over)
        wait(p, "done")
        ended(p, 11, 12)
        asked(p, "watch")
        p.send(TURN)
        wait(p, "turn")
        p.line("turn")  # and no other `done` before it

    def an_interrupted_result(self, p: Program) -> None:
        """S6.14: An episode that is played again gets a new number; `scored` and `will_retry` say
        so."""
        running(p, episodes=1)
        bad: Fields = {"reason": "crashed", "blame": 0, "message": "it broke"}
        bad |= {"scored": False, "will_retry": True}
        p.send(result(5, 0, 11, **bad), result(5, 0, 12), done(1))
        wait(p, "done")
        first, second = p.line("episode"), p.line("episode")
        said = [first.get("scored", True), first.get("will_retry"), second.get("scored", True)]
        if list(map(bool, said)) != [False, True, True]:
            wanted = "scored false and will_retry true, then scored true"
            raise Failed(wanted, brief([first, second]))
        p.line("done")

    def a_run_that_fails(self, p: Program) -> None:
        """S7.10: `done` has a reason and a text for people."""
        running(p)
        failed = {"reason": "failed", "message": "td is gone"}
        p.send(done(0, **failed))
        wait(p, "done")
        holds(p.line("done"), **failed)

    def stepwise(self, p: Program) -> None:
        """S7.11: `start` and `step` of a stepwise run are answered with a turn as a map."""
        running(p, stepwise=True)
        asked(p, "start", TURN, run=5)
        asked(p, "start", {**TURN, "episode": 9}, run=5, abandon=True)
        asked(p, "step", {**TURN, "turn": 1, "actions": [[0, 3]], "rewards": [0.5, 0.0]}, run=5)
        request = sent(p, "step", run=5)
        p.send(error(request, "wrong-state", "it is over"))
        holds(p.line("error"), code="wrong-state")

    def watching(self, p: Program) -> None:
        """S7.13: A watcher receives `turn` messages."""
        asked(p, "watch")
        more = {"observations": [[0, [1, 2]]], "agents": ["td"], "text": "X to move", "mood": 1}
        p.send({**TURN, **more})
        p.send({**TURN, "turn": 1, "to_act": [], "terminated": True, "reason": "terminated"})
        wait(p, "turn")
        holds(p.line("turn"), episode=8, observations=[[0, [1, 2]]])
        wait(p, "turn")
        holds(p.line("turn"), turn=1)

    def goodbye_of_the_program(self, p: Program) -> None:
        """S4.8: An experiment that has finished sends `bye`."""
        self.works(p)
        p.end_of_input()
        p.expect("bye")
        p.exits(0)

    # -- connections -------------------------------------------------------------------------------

    def a_request_through_a_broken_connection(self, p: Program) -> None:
        """S5.6, level 2: After `resumed` true an experiment repeats its unanswered requests, with
        the same `id`."""
        self.works(p)
        request = sent(p, "catalogue")
        sessions.renewed(p)
        p.expect("catalogue", id=request["id"])
        p.send(reply(request, "at last"))
        p.line("reply", "at last")
        self.works(p)

    def results_through_a_broken_connection(self, p: Program) -> None:
        """S5.2 S5.5, level 2: A repeated frame may have arrived the first time: each result counts
        once."""
        running(p, episodes=2)
        sent = p.send(result(5, 0, 11))
        p.send(sessions.HELLO_FIRST)
        wait(p, "done")
        p.resumes()
        p.greet(p.session, resumed=True)
        p.send(*sent, result(5, 1, 12), done(2))
        ended(p, 11, 12)

    def a_welcome_that_comes_again(self, p: Program) -> None:
        """S4.6, level 2: A second, equal `welcome`, in answer to a repeated `hello`, changes
        nothing."""
        running(p)
        p.send(p.welcome, result(5, 0, 11), done(1))
        wait(p, "done")
        ended(p, 11)
        self.works(p)

    def a_run_through_five_seconds_without_a_broker(self, p: Program) -> None:
        """S4.11, before the welcome, level 2: After a broker's restart the program sends `hello`
        with `resume`, and the run continues."""
        p.greet(heartbeat=0.75)  # as in sessions.py
        p.line("welcome")
        running(p)
        wait(p, "done")
        p.vanish(5)
        p.resumes(patience=p.patience + 5)
        p.greet(p.session, resumed=True)
        p.send(result(5, 0, 11), done(1))
        ended(p, 11)

    def a_session_that_is_lost(self, p: Program) -> None:
        """S4.13, level 2: After `resumed` false an experiment's runs are lost; the program says so
        and ends."""
        running(p)
        wait(p, "done")
        sessions.renewed(p, resumed=False)
        p.line("lost", ANY)
        p.exits(1)

    def goodbye_of_the_broker(self, p: Program) -> None:
        """S4.8: A broker's `bye` ends its runs: earlier results count, and the program reports the
        end without answering."""
        running(p)
        p.send(result(5, 0, 11), {"type": "bye", "reason": "shutting down"})
        wait(p, "done")
        p.line("episode")
        p.line("lost", ANY)
        p.departs(1)
