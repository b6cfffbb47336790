"""The parameters of the TD(lambda) learners."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from dovetail.protocol.outside import LimitedNatural
from dovetail_agents.learning.network import Activation, Output
from dovetail_agents.learning.options import Discount, Epsilon, LearningRate
from dovetail_agents.learning.traces import Name as Traces


class TDParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``TD``."""

    hidden: Annotated[
        Annotated[int, Meta(ge=0, le=4096)] | Literal["half"],
        Meta(
            description="Units of the hidden layer; half as many as there are inputs; or 0 for a "
            "linear function of the inputs."
        ),
    ] = 128
    learning_rate: LearningRate = 0.05
    rates: Annotated[
        Literal["one", "fan-in"],
        Meta(
            description="One step size for all weights, or for each layer divided by the number "
            "of its inputs."
        ),
    ] = "one"
    decay_episodes: Annotated[
        float,
        Meta(
            ge=0,
            description="After this many episodes the step size is half, after twice as many a "
            "third, and so on; 0 keeps it.",
        ),
    ] = 2000.0
    trace_decay: Annotated[
        float, Meta(ge=0, le=1, description="Lambda: how far back an error reaches.")
    ] = 0.7
    discount: Discount = 0.95
    epsilon: Epsilon = 0.7
    traces: Annotated[
        Traces,
        Meta(
            description="How a gradient joins the decayed trace: accumulating, by addition; "
            "replacing, in its place wherever the gradient is not zero; dutch, by addition less "
            "what the trace holds of it already; true-online, as dutch, with the update of true "
            "online TD(lambda)."
        ),
    ] = "accumulating"
    target: Annotated[
        Literal["own", "opponent"],
        Meta(
            description="Target of a value: own, the seat's next value; opponent, "
            "the negative of the opponent's next value, in zero-sum games in which the agent has "
            "both seats."
        ),
    ] = "own"
    averaging: Annotated[
        LimitedNatural,
        Meta(
            description="Evaluate with weights averaged over about this many episodes (Polyak and "
            "Juditsky 1992), which are steadier than the latest; 0 uses the latest.",
        ),
    ] = 500
    symmetric: Annotated[
        bool,
        Meta(
            description="Learn each episode as a random rotation or reflection, if the "
            "environment declares its symmetries."
        ),
    ] = False
    standardise: Annotated[
        bool,
        Meta(
            description="Subtract from each input its mean over all rows that it has learned from, "
            "and divide by its standard deviation, for inputs of different scales such as counts."
        ),
    ] = False
    activation: Annotated[
        Activation, Meta(description="Activation function of the hidden units.")
    ] = "relu"
    output: Annotated[
        Output,
        Meta(description="tanh if returns lie between -1 and 1, else linear."),
    ] = "tanh"

    def units(self, inputs: int) -> int:
        """Return the number of hidden units for rows of ``inputs`` numbers, 0 for none."""
        return inputs // 2 if self.hidden == "half" else self.hidden


class RLGameParameters(TDParameters, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``RLGameTD``: those of ``TD`` with the defaults of the RLGame study."""

    hidden: Annotated[
        Annotated[int, Meta(ge=0, le=4096)] | Literal["half"],
        Meta(description="Units of the hidden layer, or half as many as there are inputs."),
    ] = "half"
    learning_rate: LearningRate = 1.0
    rates: Annotated[
        Literal["one", "fan-in"],
        Meta(description="Whether each layer's step size is divided by the number of its inputs."),
    ] = "fan-in"
    decay_episodes: Annotated[
        float, Meta(ge=0, description="Episodes until the step size is half; 0 keeps it.")
    ] = 0.0
    trace_decay: Annotated[float, Meta(ge=0, le=1, description="Lambda.")] = 0.5
    epsilon: Epsilon = 0.1
    traces: Annotated[Traces, Meta(description="How a gradient joins the trace.")] = "replacing"
    averaging: Annotated[
        LimitedNatural,
        Meta(description="Episodes to average the weights over; 0 uses the latest."),
    ] = 0
    activation: Annotated[Activation, Meta(description="Activation of the hidden units.")] = (
        "sigmoid"
    )
