"""Data that waits on the subflows of a connection: other schedulers, and a limit where one lets it wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropewalk.facts import COUPLED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ropewalk.facts import Flow

SCHEDULERS = ("minrtt", "blest", "ecf", "minratio")
"""Schedulers that are tried in the place of another one."""
QUEUES = "minratio"
"""The one of them that lets data wait on a subflow whose window is full."""
LIMIT = "subflow_unsent_limit"
ENOUGH = "16KiB"
"""May wait on each subflow. On Linux the programs of coupled controls set it, and nothing else does."""


def other_schedulers(flow: Flow) -> Iterator[dict[str, object]]:
    """Settings of the transport."""
    limited = flow.transport.get(LIMIT, "unlimited") != "unlimited"
    if flow.is_mptcp and flow.scheduler == QUEUES and flow.congestion in COUPLED and not limited:
        yield {LIMIT: ENOUGH}
    if limited:
        yield {LIMIT: "unlimited"}
    for name in SCHEDULERS:
        if name != flow.scheduler:
            # The others have nothing that the limit would bound.
            unlimited = {LIMIT: "unlimited"} if limited and name != QUEUES else {}
            yield {"scheduler": name, **unlimited}
