"""Paths that a connection does not use: the settings with which it does, and those with which it uses one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ropewalk.facts import kind
from ropewalk.scenario import toml_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ropewalk.facts import Flow
    from ropewalk.why.model import Setting

IN_KERNEL = "in-kernel"
"""The path manager that has limits and endpoints."""
OPENING = frozenset({"subflow", "fullmesh"})
"""Flags of an endpoint from which the client opens subflows."""


def one_path(flow: Flow) -> dict[str, object]:
    """Keys of the transport that leave the paths after the first one out."""
    if flow.is_cmt:
        return {"kind": "sctp"}
    # No other path manager has endpoints.
    in_kernel = kind(flow.transport.get("path_manager", "")) == IN_KERNEL
    return {"path_manager.subflows": 0} if in_kernel else {"path_manager": "default"}


def lacking(flow: Flow, unused: Sequence[str]) -> tuple[int | None, list[str]]:
    """The limit of the in-kernel path manager if it is too low, and paths without an endpoint."""
    manager: Any = flow.transport["path_manager"]
    limit = int(manager["subflows"])
    opening = {
        one["path"]
        for one in flow.transport.get("endpoints", [])
        if one["end"] == "client" and OPENING & set(one["flags"])
    }
    return limit if limit < len(flow.paths) - 1 else None, [path for path in unused if path not in opening]


def endpoints(flow: Flow, unused: Sequence[str]) -> dict[str, object]:
    """Keys with which the in-kernel path manager opens a subflow on each path; none if it already may."""
    limit, missing = lacking(flow, unused)
    keys: dict[str, object] = {}
    if limit is not None:
        keys["path_manager.subflows"] = len(flow.paths) - 1
    if missing:
        new = [{"path": path, "flags": ["subflow"]} for path in missing]
        keys["endpoints"] = toml_value([*flow.transport.get("endpoints", []), *new])
    return keys


def backups(flow: Flow) -> list[str]:
    """Paths that carry data only while no other path does."""
    return [one["path"] for one in flow.transport.get("endpoints", []) if "backup" in one["flags"]]


def no_backups(flow: Flow) -> dict[str, object]:
    """Keys with which its backups are regular paths; none without backups."""
    if not backups(flow):
        return {}
    kept = [
        {**one, "flags": [flag for flag in one["flags"] if flag != "backup"]}
        for one in flow.transport["endpoints"]
    ]
    return {"endpoints": toml_value(kept)}


def around_middleboxes(flow: Flow) -> Iterator[tuple[Setting, ...]]:
    """The handshake of the connection over a path on which no middlebox removes options of MPTCP."""
    stripping = {way.path for way in (*flow.data, *flow.acks) if way.strips}
    if not flow.is_mptcp or not stripping:
        return
    for route in flow.routes:
        if not stripping & {way.path for way in route}:
            yield ((f"{flow.key}.via", route[0].path),)
