"""CURVE without sockets: bytes that another library made, and anything that a stranger or the wire
may do."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.bindings import crypto_box_afternm, crypto_box_beforenm, crypto_scalarmult_base
from tests.transport.packed import pack

from dovetail.transport import curve, keys, zmtp
from dovetail.transport.curve import Client, Server
from dovetail.transport.keys import Guard, Key
from dovetail.transport.zmtp import Mismatch, Told, Wire, WireError

pytestmark = pytest.mark.fast

MOST = 10_000


def pair(number: int) -> Key:
    """Return the pair whose secret key is a number of bytes of one value."""
    secret = bytes([number]) * 32
    return Key(keys.text(crypto_scalarmult_base(secret)), keys.text(secret))


OURS, THEIRS = pair(2), pair(1)
KEY = Key(THEIRS.public, THEIRS.secret, OURS.public)

# Made with tweetnacl from the text of https://rfc.zeromq.org/spec/26/: long-term secret keys of the
# bytes 1 (client) and 2 (server), short-term ones of 3 and 4, the cookie of 5, the nonces of the
# vouch of 6 and of WELCOME of 7.
HELLO = bytes.fromhex(
    "04c80548454c4c4f0100" + "00" * 72
    + "5dfedd3b6bd47f6fa28ee15d969d5bb0ea53774d488bdaf9df1c6e0124b3ef220000000000000001"
    "16956e59934bb11d6f9dede396e1a388933944d6af279ef8f120915600ddb4c25359461d6000e3f8"
    "c6e7ec313f99c346b0138b705d365f45c09976698e9b72ec81fcbc042e53936696353142b85c24b9"
)  # fmt: skip
WELCOME = bytes.fromhex(
    "04a80757454c434f4d4507070707070707070707070707070707"
    "5251490d8aaee90f290938608493bf2994f107f635265eaed15879e66237a9be509bcb4007185f33"
    "f6d86e19a2cedbacb28586840b22df1f05c30872134f392df98248ba587f49decbd316ac78c92c90"
    "58224b79e764838898fd2ad0f8fb2586e85912dc2bebd799636b250b694ed4e6d330cf94e9a8e8f8"
    "9a4a73b0e2b98248e6cff5eacf6ae139bc5ed6ee3f3f9cc3"
)
INITIATE = bytes.fromhex(
    "06000000000000012408494e495449415445" + "05" * 96 + "0000000000000002"
    "86e830211b94eb72d66dc032b7de6e0ae2224a7a0235d4e8083aaeb75dd09dd35d3e5f8151794978"
    "ee4e4ca7fff900e0d517513de028222e484d372b63c8e5ee85783d24892ab8c7909af8b58dd54fe1"
    "d57c479624d36ec64bdcbb73ba983d4a28d239de5f0d9bee61be2db1e5bd1059510145f466f4e8b5"
    "f4c909a3e5b989a7576da4aff3a1f1067fcb7ce428b9860d3276be250b4d205a30e64e6c940154b5"
    "cd7d53e12c63484fb130483125db0c6078c484"
)  # fmt: skip
READY = bytes.fromhex(
    "04410552454144590000000000000001dab55f967f8ff5d5eeb25d2127fcb58684dfd0c87c144a69"
    "7cceda4cee1834a13e94cd98532c4749ab54afb0f7f44a894bb77a"
)
ASKED = bytes.fromhex(
    "0024074d455353414745000000000000000367d177bc8df8a56a1dfe5b0b67760b7f2cdc4471"
    "0021074d45535341474500000000000000048387e92a7a11a531e7e76e3635906ccb8c"
)
TOLD = bytes.fromhex("0024074d4553534147450000000000000002cdaf90866b95fc47e088d3c054e719aaed6cf48c")
GREETED = zmtp.greeting("CURVE")


def drawn(*values: int) -> Callable[[int], bytes]:
    """Return what draws bytes of one value after the other."""
    left = list(values)
    return lambda size: bytes([left.pop(0)]) * size


def taken(wire: Wire) -> bytes:
    """Return what a side sends."""
    data = bytes(wire.out)
    wire.out.clear()
    return data


def sides(
    admits: Callable[[str], bool] = lambda key: True, key: Key = KEY, fixed: bool = False
) -> tuple[Server, Client]:
    server = Server(MOST, Guard(OURS, admits), *([drawn(4, 5, 7)] if fixed else []))
    client = Client(MOST, key, *([drawn(3, 6)] if fixed else []))
    return server, client


def meet(server: Server, client: Client) -> None:
    """Carry what both sides send until neither does."""
    while server.out or client.out:
        assert client.feed(taken(server)) == []
        assert server.feed(taken(client)) == []


def met() -> tuple[Server, Client]:
    server, client = sides()
    meet(server, client)
    assert server.ready
    assert client.ready
    return server, client


def test_both_sides_say_what_another_library_says() -> None:
    server, client = sides(fixed=True)
    greeting, half = taken(server), taken(client)
    assert greeting == zmtp.greeting("CURVE", server=True)
    assert (greeting[12:17], greeting[32]) == (b"CURVE", 1)
    assert client.feed(greeting) == []
    said = taken(client)
    assert half + said == GREETED + HELLO
    assert server.feed(half + said) == []
    assert taken(server) == WELCOME
    assert client.feed(WELCOME) == []
    assert taken(client) == INITIATE
    assert server.feed(INITIATE) == []
    assert taken(server) == READY
    assert server.owner == THEIRS.public.encode()
    assert client.feed(READY) == []
    assert client.owner == OURS.public.encode()
    assert client.parts([b"one", b""])[0] == ASKED
    assert server.feed(ASKED) == [b"one", b""]
    assert server.parts([b"yes"])[0] == TOLD
    assert client.feed(TOLD) == [b"yes"]


def test_an_answer_is_no_longer_than_its_question() -> None:
    assert len(WELCOME) < len(HELLO)


@pytest.mark.parametrize("size", [0, 1, 222, 223, 255, 256, curve.ROOM - 34, curve.ROOM - 33,
                                  curve.ROOM - 32, MOST])  # fmt: skip
def test_frames_of_any_size_arrive(size: int) -> None:
    server, client = met()
    frames = [bytes(index % 251 for index in range(size)), b"z", bytes(size)]
    assert server.feed(client.parts(frames)[0]) == frames
    assert client.feed(server.parts(frames)[0]) == frames
    assert client.feed(server.parts([])[0]) == []


def test_the_limit_is_that_of_the_frame_inside() -> None:
    server, client = met()
    assert server.feed(client.parts([bytes(MOST)])[0]) == [bytes(MOST)]
    with pytest.raises(WireError, match="are read"):
        server.feed(client.parts([bytes(MOST + 1)])[0])
    server, client = met()
    server.allow(10)
    assert server.feed(client.parts([bytes(10)])[0]) == [bytes(10)]
    with pytest.raises(WireError, match="are read"):
        server.feed(client.parts([bytes(11)])[0])


def test_commands_are_encrypted_too() -> None:
    server, client = met()
    client._say(zmtp.named(b"PING", b"\x00\x64abc"))
    before = client.parts([b"before"])[0]
    # Send in the order of making: counts must rise.
    assert server.feed(taken(client) + before) == [b"before"]
    answer = taken(server)
    assert b"PONG" not in answer
    assert client.feed(answer) == []
    told = server.parts([b"last words"])[0] + server.farewell("it asked for too much")
    with pytest.raises(Told, match="it asked for too much") as caught:
        client.feed(told)
    assert caught.value.frames == [b"last words"]


def test_frames_of_different_connections_are_not_interchangeable() -> None:
    (_, client), (server, _) = met(), met()
    with pytest.raises(WireError, match="cannot be opened"):
        server.feed(client.parts([b"mine"])[0])


def test_what_a_side_said_is_not_taken_for_what_the_other_says() -> None:
    _, client = met()
    client.parts([b"", b""])  # so that its next count is new to itself
    with pytest.raises(WireError, match="cannot be opened"):
        client.feed(client.parts([b"echo"])[0])


def test_frames_are_not_played_again_or_exchanged() -> None:
    server, client = met()
    first, second = client.parts([b"first"])[0], client.parts([b"second"])[0]
    assert server.feed(first) == [b"first"]
    with pytest.raises(WireError, match="twice"):
        server.feed(first)
    server, client = met()
    first, second = client.parts([b"first"])[0], client.parts([b"second"])[0]
    assert server.feed(second) == [b"second"]
    with pytest.raises(WireError, match="out of order"):
        server.feed(first)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (pack([b"plain"]), "not encrypted"),
        (pack([b"\x07MESSAGE" + bytes(8)]), "not encrypted"),
        (zmtp.command(b"PING", b"\0\0"), "command that is not encrypted"),
        (zmtp.error("go away"), "command that is not encrypted"),
        (pack([b"\x07MESSAGE" + bytes(40)]), "twice"),
        (pack([b"\x07MESSAGE" + b"\xff" * 40]), "cannot be opened"),
        (pack([b"\x07MESSAGE" + b"\xff" * 5000]), "cannot be opened"),
        (b"\x01\x28\x07MESSAGE" + b"\xff" * 32, "flags 0x01"),
    ],
)
def test_what_is_not_encrypted_ends_the_connection(data: bytes, text: str) -> None:
    for side in met():
        with pytest.raises(WireError, match=text):
            side.feed(data)


def changed(data: bytes, position: int) -> bytes:
    """Return bytes with one bit the other way."""
    flipped = bytearray(data)
    flipped[position // 8] ^= 1 << position % 8
    return bytes(flipped)


def ends(wire: Wire, data: bytes) -> None:
    """Have data end a connection, at once or, if its length was changed, when more comes."""
    ready = wire.ready
    with contextlib.suppress(WireError):
        assert wire.feed(data) == []
        assert not wire.out
        assert wire.ready == ready
        with pytest.raises(WireError):
            wire.feed(b"\xff" * (1 << 17))


@given(st.integers(0), st.booleans())
def test_a_flipped_bit_ends_the_connection(position: int, long: bool) -> None:
    server, client = met()
    data = client.parts([bytes(300 if long else 3)])[0]
    data = changed(data, position % (8 * len(data)))
    ends(server, data)


@given(st.integers(0), st.booleans())
def test_a_flipped_bit_ends_the_handshake(position: int, second: bool) -> None:
    server, _ = sides(fixed=True)
    server.feed(GREETED)
    data = HELLO
    if second:
        server.feed(HELLO)
        data = INITIATE
    position %= 8 * len(data)
    start = 10 * 8  # of the zeros that pad HELLO, which nobody reads
    key = start + 72 * 8
    unread = start <= position < key or position == key + 32 * 8 - 1  # X25519 ignores a key's last
    if not second and unread:
        position = 0
    server.out.clear()
    ends(server, changed(data, position))


@given(st.integers(0), st.booleans())
def test_a_flipped_bit_ends_the_brokers_handshake(position: int, second: bool) -> None:
    _, client = sides(fixed=True)
    client.feed(zmtp.greeting("CURVE", server=True))
    data = WELCOME
    if second:
        client.feed(WELCOME)
        data = READY
    client.out.clear()
    ends(client, changed(data, position % (8 * len(data))))


PARTS = st.one_of(
    st.binary(max_size=70),
    st.sampled_from([GREETED, HELLO, WELCOME, INITIATE, READY, ASKED, TOLD, zmtp.error("400")]),
    st.tuples(st.integers(0, 255), st.integers(0, (1 << 64) - 1)).map(
        lambda pair: pair[0].to_bytes() + pair[1].to_bytes(8, "big")
    ),
    st.tuples(
        st.sampled_from([b"HELLO", b"WELCOME", b"INITIATE", b"READY", b"MESSAGE", b"ERROR"]),
        st.binary(max_size=300),
    ).map(lambda pair: zmtp.command(*pair)),
    st.binary(max_size=100).map(lambda data: pack([b"\x07MESSAGE" + data])),
)


@given(st.booleans(), st.sampled_from([0, 1, 2]), st.lists(PARTS, max_size=8))
def test_anything_gives_frames_or_one_kind_of_error(
    serving: bool, begun: int, parts: list[bytes]
) -> None:
    wire: Wire = sides(fixed=True)[0 if serving else 1]
    start = [GREETED, HELLO, INITIATE] if serving else [GREETED, WELCOME, READY]
    with contextlib.suppress(WireError):
        for part in start[: begun + 1] + parts:
            for frame in wire.feed(part):
                assert len(frame) <= MOST


# -- who is let in ---------------------------------------------------------------------------------


def test_a_key_that_is_not_let_in_is_told_so_as_libzmq_tells() -> None:
    asked: list[str] = []

    def admits(key: str) -> bool:
        asked.append(key)
        return False

    server, client = sides(admits)
    with pytest.raises(WireError, match="is not let in"):
        meet(server, client)
    assert asked == [THEIRS.public]
    assert server.farewell("secret reasons") == zmtp.error("400")
    with pytest.raises(Told) as caught:
        client.feed(server.farewell(""))
    assert caught.value.reason == "400"


def test_a_client_that_expects_another_broker_is_not_answered() -> None:
    server, client = sides(key=Key(THEIRS.public, THEIRS.secret, pair(9).public))
    with pytest.raises(WireError, match="cannot be opened"):
        meet(server, client)
    assert server.farewell("why") == b""
    assert not client.trusted


def test_a_client_does_not_say_who_it_is_to_another_broker() -> None:
    client = Client(MOST, KEY)
    client.feed(zmtp.greeting("CURVE", server=True))
    client.out.clear()
    with pytest.raises(WireError, match="cannot be opened"):
        client.feed(WELCOME)
    assert not client.out


def initiate(client: int, vouched: Sequence[bytes], by: int = 1) -> bytes:
    """Return INITIATE of a client that has the fixed short-term key, with a vouch of its making."""
    short, theirs = crypto_scalarmult_base(b"\4" * 32), bytes([by]) * 32
    vouch = crypto_box_afternm(
        b"".join(vouched), b"VOUCH---" + b"\6" * 16, crypto_box_beforenm(short, theirs)
    )
    plain = keys.raw(pair(client).public) + b"\6" * 16 + vouch + zmtp.properties(b"DEALER")
    box = crypto_box_afternm(
        plain,
        b"CurveZMQINITIATE" + (2).to_bytes(8, "big"),
        crypto_box_beforenm(short, b"\3" * 32),
    )
    return zmtp.command(b"INITIATE", b"\5" * 96 + (2).to_bytes(8, "big") + box)


def test_a_vouch_binds_both_keys_of_the_client_and_the_brokers() -> None:
    short, server, other = (keys.raw(pair(number).public) for number in (3, 2, 8))

    def answer(data: bytes) -> Server:
        wire, _ = sides(fixed=True)
        wire.feed(GREETED + HELLO)
        wire.feed(data)
        return wire

    assert initiate(1, [short, server]) == INITIATE
    assert answer(initiate(1, [short, server])).ready
    for vouched in ([other, server], [short, other], [short], [b""]):
        with pytest.raises(WireError):
            answer(initiate(1, vouched))
    with pytest.raises(WireError, match="cannot be opened"):
        answer(initiate(9, [short, server]))  # the key of another, who did not vouch


def test_steps_are_not_taken_twice_or_out_of_order() -> None:
    for data in (GREETED + INITIATE, GREETED + HELLO + HELLO, GREETED + READY):
        server, _ = sides(fixed=True)
        with pytest.raises(WireError, match="came; expected"):
            server.feed(data)
    greeting = zmtp.greeting("CURVE", server=True)
    for data in (greeting + READY, greeting + WELCOME + WELCOME, greeting + HELLO):
        _, client = sides(fixed=True)
        with pytest.raises(WireError, match="came; expected"):
            client.feed(data)


def test_a_key_that_agrees_with_everyone_is_refused() -> None:
    """A point of small order would give a shared key that anyone knows."""
    hello = zmtp.command(b"HELLO", b"\1\0" + bytes(72) + bytes(32) + bytes(7) + b"\1" + bytes(80))
    server, _ = sides()
    with pytest.raises(WireError, match="no one can agree"):
        server.feed(GREETED + hello)


def test_other_mechanisms_are_named() -> None:
    server, client = sides()
    for side in (server, client, Wire(b"ROUTER", MOST)):
        theirs = "CURVE" if type(side) is Wire else "NULL"
        with pytest.raises(Mismatch) as caught:
            side.feed(zmtp.greeting(theirs))
        assert caught.value.theirs == theirs


# -- keys as text ----------------------------------------------------------------------------------


def test_keys_are_written_as_specified() -> None:
    # The example of https://rfc.zeromq.org/spec/32/, and libzmq's of a pair of keys.
    assert keys.text(bytes.fromhex("864fd26fb559f75b")) == "HelloWorld"
    secret = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"
    assert keys.public(secret) == "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
    assert keys.text(keys.raw(secret)) == secret


@given(st.binary(min_size=32, max_size=32))
def test_every_key_can_be_written(key: bytes) -> None:
    assert keys.raw(keys.text(key)) == key
    assert keys.problem(keys.text(key)) == ""


@pytest.mark.parametrize("text", ["", "a" * 39, "a" * 41, "a" * 39 + "é", "a" * 39 + " ", "#" * 40])
def test_what_is_not_a_key_is_one_line(text: str) -> None:
    assert "is not a key; expected 40 characters" in keys.problem(text)
