"""Why a flow is as slow as it is, and what to change: the time budget of a run, and trials of changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropewalk import arguments
from ropewalk.why.model import Cure, Diagnosis, FlowDiagnosis, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ropewalk.scenario import Scenario

__all__ = ["Cure", "Diagnosis", "FlowDiagnosis", "Reason", "why"]


def why(
    scenario: Scenario,
    seeds: int | Iterable[int] | None = None,
    *,
    effort: str = "normal",
    jobs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Diagnosis:
    """Why the flows of a scenario are as slow as they are.

    Each cure is tried: the scenario with the change against the scenario without it, under the same seeds.

    Args:
        scenario: what to run.
        seeds: that many replications, or the seeds; None: as many as the effort says.
        effort: `quick`, `normal` or `thorough`.
        jobs: threads; None: one per processor.
        progress: called with (done, total) replications; the total grows with what looks promising.

    Raises:
        ValueError: there is no such effort, or no seed, or a seed twice.
        RunFailed: the scenario itself failed.
    """
    from ropewalk.facts import Facts
    from ropewalk.scenario import choose_seeds
    from ropewalk.why.diagnosis import diagnose, look, plan
    from ropewalk.why.trial import EFFORTS, Bench

    if arguments.text("effort", effort) not in EFFORTS:
        raise ValueError(f'there is no effort "{effort}"; write {", ".join(EFFORTS)}')
    jobs = arguments.jobs(jobs)
    arguments.call("progress", progress)
    amount = EFFORTS[effort]
    chosen = _extended(scenario.seeds, amount.seeds) if seeds is None else choose_seeds(seeds)
    if len(chosen) == 1:
        chosen = _extended(chosen, amount.first)
    facts = Facts.of(scenario)
    bench = Bench(scenario, facts, amount, seeds=chosen, jobs=jobs, progress=progress)
    seen = [look(bench, facts, flow) for flow in facts.flows]
    planned = plan(seen)
    bench.expect(len(planned))
    for candidate, flows in planned:
        bench.try_out(candidate.settings, flows)
    return Diagnosis(
        scenario.name, chosen, tuple(diagnose(bench, one) for one in seen), bench.tried, bench.left_out
    )


def _extended(seeds: list[int], number: int) -> list[int]:
    """The first seeds of a scenario; if there are fewer, others after them."""
    chosen = seeds[:number]
    following = max(chosen) + 1
    return chosen + list(range(following, following + number - len(chosen)))
