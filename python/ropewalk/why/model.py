"""The parts of a diagnosis, and its JSON form."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NotRequired, TypeAlias, TypedDict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ropewalk.statistics import Estimate, EstimateDict

Cause: TypeAlias = Literal[
    "receive_window",
    "send_buffer",
    "scheduler",
    "loss",
    "reordering",
    "coupled",
    "slow_start",
    "handshake",
    "application",
    "ack_path",
    "path_down",
    "fallback",
    "queue",
    "pacing",
    "proxy",
    "capacity",
]
"""Why a flow is as slow as it is. `capacity`: nothing is wrong, the links are full."""

Measure: TypeAlias = Literal["goodput", "messages", "pages"]
"""Measure by which a flow is judged: its goodput, or the mean delay of its messages or pages."""

Setting: TypeAlias = "tuple[str, str]"
"""A key of the scenario and its value, as after `--set`."""


def typed(settings: Sequence[Setting]) -> list[str]:
    """Options of the command line, quoted for a shell."""
    return [f"--set {shlex.quote(f'{key}={value}')}" for key, value in settings]


class RatioDict(TypedDict):
    """Goodput with a change over goodput without it, or the inverse ratio of the delays, seed by seed."""

    mean: float
    ci95: float | None


class CureDict(TypedDict):
    """A change that helps."""

    set: list[str]
    goodput_ratio: RatioDict
    delay_s: float | None
    """None of a goodput."""


class ReasonDict(TypedDict):
    """One reason."""

    cause: Cause
    share: float
    evidence: str
    cures: list[CureDict]
    without: NotRequired[CureDict]
    """The scenario without the cause, where no operator can have that: the price of the cause."""


class AtProxyDict(TypedDict):
    """A proxy on the way of a flow."""

    node: str
    to: str
    held_bytes: float
    srtt_s: float | None
    lost_bytes: float
    data_ack_ahead_bytes: float
    window_beyond_bytes: float


class FlowDict(TypedDict):
    """One flow."""

    flow: str
    goodput_bit_s: EstimateDict | None
    measure: Measure
    delay_s: float | None
    """None of a goodput."""
    budget: dict[str, float]
    reasons: list[ReasonDict]
    proxies: NotRequired[list[AtProxyDict]]
    """If proxies are on its way."""
    failed_joins: NotRequired[list[str]]
    """If some have failed."""
    unproven: NotRequired[list[str]]
    """If there are some."""


class DiagnosisDict(TypedDict):
    """The object that `ropewalk why --json` prints."""

    flows: list[FlowDict]


@dataclass(frozen=True, slots=True)
class Cure:
    """A change of the scenario that makes a flow faster, outside the 95 % interval of the paired ratio."""

    settings: tuple[Setting, ...]
    """The changed keys and their values."""
    ratio: Estimate
    """Goodput with the change over goodput without it, or the inverse ratio of the delays, seed by seed."""
    goodput_bit_s: float
    """Mean with the change."""
    vs_best: float | None = None
    """The same over the goodput of the best path alone; None without such a baseline."""
    costs: dict[str, float] = field(default_factory=dict)
    """Other flows that it makes slower, and their ratio, each by its own measure."""
    measure: Measure = "goodput"
    """Measure of the ratio: the goodput, or the delay of messages or pages."""
    delay_s: float | None = None
    """Mean delay of the messages or pages with the change; None of a goodput."""

    def overrides(self) -> list[str]:
        """As they stand after `--set`."""
        return [f"{key}={value}" for key, value in self.settings]


@dataclass(frozen=True, slots=True)
class Reason:
    """One cause of a flow's rate."""

    cause: Cause
    """One of 16 names."""
    share: float
    """Part of the flow's time that the cause accounts for, 0 to 1."""
    evidence: str
    """In words, with the figures that say so."""
    cures: tuple[Cure, ...] = ()
    """Best first."""
    without: Cure | None = None
    """The scenario without the cause, such as a loss or a crash: no cure, but what it costs."""


@dataclass(frozen=True, slots=True)
class AtProxy:
    """A proxy on the way of a flow, and the leg behind it; means over replications."""

    node: str
    """Node of the proxy."""
    to: str
    """Node where the leg behind it ends."""
    held_bytes: float
    """Bytes that it had acknowledged and that nothing behind it had, average over time."""
    srtt_s: float | None
    """Round-trip time of the leg behind it."""
    lost_bytes: float
    """Bytes that it had acknowledged and that never arrived."""
    ahead_bytes: float = 0.0
    """Most bytes that it acknowledged at connection level and never had, of all replications."""
    beyond_bytes: float = 0.0
    """Most bytes by which its window passed that of the receiver, of all replications."""

    def to_dict(self) -> AtProxyDict:
        """For JSON."""
        return AtProxyDict(
            node=self.node,
            to=self.to,
            held_bytes=self.held_bytes,
            srtt_s=self.srtt_s,
            lost_bytes=self.lost_bytes,
            data_ack_ahead_bytes=self.ahead_bytes,
            window_beyond_bytes=self.beyond_bytes,
        )


@dataclass(frozen=True, slots=True)
class FlowDiagnosis:
    """Why one flow is as slow as it is."""

    flow: str
    """Name in the scenario; a flow with a `count` stands for all of them, with their mean."""
    goodput_bit_s: Estimate | None
    """None if nothing was measured."""
    budget: dict[str, float]
    """Limit to its share in the time of the flow."""
    reasons: tuple[Reason, ...]
    """By weight, the greatest first."""
    vs_best: Estimate | None = None
    """Goodput over that of its best path alone; None if it has one path."""
    best_path: str | None = None
    """The path that is most often the best one."""
    proxies: tuple[AtProxy, ...] = ()
    """On its way, from the data sender on."""
    failed_joins: tuple[str, ...] = ()
    """Joins of its subflows that failed, in words."""
    failed: bool = False
    """Its connection has failed wherever it could not send because of a path."""
    unproven: tuple[str, ...] = ()
    """Changes that seem to help and may do so by chance, in words."""
    measure: Measure = "goodput"
    """Measure that a change has to improve: the goodput, or the delay of messages or pages."""
    delay_s: float | None = None
    """Mean delay of its messages or pages; None of a goodput."""

    def to_dict(self) -> FlowDict:
        """For JSON."""
        flow = FlowDict(
            flow=self.flow,
            goodput_bit_s=None if self.goodput_bit_s is None else self.goodput_bit_s.to_dict(),
            measure=self.measure,
            delay_s=self.delay_s,
            budget=dict(self.budget),
            reasons=[_reason(reason) for reason in self.reasons],
        )
        if self.proxies:
            flow["proxies"] = [proxy.to_dict() for proxy in self.proxies]
        if self.failed_joins:
            flow["failed_joins"] = list(self.failed_joins)
        if self.unproven:
            flow["unproven"] = list(self.unproven)
        return flow


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why the flows of a scenario are as slow as they are."""

    scenario: str
    """Title of the scenario."""
    seeds: Sequence[int]
    """Replications compared."""
    flows: tuple[FlowDiagnosis, ...]
    """In the order of the scenario."""
    tried: int
    """Changes that were tried."""
    left_out: int
    """Changes that the effort did not allow."""

    def to_dict(self) -> DiagnosisDict:
        """For JSON."""
        return DiagnosisDict(flows=[flow.to_dict() for flow in self.flows])

    def _repr_html_(self) -> str:
        from ropewalk import notebook

        return notebook.of_diagnosis(self)

    def __str__(self) -> str:
        from ropewalk.why.text import lines

        return "\n".join(lines(self))


def _cure(cure: Cure) -> CureDict:
    ratio = RatioDict(mean=cure.ratio.mean, ci95=cure.ratio.ci95)
    return CureDict(set=cure.overrides(), goodput_ratio=ratio, delay_s=cure.delay_s)


def _reason(reason: Reason) -> ReasonDict:
    cures = [_cure(cure) for cure in reason.cures]
    found = ReasonDict(cause=reason.cause, share=reason.share, evidence=reason.evidence, cures=cures)
    if reason.without is not None:
        found["without"] = _cure(reason.without)
    return found
