"""Optional packages, and the extra that installs each, for errors about missing ones."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

from dovetail.protocol.errors import DovetailError

EXTRAS = {
    **dict.fromkeys(("sqlalchemy", "matplotlib", "scipy", "openskill"), "experiments"),
    **dict.fromkeys(("stable_baselines3", "sb3_contrib"), "sb3"),
    **dict.fromkeys(("mcp", "anyio", "uvicorn"), "mcp"),
    **dict.fromkeys(("starlette", "jinja2", "websockets", "python_multipart", "resvg_py"), "web"),
    **dict.fromkeys(("pyspiel", "open_spiel"), "openspiel"),
    **{each: each for each in ("pandas", "polars", "optuna", "wandb", "mlflow", "trackio", "cma")},
    **{each: each for each in ("ray", "gymnasium", "minari", "pettingzoo", "textarena")},
    "numba": "games",
    "psycopg": "postgres",
    "pyarrow": "parquet",
    "tensorboardX": "tensorboard",
    "httpx": "language-models",
}
"""The extra of each optional package."""


def absent(error: BaseException | None) -> str | None:
    """Return the line that says what to install if ``error`` is a missing optional package.

    >>> absent(ModuleNotFoundError("No module named 'numba'", name="numba"))
    "numba is not installed; install it with: pip install 'dovetail[games]'"
    """
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return None
    package = error.name.partition(".")[0]
    if package not in EXTRAS:
        return None
    return f"{package} is not installed; install it with: pip install 'dovetail[{EXTRAS[package]}]'"


def provided(kind: type[Any], who: str) -> None:
    """Check that an agent or environment class's optional packages are installed.

    Raises:
        DovetailError: one is missing; the line says what to install.
    """
    for package in getattr(kind, "packages", ()):
        try:
            there = importlib.util.find_spec(package) is not None
        except ValueError:  # it was imported in a way that left no specification
            there = sys.modules.get(package) is not None
        if not there:
            error = ModuleNotFoundError(f"No module named {package!r}", name=package)
            raise DovetailError(f"{who}: {absent(error) or error}")


def needed(package: str) -> Any:
    """Import an optional package.

    Raises:
        DovetailError: it is not installed; the line says what to install.
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        missing = absent(error)
        if missing is None:
            raise
        raise DovetailError(missing) from None
