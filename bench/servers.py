"""Other environment servers, each with its own public client and its default settings.

All play the trivial game of ``peers`` for one seat: 42 turns, with observations of a given size.
"""

from __future__ import annotations

import contextlib
import random
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent import futures
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from bench.measure import Episodes, children, hear, line, program, stream
from bench.peers import TURNS


def _episodes(begin: Callable[[], Any], step: Callable[[], Any]) -> Episodes:
    while True:
        begin()
        for _ in range(TURNS):
            step()
        yield TURNS


def _open_env_server(size: int, pipe: Connection) -> None:
    import uvicorn
    from openenv.core.env_server import create_fastapi_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, Observation, State

    class Choice(Action):
        action: int

    class Seen(Observation):
        seen: list[int]

    class Trivial(Environment):
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self) -> None:
            super().__init__()
            self.turn = 0

        def _seen(self) -> Seen:
            return Seen(seen=nothing, done=self.turn == TURNS, reward=0.0)

        def reset(self, *_: Any, **__: Any) -> Seen:
            self.turn = 0
            return self._seen()

        def step(self, *_: Any, **__: Any) -> Seen:
            self.turn += 1
            return self._seen()

        @property
        def state(self) -> State:
            return State()

    nothing = [0] * size
    with socket.create_server(("127.0.0.1", 0)) as made:
        server = uvicorn.Server(
            uvicorn.Config(create_fastapi_app(Trivial, Choice, Seen), log_level="error")
        )
        pipe.send(made.getsockname()[1])  # clients that connect now wait for it to accept
        server.run([made])


@stream
def open_env(size: str) -> Episodes:
    """OpenEnv's server (FastAPI under uvicorn) and its client over a WebSocket, in JSON."""
    from openenv.core.generic_client import GenericEnvClient

    with children() as start:
        port = hear(start(_open_env_server, int(size)))
        with GenericEnvClient(base_url=f"http://127.0.0.1:{port}") as client:
            yield from _episodes(client.reset, lambda: client.step({"action": 0}))


def _seat(url: str) -> Iterator[int]:
    """Play a seat of a shared game at random with OpenEnv's client; yield each game's steps."""
    from openenv.core import generic_client

    client: Any = generic_client.GenericEnvClient(base_url=url)
    with getattr(client, "sync", lambda: client)() as client:  # synchronous before 0.3
        rng = random.Random(url)
        while True:
            result, steps = client.reset(), 0
            while not result.done:
                seen = result.observation
                steps += seen["your_turn"]
                action = rng.choice(seen["legal_actions"]) if seen["your_turn"] else None
                result = client.step({"action": action})
            yield steps


def _partner(url: str, pipe: Connection) -> None:
    for steps in _seat(url):
        pipe.send(steps)


@stream
def shared_game() -> Episodes:
    """``dovetail openenv``: two programs with OpenEnv's client share Connect Four, a seat each."""
    command = [sys.executable, "-m", "dovetail", "openenv", "--game", "connect_four"]
    command += ["--seat", "0", "--seat", "1", "--port", "0", "--seed", "1"]
    with children() as start, program(command) as served:
        one, other = (line(served).split(": ")[-1] for _ in range(2))
        partner = start(_partner, other)
        for steps in _seat(one):
            yield steps + hear(partner)


def _dm_env_rpc_server(size: int, pipe: Connection) -> None:
    import grpc
    from dm_env_rpc.v1 import dm_env_rpc_pb2 as rpc
    from dm_env_rpc.v1 import dm_env_rpc_pb2_grpc, tensor_utils

    seen = tensor_utils.pack_tensor(np.zeros(size, np.uint8))
    specs = rpc.ActionObservationSpecs()
    specs.actions[1].name, specs.actions[1].dtype = "action", rpc.INT32
    specs.observations[1].name, specs.observations[1].dtype = "seen", rpc.UINT8
    specs.observations[1].shape[:] = [size]

    class Servicer(dm_env_rpc_pb2_grpc.EnvironmentServicer):
        def Process(self, requests: Any, context: Any) -> Iterator[Any]:  # noqa: N802
            turn = -1
            for request in requests:
                kind = request.WhichOneof("payload")
                answer = rpc.EnvironmentResponse()
                if kind in ("join_world", "reset"):
                    turn = -1
                    getattr(answer, kind).specs.CopyFrom(specs)
                elif kind == "step":
                    turn = (turn + 1) % (TURNS + 1)
                    over = turn == TURNS
                    answer.step.state = rpc.TERMINATED if over else rpc.RUNNING
                    answer.step.observations[1].CopyFrom(seen)
                else:
                    getattr(answer, kind).SetInParent()
                yield answer

    server = grpc.server(futures.ThreadPoolExecutor(1))
    dm_env_rpc_pb2_grpc.add_EnvironmentServicer_to_server(Servicer(), server)
    pipe.send(server.add_secure_port("127.0.0.1:0", grpc.local_server_credentials()))
    server.start()
    server.wait_for_termination()


@stream
def dm_env_rpc(size: str) -> Episodes:
    """A dm_env_rpc server over gRPC, and the library's dm_env adaptor."""
    from dm_env_rpc.v1 import connection, dm_env_adaptor

    with children() as start:
        port = hear(start(_dm_env_rpc_server, int(size)))
        with connection.create_secure_channel_and_connect(f"127.0.0.1:{port}") as wire:
            game, _ = dm_env_adaptor.create_and_join_world(wire, {}, {})
            yield from _episodes(game.reset, lambda: game.step({"action": 0}))


@stream
def vector_env(count: str, size: str) -> Episodes:
    """Gymnasium's AsyncVectorEnv: a process for each environment, observations in shared memory."""
    import gymnasium

    class Trivial(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Box(0, 255, (int(size),), np.uint8)
        action_space = gymnasium.spaces.Discrete(7)
        seen = np.zeros(int(size), np.uint8)
        turn = 0

        def reset(self, **_: Any) -> Any:
            self.turn = 0
            return self.seen, {}

        def step(self, action: Any) -> Any:
            self.turn += 1
            return self.seen, 0.0, self.turn == TURNS, False, {}

    actions = np.zeros(int(count), np.int64)
    games = gymnasium.vector.AsyncVectorEnv([Trivial] * int(count))
    with contextlib.closing(games):
        games.reset(seed=1)
        while True:
            games.step(actions)
            yield int(count)
