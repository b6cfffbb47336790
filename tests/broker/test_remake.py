"""An agent whose program dies: what its run does, and how it is made again."""

from __future__ import annotations

from typing import Any

import pytest
from tests.broker.conversation import Conversation, Voice

from dovetail.broker.core import Settings
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
    assert not table.core._remaking.lost
