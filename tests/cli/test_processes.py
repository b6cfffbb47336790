"""Four programs in four terminals, and what happens when one of them goes."""

from __future__ import annotations

import io
import signal
from pathlib import Path
from typing import Any

import pytest

from dovetail import DovetailError, Experiment, InProcess
from dovetail.cli import standard_streams
from dovetail.cli.standard_streams import BoundedLines
from dovetail.peer.agents.random_agent import Random
from dovetail.protocol.journal import EpisodeRecord, read
from dovetail_games.connect_four import ConnectFour

GAME = Path(__file__).with_name("count_up.py")


def test_four_programs_play(real_terminals: Any) -> None:
    terminals = real_terminals
    broker = terminals.broker()
    env = terminals.env()
    agents = terminals.agent("First", str(GAME) + ":Chance")
    agents.expect(r"^agent first, chance ready at \S+ as agent-\d+$")
    env.expect(r"^environment count_up ready at")
    experiment = terminals.experiment("first", "chance", episodes=3, seed=5)
    for index in range(3):
        experiment.expect(rf"^episode {index} terminated")
    experiment.expect("^done finished")
    assert experiment.wait() == 0
    for _ in range(6):
        agents.expect("^end terminated")
    broker.signal(signal.SIGTERM)
    assert [each.wait() for each in (broker, env, agents)] == [0, 0, 0]
    assert not broker.lines["err"]


@pytest.mark.parametrize(
    ("kind", "served", "line"),
    [
        ("agent", "serve(First)", "agent first ready at {} as agent-1"),
        ("agent", "serve(First(), name='champion')", "agent champion ready at {} as champion"),
        ("environment", "serve([CountUp])", "environment count_up ready at {} as environment-1"),
    ],
)
def test_a_program_that_serves_says_so_once_it_is_connected(
    terminals: Any, monkeypatch: pytest.MonkeyPatch, kind: str, served: str, line: str
) -> None:
    broker = terminals.broker()
    monkeypatch.setenv("DOVETAIL_BROKER", broker_at := terminals.address)
    program = terminals.program(
        f"from count_up import CountUp, First\nfrom dovetail.peer.{kind}s.serve import serve\n{served}\n"
    )
    assert program.expect("ready", "err").string == line.format(broker_at)
    broker.signal(signal.SIGTERM)
    assert program.wait() == 0
    assert program.lines["out"] == []


def test_an_agent_killed_while_it_owes_an_answer(terminals: Any) -> None:
    broker = terminals.broker("--grace", "0.3")
    terminals.env()
    stuck = terminals.agent("Stuck")
    other = terminals.agent("First")
    experiment = terminals.experiment("stuck", "first", episodes=2, retries=0)
    stuck.expect("^thinking")
    stuck.kill()
    broker.expect(r"^dovetail: agent-\d+ is gone; its run waits 0\.3 s for it$", "err")
    experiment.expect("^episode 0 disconnected outcome None blame 0 again False")
    experiment.expect("^error the run failed: stuck .*did not come back")
    other.expect("^end disconnected blame 0")
    # The others play on, in another run.
    again = terminals.experiment("first", "first", episodes=2)
    again.expect("^done finished")
    assert broker.process.poll() is None


def test_an_environment_killed_in_mid_episode_with_none_to_go_on_in(terminals: Any) -> None:
    broker = terminals.broker("--grace", "0.3")
    env = terminals.env()
    agent = terminals.agent("First")
    experiment = terminals.experiment("first", "first", configuration={"hold": 5})
    env.expect("^holding")
    env.kill()
    broker.expect(r"^dovetail: environment-\d+ is gone; its run waits 0\.3 s for it$", "err")
    experiment.expect("^episode 0 environment-failed outcome None blame None again False")
    experiment.expect("^error the run failed: environment .*did not come back")
    agent.expect("^end environment-failed")
    agent.expect("^end environment-failed")


def test_an_environment_killed_in_mid_episode_is_replaced_by_another(terminals: Any) -> None:
    terminals.broker("--grace", "0.3")
    first = terminals.env("--name", "one")
    first.expect("ready")
    second = terminals.env("--name", "two")
    second.expect("ready")
    agent = terminals.agent("AtEase")
    experiment = terminals.experiment("atease", "atease", configuration={"target": 80}, episodes=1)
    agent.expect("^turn 1")
    first.kill()
    experiment.expect("^episode 0 terminated")
    experiment.expect("^done finished")
    agent.expect("^end terminated")
    agent.expect("^end terminated")
    heard = [line.split(" blame")[0] for line in agent.lines["out"][1:]]
    assert heard == ["turn 0", "turn 1", "end terminated", "end terminated"]  # only time passed


def test_a_killed_broker_is_missed_by_all_and_not_waited_for_without_end(terminals: Any) -> None:
    broker = terminals.broker()
    env = terminals.env()
    agent = terminals.agent("AtEase")
    watcher = terminals.start("watch", "--connect", terminals.address, "--give-up", "3")
    watcher.expect("^dovetail: watching", "err")
    experiment = terminals.experiment("atease", "atease", episodes=100_000, give_up=3.0)
    experiment.expect("^episode 0")
    broker.kill()
    silent = rf"the broker at {terminals.address} has been silent for \d s; "
    for each in (env, agent):
        each.expect(f"^dovetail: {silent}waiting for it to return$", "err")
    experiment.expect(f"^{silent}waiting up to 3 s for it to return$", "err")
    experiment.expect(f"^error {silent}check whether it is still running$")
    assert experiment.wait() == 0
    watcher.expect(f"^dovetail: {silent}check whether it is still running$", "err")
    assert watcher.wait() == 1
    terminals.broker(bind=terminals.address)
    for each in (env, agent):
        each.expect(r"^dovetail: the broker at \S+ is back after \d+ s of silence$", "err")
        assert len(each.lines["err"]) == 2
    terminals.experiment("atease", "atease", episodes=1).expect("^done finished")


def test_a_broker_killed_and_started_again_continues(terminals: Any) -> None:
    broker = terminals.broker("--journal", "games")
    env = terminals.env()
    agent = terminals.agent("AtEase")
    experiment = terminals.experiment("atease", "atease", configuration={"target": 300})
    agent.expect("^turn 1")
    broker.kill()
    broker = terminals.broker("--journal", "games", bind=terminals.address)
    experiment.expect("^episode 0 terminated")
    experiment.expect("^done finished")
    (record,) = read(terminals.folder / "games")
    assert isinstance(record, EpisodeRecord)
    assert record.result.turns == 300
    agent.expect("^end terminated")
    agent.expect("^end terminated")
    heard = [line.split(" blame")[0] for line in agent.lines["out"][1:]]
    assert heard == ["turn 0", "turn 1", "end terminated", "end terminated"]  # nothing twice
    assert env.process.poll() is None
    broker.signal(signal.SIGTERM)
    assert broker.wait() == 0
    assert not (terminals.folder / "games.live").exists()


def test_without_durable_runs_a_broker_begins_again(terminals: Any) -> None:
    broker = terminals.broker("--no-durable")
    env = terminals.env()
    agent = terminals.agent("AtEase")
    agent.expect("ready")
    experiment = terminals.experiment("atease", "atease", configuration={"target": 1_000_000})
    agent.expect("^turn 1")
    broker.kill()
    terminals.broker("--no-durable", bind=terminals.address)
    experiment.expect("^error the run failed: the broker restarted")
    agent.expect("^end disconnected")
    agent.expect("^end disconnected")
    again = terminals.experiment("atease", "atease", episodes=2)
    again.expect("^done finished")
    assert env.process.poll() is None


def test_sigint_lets_episodes_finish_and_tells_everybody(terminals: Any) -> None:
    broker = terminals.broker("--finish", "30")
    env = terminals.env()
    agent = terminals.agent("AtEase")
    experiment = terminals.experiment(
        "atease", "atease", episodes=100, configuration={"target": 30}
    )
    agent.expect("^turn 1")
    broker.signal(signal.SIGINT)
    experiment.expect("^episode 0 terminated")
    experiment.expect("^error the run was drained after 1 of 100 episodes: the broker is shutting")
    agent.expect("^end terminated")
    agent.expect("^end terminated")
    assert [each.wait() for each in (broker, env, agent, experiment)] == [0, 0, 0, 0]
    for each in (env, agent):
        assert each.lines["err"] == [
            f"dovetail: the broker at {terminals.address} has ended this connection: "
            "the broker is shutting down"
        ]


@pytest.mark.parametrize("signals", [1, 2])
def test_what_does_not_finish_is_cancelled(terminals: Any, signals: int) -> None:
    broker = terminals.broker("--finish", "0.2" if signals == 1 else "600")
    env = terminals.env()
    agent = terminals.agent("AtEase")
    experiment = terminals.experiment("atease", "atease", configuration={"target": 1_000_000})
    agent.expect("^turn 1")
    broker.signal(signal.SIGTERM)
    if signals == 2:
        broker.expect("stopping", "err")
        broker.signal(signal.SIGTERM)
    experiment.expect("^episode 0 cancelled")
    agent.expect("^end cancelled")
    agent.expect("^end cancelled")
    assert [each.wait() for each in (broker, env, agent)] == [0, 0, 0]


def test_a_peer_told_to_stop_leaves_at_once(terminals: Any) -> None:
    terminals.broker()
    terminals.env()
    first = terminals.agent("First", "--name", "mine")
    first.expect("as mine$")
    experiment = terminals.experiment("first", "first", configuration={"target": 1_000_000})
    first.expect("^turn 1")
    first.signal(signal.SIGINT)
    assert first.wait() == 0
    experiment.expect("^episode 0 disconnected")
    experiment.expect("^error the run failed: first .*left")


def test_a_program_that_is_one_agent(terminals: Any) -> None:
    terminals.broker()
    terminals.env()
    agent = terminals.agent("Chance", "--as-one", "--name", "ann", "--set", "bias=3", "--seed", "4")
    agent.expect("^agent ann ready at .* as ann$")
    second = terminals.agent("Chance", "--as-one", "--name", "ann")
    assert second.wait() == 1
    second.expect(
        "^dovetail: the broker refuses: another peer is called 'ann'.*trying again", "err"
    )
    second.expect("^dovetail: the broker refuses: another peer is called 'ann'[^,]*$", "err")
    assert len(second.lines["err"]) == 2
    assert agent.process.poll() is None


@pytest.mark.parametrize("hosted", [True, False])
def test_a_program_may_name_a_file_for_its_agents(terminals: Any, hosted: bool) -> None:
    """The journal of ``recorded``; experiments cannot."""
    journal = terminals.folder / "games"
    with InProcess([ConnectFour], [Random], journal=journal) as experiment:
        seats = [experiment.create("random", seed=seed) for seed in (1, 2)]
        turns = experiment.run("connect_four", seats, episodes=1).wait()[0].turns
    more = ["--agent", "recorded", "--set-agent", f"journal={journal}"] if hosted else []
    terminals.broker("--env", "connect_four", *more)
    if not hosted:
        given = ("--connect", terminals.address, "--set", f"journal={journal}")
        terminals.start("agent", "recorded", *given).expect("^agent recorded ready")
    with Experiment.connect(terminals.address) as experiment:
        with pytest.raises(DovetailError, match="only the program that serves the agent may name"):
            experiment.create("recorded", parameters={"journal": str(journal.parent / "other")})
        player = experiment.create("recorded", parameters={"episode": 1})
        (again,) = experiment.run("connect_four", [player, player], episodes=1).wait()
    assert (again.reason, again.turns) == ("terminated", turns)


def test_a_program_killed_and_started_again_within_a_heartbeat_gets_its_name(
    terminals: Any,
) -> None:
    terminals.broker("--heartbeat", "2.5")
    first = terminals.agent("Chance", "--as-one", "--name", "ann")
    first.expect("^agent ann ready at .* as ann$")
    first.kill()  # the broker notices at its next ping
    second = terminals.agent("Chance", "--as-one", "--name", "ann")
    second.expect("^agent ann ready at .* as ann$")
    assert len(second.lines["err"]) <= 1


def test_a_token_is_asked_for(terminals: Any) -> None:
    secret = terminals.folder / "token"
    secret.write_text("sesame\n")
    terminals.broker("--token-file", str(secret))
    env = terminals.env("--token-file", str(secret))
    env.expect("ready")
    agent = terminals.agent("First")
    assert agent.wait() == 1
    agent.expect("^dovetail: the broker refuses: the access token is missing or wrong", "err")
    assert len(agent.lines["err"]) == 1


@pytest.mark.parametrize("text", [None, "", "one\ntwo\n"], ids=["absent", "empty", "two lines"])
def test_a_token_file_that_has_no_token_is_one_line(terminals: Any, text: str | None) -> None:
    secret = terminals.folder / "token"
    if text is not None:
        secret.write_text(text)
    program = terminals.start("broker", "--token-file", str(secret))
    assert program.wait() == 2
    program.expect("^dovetail: --token-file: ", "err")
    assert len(program.lines["err"]) == 1


def test_a_token_is_not_an_argument(terminals: Any) -> None:
    program = terminals.start("broker", "--token", "sesame")
    assert program.wait() == 2
    program.expect("--token", "err")


def test_beyond_loopback_the_broker_starts_only_if_it_is_meant(terminals: Any) -> None:
    refused = terminals.start("broker", "--journal", "none", "--bind", "tcp://0.0.0.0:*")
    assert refused.wait() == 2
    refused.expect("^dovetail: other machines reach tcp://0.0.0.0:\\*, .* --insecure", "err")
    broker = terminals.broker("--journal", "none", "--insecure", bind="tcp://0.0.0.0:*")
    broker.expect("^dovetail: anyone who reaches tcp://0.0.0.0:.* may use this broker", "err")
    assert not (terminals.folder / "dovetail.journal").exists()


def test_an_address_in_use_is_one_line(terminals: Any) -> None:
    """And leaves no files: the journal and what is beside it were made before the address was
    tried."""
    terminals.broker()
    second = terminals.start("broker", "--bind", terminals.address, "--journal", "other")
    assert second.wait() == 1
    second.expect("^dovetail: cannot listen at .* choose another with --bind$", "err")
    assert len(second.lines["err"]) == 1
    port = terminals.address.rpartition(":")[2]
    page = terminals.start("web", "--games", "--no-open", "--port", port, "--journal", "other")
    assert page.wait() == 1
    page.expect(f"^dovetail: cannot listen on 127.0.0.1, port {port}: .* another --port$", "err")
    assert not list(terminals.folder.glob("other*"))


def test_a_journal_in_use_is_one_line(terminals: Any) -> None:
    """Each of two brokers lost half of the records."""
    terminals.broker()
    second = terminals.start("broker", "--bind", "tcp://127.0.0.1:*")
    assert second.wait() == 1
    second.expect("^dovetail: the journal .* is in use by another broker; choose another", "err")
    assert len(second.lines["err"]) == 1


def test_watch_shows_turns_as_they_come(terminals: Any) -> None:
    terminals.broker()
    terminals.env()
    terminals.agent("First").expect("ready")
    watch = terminals.start("watch", "--connect", terminals.address)
    watch.expect("watching all runs", "err")
    experiment = terminals.experiment("first", "first", episodes=3)
    watch.expect("^-- run .* episode 0, turn 0: first against first$")
    watch.expect("^  the count is")
    watch.expect("^-- run .* episode 0, turn 1$")
    watch.expect(r"^player 1 \(first\): 1$")
    watch.expect(r"^over: terminated, outcome \d, \d$")
    experiment.expect("^done finished")


def test_watch_of_a_run_ends_with_it(terminals: Any) -> None:
    terminals.broker("--grace", "0.3")
    terminals.env()
    terminals.agent("AtEase")
    experiment = terminals.experiment("atease", "atease", configuration={"target": 1_000_000})
    number = experiment.expect(r"^run (\d+)").group(1)
    watch = terminals.start("watch", "--connect", terminals.address, "--run", number)
    watch.expect(r"^player [12] \(atease\): 1")
    experiment.kill()
    watch.expect("^over: cancelled")
    assert watch.wait() == 0


def test_watch_is_interrupted_with_130_and_notices_the_brokers_end(real_terminals: Any) -> None:
    terminals = real_terminals
    broker = terminals.broker()
    first, second = (terminals.start("watch", "--connect", terminals.address) for _ in range(2))
    first.expect("watching all runs", "err")
    second.expect("watching all runs", "err")
    first.signal(signal.SIGINT)
    assert first.wait() == 130
    broker.signal(signal.SIGTERM)
    assert second.wait() == 0
    second.expect("the broker has left", "err")


def test_list_of_a_broker(terminals: Any, dovetail: Any) -> None:
    terminals.broker()
    terminals.env().expect("ready")
    terminals.agent("Chance", "--name", "mine").expect("ready")
    answer = dovetail("list", "--connect", terminals.address)
    assert answer.code == 0
    assert "environment count_up (at environment-" in answer.out
    assert "Who says it wins." in answer.out
    assert "agent chance (at mine)" in answer.out
    assert "runs: none" in answer.out


def test_a_line_without_end_is_an_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standard_streams, "MAX_LINE", 8)
    text = "1234567\nuci\n" + "x" * 1000 + "\n12345678\nquit\nend"
    assert list(BoundedLines(io.StringIO(text))) == [
        "1234567\n",
        "uci\n",
        "\n",
        "\n",
        "quit\n",
        "end",
    ]
    assert list(BoundedLines(io.StringIO("y" * 100))) == ["\n"]
