"""The cases for experiment programs."""

from __future__ import annotations

from typing import Any

from dovetail.conform import sessions, values
from dovetail.conform.case import Cases, Failed
from dovetail.conform.program import ANY, Program, brief, holds, same

CASES = Cases("experiment")
case = CASES.case


def asked(p: Program, kind: str, answer: Any = None, **fields: Any) -> dict[str, Any]:
    """Make the program send a request, and answer it."""
    p.command(type=kind, **fields)
    request = p.expect(kind, **fields)
    p.send({"type": "reply", "id": request["id"], "body": answer})
    p.line("reply", answer)
    return request


def result(run: int, index: int, episode: int, **more: Any) -> dict[str, Any]:
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
    if seen != list(episodes):
        raise Failed(f"episodes {brief(list(episodes))}", brief(seen))
    p.line("done")


def listen(p: Program) -> None:
    """Make the program wait for a turn; it need not read while it waits for a command."""
    asked(p, "watch")
    wait(p, "turn")
    p.listening = True


def works(p: Program) -> None:
    """Check that a request of the program is answered, after any turn that it waits for."""
    if p.listening:
        p.send(TURN)
        p.line("turn")
        p.listening = False
    asked(p, "catalogue", {"peers": []})


def running(p: Program, run: int = 5, **fields: Any) -> None:
    """Make the program ask for a run, and number it."""
    asked(p, "run", {"run": run}, environment="trial", agents=[1, "somebody"], **fields)


sessions.add(CASES, works, listen)


@case("S7.1 S5.6")
def requests_and_replies(p: Program) -> None:
    """A request has an `id` higher than those before it; the reply with that `id` is its answer."""
    ids = [asked(p, "catalogue", {"number": i})["id"] for i in range(5)]
    if ids != sorted(set(ids)):
        raise Failed("ids that rise", brief(ids))


@case("S7.1")
def a_request_that_is_refused(p: Program) -> None:
    """Any request may get an `error` with its `id` instead; the program gets the code and the
    text."""
    p.command(type="create", agent="unheard-of")
    request = p.expect("create", agent="unheard-of")
    p.send(
        {
            "type": "error",
            "code": "unknown",
            "message": "there is no such agent",
            "id": request["id"],
        }
    )
    found = p.line("error")
    if found.get("code") != "unknown" or "there is no such agent" not in found.get("message", ""):
        raise Failed('code "unknown" and the text', brief(found))
    works(p)


@case("S7.2")
def a_request_that_ends_without_an_answer(p: Program) -> None:
    """A request that takes too long or is cancelled gets an `error` `timeout` or `cancelled`; a
    late answer is ignored."""
    for code in ("timeout", "cancelled"):
        p.command(type="create", agent="slow", timeout=0.5)
        request = p.expect("create", agent="slow", timeout=0.5)
        error = {"type": "error", "code": code, "message": "too slow", "id": request["id"]}
        p.send(error)
        holds(p.line("error"), {"code": code})
        p.send({"type": "reply", "id": request["id"], "body": {"instance": 9}})
        works(p)


@case("S7.1")
def answers_of_others(p: Program) -> None:
    """Answers may come in any order, matched by `id`."""
    p.command(type="catalogue")
    request = p.expect("catalogue")
    p.send({"type": "reply", "id": request["id"] + 1000, "body": "wrong"})
    wrong = {"type": "error", "id": request["id"] + 1001, "code": "unknown", "message": "wrong"}
    p.send(wrong, {"type": "ping", "number": 4})
    p.expect("pong", number=4)
    p.send({"type": "reply", "id": request["id"], "body": "right"})
    p.line("reply", "right")


@case("S7.1 S7.2")
def every_request(p: Program) -> None:
    """The program can send every request of MESSAGES.md with its fields, and read the answer."""
    asked(
        p,
        "create",
        {"instance": 3},
        agent="td",
        parameters={"hidden": 64, "deep": [1]},
        seed=2**63 - 1,
    )
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


@case("S7.1")
def a_run_with_every_field(p: Program) -> None:
    """`run` has the fields of MESSAGES.md."""
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


@case("S7.1")
def save(p: Program) -> None:
    """`save` is answered with `saved` and the state's bytes."""
    state = bytes(range(256)) * 300
    p.command(type="save", instance=3, state_name="champion")
    request = p.expect("save", instance=3, state_name="champion")
    p.send({"type": "saved", "id": request["id"], "state": state})
    p.line("saved", state)


@case("S8.2 S3.9")
def values_of_every_kind(p: Program) -> None:
    """The body of a reply and of a message may be any value."""
    wrong = []
    for what, value in values.values():
        p.command(type="message", instance=1, body=value)
        request = p.expect("message", instance=1)
        if not same(request.get("body"), value):
            wrong.append(f"{what} in the request: {brief(request.get('body'))[:100]}")
        p.send({"type": "reply", "id": request["id"], "body": value})
        try:
            p.line("reply", value)
        except Failed as failed:
            wrong.append(f"{what} in the reply: {failed.got[:100]}")
    if wrong:
        raise Failed("the same values", "; ".join(wrong[:5]))


# -- runs ------------------------------------------------------------------------------------------


@case("S7.10")
def results(p: Program) -> None:
    """`episode` and `progress` come during a run, and `done` at its end; none gets an answer."""
    running(p, episodes=2)
    p.send(
        result(5, 0, 11), {"type": "progress", "run": 5, "finished": 1, "running": 1, "total": 2}
    )
    p.send(result(5, 1, 12, outcome=None), {"type": "done", "run": 5, "finished": 2})
    wait(p, "done")
    first = p.line("episode")
    wanted = {"run": 5, "index": 0, "episode": 11, "seed": 2**63 - 1, "outcome": [1.0], "turns": 3}
    holds(first, wanted)
    holds(first["seats"][0], {"seconds": 0.5})
    p.line("progress")
    p.line("episode")
    holds(p.line("done"), {"run": 5, "finished": 2})
    p.command(type="catalogue")
    p.expect("catalogue")  # and nothing before it


@case("S7.10")
def events_with_the_reply(p: Program) -> None:
    """A run's first results may come in the same message as the reply that names the run, or before
    it."""
    p.command(type="run", environment="trial", agents=[1])
    request = p.expect("run", environment="trial", agents=[1])
    p.send(
        result(5, 0, 11),
        {"type": "reply", "id": request["id"], "body": {"run": 5}},
        {"type": "done", "run": 5, "finished": 1},
    )
    p.line("reply", {"run": 5})
    wait(p, "done")
    ended(p, 11)


@case("S5.2", level=2)
def a_result_that_comes_again(p: Program) -> None:
    """A repeated `episode` or `done` counts once."""
    running(p, episodes=2)
    first = p.send(result(5, 0, 11))
    later = p.send(result(5, 1, 12), *first)
    p.send(*first, *later)
    over = p.send({"type": "done", "run": 5, "finished": 2})
    p.send(*over)
    wait(p, "done")
    ended(p, 11, 12)
    asked(p, "watch")
    p.send(TURN)
    wait(p, "turn")
    p.line("turn")  # and no other `done` before it


@case("S6.14")
def an_interrupted_result(p: Program) -> None:
    """An episode that is played again gets a new number; `scored` and `will_retry` say so."""
    running(p, episodes=1)
    bad = {
        "reason": "crashed",
        "blame": 0,
        "scored": False,
        "will_retry": True,
        "message": "it broke",
    }
    p.send(result(5, 0, 11, **bad), result(5, 0, 12), {"type": "done", "run": 5, "finished": 1})
    wait(p, "done")
    first, second = p.line("episode"), p.line("episode")
    if first.get("scored", True) or not first.get("will_retry") or not second.get("scored", True):
        raise Failed("scored false and will_retry true, then scored true", brief([first, second]))
    p.line("done")


@case("S7.10")
def a_run_that_fails(p: Program) -> None:
    """`done` has a reason and a text for people."""
    running(p)
    p.send({"type": "done", "run": 5, "finished": 0, "reason": "failed", "message": "td is gone"})
    wait(p, "done")
    holds(p.line("done"), {"reason": "failed", "message": "td is gone"})


@case("S7.11")
def stepwise(p: Program) -> None:
    """`start` and `step` of a stepwise run are answered with a turn as a map."""
    running(p, stepwise=True)
    asked(p, "start", TURN, run=5)
    asked(p, "start", {**TURN, "episode": 9}, run=5, abandon=True)
    asked(p, "step", {**TURN, "turn": 1, "actions": [[0, 3]], "rewards": [0.5, 0.0]}, run=5)
    p.command(type="step", run=5)
    request = p.expect("step", run=5)
    p.send({"type": "error", "code": "wrong-state", "message": "it is over", "id": request["id"]})
    holds(p.line("error"), {"code": "wrong-state"})


@case("S7.13")
def watching(p: Program) -> None:
    """A watcher receives `turn` messages."""
    asked(p, "watch")
    more = {"observations": [[0, [1, 2]]], "agents": ["td"], "text": "X to move", "mood": 1}
    p.send({**TURN, **more})
    p.send({**TURN, "turn": 1, "to_act": [], "terminated": True, "reason": "terminated"})
    wait(p, "turn")
    holds(p.line("turn"), {"episode": 8, "observations": [[0, [1, 2]]]})
    wait(p, "turn")
    holds(p.line("turn"), {"turn": 1})


@case("S4.8")
def goodbye_of_the_program(p: Program) -> None:
    """An experiment that has finished sends `bye`."""
    works(p)
    p.end_of_input()
    p.expect("bye")
    p.exits(0)


# -- connections -----------------------------------------------------------------------------------


@case("S5.6", level=2)
def a_request_through_a_broken_connection(p: Program) -> None:
    """After `resumed` true an experiment repeats its unanswered requests, with the same `id`."""
    works(p)
    p.command(type="catalogue")
    request = p.expect("catalogue")
    sessions.renewed(p)
    p.expect("catalogue", id=request["id"])
    p.send({"type": "reply", "id": request["id"], "body": "at last"})
    p.line("reply", "at last")
    works(p)


@case("S5.2 S5.5", level=2)
def results_through_a_broken_connection(p: Program) -> None:
    """A repeated frame may have arrived the first time: each result counts once."""
    running(p, episodes=2)
    sent = p.send(result(5, 0, 11))
    p.send(sessions.HELLO_FIRST)
    wait(p, "done")
    p.resumes()
    p.greet(p.session, resumed=True)
    p.send(*sent, result(5, 1, 12), {"type": "done", "run": 5, "finished": 2})
    ended(p, 11, 12)


@case("S4.6", level=2)
def a_welcome_that_comes_again(p: Program) -> None:
    """A second, equal `welcome`, in answer to a repeated `hello`, changes nothing."""
    running(p)
    p.send(p.welcome, result(5, 0, 11), {"type": "done", "run": 5, "finished": 1})
    wait(p, "done")
    ended(p, 11)
    works(p)


@case("S4.11", greet=False, level=2)
def a_run_through_five_seconds_without_a_broker(p: Program) -> None:
    """After a broker's restart the program sends `hello` with `resume`, and the run continues."""
    p.greet(heartbeat=0.75)  # as in sessions.py
    p.line("welcome")
    running(p)
    wait(p, "done")
    p.vanish(5)
    p.resumes(patience=p.patience + 5)
    p.greet(p.session, resumed=True)
    p.send(result(5, 0, 11), {"type": "done", "run": 5, "finished": 1})
    ended(p, 11)


@case("S4.13", level=2)
def a_session_that_is_lost(p: Program) -> None:
    """After `resumed` false an experiment's runs are lost; the program says so and ends."""
    running(p)
    wait(p, "done")
    p.send(sessions.HELLO_FIRST)
    p.resumes()
    p.greet(resumed=False)
    p.line("lost", ANY)
    p.exits(1)


@case("S4.8")
def goodbye_of_the_broker(p: Program) -> None:
    """A broker's `bye` ends its runs: earlier results count, and the program reports the end
    without answering."""
    running(p)
    p.send(result(5, 0, 11), {"type": "bye", "reason": "shutting down"})
    wait(p, "done")
    p.line("episode")
    p.line("lost", ANY)
    p.departs(1)
