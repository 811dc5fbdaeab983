"""The figures over replications: what `ropewalk run --json` prints."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NotRequired, TypedDict

import polars as pl

from ropewalk.statistics import EstimateDict, estimate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ropewalk.results import Results


class Delay(TypedDict):
    """Delay from application write to in-order delivery, per byte; seconds, means over replications."""

    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None


class SendDelay(TypedDict):
    """Wait of a byte in the send buffer; seconds, means over replications."""

    mean: float | None
    p95: float | None


class OutOfOrder(TypedDict):
    """Bytes held back at the receiver: means over replications, but the largest `max` of all."""

    mean: float | None
    p95: float | None
    max: float | None


class Benefit(TypedDict):
    """Goodput over that of the baselines under the same seed."""

    vs_best: EstimateDict
    vs_sum: EstimateDict


class FlowSummary(TypedDict):
    """One flow or baseline."""

    flow: str
    transport: str
    goodput_bit_s: EstimateDict | None
    completion_s: EstimateDict | None
    retransmitted_segments: EstimateDict | None
    timeouts: EstimateDict | None
    delay_s: Delay
    send_delay_s: SendDelay
    wire_bit_s: EstimateDict | None
    ofo_bytes: OutOfOrder
    seen_retransmitted_share: EstimateDict | None
    seen_late_share: EstimateDict | None
    aggregation_benefit: Benefit | None


class MeasureSummary(TypedDict):
    """One kind of message of one flow."""

    flow: str
    what: str
    sent: EstimateDict | None
    delivered: EstimateDict | None
    delay_mean_s: EstimateDict | None
    delay_p50_s: EstimateDict | None
    delay_p95_s: EstimateDict | None
    delay_p99_s: EstimateDict | None
    jitter_s: EstimateDict | None
    late: EstimateDict | None


class PageSummary(TypedDict):
    """One page, over all that were fetched of it."""

    flow: str
    name: str
    pages: int
    complete: int
    load_time_s: EstimateDict | None
    """Over the means of the replications."""


class SubflowSummary(TypedDict):
    """One subflow."""

    flow: str
    connection: int
    subflow: int
    path: str | None
    goodput_bit_s: EstimateDict | None
    share: EstimateDict | None
    srtt_s: EstimateDict | None
    cwnd_bytes: EstimateDict | None


class LegSummary(TypedDict):
    """One leg of a connection that a proxy has a part in: all of its subflows together."""

    flow: str
    connection: int
    leg: int
    from_node: str
    to_node: str
    goodput_bit_s: EstimateDict | None
    srtt_s: EstimateDict | None
    cwnd_bytes: EstimateDict | None
    retransmitted_segments: EstimateDict | None
    held_bytes: EstimateDict | None
    """Mean of the bytes held at the proxy where it begins."""
    lost_bytes: EstimateDict | None
    data_ack_ahead_bytes: EstimateDict | None
    """Most that the proxy where it begins had acknowledged and never had; null of whole connections."""
    window_beyond_bytes: EstimateDict | None
    """Most by which its window passed that of the receiver; null likewise."""


class FailedJoinSummary(TypedDict):
    """Joins of subflows between two nodes that failed in the same way."""

    flow: str
    from_node: str
    to_node: str
    """A proxy that intercepts its packets, or the far end."""
    path: str | None
    failure: str
    replications: int
    """In which there were some."""
    joins: int
    """In all of them together: a flow may have many connections."""


class LinkSummary(TypedDict):
    """One link direction."""

    link: str
    utilisation: EstimateDict | None
    drops_queue: EstimateDict | None
    drops_error: EstimateDict | None
    queue_delay_s: EstimateDict | None


class Summary(TypedDict):
    """All of it."""

    scenario: str
    model_version: int
    backend: str
    seeds: list[int]
    duration_s: float
    events: int | None
    packet_hops: int
    cpu_s: float
    accuracy: NotRequired[list[dict[str, object]]]
    flows: list[FlowSummary]
    measures: list[MeasureSummary]
    pages: list[PageSummary]
    subflows: list[SubflowSummary]
    legs: list[LegSummary]
    failed_joins: list[FailedJoinSummary]
    links: list[LinkSummary]


def summarise(results: Results) -> Summary:
    """Aggregates the tables of `results` over replications."""
    origin = results.origin
    summary = Summary(
        scenario=origin.scenario.name,
        model_version=origin.model_version,
        backend=origin.backend,
        seeds=origin.seeds,
        duration_s=origin.scenario.duration_s,
        events=origin.totals.events,
        packet_hops=origin.totals.packet_hops,
        cpu_s=origin.totals.cpu_s,
        flows=[_flow(group) for group in _groups(results.flows, "flow")],
        measures=[_measure(group) for group in _groups(results.measures, "flow", "what")],
        pages=[_page(group) for group in _groups(results.pages, "flow", "name")],
        subflows=[_subflow(group) for group in _groups(results.subflows, "flow", "connection", "subflow")],
        legs=[_leg(group) for group in _groups(results.legs, "flow", "connection", "leg")],
        failed_joins=failed_joins(results.failed_joins),
        links=[_link(group) for group in _groups(results.links, "link")],
    )
    if results.accuracies:
        summary["accuracy"] = [dataclasses.asdict(one) for one in results.accuracies]
    return summary


def _groups(table: pl.DataFrame, *keys: str) -> Iterator[pl.DataFrame]:
    """The rows of each key, in the order in which the keys first appear."""
    return iter(table.partition_by(*keys, maintain_order=True)) if table.height else iter(())


def _estimate(group: pl.DataFrame, column: str) -> EstimateDict | None:
    found = estimate(group[column].to_list())
    return None if found is None else found.to_dict()


def _mean(group: pl.DataFrame, column: str) -> float | None:
    found = estimate(group[column].to_list())
    return None if found is None else found.mean


def _flow(group: pl.DataFrame) -> FlowSummary:
    vs_best, vs_sum = _estimate(group, "benefit_vs_best"), _estimate(group, "benefit_vs_sum")
    ofo_max = estimate(group["ofo_max_bytes"].to_list())
    return FlowSummary(
        flow=group["flow"][0],
        transport=group["transport"][0],
        goodput_bit_s=_estimate(group, "goodput_bit_s"),
        completion_s=_estimate(group, "completion_s"),
        retransmitted_segments=_estimate(group, "retransmitted_segments"),
        timeouts=_estimate(group, "timeouts"),
        delay_s=Delay(
            mean=_mean(group, "delay_mean_s"),
            p50=_mean(group, "delay_p50_s"),
            p95=_mean(group, "delay_p95_s"),
            p99=_mean(group, "delay_p99_s"),
        ),
        send_delay_s=SendDelay(mean=_mean(group, "send_delay_mean_s"), p95=_mean(group, "send_delay_p95_s")),
        wire_bit_s=_estimate(group, "wire_bit_s"),
        ofo_bytes=OutOfOrder(
            mean=_mean(group, "ofo_mean_bytes"),
            p95=_mean(group, "ofo_p95_bytes"),
            max=ofo_max.max if ofo_max else None,
        ),
        seen_retransmitted_share=_estimate(group, "seen_retransmitted_share"),
        seen_late_share=_estimate(group, "seen_late_share"),
        aggregation_benefit=Benefit(vs_best=vs_best, vs_sum=vs_sum) if vs_best and vs_sum else None,
    )


def _measure(group: pl.DataFrame) -> MeasureSummary:
    return MeasureSummary(
        flow=group["flow"][0],
        what=group["what"][0],
        sent=_estimate(group, "sent"),
        delivered=_estimate(group, "delivered"),
        delay_mean_s=_estimate(group, "delay_mean_s"),
        delay_p50_s=_estimate(group, "delay_p50_s"),
        delay_p95_s=_estimate(group, "delay_p95_s"),
        delay_p99_s=_estimate(group, "delay_p99_s"),
        jitter_s=_estimate(group, "jitter_s"),
        late=_estimate(group, "late"),
    )


def _page(group: pl.DataFrame) -> PageSummary:
    # Pages of one replication are not independent of each other.
    of_runs = [run["load_time_s"].mean() for run in group.partition_by("run", maintain_order=True)]
    found = estimate(value for value in of_runs if isinstance(value, float))
    return PageSummary(
        flow=group["flow"][0],
        name=group["name"][0],
        pages=group.height,
        complete=group["load_time_s"].drop_nulls().len(),
        load_time_s=None if found is None else found.to_dict(),
    )


def _subflow(group: pl.DataFrame) -> SubflowSummary:
    paths = group["path"].unique().to_list()
    return SubflowSummary(
        flow=group["flow"][0],
        connection=group["connection"][0],
        subflow=group["subflow"][0],
        path=paths[0] if len(paths) == 1 else None,
        goodput_bit_s=_estimate(group, "goodput_bit_s"),
        share=_estimate(group, "share"),
        srtt_s=_estimate(group, "srtt_mean_s"),
        cwnd_bytes=_estimate(group, "cwnd_mean_bytes"),
    )


def _leg(group: pl.DataFrame) -> LegSummary:
    # A subflow is a row: windows, rates and counts add up, round-trip times and what the proxy holds do not.
    runs = group.group_by("run", maintain_order=True).agg(
        pl.col("goodput_bit_s", "cwnd_mean_bytes", "retransmitted_segments").sum(),
        pl.col("srtt_mean_s").min(),
        pl.col("held_mean_bytes", "lost_bytes", "data_ack_ahead_bytes", "window_beyond_bytes").max(),
    )
    return LegSummary(
        flow=group["flow"][0],
        connection=group["connection"][0],
        leg=group["leg"][0],
        from_node=group["from"][0],
        to_node=group["to"][0],
        goodput_bit_s=_estimate(runs, "goodput_bit_s"),
        srtt_s=_estimate(runs, "srtt_mean_s"),
        cwnd_bytes=_estimate(runs, "cwnd_mean_bytes"),
        retransmitted_segments=_estimate(runs, "retransmitted_segments"),
        held_bytes=_estimate(runs, "held_mean_bytes"),
        lost_bytes=_estimate(runs, "lost_bytes"),
        data_ack_ahead_bytes=_estimate(runs, "data_ack_ahead_bytes"),
        window_beyond_bytes=_estimate(runs, "window_beyond_bytes"),
    )


def failed_joins(table: pl.DataFrame) -> list[FailedJoinSummary]:
    """The rows of the table `failed_joins` that are alike but for seed, connection and subflow."""
    return [
        FailedJoinSummary(
            flow=group["flow"][0],
            from_node=group["from"][0],
            to_node=group["to"][0],
            path=group["path"][0],
            failure=group["failure"][0],
            replications=group["run"].n_unique(),
            joins=group.height,
        )
        for group in _groups(table, "flow", "from", "to", "path", "failure")
    ]


def _link(group: pl.DataFrame) -> LinkSummary:
    return LinkSummary(
        link=group["link"][0],
        utilisation=_estimate(group, "utilisation"),
        drops_queue=_estimate(group, "drops_queue"),
        drops_error=_estimate(group, "drops_error"),
        queue_delay_s=_estimate(group, "queue_delay_mean_s"),
    )
