"""An agent that asks a language model for its actions."""

from __future__ import annotations

import json
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import IO, Annotated, Any, Literal

from msgspec import Meta, Struct

from dovetail.peer.agents.agent import Agent, Decision, End
from dovetail.peer.agents.sampling import sample
from dovetail.protocol import json_text as jsontext
from dovetail.protocol.errors import DovetailError, Forfeit
from dovetail.protocol.outside import LimitedPositive
from dovetail_bridges.choices import space_of
from dovetail_bridges.language_model import prompt
from dovetail_bridges.language_model.endpoint import Endpoint, Settings, settings

KEPT = 100
"""Maximum transcripts kept for ``message``, the latest."""
MARGIN = 0.2
"""The fraction of the clock reserved for transmission, at most a second."""


class LanguageModelParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``LanguageModel``; address and key are in its program's environment."""

    model: Annotated[
        str, Meta(description="The model's name at the server; default: DOVETAIL_MODEL.")
    ] = ""
    attempts: Annotated[
        int, Meta(ge=1, le=20, description="Answers that may be read for one decision.")
    ] = 3
    seconds: Annotated[
        float,
        Meta(gt=0, le=86_400, description="For one decision; a shorter clock counts instead."),
    ] = 60.0
    tokens: Annotated[
        LimitedPositive | None,
        Meta(description="For one episode, questions and answers; null: no limit."),
    ] = None
    answer_tokens: Annotated[LimitedPositive, Meta(description="The most of one answer.")] = 1024
    temperature: Annotated[
        Annotated[float, Meta(ge=0, le=2)] | None,
        Meta(description="Of the model; null: the server's default."),
    ] = None
    rules: Annotated[
        str, Meta(max_length=20_000, description="What to tell the model about the game.")
    ] = ""
    fallback: Annotated[
        Literal["random", "fail"],
        Meta(
            description="Without a legal answer in time and budget: a random legal action, or the "
            "seat fails.  Where actions are text it always fails: random letters say nothing."
        ),
    ] = "random"


class _Episode:
    """The agent's memory of a seat's episode."""

    def __init__(self) -> None:
        self.tokens = 0
        self.entries: list[dict[str, Any]] = []


class LanguageModel(Agent[LanguageModelParameters]):
    """Asks a language model at a server with an OpenAI-style interface.

    The program that serves it reads DOVETAIL_MODEL_URL (such as http://127.0.0.1:8080/v1),
    DOVETAIL_MODEL_KEY, DOVETAIL_MODEL, DOVETAIL_MODEL_TOKENS (a limit on all that it uses) and
    DOVETAIL_MODEL_TRANSCRIPTS (a folder) from its environment.  The message "transcripts" returns
    those of the latest episodes.

    Raises:
        DovetailError: the settings are missing or invalid.
    """

    name = "language-model"
    packages = ("httpx",)
    wants = ("text", "scene")
    Memory = _Episode

    def __init__(
        self,
        parameters: LanguageModelParameters | None = None,
        seed: int = 0,
        where: Settings | None = None,
    ) -> None:
        super().__init__(parameters, seed)
        self.where = settings() if where is None else where
        self.used = 0
        """Tokens used so far."""
        self._endpoint = Endpoint(self.where)
        self._transcripts: deque[dict[str, Any]] = deque(maxlen=KEPT)

    @classmethod
    def offered(cls) -> None:
        settings()

    def step(self, decision: Decision) -> Any:
        memory: _Episode = decision.memory
        end = time.monotonic() + self._limit(decision)
        entry: dict[str, Any] = {"turn": decision.turn, "exchanges": []}
        memory.entries.append(entry)
        messages = prompt.question(decision, self.parameters.rules)
        why = "no answer could be used"
        for _ in range(self.parameters.attempts):
            try:
                self._within_budget(memory)
                text = self._ask(messages, end - time.monotonic(), decision, memory)
            except DovetailError as error:
                why = str(error)
                entry["exchanges"].append({"messages": messages, "error": why})
                break
            exchange: dict[str, Any] = {"messages": messages, "answer": text}
            entry["exchanges"].append(exchange)
            try:
                action = prompt.read(text, decision)
            except prompt.BadAnswer as problem:
                why = exchange["problem"] = str(problem)
                messages = messages[:2] + prompt.again(text, problem)
                continue
            entry["action"] = action
            return action
        return self._instead(decision, entry, why)

    def _limit(self, decision: Decision) -> float:
        clock = decision.clock
        clocks = () if clock is None else (clock.decision, clock.left)
        limits = [each - min(1.0, MARGIN * each) for each in clocks if each is not None]
        return max(0.0, min([self.parameters.seconds, *limits]))

    def _within_budget(self, memory: _Episode) -> None:
        for used, most, of in (
            (memory.tokens, self.parameters.tokens, "this episode"),
            (self.used, self.where.tokens, "DOVETAIL_MODEL_TOKENS"),
        ):
            if most is not None and used >= most:
                raise DovetailError(f"{used} tokens are used; the limit of {of} is {most}")

    def _ask(
        self, messages: list[dict[str, str]], left: float, decision: Decision, memory: _Episode
    ) -> str:
        given = self.parameters
        options: dict[str, Any] = {"max_tokens": given.answer_tokens}
        model = given.model or self.where.model
        if model:
            options["model"] = model
        if given.temperature is not None:
            options["temperature"] = given.temperature
        answer = self._endpoint.ask(messages, left, **options)
        memory.tokens += answer.tokens
        self.used += answer.tokens
        return answer.text

    def _instead(self, decision: Decision, entry: dict[str, Any], why: str) -> Any:
        """Return the fallback for a missing answer."""
        entry["fallback"] = why
        if self.parameters.fallback == "fail" or prompt.writes(decision):
            raise Forfeit("unavailable", f"language-model: {why}")
        if decision.legal is not None:
            action: Any = decision.rng.choice(decision.legal)
        else:
            space = space_of(decision.seat.spec, decision.seat.seat)
            if space is None:
                raise DovetailError(f"language-model: {why}, and the game declares no action space")
            action = sample(space, decision.rng)
        entry["action"] = action
        return action

    def end(self, end: End) -> None:
        memory: _Episode = end.memory
        transcript = {
            "game": end.seat.spec.name,
            "match": end.seat.match,
            "episode": end.episode,
            "seat": end.seat.seat,
            "model": self.parameters.model or self.where.model,
            "tokens": memory.tokens,
            "return": end.total,
            "outcome": end.outcome,
            "reason": end.reason,
            "decisions": memory.entries,
        }
        self._transcripts.append(transcript)
        if self.where.transcripts:
            folder = Path(self.where.transcripts).expanduser()
            folder.mkdir(parents=True, exist_ok=True)
            with _fresh(folder, f"episode-{end.episode}-seat-{end.seat.seat}") as file:
                file.write(jsontext.write(transcript, indent=1, default=str))

    def message(self, body: Any) -> Any:
        """Return the transcripts of the latest episodes if ``body`` is "transcripts"."""
        if body == "transcripts":
            return json.loads(jsontext.write(list(self._transcripts), default=str))
        return None

    def cleanup(self) -> None:
        self._endpoint.close()


def _fresh(folder: Path, name: str) -> IO[str]:
    """Create a new file, with a suffix if the name is taken, as after a new broker's restart of
    episode numbers."""
    number, path = 1, folder / f"{name}.json"
    while True:
        with suppress(FileExistsError):
            return path.open("x")
        number += 1
        path = folder / f"{name}-{number}.json"
