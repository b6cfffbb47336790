"""The generalised feature network (Ch. Eftychiou 2020): units chosen by genes, for 2-D boards."""

from dovetail_agents.general.feature_network.agent import (
    FeatureNetwork,
    FeatureNetworkParameters,
)
from dovetail_agents.general.feature_network.genome import (
    Unit,
    UnitNetwork,
    decode,
    encode,
    genes,
)
from dovetail_agents.general.feature_network.saved import Genome

__all__ = [
    "FeatureNetwork",
    "FeatureNetworkParameters",
    "Genome",
    "Unit",
    "UnitNetwork",
    "decode",
    "encode",
    "genes",
]
