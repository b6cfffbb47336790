"""Deployments of an experiment: its own processes, a running broker, or this process.

Each one provides an ``Experiment`` and creates the file's agents; results are the same in all.
"""

from __future__ import annotations

import hashlib
import heapq
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, Unpack

from dovetail.client.client import Experiment, RunHandle
from dovetail.client.run_options import RunOptions
from dovetail.peer import plugins
from dovetail.peer.address import AGENTS
from dovetail.peer.broker_watchdog import GIVE_UP
from dovetail.peer.config_location import Step
from dovetail.peer.presets import preset
from dovetail.protocol import codec
from dovetail.protocol import json_text as jsontext
from dovetail.protocol.errors import DovetailError, Refused, attempting
from dovetail.protocol.journal import TRIED, AnyRecord, EpisodeRecord, read, write
from dovetail.transport.keys import WITHOUT, Key
from dovetail_experiments.engines.hosts import (
    HostLost,
    HostPlan,
    NotStarted,
    PlannedProgram,
    ProgramHost,
    assignments,
    start,
)
from dovetail_experiments.files.checking import named, offered_name
from dovetail_experiments.files.file import ExperimentFile, Mistake
from dovetail_experiments.quoting import file_name
from dovetail_experiments.stages.processes import Processes, ProgramEnd
from dovetail_experiments.stages.shards import DealtRun, Shard, Shards

log = logging.getLogger("dovetail")

SILENT = 10.0
"""Seconds of waiting for our own programs before they are named."""
SAY_EVERY = 30.0
"""Seconds between such messages."""
PATIENCE = 2.0
"""Seconds that programs started elsewhere have to appear."""

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Deployment:
    """A broker with everything that an experiment needs."""

    experiment: Experiment
    environment: str
    """The environment's name at the broker."""
    peers: dict[str, str | None]
    """The program that creates each agent; None lets the broker choose."""
    check: Callable[[], None]
    """Raises an error if a program is not running."""
    about: str
    """One line that describes the deployment."""
    pids: Mapping[str, int] = field(default_factory=dict)
    """Process IDs of the programs it started, by name."""
    logs: Path | None = None
    """Folder of those programs' output, if it is kept."""
    shards: Shards | None = None
    """This deployment and its shards, if it has any."""
    ended: Callable[[], Mapping[str, ProgramEnd]] = dict
    """Programs that have ended, by name."""
    stop: Callable[[], None] = lambda: None
    """Stops the programs it started."""

    def run(
        self, agents: Sequence[int | str], **options: Unpack[RunOptions]
    ) -> RunHandle | DealtRun:
        """Play episodes, in all shards; arguments as for ``Experiment.run``."""
        at = self.experiment if self.shards is None else self.shards
        return at.run(self.environment, agents, **options)

    def at_one(
        self, agents: Sequence[int | str], ask: Callable[[Experiment, list[int | str]], Answer]
    ) -> Answer:
        """Ask one broker; with shards, try another one if it fails.

        Args:
            ask: called with a connection and that broker's names of the agents.
        """
        if self.shards is None:
            return ask(self.experiment, list(agents))
        while True:
            shard = self.shards.alive[0]
            try:
                return ask(shard.experiment, shard.named(agents))
            except DovetailError as error:
                self.shards.fail(shard, error)

    def hint(self) -> str:
        """Return where to find more about an error, as a suffix for its message."""
        return "" if self.logs is None else f"; the logs of all programs are in {self.logs}"

    def _traceback(self, agent: str) -> str:
        """Return where an agent's program printed a traceback, as a suffix for an error; empty if
        nowhere."""
        log = None if self.logs is None else self.logs / f"{file_name(f'agent-{agent}')}.log"
        if log is None or not log.exists() or "Traceback" not in log.read_text("utf-8", "replace"):
            return ""
        return f"; the traceback is in {log}"

    def seat(self, file: ExperimentFile, states: dict[str, bytes]) -> dict[str, int | str]:
        """Create the agents of the file; return their names for runs.

        Args:
            states: the initial states of agents, by name.

        Raises:
            Mistake: an agent refuses its parameters or its state.
        """
        offers = {each["name"]: each for each in self.experiment.catalogue()["agents"]}
        seated: dict[str, int | str] = {}
        for name in file.used():
            part = file.agents[name]
            offered = offered_name(part.type)
            if offers[offered].get("instance"):
                if name in states or part.parameters:
                    takes = "it takes no parameters and no state from here"
                    text = f"[agents.{name}]: {offered!r} is a program that is one agent; {takes}"
                    key = "parameters" if part.parameters else "state"
                    raise Mistake(text, "agents", name, key)
                seated[name] = offered
                continue
            seated[name] = self.create(file, name, states.get(name))
        return seated

    def create(self, file: ExperimentFile, name: str, state: bytes | None = None) -> int:
        """Create an agent of the file, from a state if given; return its number.

        Raises:
            Mistake: it refuses its parameters or its state.
            HostLost: the programs' host is gone.
        """
        if self.shards is None:
            return self._create(file, name, state)
        return self.shards.create(name, state)

    def shard(self, file: ExperimentFile) -> Shard:
        """Return this deployment as one of several equal shards."""
        make = partial(self._create, file)
        return Shard(self.experiment, self.check, self.stop, make, self.pids)

    def _create(self, file: ExperimentFile, name: str, state: bytes | None) -> int:
        part = file.agents[name]
        log.info(
            "[agents.%s]: %s with seed %d, options %s, %s",
            name,
            part.type,
            file.agent_seed(name),
            jsontext.option(part.parameters),
            "untrained" if state is None else f"from a state of {len(state):,} bytes",
        )
        try:
            return self.experiment.create(
                offered_name(part.type),
                seed=file.agent_seed(name),
                parameters=part.parameters,
                state=state,
                peer=self.peers.get(name),
            )
        except HostLost:
            raise
        except DovetailError as error:
            began = f" (state {part.state})" if part.state and state is not None else ""
            text = f"[agents.{name}]: {error}{began}{self._traceback(name)}"
            at = ("state",) if began else ("parameters", *named(str(error), part.parameters))
            raise Mistake(text, "agents", name, *at) from None

    def save(self, name: str, number: int) -> bytes:
        """Return the state of an agent of the file.

        Raises:
            DovetailError: the agent cannot save its state, or failed at the end of an episode.
        """
        try:
            return self.experiment.save(number)
        except Refused as error:
            raise DovetailError(f"[agents.{name}]: {error}{self._traceback(name)}") from None


@contextmanager
def own_processes(
    file: ExperimentFile,
    journal: Path | None = None,
    logs: Path | None = None,
    give_up: float | None = GIVE_UP,
) -> Iterator[Deployment]:
    """Start a broker, the environment and each agent as processes, and stop them at the end.

    Args:
        journal: the file that records episodes; None for no journal.
        logs: the folder for the programs' output; None deletes the output at the end.
        give_up: seconds without an answer from the broker before the experiment fails; None for no
            limit.
    """
    with _started(file, journal, logs, give_up) as place:
        appear(file, place, None)
        yield place


@contextmanager
def in_shards(
    file: ExperimentFile, count: int, journal: Path, logs: Path, give_up: float | None = GIVE_UP
) -> Iterator[Deployment]:
    """Start several brokers, each with its own environment and agents on its own core.

    Journals and logs of the second shard have ``shard-2`` in their names, and so on; other
    arguments as for ``own_processes``.
    """
    cores: list[int | None] = [None]
    if hasattr(os, "sched_getaffinity"):
        cores = [*sorted(os.sched_getaffinity(0))]
    with ExitStack() as stack:
        places = []
        for number in range(1, count + 1):
            core = cores[(number - 1) % len(cores)]
            part = journal_of(journal, number), logs_of(logs, number)
            places.append(stack.enter_context(_started(file, *part, give_up, core)))
        for each in places:
            appear(file, each, None)

        shards = Shards([each.shard(file) for each in places])
        yield replace(
            places[0],
            check=shards.check,
            about="\n".join(f"shard {k}: {each.about}" for k, each in enumerate(places, 1)),
            shards=shards,
        )


def journal_of(journal: Path, shard: int) -> Path:
    """Return the path of a shard's journal, next to the first shard's."""
    return journal if shard == 1 else journal.with_suffix(f".shard-{shard}{journal.suffix}")


def journals(journal: Path) -> list[Path]:
    """Return the existing journals of all shards, the first shard's first."""
    others = sorted(journal.parent.glob(f"{journal.stem}.shard-*{journal.suffix}"))
    return [each for each in (journal, *others) if each.exists()]


def merge_journals(journal: Path) -> None:
    """Merge the shards' journals into the first shard's, and delete the others."""
    found = journals(journal)
    others = [each for each in found if each != journal]
    if not others:
        return
    with attempting(f"write the journal {journal}"):
        write(journal, _merged(found, journal))
        for each in others:
            each.unlink()


def _merged(journals: Sequence[Path], to: Path) -> Iterator[AnyRecord]:
    """Yield the episodes and states of journals by time, without what ``to`` already has, so that a
    merge can be repeated.

    An episode that a lost broker recorded unreported was played again by another, so only one is
    kept.
    """
    known = {_digest(record) for record in read(to)} if to in journals else set()

    def new(journal: Path) -> Iterator[AnyRecord]:
        for record in read(journal):
            if journal == to or not known or _digest(record) not in known:
                yield record

    found: set[tuple[str, int]] = set()
    for record in heapq.merge(*map(new, journals), key=lambda each: each.time):
        if isinstance(record, EpisodeRecord) and not record.result.will_retry:
            episode = record.label, record.result.index
            if episode in found:
                continue
            if record.label not in ("", TRIED):
                found.add(episode)
        yield record


def _digest(record: AnyRecord) -> bytes:
    return hashlib.blake2b(codec.encode(record), digest_size=16).digest()


def logs_of(logs: Path, shard: int) -> Path:
    """Return the folder of a shard's logs, inside the first shard's."""
    return logs if shard == 1 else logs / f"shard-{shard}"


@contextmanager
def _started(
    file: ExperimentFile,
    journal: Path | None,
    logs: Path | None,
    give_up: float | None,
    core: int | None = None,
) -> Iterator[Deployment]:
    """Start the programs of ``own_processes``, all on ``core`` if given."""
    environment = environment_of(file)
    plan, peers = planned(file)
    patience = None if give_up is None else max(give_up, GIVE_UP)  # on a busy machine
    with (
        Processes(
            pin=plan.pin, core=core, journal=journal, tcp=plan.tcp, logs=logs, broker=plan.broker
        ) as processes,
        connected(processes, give_up, WITHOUT, patience) as experiment,
    ):
        try:
            start(processes, plan)
        except NotStarted as error:
            raise Mistake(str(error), *steps_of(error.program), "command") from None
        yield deployed(experiment, environment, peers, processes, logs)


def connected(
    host: ProgramHost, give_up: float | None, key: Key, wait: float | None
) -> AbstractContextManager[Experiment]:
    """Connect to a host's broker.

    A call that waits for the broker also notices when a program has ended, the broker included.

    Args:
        host: the host of the programs.
        give_up: seconds of silence after which a call fails; None for no limit.
        key: the key to connect with.
        wait: seconds to wait for its first answer; None for no limit.
    """
    return Experiment.connect(
        host.address, name="experiment", key=key, wait=wait, give_up=give_up, idle=host.check
    )


def deployed(
    experiment: Experiment,
    environment: str,
    peers: dict[str, str | None],
    host: ProgramHost,
    logs: Path | None,
) -> Deployment:
    """Return the deployment of a host whose broker an experiment is connected to."""
    pids = host.pids()
    about = "processes: " + ", ".join(f"{name} ({pid})" for name, pid in pids.items())
    return Deployment(
        *(experiment, environment, peers, host.check, about, pids, logs),
        ended=host.ended,
        stop=host.stop,
    )


def planned(file: ExperimentFile) -> tuple[HostPlan, dict[str, str | None]]:
    """Return an experiment's programs, and the program that creates each agent.

    None lets the broker choose the program.
    """
    programs: list[PlannedProgram] = []
    environment = file.environment
    if not environment.hosted:
        words, own = environment.command, False
        if words is None:
            # Checked here and where it is served: some options are for the local user only.
            words = ["env", environment.name, *assignments(environment.configuration)]
            own = True
        others = range(2, file.processes.environments + 1)
        names = ["environment", *(f"environment-{number}" for number in others)]
        programs += [PlannedProgram(name, words, own) for name in names]
    peers: dict[str, str | None] = {}
    for name in file.used():
        part = file.agents[name]
        program = f"agent-{name}"
        if part.command is not None:
            programs.append(PlannedProgram(program, part.command, own=False))
            peers[name] = None
        elif part.hosted:
            peers[name] = AGENTS
        else:
            more = [word for each in part.register for word in ("--register", each)]
            programs.append(PlannedProgram(program, ["agent", part.type, *more]))
            peers[name] = program
    processes = file.processes
    plan = HostPlan(programs, _hosted(file), processes.pin, processes.transport == "tcp")
    return plan, peers


def steps_of(program: str) -> tuple[Step, ...]:
    """Return the table of the file that describes a program."""
    kind, _, agent = program.partition("-")
    return ("agents", agent) if kind == "agent" else ("environment",)


def _hosted(file: ExperimentFile) -> list[str]:
    """Return the broker's arguments for the agents and the environment that it hosts."""
    words: list[str] = []
    if file.environment.hosted:
        words += ["--env", file.environment.name, *assignments(file.environment.configuration)]
    parts = [file.agents[name] for name in file.used() if file.agents[name].hosted]
    for kind in dict.fromkeys(part.type for part in parts):
        words += ["--agent", kind]
    for each in dict.fromkeys(each for part in parts for each in part.register):
        words += ["--register", each]
    return words


@contextmanager
def at_broker(
    file: ExperimentFile, address: str, token: str | None = None, give_up: float | None = GIVE_UP
) -> Iterator[Deployment]:
    """Use a running broker that already offers the environment and the agent types."""
    for name in file.used():
        if file.agents[name].register:
            text = (
                f"[agents.{name}]: at a running broker, agents use what was registered where they "
                "are served (`dovetail agent --register`); remove `register`"
            )
            raise Mistake(text, "agents", name, "register")
    with Experiment.connect(address, token=token, give_up=give_up) as experiment:
        environment = offered_name(file.environment.name, "environment")
        place = Deployment(experiment, environment, {}, lambda: None, f"at the broker {address}")
        appear(file, place, PATIENCE)
        yield place


@contextmanager
def in_this_program(file: ExperimentFile, journal: Path | None = None) -> Iterator[Deployment]:
    """Play in this process, without sockets."""
    # Imported here because it needs the broker, which runs as its own program elsewhere.
    from dovetail.client.inprocess import InProcess

    apart = "a program started by command cannot play in process; remove --in-process"
    if file.environment.command is not None:
        raise Mistake(f"[environment]: {apart}", "environment", "command")
    name, given = file.environment.name, file.environment.configuration
    environment = preset(plugins.find("environment", name), given, f"environment {name}")
    kinds: dict[str, type[Any]] = {}
    for name in file.used():
        part = file.agents[name]
        if part.command is not None:
            raise Mistake(f"[agents.{name}]: {apart}", "agents", name, "command")
        kinds[part.type] = plugins.find("agent", part.type)
        for each in part.register:
            try:
                plugins.register(each)
            except DovetailError as error:
                raise Mistake(str(error), "agents", name, "register") from None
    with InProcess([environment], list(kinds.values()), journal=journal) as experiment:
        yield Deployment(experiment, environment_of(file), {}, lambda: None, "all in this process")


def environment_of(file: ExperimentFile) -> str:
    """Return the broker's name for the environment of a file."""
    if file.environment.command is not None:
        return file.environment.name
    plugins.find("environment", file.environment.name)
    return offered_name(file.environment.name, "environment")


def appear(file: ExperimentFile, place: Deployment, timeout: float | None) -> None:
    """Wait until the environment and all agents are offered.

    Args:
        timeout: seconds to wait; None waits as long as the programs live, and reports progress.

    Raises:
        Mistake: a program of the file has ended.
        HostLost: the programs' host is gone.
        DovetailError: the broker has ended, or something is missing after ``timeout``.
    """
    try:
        _wait(file, place, timeout)
    except HostLost:
        raise
    except DovetailError as error:
        for name in place.ended():
            if name != "broker":
                raise Mistake(str(error), *steps_of(name)) from None
        raise


def _wait(file: ExperimentFile, place: Deployment, timeout: float | None) -> None:
    began = time.monotonic()
    said = SILENT
    while absent := missing(file, place):
        place.check()
        waited = time.monotonic() - began
        if timeout is not None and waited > timeout:
            raise DovetailError(f"no program at the broker offers {', '.join(absent)}")
        if timeout is None and waited >= said:
            said += SAY_EVERY
            log.warning(
                "waiting for %s (%.0f s); the programs are running%s",
                ", ".join(absent),
                waited,
                place.hint(),
            )
        place.experiment.wait(0.02)


def missing(file: ExperimentFile, place: Deployment) -> list[str]:
    """Return descriptions of the programs that a broker does not offer yet."""
    present = place.experiment.catalogue()
    # Our own programs must all be present, as their number determines how groups are split.
    several = bool(place.pids) and not file.environment.hosted
    wanted = file.processes.environments if several else 1
    count = sum(each["name"] == place.environment for each in present["environments"])
    agents = {(each["peer"], each["name"]) for each in present["agents"]}
    found = []
    if count < wanted:
        which = f" ({count} of {wanted} programs offer it)" if wanted > 1 else ""
        found.append(f"the environment {place.environment!r}{which}")
    for name in file.used():
        offered = offered_name(file.agents[name].type)
        peer = place.peers.get(name)
        if not any(each == offered and peer in (None, at) for at, each in agents):
            found.append(f"the agent {offered!r}")
    return list(dict.fromkeys(found))
