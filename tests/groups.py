"""The groups of the tests, as `make test-fast` and the like run them: each file is in one.

A file or a folder; a file's own line comes before its folder's.
"""

from __future__ import annotations

from pathlib import PurePosixPath

GROUPS = {
    "fast": "no socket, no other program, a fraction of a second each",
    "learners": "plays or trains for seconds, in one process",
    "processes": "sockets, threads and programs",
    "clients": "builds the clients of the other languages",
}
"""Marker and meaning.  `slow` is apart: it marks single tests, which only `make test-slow` runs."""

TOGETHER = {
    f"tests/agent_servers/test_{each}.py": "tests/agent_servers/test_every"
    for each in ("every_agent", "every_learner", "amazons_player")
}
"""Files that need the same compiled code, by the name of what one worker runs together."""

PLACES = {
    "tests/agent_servers": "learners",
    "tests/agent_servers/test_host.py": "fast",
    "tests/agent_servers/test_human.py": "fast",
    "tests/agent_servers/test_network.py": "fast",
    "tests/agent_servers/test_random.py": "fast",
    "tests/agent_servers/test_recorded.py": "fast",
    "tests/agent_servers/test_scripted.py": "fast",
    "tests/bridges/test_conversion.py": "fast",
    "tests/bridges/test_gdl.py": "learners",
    "tests/bridges/test_datasets.py": "processes",
    "tests/bridges/test_gymnasium.py": "processes",
    "tests/bridges/test_openspiel.py": "learners",
    "tests/bridges/test_rl_environment.py": "learners",
    "tests/bridges/test_pettingzoo.py": "learners",
    "tests/bridges/test_ggp.py": "processes",
    "tests/bridges/test_mcp.py": "processes",
    "tests/bridges/test_language_model.py": "processes",
    "tests/bridges/test_kaggle.py": "processes",
    "tests/bridges/engines": "processes",
    "tests/bridges/rlglue": "processes",
    "tests/bridges/rlglue/test_taskspec.py": "fast",
    "tests/bridges/rlglue/test_wire.py": "fast",
    "tests/broker": "fast",
    "tests/broker/test_doors.py": "processes",
    "tests/broker/test_faults.py": "processes",
    "tests/broker/test_limits.py": "processes",
    "tests/broker/test_mistakes.py": "processes",
    "tests/broker/test_owners.py": "processes",
    "tests/chaos": "processes",
    "tests/cli": "processes",
    "tests/clients/test_clients.py": "clients",
    "tests/clients/test_stamps.py": "processes",
    "tests/compiled": "processes",
    "tests/conform": "processes",
    "tests/env_servers": "learners",
    "tests/env_servers/test_connect_four.py": "fast",
    "tests/env_servers/test_loose_types.py": "fast",
    "tests/experiments": "learners",
    "tests/experiments/arena/test_archive.py": "fast",
    "tests/experiments/arena/test_arena.py": "processes",
    "tests/experiments/arena/test_keys.py": "processes",
    "tests/experiments/arena/test_pairing.py": "fast",
    "tests/experiments/arena/test_referee.py": "processes",
    "tests/experiments/arena/test_store.py": "fast",
    "tests/experiments/test_file.py": "fast",
    "tests/experiments/test_formats.py": "fast",
    "tests/experiments/test_killed.py": "processes",
    "tests/experiments/test_mistakes.py": "processes",
    "tests/experiments/test_modes.py": "processes",
    "tests/experiments/test_registered.py": "processes",
    "tests/experiments/test_runner.py": "processes",
    "tests/experiments/test_secrets.py": "processes",
    "tests/experiments/test_shards.py": "processes",
    "tests/experiments/test_sitting.py": "processes",
    "tests/experiments/test_stacked.py": "fast",
    "tests/experiments/test_standings.py": "fast",
    "tests/experiments/test_scripts.py": "processes",
    "tests/experiments/test_sweep.py": "fast",
    "tests/experiments/test_trials.py": "processes",
    "tests/experiments/test_statistics.py": "fast",
    "tests/experiments/test_statistics_figures.py": "fast",
    "tests/peer": "fast",
    "tests/peer/test_link.py": "processes",
    "tests/peer/test_farewell.py": "processes",
    "tests/peer/test_kernels.py": "processes",
    "tests/peer/test_provenance.py": "processes",
    "tests/peer/test_session.py": "processes",
    "tests/fuzz": "fast",
    "tests/studies": "learners",
    "tests/playthroughs": "learners",
    "tests/protocol": "fast",
    "tests/testing": "fast",
    "tests/transport": "processes",
    "tests/transport/test_curve.py": "fast",
    "tests/transport/test_zmtp.py": "fast",
    "tests/web": "processes",
    "tests/web/test_chairs.py": "fast",
    "tests/web/test_cost.py": "fast",
    "tests/web/test_forms.py": "fast",
    "tests/web/test_othello.py": "clients",
    "tests/web/test_positions.py": "fast",
    "tests/web/test_thoughts.py": "fast",
    "tests/test_bench.py": "fast",
    "tests/test_checkout.py": "processes",
    "tests/protocol/test_first_agent.py": "processes",
    "tests/protocol/test_ready.py": "processes",
    "tests/test_ci.py": "processes",
    "tests/test_docs.py": "learners",
    "tests/test_groups.py": "fast",
    "tests/test_readme.py": "processes",
}


def places(path: str) -> list[str]:
    """Return the lines of PLACES that name a file, the most exact first.

    Args:
        path: from the top of the repository, with slashes.
    """
    folders = [path, *map(str, PurePosixPath(path).parents)]
    return [each for each in folders if each in PLACES]


def group(path: str) -> str:
    """Return the group of a test file.

    Raises:
        LookupError: no line of PLACES names it.
    """
    found = places(path)
    if not found:
        raise LookupError(f"{path} is in no group; name it or its folder in tests/groups.py")
    return PLACES[found[0]]
