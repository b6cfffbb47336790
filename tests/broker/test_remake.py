"""An agent whose program dies: what its run does, and how it is made again."""

from __future__ import annotations

from typing import Any

import pytest
from tests.broker.conversation import Conversation, Voice

from dovetail.broker.core.core import Settings
from dovetail.protocol import messages as m


class Table(Conversation):
    """A run of one created learner against a program that is one agent."""

    def __init__(self, **run: Any) -> None:
        super().__init__(settings=Settings(grace=5.0), agents=["p0", "p1"])
        self.experiment.says(m.Cancel(2, self.run))
        self.experiment.heard.clear()
        self.environment.heard.clear()
        self.maker = Voice(self, "agent", "maker", m.Offer("learner"))
        self.learner = self.create()
        self.begin(**run)

    def create(self) -> int:
        self.experiment.says(
            m.ExperimentCreate(3, "learner", {"rate": 0.5}, seed=9, state=b"first")
        )
        self.maker.says(m.Reply(self.maker.hears(m.Create, state=b"first").id))
        number: int = self.experiment.hears(m.Reply, id=3).body["instance"]
        return number

    def begin(self, **run: Any) -> None:
        names = [name for name in run.get("substitutes", ()) if name != "p1"]
        self.spares = [Voice(self, "agent", n, m.Offer(n, instance=True)) for n in names]
        asked = m.Run(4, "game", [self.learner, "p1"], **{"episodes": 9, "retries": 0, **run})
        self.experiment.says(asked)
        self.run = self.experiment.hears(m.Reply, id=4).body["run"]
        match = self.environment.hears(m.Open).match
        self.spec = m.Spec(match, "game", 2, self.spec.observation_spaces, self.spec.action_spaces)
        self.opens()

    def plays(self) -> None:
        """Play an episode of one turn."""
        self.environment.hears(m.EnvironmentStart)
        self.environment.turns(0)
        while not isinstance(self.maker.heard[0], m.AgentStart):
            self.maker.heard.popleft()
        self.maker.hears(m.AgentStart)
        self.maker.acts(0)
        self.environment.hears(m.EnvironmentStep)
        self.environment.turns(terminated=True, outcome=[1.0, 0.0])
        self.maker.hears(m.End)
        self.experiment.hears(m.Episode, scored=True)

    def loses(self) -> None:
        """Let the maker be gone in the middle of an episode."""
        self.environment.hears(m.EnvironmentStart)
        self.environment.turns(0)
        self.core.lost(self.maker.address, self.now)
        self.at(self.now + 7.0)


def test_by_default_the_run_fails() -> None:
    table = Table()
    table.loses()
    table.experiment.hears(m.Episode, reason="disconnected", scored=False, blame=0)
    done = table.experiment.hears(m.Done, reason="failed")
    assert done.message == "learner (maker) did not come back"


@pytest.mark.parametrize(
    ("policy", "reason", "outcome"),
    [("forfeit", "stalled", [0.0, 1.0]), ("truncate", "truncated", None)],
)
def test_the_episode_in_progress_is_scored(policy: Any, reason: str, outcome: Any) -> None:
    table = Table(on_agent_lost=policy)
    table.loses()
    table.experiment.hears(m.Episode, reason=reason, scored=True, outcome=outcome, blame=0)
    table.experiment.hears(m.Done, reason="failed")


@pytest.mark.rule("S6.19")
def test_a_substitute_plays_until_the_agent_is_back() -> None:
    table = Table(on_agent_lost="substitute", substitutes=["spare"])
    [spare] = table.spares
    table.plays()
    table.loses()
    text = (
        "learner (maker) did not come back; it is made again from its beginning, without its last 1 "
        "episodes; until then spare plays in its place"
    )
    table.experiment.hears(m.Error, code="unavailable", message=text)
    spare.hears(m.Init, seat=0)
    spare.hears(m.AgentStart, turn=0, mode="evaluate", reward=0.0)
    spare.acts(1)
    table.environment.hears(m.EnvironmentStep, actions=[(0, 1)])
    table.environment.turns(0, rewards=[2.0, 0.0])
    spare.hears(m.AgentStep, reward=2.0)
    spare.acts(0)
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(terminated=True, outcome=[1.0, 0.0])
    spare.hears(m.End, total=2.0, decisions=2)
    result = table.experiment.hears(m.Episode, reason="terminated", scored=False, will_retry=False)
    first, second = result.seats
    assert (first.agent, first.stands_for, first.since) == ("spare", table.learner, 0)
    assert (second.agent, second.stands_for, second.since) == ("p1", None, 0)
    # The next episode is in progress when the agent is back; the one after that is its own.
    table.maker = Voice(table, "agent", "another", m.Offer("learner"))
    table.maker.says(m.Reply(table.maker.hears(m.Create, instance=table.learner).id))
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(0)
    spare.hears(m.AgentStart)
    spare.acts(0)
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(terminated=True)
    spare.hears(m.End)
    table.experiment.hears(m.Episode, scored=False, will_retry=False)
    spare.hears(m.Leave)
    table.maker.hears(m.Init, seat=0)
    for _ in range(6):
        table.plays()
    table.experiment.hears(m.Done, reason="finished", finished=9, message=text)
    assert not spare.heard
    assert [each.busy for each in table.core.instances] == [0] * 4


def test_a_substitute_has_the_rest_of_the_episode() -> None:
    """Its account begins with it, and what the lost agent had answered stands."""
    table = Table(on_agent_lost="substitute", substitutes=["spare"])
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(0, 1, rewards=[3.0, 0.0])
    table.maker.hears(m.Init)
    table.maker.hears(m.AgentStart)
    table.maker.acts(1)
    table.maker.says(m.Bye())
    [spare] = table.spares
    spare.hears(m.Init, seat=0)
    assert not spare.heard
    table.agents[1].hears(m.Init)
    table.agents[1].hears(m.AgentStart)
    table.agents[1].acts(0)
    table.environment.hears(m.EnvironmentStep, actions=[(0, 1), (1, 0)])
    table.environment.turns(0, rewards=[0.5, 0.0])
    spare.hears(m.AgentStart, turn=1, reward=0.5)
    spare.acts(9)
    table.experiment.hears(m.Error)
    result = table.experiment.hears(m.Episode, reason="illegal-action", blame=0, scored=False)
    assert (result.seats[0].total, result.seats[0].decisions, result.seats[0].since) == (0.5, 1, 1)


def test_a_substitute_that_is_lost_is_waited_for() -> None:
    table = Table(on_agent_lost="substitute", substitutes=["spare"])
    table.loses()
    [spare] = table.spares
    spare.says(m.Bye())
    for _ in range(2):
        table.experiment.hears(m.Error)
    table.experiment.hears(m.Episode, reason="disconnected", scored=False, will_retry=True)
    assert not table.experiment.heard
    spare = Voice(table, "agent", "spare", m.Offer("spare", instance=True))
    spare.hears(m.Init, seat=0)
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(0)
    spare.hears(m.AgentStart)


def test_a_substitute_that_is_at_play_elsewhere_begins_with_the_next_episode() -> None:
    table = Table(on_agent_lost="substitute", substitutes=["p1"])
    table.loses()
    table.experiment.hears(m.Error)
    table.experiment.hears(m.Episode, reason="disconnected", scored=False, will_retry=True)
    heard = [type(each) for each in table.agents[1].heard]
    assert heard == [m.Init, m.End, m.Init]  # it has both seats now
    assert not table.experiment.heard


def test_a_substitute_that_refuses_its_seat_fails_the_run() -> None:
    table = Table(on_agent_lost="substitute", substitutes=["spare"])
    table.loses()
    [spare] = table.spares
    spare.says(m.Error("crashed", "not this game", answers=spare.hears(m.Init).seq))
    table.experiment.hears(m.Error)
    table.experiment.hears(m.Episode, reason="cancelled", scored=False)
    done = table.experiment.hears(m.Done, reason="failed", blame=None)
    assert done.message.startswith("not this game")


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"on_agent_lost": "substitute"}, "go together"),
        ({"substitutes": ["p1"]}, "go together"),
        ({"on_agent_lost": "substitute", "substitutes": ["p1"] * 3}, "give one, or one each"),
        ({"on_agent_lost": "substitute", "substitutes": ["p9"]}, "there is no agent 'p9'"),
    ],
)
def test_substitutes_that_make_no_sense_are_refused(asked: Any, text: str) -> None:
    table = Conversation()
    table.experiment.says(m.Run(2, "game", ["p0", "p1"], **asked))
    assert text in table.experiment.hears(m.Error, id=2).message


def test_it_is_made_again_from_its_last_save() -> None:
    table = Table(on_agent_lost="wait", save_every=2)
    table.plays()
    table.plays()
    save = table.maker.hears(m.Save, instance=table.learner)
    table.plays()
    table.maker.says(m.Saved(save.id, b"after two"))
    table.loses()
    text = (
        "learner (maker) did not come back; it is made again from its last save, without its last"
    )
    problem = table.experiment.hears(m.Error, code="unavailable")
    assert problem.message == f"{text} 1 episodes"
    index = table.experiment.hears(m.Episode, reason="disconnected", will_retry=True).index
    assert index == 3
    table.maker = Voice(table, "agent", "another", m.Offer("learner"))
    create = table.maker.hears(m.Create, instance=table.learner, state=b"after two", seed=9)
    assert create.parameters == {"rate": 0.5}
    assert not any(isinstance(each, m.EnvironmentStart) for each in table.environment.heard)
    table.maker.says(m.Reply(create.id))
    table.maker.hears(m.Init, seat=0)
    for _ in range(6):
        table.plays()
    done = table.experiment.hears(m.Done, reason="finished", finished=9)
    assert done.message == problem.message
    scored = [r.result.index for r in table.records if r.result.scored]
    assert sorted(scored) == list(range(9))


def test_a_save_that_fails_is_told() -> None:
    table = Table(on_agent_lost="wait", save_every=2, episodes=4)
    table.plays()
    table.plays()
    save = table.maker.hears(m.Save, instance=table.learner)
    table.maker.says(m.Error("crashed", "save raised OSError: full", id=save.id))
    text = "learner could not be saved, and is not asked again: save raised OSError: full"
    table.experiment.hears(m.Error, code="unavailable", message=text)
    table.plays()
    table.plays()
    table.experiment.hears(m.Done, reason="finished", message=text)
    assert not any(isinstance(each, m.Save) for each in table.maker.heard)


def test_without_a_save_it_begins_as_it_was_made() -> None:
    table = Table(on_agent_lost="wait")
    table.plays()
    table.loses()
    problem = table.experiment.hears(m.Error)
    assert problem.message.endswith("made again from its beginning, without its last 1 episodes")
    table.maker = Voice(table, "agent", "another", m.Offer("learner"))
    table.maker.hears(m.Create, state=b"first")


def test_a_program_that_is_one_agent_takes_the_place_of_the_lost_one() -> None:
    table = Table(on_agent_lost="wait")
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(1)
    table.core.lost(table.agents[1].address, table.now)
    table.at(7.0)
    table.experiment.hears(m.Error)
    table.experiment.hears(m.Episode, reason="disconnected", blame=1, will_retry=True)
    second = Voice(table, "agent", "p1", m.Offer("p1", instance=True))
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(1)
    second.hears(m.Init, seat=1)
    second.hears(m.AgentStart, seat=1)


def test_a_maker_that_dies_or_refuses() -> None:
    table = Table(on_agent_lost="wait")
    table.loses()
    table.experiment.hears(m.Error)
    table.experiment.hears(m.Episode)
    second = Voice(table, "agent", "second", m.Offer("learner"))
    second.hears(m.Create)
    second.says(m.Bye())
    third = Voice(table, "agent", "third", m.Offer("learner"))
    table.experiment.hears(m.Error)
    third.says(m.Error("crashed", "no such file", id=third.hears(m.Create).id))
    done = table.experiment.hears(m.Done, reason="failed")
    assert "learner could not be made again: no such file" in done.message


def test_one_that_always_dies_fails_the_run() -> None:
    table = Table(on_agent_lost="wait")
    table.loses()
    for number in range(10):
        maker = Voice(table, "agent", f"maker {number}", m.Offer("learner"))
        create = maker.hears(m.Create)
        maker.says(m.Reply(create.id))
        maker.says(m.Bye())
    done = [each for each in table.experiment.heard if isinstance(each, m.Done)]
    assert [each.reason for each in done] == ["failed"]
    assert "for the 11th time; its log says why" in done[0].message


def test_an_experiment_that_leaves_takes_its_lost_agents_along() -> None:
    table = Table(on_agent_lost="wait")
    table.loses()
    table.experiment.says(m.Bye())
    maker = Voice(table, "agent", "another", m.Offer("learner"))
    assert not maker.heard
    assert not table.core._recovery.lost
