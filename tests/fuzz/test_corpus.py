"""The inputs that reach the most code, replayed; and that the targets do catch faults."""

from __future__ import annotations

import pytest
from tests.fuzz import curve, targets
from tests.fuzz.run import inputs

from dovetail.broker.peers.outbox import Outbox
from dovetail.protocol import messages as m
from dovetail.transport.curve import Server


@pytest.mark.learners
@pytest.mark.parametrize("target", sorted(targets.TARGETS))
def test_every_input_of_the_corpus_passes(target: str) -> None:
    kept = inputs(target)
    assert len(kept) > 10
    for name, data in kept.items():
        try:
            targets.TARGETS[target](data)
        except Exception as error:
            error.add_note(f"the input: {name} of corpus.zip")
            raise


def test_the_target_of_the_core_finds_a_broker_that_forgets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deliver = Outbox.deliver

    def forgetful(box: Outbox, message: m.Delivered) -> None:
        if not isinstance(message, m.End):
            deliver(box, message)

    monkeypatch.setattr(Outbox, "deliver", forgetful)
    begun = next(iter(targets.seeds("core")))
    with pytest.raises(AssertionError, match="never heard its end"):
        targets.core(begun)


def test_the_target_of_curve_finds_a_side_that_takes_frames_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It forgets what it heard; its last frame, of 37 bytes, comes again."""
    monkeypatch.setattr(Server, "_heard", property(lambda side: bytes(8), lambda *_: None))
    first = bytes([(curve.STAGES - 1) << 1 | 5 << 3])
    said = bytes([curve.SEALED + 2 * curve.KINDS, 0]) + b"ab"
    with pytest.raises(AssertionError, match="a frame that the peer did not say"):
        curve.curve(first + said + bytes([curve.AGAIN + 9 * curve.KINDS]))


def test_steps_are_read_as_they_were_written() -> None:
    for data in targets.seeds("core"):
        assert targets.written(list(targets.steps(data))) == data
