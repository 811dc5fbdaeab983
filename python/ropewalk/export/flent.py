"""Data files that flent opens: time series of one flow as its test `tcp_nup`, one stream per subflow.

The form is that of flent's data files, version 4: JSON with `x_values`, `results`, `raw_values` and
`metadata`, in gzip. Rates are in Mbit/s, times in ms. Simulated time has no date: it begins with 1970.
"""

from __future__ import annotations

import gzip
import json
import math
from typing import TYPE_CHECKING, Any

import polars as pl

from ropewalk import _core
from ropewalk.report.source import ReportError, case_results, file_names
from ropewalk.results import Results

if TYPE_CHECKING:
    from pathlib import Path

    from ropewalk.study.results import StudyResults

SUFFIX = ".flent.gz"
VERSION = 4
TEST = "tcp_nup"
BEGIN = "1970-01-01T00:00:00.000000Z"
DIGITS = 7


def files(directory: Path, results: Results | StudyResults) -> dict[str, bytes]:
    """File names and contents: one for each case, flow and seed with time series.

    Raises:
        ReportError: nothing was recorded over time.
        OSError: the store of a study has gone.
    """
    found: dict[str, bytes] = {}
    if isinstance(results, Results):
        found |= _of_run(results)
    else:
        cases = [entry.case for entry in results.manifest.cases] if results.manifest.series else []
        for case, name in file_names(cases).items():
            if results.seeds(case):
                found |= _of_run(case_results(results, case), case, f"{name}.")
    if not found:
        raise ReportError(
            f"{directory}: no time series of TCP or MPTCP were recorded, and flent has no other data",
            "run with --out, or give the study `series = 1`",
        )
    return found


def _of_run(results: Results, case: str = "", before: str = "") -> dict[str, bytes]:
    found = {}
    flows = results.flows.select(pl.col("flow").cast(pl.String).unique(maintain_order=True))["flow"].to_list()
    seeds = results.series["run"].unique().sort().to_list() if results.series.height else []
    for flow in flows:
        for seed in seeds:
            content = data_file(results, flow, seed, case)
            if content is not None:
                found[f"{before}{flow}.seed-{seed}{SUFFIX}"] = _pack(content)
    return found


def _pack(content: dict[str, Any]) -> bytes:
    """Without the time of packing, so that the same results are the same file."""
    text = json.dumps(content, indent=1, sort_keys=True, allow_nan=False)
    return gzip.compress(text.encode(), mtime=0)


def data_file(results: Results, flow: str, seed: int, case: str = "") -> dict[str, Any] | None:
    """One flow of one replication; None if it has no time series."""
    rows = results.series.filter((pl.col("flow") == flow) & (pl.col("run") == seed))
    own = rows.filter(pl.col("subflow").is_not_null())
    if own.is_empty():
        return None
    title = f"{case or results.origin.scenario.name}: {flow}, seed {seed}"
    times = sorted(own["t_s"].unique().to_list())
    streams = own.select("connection", "subflow").unique().sort("connection", "subflow").rows()
    values: dict[str, list[float | None]] = {}
    raw: dict[str, list[dict[str, float]]] = {}
    for number, (connection, subflow) in enumerate(streams, 1):
        one = own.filter((pl.col("connection") == connection) & (pl.col("subflow") == subflow))
        name = f"TCP upload::{number}"
        values[name] = _column(one, "throughput_bit_s", times, 1e-6)
        raw[name] = _raw(one, times, values[name])
        if number == 1:
            # Pings are not simulated: the nearest thing is what the sender of the first subflow measures.
            values["Ping (ms) ICMP"] = _column(one, "srtt_s", times, 1e3)
    rates = [values[f"TCP upload::{number}"] for number in range(1, len(streams) + 1)]
    sums = [math.fsum(v for v in at if v is not None) for at in zip(*rates, strict=True)]
    values["TCP upload sum"] = list(sums)
    values["TCP upload avg"] = [_short(value / len(streams)) for value in sums]
    goodput = rows.filter(pl.col("subflow").is_null())
    values["Goodput"] = _column(goodput, "goodput_bit_s", times, 1e-6)
    raw["Ping (ms) ICMP"] = _points(times, values["Ping (ms) ICMP"])
    return {
        "version": VERSION,
        "x_values": times,
        "results": values,
        "raw_values": raw,
        "metadata": _metadata(results, flow, title, len(streams), times),
    }


def _column(rows: pl.DataFrame, metric: str, times: list[float], scale: float) -> list[float | None]:
    """The samples of a metric at `times`, None where there is none."""
    found = rows.filter(pl.col("metric") == metric)
    at = dict(zip(found["t_s"].to_list(), found["value"].to_list(), strict=True))
    return [_short(at[time] * scale) if time in at else None for time in times]


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _points(times: list[float], values: list[float | None]) -> list[dict[str, float]]:
    return [{"t": time, "val": value} for time, value in zip(times, values, strict=True) if value is not None]


def _raw(rows: pl.DataFrame, times: list[float], rates: list[float | None]) -> list[dict[str, float]]:
    """The series that flent takes from the socket statistics of the kernel, under its names."""
    found = {point["t"]: point for point in _points(times, rates)}
    statistics = {
        "tcp_rtt": ("srtt_s", 1e3),
        "tcp_cwnd": ("cwnd_bytes", 1.0),
        "tcp_delivery_rate": ("throughput_bit_s", 1e-6),
    }
    for key, (metric, scale) in statistics.items():
        for time, value in zip(times, _column(rows, metric, times, scale), strict=True):
            if value is not None and time in found:
                found[time][key] = value
    return list(found.values())


def _metadata(results: Results, flow: str, title: str, streams: int, times: list[float]) -> dict[str, Any]:
    row = results.flows.filter(pl.col("flow") == flow).row(0, named=True)
    duration = results.origin.scenario.duration_s
    what = ", ".join(filter(None, [row["transport"].upper(), row["congestion"], row["scheduler"]]))
    units = {f"TCP upload::{number}": {"UNITS": "Mbits/s"} for number in range(1, streams + 1)}
    units |= {name: {"UNITS": "Mbits/s"} for name in ("TCP upload sum", "TCP upload avg", "Goodput")}
    return {
        "NAME": TEST,
        "TITLE": title,
        "NOTE": f"Simulated: {what}. Streams are subflows as the receiver saw them; Ping is the smoothed "
        "round-trip time of the first one.",
        "TIME": BEGIN,
        "T0": BEGIN,
        "LENGTH": round(duration),
        "TOTAL_LENGTH": max(times),
        "STEP_SIZE": _short(times[1] - times[0]) if len(times) > 1 else 1.0,
        "HOST": flow,
        "HOSTS": [flow],
        "LOCAL_HOST": "simulation",
        "IP_VERSION": 4,
        "TEST_PARAMETERS": {"upload_streams": str(streams)},
        "FLENT_VERSION": f"ropewalk {_core.VERSION}",
        "BATCH_NAME": None,
        "BATCH_TIME": None,
        "BATCH_TITLE": None,
        "BATCH_UUID": None,
        "SERIES_META": {**units, "Ping (ms) ICMP": {"UNITS": "ms"}},
    }
