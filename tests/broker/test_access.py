"""The rights of the holders of keys: the decisions, the file, and the core that asks."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.broker.core.core import Core, Settings
from dovetail.broker.durable import write_ahead_log as live
from dovetail.broker.durable.journal import Journal
from dovetail.broker.peers import access_file
from dovetail.broker.peers.access import Access, Grant
from dovetail.broker.peers.access_file import AccessFile
from dovetail.broker.peers.limits import Allowance
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError, ProtocolError
from dovetail.transport import keys

ADA, BOB, EVE = (letter * keys.LENGTH for letter in "abe")
ROLES: list[m.Role] = ["environment", "agent", "experiment", "observer"]
NAMES = st.sampled_from(["x", "y", "xy", "td", "td-batch"])

grants = st.builds(
    Grant,
    st.sampled_from([ADA, BOB, EVE]),
    st.lists(st.sampled_from(ROLES), unique=True),
    st.lists(st.one_of(NAMES, st.just("*")), max_size=2),
    st.lists(st.one_of(st.sampled_from(["ada", "bob"]), st.just("*")), max_size=2),
    st.builds(Allowance, peers=st.integers(0, 2)),
    st.booleans(),
)
accesses = st.builds(
    Access,
    st.dictionaries(st.sampled_from(["ada", "bob", "eve"]), grants),
    st.dictionaries(NAMES, st.sampled_from(["ada", "bob"])),
).filter(lambda a: len({g.public for g in a.keys.values()}) == len(a.keys))


# -- the decisions -----------------------------------------------------------------------------


@given(
    accesses,
    st.sampled_from([ADA, BOB, EVE]),
    st.sampled_from(ROLES),
    st.lists(NAMES),
    st.integers(0, 2),
)
def test_a_key_is_admitted_for_what_the_file_says(
    access: Access, public: str, role: m.Role, offers: list[str], present: int
) -> None:
    holder = next((n for n, g in access.keys.items() if g.public == public), None)
    grant = access.keys.get(holder or "")
    allowed = (
        grant is not None
        and not grant.revoked
        and role in grant.roles
        and all("*" in grant.offers or each in grant.offers for each in offers)
        and all(access.pinned.get(each, holder) == holder for each in offers)
        and present < grant.limits.peers
    )
    assert access.admits(public) == (grant is not None and not grant.revoked)
    if allowed:
        assert access.admit(public, role, offers, present) == holder
    else:
        with pytest.raises(ProtocolError) as refused:
            access.admit(public, role, offers, present)
        assert refused.value.code in ("access", "limit")


@given(accesses, st.sampled_from(["ada", "bob", "eve"]), st.sampled_from(["ada", "bob", "eve"]))
def test_what_belongs_to_a_key_is_its_own_and_theirs_who_may_use_it(
    access: Access, name: str, other: str
) -> None:
    grant = access.keys.get(name)
    expected = grant is not None and (name == other or bool({other, "*"} & set(grant.uses)))
    assert access.may_use(name, other) == expected


def test_patterns_stand_for_names() -> None:
    access = Access({"ada": Grant(ADA, offers=["td*"])})
    assert access.admit(ADA, "agent", ["td", "td-batch"], 0) == "ada"
    with pytest.raises(ProtocolError, match="the key 'ada' may not offer 'mcts'; it may offer td"):
        access.admit(ADA, "agent", ["mcts"], 0)


# -- the file ----------------------------------------------------------------------------------

GOOD = f"""
pinned = {{ chess = "lab" }}

[keys.lab]
public = "{ADA}"
roles = ["environment"]
limits = {{ rate = 100, peers = 2 }}

[keys.ada]
public = "{BOB}"
uses = ["lab"]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "access.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_file_is_read(tmp_path: Path) -> None:
    access = access_file.read(written(tmp_path, GOOD))
    assert access.keys["lab"].limits == Allowance(rate=100, peers=2)
    assert access.keys["ada"].roles == ROLES
    assert access.may_use("ada", "lab")
    assert not access.may_use("lab", "ada")
    assert access_file.broker_key(tmp_path / "access.toml", access) == tmp_path / "access.key"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "roles",
            "role",
            "access.toml, line 6: [keys.lab] has no key 'role'; did you mean 'roles'?",
        ),
        (
            '["environment"]',
            '["enviroment"]',
            "line 6: [keys.lab], roles.0 must be one of environment, ",
        ),
        ("rate = 100", "rate = 0", "line 7: [keys.lab], limits.rate must be a number > 0.0, not 0"),
        (f'public = "{ADA}"\n', "", "[keys.lab] needs either `public` or"),
        (ADA, "abc", "[keys.lab], public: 'abc' is not a key; expected 40 characters"),
        (ADA, "$" + 39 * "a", f"[keys.lab], public: '${39 * 'a'}' is not a key; expected 40"),
        (ADA, BOB, "[keys.lab] and [keys.ada] have the same key"),
        ('"lab" }', '"lap" }', "[pinned], chess: there is no [keys.lap]; did you mean 'lab'?"),
        ("[keys.lab]", '[keys."a\\nb"]', "'a\\nb' is not a name for a key"),
        ("[keys.lab]", '[keys."a\\u00a0b"]', "'a\\xa0b' is not a name for a key"),
        ("[keys.lab]", '[keys."a\\u3164"]', "is not a name for a key"),
        ("[keys.lab]", "[keys.lab", "is not valid TOML"),
    ],
)
def test_mistakes_are_said_in_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = written(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(DovetailError) as error:
        access_file.read(path)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_an_access_file_and_a_key_with_byte_order_marks(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    expected = access_file.read(path)
    path.write_bytes(GOOD.replace("\n", "\r\n").encode("utf-8-sig"))
    assert access_file.read(path) == expected
    secret = tmp_path / "ada.key"
    keys.write(secret, keys.make(), "of ada")
    key = keys.read(secret)
    secret.write_bytes(secret.read_text().encode("utf-8-sig"))
    assert keys.read(secret) == key


def test_a_change_that_cannot_be_read_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(access_file, "LOOK", 0.0)
    path = written(tmp_path, GOOD)
    keys.write(tmp_path / "access.key", keys.make(), "of the broker")
    file = AccessFile(path)
    assert file.changed() is None
    written(tmp_path, GOOD + "x")
    assert file.changed() is None
    assert "the access file stays as it was" in caplog.text
    written(tmp_path, GOOD + "revoked = true\n")
    changed = file.changed()
    assert changed is not None
    assert changed.keys["ada"].revoked
    path.unlink()
    assert file.changed() is None


def test_a_key_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "ada.key"
    made = keys.make("s" * 40)
    keys.write(path, made, "ada")
    assert path.stat().st_mode & 0o777 == 0o600
    assert keys.read(path) == made
    assert keys.read(path, server="t" * 40).server == "t" * 40
    assert made.secret not in repr(made)
    with pytest.raises(DovetailError, match="exists already"):
        keys.write(path, made, "ada")
    os.chmod(path, 0o640)
    with pytest.raises(DovetailError, match=r"other users can read the key .*chmod 600"):
        keys.read(path)


@pytest.mark.parametrize("text", ["", 'public = "x"\n', "public = 3\n", "\xff", "public"])
def test_what_is_not_a_key_file_is_refused_without_its_secret(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ada.key"
    path.write_text(text, "latin-1")
    path.chmod(0o600)
    with pytest.raises(DovetailError, match=r"no public key|not a key file"):
        keys.read(path)
    path.write_text(f'public = "{ADA}"\nsecret = "not-a-key-but-secret"\n')
    with pytest.raises(DovetailError, match="no secret key") as error:
        keys.read(path)
    assert "but-secret" not in str(error.value)


# -- the core ----------------------------------------------------------------------------------


class Table:
    """A core, and peers that are known by their keys."""

    def __init__(self, access: Access) -> None:
        self.core = Core(Settings(access=access), b"secret")
        self.heard: dict[Any, list[Any]] = defaultdict(list)
        self.records: list[Any] = []
        self._connections = 0
        self._id = 0

    def joins(self, public: str, role: m.Role, *offers: m.Offer, **fields: Any) -> bytes:
        self._connections += 1
        address = public.encode() + b"%d" % self._connections
        self.says(address, m.Hello(1, role, offers=list(offers), **fields))
        return address

    def says(self, address: Any, message: m.Message) -> None:
        self.core.receive(address, message, 0.0)
        self.carry()

    def carry(self) -> None:
        records, out = self.core.take()
        self.records += records
        for to, message in out:
            self.heard[to].append(message)

    def asks(self, address: Any, kind: Any, **fields: Any) -> Any:
        """Make a request; return the answer, if it came."""
        self._id += 1
        self.says(address, kind(id=self._id, **fields))
        return next(
            (each for each in self.heard[address] if getattr(each, "id", 0) == self._id), None
        )

    def last(self, address: Any) -> Any:
        return self.heard[address][-1]


def scene(**uses: list[str]) -> Table:
    publics = {"ada": ADA, "bob": BOB, "lab": EVE}
    return Table(Access({n: Grant(p, uses=uses.get(n, [])) for n, p in publics.items()}))


def make_agent(table: Table, experiment: bytes) -> tuple[int, bytes]:
    """Have an agent made for an experiment; return it and the program that holds it."""
    maker = table.joins(EVE, "agent", m.Offer("td"))
    table.asks(experiment, m.ExperimentCreate, agent="td", peer=table.last(maker).name)
    asked = table.last(maker)
    assert isinstance(asked, m.Create)
    table.says(maker, m.Reply(asked.id))
    return int(table.last(experiment).body["instance"]), maker


def test_only_the_key_that_has_a_session_resumes_it() -> None:
    table = scene()
    victim = table.joins(ADA, "experiment", name="trial")
    session = table.last(victim).session
    thief = table.joins(BOB, "experiment", resume=session)
    assert (table.last(thief).resumed, table.last(thief).session != session) == (False, True)
    assert table.asks(victim, m.Catalogue).body["peers"]
    table.core.lost(victim, 0.0)
    assert not table.last(table.joins(BOB, "experiment", resume=session)).resumed
    again = table.joins(ADA, "experiment", resume=session)
    welcome = table.heard[again][0]
    assert (welcome.resumed, welcome.name) == (True, "trial")


def test_another_key_does_not_inherit_the_name_of_a_peer_that_is_away() -> None:
    table = scene()
    first = table.joins(ADA, "agent", m.Offer("champion", instance=True))
    table.core.lost(first, 0.0)
    thief = table.joins(BOB, "agent", m.Offer("champion", instance=True))
    assert table.last(thief).code == "name-taken"
    own = table.joins(ADA, "agent", m.Offer("champion", instance=True))
    assert isinstance(table.last(own), m.Welcome)


@pytest.mark.parametrize("uses", [[], ["ada"]], ids=["others", "with permission"])
def test_an_agent_belongs_to_the_key_of_the_experiment_that_made_it(uses: list[str]) -> None:
    table = scene(bob=uses)
    number, maker = make_agent(table, table.joins(ADA, "experiment"))
    same, other = table.joins(ADA, "experiment"), table.joins(BOB, "experiment")
    for experiment, allowed in ((same, True), (other, bool(uses))):
        before = len(table.heard[maker])
        answer = table.asks(experiment, m.Save, instance=number)
        assert (len(table.heard[maker]) > before) == allowed
        assert allowed or answer.code == "access"


@pytest.mark.parametrize("uses", [[], ["a*"]], ids=["others", "with permission"])
def test_a_run_belongs_to_the_key_of_its_experiment(uses: list[str]) -> None:
    table = scene(bob=uses)
    table.joins(EVE, "environment", m.Offer("game"))
    table.joins(EVE, "agent", m.Offer("p", instance=True))
    owner = table.joins(ADA, "experiment")
    run = table.asks(owner, m.Run, environment="game", agents=["p"], stepwise=True).body["run"]
    same, other = table.joins(ADA, "experiment"), table.joins(BOB, "experiment")
    assert table.asks(same, m.ExperimentStart, run=run).code == "wrong-state"
    assert isinstance(table.asks(same, m.Pause, run=run), m.Reply)
    for kind in (m.Pause, m.Drain, m.Cancel):
        answer = table.asks(other, kind, run=run, **({"paused": False} if kind is m.Pause else {}))
        assert (answer.code == "unknown") if not uses else isinstance(answer, m.Reply)
        if uses:
            break


def saved(table: Table, experiment: bytes, name: str, **fields: Any) -> Any:
    number, maker = make_agent(table, experiment)
    refused = table.asks(experiment, m.Save, instance=number, state_name=name, **fields)
    if refused is not None:
        return refused
    table.says(maker, m.Saved(table.last(maker).id, b"weights"))
    return table.last(experiment)


def test_a_stored_state_belongs_to_the_key_when_the_session_is_over(tmp_path: Path) -> None:
    table = scene()
    first = table.joins(ADA, "experiment")
    assert isinstance(saved(table, first, "best"), m.Saved)
    table.says(first, m.Bye())
    other, own = table.joins(BOB, "experiment"), table.joins(ADA, "experiment")
    assert table.asks(other, m.ExperimentCreate, agent="td", state_name="best").code == "access"
    assert saved(table, other, "best").code == "access"
    assert isinstance(saved(table, own, "best"), m.Saved)
    journal = Journal(tmp_path / "journal")
    journal.write(table.records)
    journal.close()
    assert Journal(tmp_path / "journal").keepers == {"best": "key ada"}


def test_a_shared_state_is_everyones() -> None:
    table = scene()
    saved(table, table.joins(ADA, "experiment"), "best", shared=True)
    other = table.joins(BOB, "experiment")
    assert isinstance(saved(table, other, "best"), m.Saved)


def limited() -> Table:
    """A core at which ada may store two states, and bob one."""
    granted = ((ADA, Allowance(states=2)), (BOB, Allowance(states=1)), (EVE, Allowance()))
    keys = zip(("ada", "bob", "lab"), granted, strict=True)
    return Table(Access({name: Grant(public, limits=most) for name, (public, most) in keys}))


def test_shared_states_count_as_those_of_the_key_that_stored_them() -> None:
    table = limited()
    ada, bob = (table.joins(key, "experiment") for key in (ADA, BOB))
    assert isinstance(saved(table, ada, "one", shared=True), m.Saved)
    assert isinstance(saved(table, ada, "two", shared=True), m.Saved)
    assert saved(table, ada, "three", shared=True).code == "limit"
    assert isinstance(saved(table, ada, "two"), m.Saved)
    assert saved(table, bob, "two").code == "access"
    assert isinstance(saved(table, bob, "one", shared=True), m.Saved)
    assert isinstance(saved(table, ada, "three"), m.Saved)


def test_a_key_that_replaces_anothers_state_has_one_more() -> None:
    table = limited()
    ada, bob = (table.joins(key, "experiment") for key in (ADA, BOB))
    for name in ("one", "two"):
        assert isinstance(saved(table, ada, name, shared=True), m.Saved)
    assert isinstance(saved(table, bob, "one"), m.Saved)
    assert saved(table, bob, "two").code == "limit"
    assert isinstance(saved(table, bob, "one"), m.Saved)


@pytest.mark.parametrize("how", ["after its end", "in the middle"])
def test_whose_states_are_and_which_are_shared_is_known_to_the_next_broker(
    tmp_path: Path, how: str
) -> None:
    before = limited()
    ada = before.joins(ADA, "experiment")
    for name, shared in (("mine", True), ("ours", True), ("mine", False)):
        assert isinstance(saved(before, ada, name, shared=shared), m.Saved)
    journal = Journal(tmp_path / "journal")
    journal.write(before.records)
    record = live.Live(journal)
    record.begin(before.core, b"secret", 0.0)
    journal.close()
    journal, after = Journal(tmp_path / "journal"), limited()
    settings = after.core.broker.settings
    if how == "in the middle":
        restored = live.Live(journal).restore(settings)
        assert restored is not None
        after.core = restored[0]
    else:
        after.core = live.fresh(settings, b"secret", journal)
    ada, bob = (after.joins(key, "experiment") for key in (ADA, BOB))
    assert saved(after, ada, "more").code == "limit"
    assert saved(after, bob, "mine").code == "access"
    assert isinstance(saved(after, bob, "ours"), m.Saved)


def test_limits_hold_for_a_key() -> None:
    limits = Allowance(offers=1, states=1, peers=3, matches=0, requests=1)
    table = Table(Access({"ada": Grant(ADA, limits=limits), "lab": Grant(EVE)}))
    two = table.joins(ADA, "agent", m.Offer("x"), m.Offer("y"))
    assert table.last(two).code == "limit"
    first = table.joins(ADA, "experiment")
    table.joins(EVE, "environment", m.Offer("game"))
    table.joins(EVE, "agent", m.Offer("p", instance=True))
    run = table.asks(first, m.Run, environment="game", agents=["p"])
    assert (run.code, "0 matches" in run.message) == ("limit", True)
    assert isinstance(saved(table, first, "one"), m.Saved)
    assert saved(table, first, "two").code == "limit"
    table.asks(first, m.ExperimentCreate, agent="td")
    assert table.asks(first, m.ExperimentCreate, agent="td").code == "limit"
    for _ in range(2):
        assert isinstance(table.last(table.joins(ADA, "observer")), m.Welcome)
    assert table.last(table.joins(ADA, "observer")).code == "limit"
    session = next(each.session for each in table.heard[first] if isinstance(each, m.Welcome))
    foreign = table.joins(ADA, "observer", resume=session)
    assert table.last(foreign).code == "limit"  # it is an experiment's session, and stays
    assert table.heard[table.joins(ADA, "experiment", resume=session)][0].resumed


def test_a_change_of_the_file_sends_away_those_who_may_not_stay() -> None:
    table = scene()
    game = table.joins(EVE, "environment", m.Offer("game"))
    ada, bob = table.joins(ADA, "experiment"), table.joins(BOB, "experiment")
    away = table.joins(ADA, "observer")
    session = table.last(away).session
    table.core.lost(away, 0.0)
    changed = Access(
        {"ada": Grant(ADA, revoked=True), "bob": Grant(BOB), "lab": Grant(EVE, offers=["chess"])}
    )
    table.core.allow(changed, 0.0)
    table.carry()
    for address, why in ((ada, "the key 'ada' was revoked"), (game, "may not offer 'game'")):
        error, bye = table.heard[address][-2:]
        assert (error.code, why in error.message, type(bye)) == ("access", True, m.Bye)
    assert session not in table.core.broker.sessions
    assert isinstance(table.asks(bob, m.Catalogue), m.Reply)
    table.says(ada, m.Hello(1, "experiment"))
    assert table.last(ada).code == "access"


def test_a_broker_that_was_killed_knows_the_keys_and_the_changes_again(tmp_path: Path) -> None:
    before, after = scene(bob=["lab"]), Access({"ada": Grant(ADA, limits=Allowance(rate=7))})
    journal = Journal(tmp_path / "journal")
    record = live.Live(journal)
    core = before.core
    record.begin(core, b"secret", 0.0)
    hello = codec.encode(m.Hello(1, "experiment"))
    for public in (ADA, BOB):
        record.events.append((1.0, [public.encode() + b"1", hello]))
    record.events.append((2.0, None, after))
    record.flush()
    journal.close()
    restored = live.Live(Journal(tmp_path / "journal")).restore(Settings(access=after))
    assert restored is not None
    (peer,) = restored[0].broker.sessions.values()
    assert (peer.key, peer.public, peer.allowance.rate, peer.away) == ("ada", ADA, 7, True)


def test_an_environment_is_served_by_the_key_that_it_is_pinned_to() -> None:
    table = Table(Access({"ada": Grant(ADA), "lab": Grant(EVE)}, pinned={"chess": "lab"}))
    false = table.joins(ADA, "environment", m.Offer("chess"))
    assert table.last(false).message == "only the key 'lab' may offer 'chess'"
    assert isinstance(table.last(table.joins(EVE, "environment", m.Offer("chess"))), m.Welcome)
