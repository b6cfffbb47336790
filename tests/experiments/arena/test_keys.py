"""An arena whose entrants have keys: over sockets, with the lines that are sent to them."""

from __future__ import annotations

import contextlib
import signal
import threading
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dovetail.broker.core.core import Settings
from dovetail.broker.durable.journal import Journal
from dovetail.broker.shell.serve import in_thread
from dovetail.client.client import Experiment
from dovetail.peer.link import Link
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.transport import keys
from dovetail_experiments.arena import sign_in
from dovetail_experiments.arena.description import OWN, OWN_KEY
from dovetail_experiments.arena.referee import entrant
from dovetail_experiments.arena.store import FILE, ArenaStore
from dovetail_experiments.commands.arena_keys import Entrance, Tokens, server_key
from dovetail_web.hub import Hub

from .programs import Programs, port, until

pytestmark = pytest.mark.processes

ARENA = """
name = "test"
keys = true
bind = "tcp://127.0.0.1:{port}"

[[ladders]]
name = "four"
game = "connect_four"
configuration = {{ rows = 4, columns = 4, connect = 3 }}

[[ladders.baselines]]
name = "random"
type = "random"
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_arena_with_keys(tmp_path: Path) -> None:
    (tmp_path / "arena.toml").write_text(ARENA.format(port=port()))
    programs = Programs(tmp_path)
    try:
        _play(programs)
    finally:
        programs.end()


def test_the_broker_knows_entrants_by_their_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ArenaStore(tmp_path / FILE, create=True) as store:
        server = server_key(tmp_path).public
        alice, baseline = keys.make(server), keys.make(server)
        store.admit("alice", alice.public)
        store.invite("bob")  # by a token, before the arena had keys
        with pytest.raises(DovetailError, match="this is the key of 'alice'; each entrant"):
            store.admit("carol", alice.public)
        assert (store.entrant(alice.secret), store.entrant(alice.public)) == (None, None)
        entrance = Entrance(tmp_path, store)
        entrance.let_in({baseline.public: "baseline:four/random"})
        broker = in_thread(
            "tcp://127.0.0.1:*",
            settings=Settings(),
            journal=Journal(tmp_path / "j"),
            access=entrance,
        )
        with broker as address:

            def connect(key: keys.Key | Path, role: m.Role = "agent") -> Link:
                return Link(address, m.Hello(m.VERSION, role), 10.0, key=key)

            own = Experiment.connect(address, key=tmp_path / OWN_KEY)
            hers, ours = connect(alice), connect(baseline)
            found = [entrant(each) for each in own.catalogue()["peers"]]
            assert found == [OWN, "alice", "baseline:four/random"]
            with pytest.raises(DovetailError, match="'alice' may not be an experiment"):
                connect(alice, "experiment")
            store.mark("alice", "banned", "")
            with pytest.raises(DovetailError, match="the key 'alice' was revoked"):
                until(lambda: hers.receive(0.1) and False)
            store.mark("alice", "active", "")
            again = until(lambda: _connected(lambda: connect(alice)))
            store.admit("alice", keys.make(server).public)  # the earlier key is void
            with pytest.raises(DovetailError, match="is not in the broker's access file"):
                until(lambda: again.receive(0.1) and False)
            with pytest.raises(DovetailError, match="does not accept this program's key"):
                connect(alice)
            ours.receive(0.1)
            own.close()
            mine = tmp_path / "mine.key"
            new = keys.make(server)
            store.admit("alice", new.public)
            keys.write(mine, new, "alice's")
            ours.close()
            hub = Hub(address)  # the page: an observer, an experiment and an agent
            monkeypatch.setenv(keys.FILE, str(tmp_path / OWN_KEY))
            hub.start()
            try:
                until(lambda: hub.problem == "" and hub.now({})["peers"])
                # By the command that the page shows, the hub learns whose key its user has.
                code = sign_in.code("stamp")
                monkeypatch.setenv(keys.FILE, str(mine))
                stop, ready = threading.Event(), threading.Event()
                given = (code, address, None, stop, ready.set)
                shows = threading.Thread(target=sign_in.show, args=given)
                until(lambda: _connected(lambda: connect(new))).close()
                shows.start()
                assert ready.wait(60)
                until(lambda: hub.whose(sign_in.name(code)) == "alice")
                stop.set()
                shows.join()
                until(lambda: hub.whose(sign_in.name(code)) == "")
            finally:
                hub.close()
        with pytest.raises(DovetailError, match="'x' is not a code"):
            sign_in.show("x", address, None, threading.Event(), lambda: None)


def test_a_token_that_was_revoked_disconnects_its_programs(tmp_path: Path) -> None:
    with ArenaStore(tmp_path / FILE, create=True) as store:
        given = {name: store.invite(name) for name in ("alice", "bob")}
        tokens = Tokens(store, {"of a baseline": "baseline:four/random"})
        broker = in_thread(
            "tcp://127.0.0.1:*",
            settings=Settings(token="own"),
            journal=Journal(tmp_path / "j"),
            entrant=tokens.entrant,
            revoked=tokens.revoked,
        )
        with broker as address:

            def connect(token: str, **more: Any) -> Link:
                return Link(address, m.Hello(m.VERSION, "agent", token=token, **more), 10.0)

            own = Experiment.connect(address, token="own")
            others = connect("of a baseline"), connect(given["bob"])
            hers = connect(given["alice"])
            # One's session is not another's, though it may be known.
            taken = connect(given["bob"], resume=hers.session)
            assert taken.session != hers.session
            taken.close()

            def sent_away(link: Link) -> None:
                revoked = (
                    "the access token of 'alice' was revoked; ask the person who runs this broker"
                )
                with pytest.raises(DovetailError, match=revoked):
                    until(lambda: link.receive(0.1) and False)
                with pytest.raises(DovetailError, match="token is missing or wrong"):
                    connect(given["alice"])

            store.mark("alice", "banned", "plays two games at once")
            sent_away(hers)
            store.mark("alice", "active", "")
            hers = until(lambda: _connected(lambda: connect(given["alice"])))
            new = store.invite("alice")  # the earlier one is void
            sent_away(hers)
            connect(new).close()
            for each in others:
                each.receive(0.1)
            known = [entrant(each) for each in own.catalogue()["peers"]]
            assert known == ["", "baseline:four/random", "bob"]
            for each in others:
                each.close()
            own.close()


def _connected(connect: Callable[[], Link]) -> Link | None:
    with contextlib.suppress(DovetailError):
        return connect()
    return None


def _play(programs: Programs) -> None:
    folder = programs.folder
    alice = programs.invited("alice")
    key_file = folder / "alice.key"
    assert alice["DOVETAIL_KEY"] == str(key_file)
    assert key_file.stat().st_mode & 0o777 == 0o600
    store = ArenaStore(folder / "arena" / FILE)

    def units(entrant: str) -> int:
        numbers = [p.id for p in store.players("four").values() if p.entrant == entrant]
        return sum(store.counts(1).get(each, (0, 0))[0] for each in numbers)

    arena = programs.start("arena", "arena.toml")
    hers = programs.start("agent", "random", **alice)
    # Bob keeps his secret to himself, and sends only the public key; he comes while the arena runs.
    server = tomllib.loads((folder / "arena" / "broker.key").read_text())["public"]
    made = programs.run("keys", "make", "bob", "--server", server, XDG_CONFIG_HOME=str(folder))
    bobs, public = made.splitlines()[0].split()[-1], made.split()[-1]
    bob = {**programs.invited("bob", "--public", public), "DOVETAIL_KEY": bobs}
    assert bob["DOVETAIL_SERVER_KEY"] == server
    his = programs.start("agent", "random", "--as-one", "--name", "dice", **bob)
    until(lambda: units("alice") and units("bob"))

    refused = programs.run("agent", "random", "--connect", alice["DOVETAIL_BROKER"], code=1)
    assert "only programs with a key" in refused
    refused = programs.run("list", code=1, **alice)
    assert "the key 'alice' may not be an observer" in refused
    taken = programs.run("arena", "invite", "carol", "--public", public, code=1)
    assert "this is the key of 'bob'" in taken

    arena.send_signal(signal.SIGKILL)
    arena.wait()
    before = units("alice")
    arena = programs.start("arena", "arena.toml")
    until(lambda: units("alice") > before)  # her program came back by itself
    assert hers.poll() is None
    shows = programs.start("arena", "sign-in", "0123456789abcdef", **alice)
    assert shows.poll() is None
    shows.send_signal(signal.SIGINT)
    assert shows.wait(20) == 0

    # A withdrawn key is refused at once, also to connected programs.
    assert programs.invited("alice") == alice  # the same file, with another key
    assert hers.wait(60) == 1
    programs.run("arena", "ban", "bob", "--why", "knows too much")
    assert his.wait(60) == 1
    assert his.stderr is not None
    assert "the key 'bob' was revoked" in his.stderr.read()
    before = units("alice")
    programs.start("agent", "random", **alice)
    until(lambda: units("alice") > before)
    programs.run("arena", "resume", "bob")
    before = units("bob")
    programs.start("agent", "random", "--as-one", "--name", "dice", **bob)
    until(lambda: units("bob") > before)
    arena.send_signal(signal.SIGINT)
    assert arena.wait(20) == 0

    # Elsewhere they get in with the keys that they have.
    programs.run("arena", "export", "all.zip")
    programs.run("arena", "import", "all.zip", "copy")
    for path in (folder / "all.zip", folder / "copy" / "arena" / "broker.key"):
        assert path.stat().st_mode & 0o777 == 0o600
    assert (folder / "copy" / "arena" / "broker.key").read_bytes() == (
        folder / "arena" / "broker.key"
    ).read_bytes()
    with ArenaStore(folder / "copy" / "arena" / FILE) as copy:
        assert copy.keys() == store.keys() != {}
    store.close()
