"""Keys of observations that are a Dict, left out or called otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from dovetail.protocol.errors import DovetailError


class DictKeys(Struct, frozen=True, kw_only=True):
    """The options."""

    ignore: Annotated[
        tuple[str, ...],
        Meta(description="Keys of an observation that is a Dict, which are left out."),
    ] = ()
    rename: Annotated[
        dict[str, str], Meta(description="Other names for keys of an observation that is a Dict.")
    ] = {}

    @property
    def changed(self) -> bool:
        """True if any key is left out or has another name."""
        return bool(self.ignore or self.rename)

    def spaces(self, owner: str, given: Sequence[Any]) -> list[Any]:
        """Return Gymnasium's spaces, with the Dicts among them changed.

        Args:
            owner: the environment's name, for errors.
            given: the observation space of each seat.

        Raises:
            DovetailError: no space has a key, or two keys get one name.
        """
        from gymnasium import spaces

        dicts = [each for each in given if isinstance(each, spaces.Dict)]
        known = list(dict.fromkeys(str(key) for each in dicts for key in each.spaces))
        for key in (*self.ignore, *self.rename):
            if key not in known:
                there = f"there are {', '.join(known)}" if dicts else "it is not a Dict"
                raise DovetailError(f"{owner}: the observation has no key {key!r}; {there}")
        for each in dicts:
            if len(self.values(each)) < sum(str(key) not in self.ignore for key in each.spaces):
                raise DovetailError(f"{owner}, option 'rename': two keys get one name")
        return [
            spaces.Dict(self.values(each)) if isinstance(each, spaces.Dict) else each
            for each in given
        ]

    def values(self, seen: Mapping[Any, Any]) -> dict[str, Any]:
        """Return the remaining values of a Dict, by their new names."""
        return {
            self.rename.get(str(key), str(key)): value
            for key, value in seen.items()
            if str(key) not in self.ignore
        }
