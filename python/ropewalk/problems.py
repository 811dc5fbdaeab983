"""Sentences about flows that went wrong: failures, transfers that did not complete, fallback, proxies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ropewalk.facts import Facts, kind
from ropewalk.numbers import figure
from ropewalk.summary import failed_joins

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ropewalk.results import Results

STALLED = 0.9
"""A flow whose last byte arrives before this part of its life has stalled."""


def problems(results: Results) -> list[str]:
    """Warnings about runs, some of which distort the averages."""
    facts = Facts.of(results.origin.scenario) if results.origin.simulated else None
    found = []
    for group in results.flows.partition_by("flow", maintain_order=True):
        name = str(group["flow"][0])
        legs = results.legs.filter(pl.col("flow").cast(pl.String) == name)
        found += [f"{name}: {text}" for text in _of_flow(group, legs, facts)]
        joins = of_flows(results.failed_joins, [name])
        found += [f"{name}: {text}" for text in refused(joins, group.height, facts)]
    return found


def failed_commands(results: Results) -> list[str]:
    """A line for each flow whose commands failed: the run is not what its scenario says."""
    found = []
    commands = (
        [flow for flow in Facts.of(results.origin.scenario).flows if kind(flow.app) == "command"]
        if results.origin.simulated
        else []
    )
    for group in results.flows.partition_by("flow", maintain_order=True):
        name = str(group["flow"][0])
        failures = group["failure"].drop_nulls()
        if len(failures) and any(flow.members([name]) for flow in commands):
            found.append(
                f"commands of {name} failed in {len(failures)} of {group.height} replications: {failures[0]}"
            )
    return found


def of_flows(table: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """The rows of some flows; results of earlier versions lack some tables."""
    return table.filter(pl.col("flow").cast(pl.String).is_in(names)) if table.width else table


def refused(joins: pl.DataFrame, replications: int, facts: Facts | None) -> Iterator[str]:
    """Joins of subflows that failed, and proxies that do not know their connection."""
    for one in failed_joins(joins):
        over = "" if one["path"] is None else f" over {one['path']}"
        several = one["joins"] > one["replications"]
        what = f"{one['joins']} joins" if several else "a join"
        text = (
            f"{what} from {one['from_node']} to {one['to_node']}{over} failed in {one['replications']} "
            f"of {replications} replications: {one['failure']}"
        )
        stops = [] if facts is None else [p for p in facts.proxies if p.node == one["to_node"]]
        yield f"{text}; the proxy there does not know the connection" if stops else text


def size(number: float) -> str:
    """Bytes, in kB or MB where there are many."""
    if number < 1e3:  # noqa: PLR2004
        return f"{figure(number)} bytes"
    return f"{figure(number / 1e6)} MB" if number >= 1e6 else f"{figure(number / 1e3)} kB"  # noqa: PLR2004


def _of_flow(group: pl.DataFrame, legs: pl.DataFrame, facts: Facts | None) -> Iterator[str]:
    n = group.height
    failures = group["failure"].drop_nulls()
    if len(failures):
        reasons = ", ".join(failures.unique(maintain_order=True).to_list())
        yield f"failed in {len(failures)} of {n} replications: {reasons}"
    yield from _unfinished(group, facts)
    yield from _fallback(group, legs)
    if not legs.is_empty():
        yield from _lost(group, legs, facts)
        yield from _overreach(legs)


def _unfinished(group: pl.DataFrame, facts: Facts | None) -> Iterator[str]:
    """Transfers without an end; one that failed in all replications has its line already."""
    n = group.height
    open_ended = group.filter(~pl.col("completed"))
    if 0 < open_ended.height < n:
        text = f"did not complete in {open_ended.height} of {n} replications"
        yield f"{text}, which the mean time of completion leaves out"
    elif open_ended.height and _has_size(str(group["flow"][0]), facts) and open_ended["failure"].has_nulls():
        last = _stalled(open_ended)
        yield f"did not complete in {n} of {n} replications{'' if last is None else f': {last}'}"


def _has_size(name: str, facts: Facts | None) -> bool:
    own = name.partition("@")[0]
    sized = [] if facts is None else [flow for flow in facts.flows if flow.members([own])]
    return any(
        kind(one.app) == "bulk" and str(one.app.get("size", "unlimited")) != "unlimited" for one in sized
    )


def _stalled(group: pl.DataFrame) -> str | None:
    """When the last byte arrived, if that is long before the end of each replication."""
    last = group["last_delivery_s"].fill_null(0.0) - group["start_s"]
    if not (last < STALLED * (group["end_s"] - group["start_s"])).all():
        return None
    at = group["last_delivery_s"].max()
    return "nothing arrived" if at is None else f"nothing arrived after {figure(float(at))} s"  # type: ignore[arg-type]


def _fallback(group: pl.DataFrame, legs: pl.DataFrame) -> Iterator[str]:
    """Fallback to TCP; a flow with proxies has it leg by leg, as MPTCP may end at one of them."""
    wholly = fell_back(group, legs)
    if wholly:
        yield f"fell back to TCP in {len(wholly)} of {group.height} replications"
    partly = set(group.filter(pl.col("fell_back"))["run"]) - wholly
    if partly:
        spoken = legs.filter(pl.col("run").is_in(list(partly)))
        told = (f"{word} on {_ways(spoken, transport)}" for transport, word in WORDS.items())
        yield f"{', '.join(told)}, in {len(partly)} of {group.height} replications"


WORDS = {"mptcp": "MPTCP", "tcp": "plain TCP"}
"""The transports of legs in words."""


def fell_back(flows: pl.DataFrame, legs: pl.DataFrame) -> set[int]:
    """Seeds with which a flow has fallen back to TCP from end to end: no leg between proxies speaks MPTCP."""
    fell = set(flows.filter(pl.col("fell_back"))["run"])
    own = legs.filter(pl.col("flow").cast(pl.String).is_in(flows["flow"].cast(pl.String).unique().to_list()))
    # Results of earlier versions do not say what each leg speaks.
    if "transport" not in own.columns:
        return fell
    return fell - set(own.filter(pl.col("transport") == "mptcp")["run"])


def _ways(legs: pl.DataFrame, transport: str) -> str:
    own = legs.filter(pl.col("transport") == transport).sort("leg")
    return ", ".join(dict.fromkeys(f"{a} - {b}" for a, b in own.select("from", "to").iter_rows())) or "none"


def _lost(group: pl.DataFrame, legs: pl.DataFrame, facts: Facts | None) -> Iterator[str]:
    """Bytes that proxies had acknowledged and that never arrived, and what their crashes did otherwise."""
    # A subflow is a row, and what was lost the same in each.
    each = legs.filter(pl.col("leg") > 0).group_by(["run", "connection", "leg", "from"], maintain_order=True)
    of_run = each.agg(pl.col("lost_bytes").max()).group_by(["run", "from"], maintain_order=True)
    for at in of_run.agg(pl.col("lost_bytes").sum()).partition_by("from", maintain_order=True):
        node = str(at["from"][0])
        crashes = [] if facts is None else facts.crashes(node)
        crashed = f"the proxy at {node} crashed at {', '.join(crashes)}"
        hit = at.filter(pl.col("lost_bytes") > 0)["lost_bytes"]
        if len(hit):
            most = f"up to {size(float(hit.max()))}" if len(hit) > 1 else size(float(hit[0]))  # type: ignore[arg-type]
            yield (
                f"{most} that the proxy at {node} had acknowledged never arrived, "
                f"in {len(hit)} of {group.height} replications{f': {crashed}' if crashes else ''}"
            )
        elif crashes and not group["completed"].fill_null(value=False).all():
            last = _stalled(group)
            yield crashed if last is None else f"{crashed}; {last}"


def _overreach(legs: pl.DataFrame) -> Iterator[str]:
    """Bytes that proxies on one subflow acknowledged or offered for others."""
    columns: list[str] = ["data_ack_ahead_bytes", "window_beyond_bytes"]
    most = legs.group_by("from", maintain_order=True).agg(pl.col(columns).max())
    for row in most.to_dicts():
        yield from overreach(str(row["from"]), *(float(row[column] or 0.0) for column in columns))


def overreach(node: str, ahead: float, beyond: float) -> Iterator[str]:
    """A sentence each for a Data ACK ahead and a window of its own."""
    if ahead > 0:
        yield (
            f"the proxy at {node} acknowledged up to {size(ahead)} at connection level that it never had "
            "(Data ACK ahead): what another subflow loses of them may never be sent again"
        )
    if beyond > 0:
        yield f"the window of the proxy at {node} passed that of the receiver by up to {size(beyond)}"
