"""The figures of a study as one object, and its files."""

from __future__ import annotations

import io
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ropewalk import provenance, visible, written
from ropewalk.disk import alone, write_whole
from ropewalk.store import check_places, forget_derived, to_json
from ropewalk.study import manifest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ropewalk.study.results import StudyResults

SUMMARY = "summary.json"
STUDY = "study.toml"
TABLES = ("cases", "values", "estimates", "comparisons", "pooled")
"""Written as CSV, if there are any."""


def summarise(results: StudyResults) -> dict[str, Any]:
    """Figures by case and metric."""
    m = results.manifest
    failed = [failure.case for failure in m.failures]
    by_case: dict[str, dict[str, Any]] = {}
    for row in results.estimates.iter_rows(named=True):
        figures = {
            key: row[key]
            for key in ("mean", "ci95", "sd", "min", "p5", "p25", "median", "p75", "p95", "max", "n")
        }
        by_case.setdefault(row["case"], {})[row["metric"]] = {**figures, "outliers": row["outliers"]}
    compared: dict[str, dict[str, Any]] = {}
    if results.comparisons is not None:
        for row in results.comparisons.iter_rows(named=True):
            keys = ("baseline", "pairs", "difference", "ci95", "relative", "p", "p_adjusted", "differs")
            compared.setdefault(row["case"], {})[row["metric"]] = {key: row[key] for key in keys}
    cases = [
        {
            "case": entry.case,
            "levels": entry.levels,
            "replications": entry.replications,
            "failed": failed.count(entry.case),
            "metrics": by_case.get(entry.case, {}),
            "against_baseline": compared.get(entry.case),
        }
        for entry in m.cases
    ]
    return {
        "study": m.name,
        "scenario": m.scenario,
        "model_version": m.model_version,
        "factors": m.factors,
        "baseline": m.baseline,
        "metrics": results.metrics,
        "cases": cases,
        "pooled": None if results.pooled is None else results.pooled.to_dicts(),
        "failures": [asdict(failure) for failure in m.failures],
    }


def reservations(results: StudyResults) -> list[str]:
    """Warnings about the averages: the runs that they leave out."""
    m = results.manifest
    counts = dict.fromkeys(results.metrics, 0)
    dropped = 0
    for row in results.estimates.iter_rows(named=True):
        counts[row["metric"]] += row["n"] + row["outliers"]
        dropped += row["outliers"]
    wanted = sum(entry.replications for entry in m.cases) - len(m.failures)
    found = [
        f"{metric}: {wanted - there} of {wanted} runs have no value, and the mean leaves them out"
        for metric, there in counts.items()
        if there < wanted
    ]
    if dropped:
        outliers = "1 outlier was" if dropped == 1 else f"{dropped} outliers were"
        found.append(f"{outliers} dropped (|z| > {m.treatment.z:g}), as the study asks")
    return found


def write(results: StudyResults, directory: Path, then: Callable[[], object] = lambda: None) -> list[Path]:
    """Writes tables (Parquet), figures (CSV, JSON) and what was asked; each file appears whole.

    Files that were made of earlier results are removed. `then` is called before another process can write
    there: the files of two studies are not mixed.

    Raises:
        OSError: it could not be written.
    """
    from ropewalk.study.results import SMALL_TABLES

    contents: dict[str, bytes] = {}
    for name in SMALL_TABLES:
        parquet = io.BytesIO()
        results.table(name).write_parquet(parquet)
        contents[f"{name}.parquet"] = parquet.getvalue()
    for name in TABLES:
        table = getattr(results, name)
        if table is not None:
            contents[f"{name}.csv"] = visible.csv(table)
    contents[STUDY] = results.manifest.text.encode()
    summary = to_json(results).encode()
    files = written.digests({**contents, SUMMARY: summary})
    contents[manifest.FILE] = results.manifest.content(directory, files)
    contents[SUMMARY] = summary
    with alone(directory):
        earlier = {provenance.FILE, *(f"{name}.csv" for name in TABLES)}
        check_places(directory, contents.keys() | earlier)
        forget_derived(directory)
        # Their lists go first: tables of two studies do not pass for whole, nor for damaged.
        for name in (SUMMARY, manifest.FILE, *sorted(earlier - contents.keys())):
            (directory / name).unlink(missing_ok=True)
        for name, content in contents.items():
            write_whole(directory / name, content, lasting=False)
        then()
    return [directory / name for name in contents]
