"""The profile `freebsd` beside libusrsctp: the tables of docs/reference/profiles.md.

`make validate-sctp` runs the rows of validation/sctp-profile.toml, keeps their figures in
validation/sctp-profile-recorded.toml and writes the tables. `--page` writes them from what is recorded.
"""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path
from typing import Any

import ropewalk as rw
import sctp

ROWS = sctp.ROOT / "validation" / "sctp-profile.toml"
RECORD = sctp.ROOT / "validation" / "sctp-profile-recorded.toml"
PAGE = sctp.ROOT / "docs" / "reference" / "profiles.md"
BEGIN, END = "<!-- beside the library -->\n", "<!-- end of beside the library -->\n"
CONTROLS = {"off": "sctp", "base": "sctp", "rpv1": "rpv1", "rpv2": "rpv2", "mptcp": "mptcp_like"}
KEYS = {"split": 'buffer_split = "both"', "dac": "delayed_ack = true", "nr_sack": "nr_sack = true"}

NONE = "-"
EQUAL = 0.05
"""Percent that are shown as none."""

Row = dict[str, Any]
"""One row of the TOML file: data of many kinds."""
Recorded = dict[str, dict[str, list[float]]]
"""By `GROUP/NAME`: the figures of each run."""
Figures = dict[str, list[float] | None]
"""Mean, least and greatest of each figure, if it was measured."""


def tables() -> list[Row]:
    """The tables, each row with what its table says for all."""
    with ROWS.open("rb") as file:
        found: list[Row] = tomllib.load(file)["table"]
    for table in found:
        common = {key: table[key] for key in ("figures", "runs") if key in table}
        table["row"] = [{**common, **row} for row in table["row"]]
    return found


def rows() -> list[Row]:
    """Rows of all tables."""
    return [row for table in tables() for row in table["row"]]


def name(row: Row) -> str:
    """The key in the record: words such as "the same" are not unique."""
    return f"{row['group']}/{row['name']}"


def group_of(row: Row) -> sctp.Case:
    """The group with its links."""
    return next(group for group, _ in sctp.cases() if group["name"] == row["group"])


def scenario(row: Row, seed: int) -> str:
    """The scenario of the library, with flows of the profile in the place of its flow."""
    group = group_of(row)
    links, _, _ = sctp.scenario(group, seed).partition("[[flow]]")
    asked = {**group["association"], **row["association"]}
    measured_from, until = group["measure_s"]
    video = f'{{ kind = "video", message = "1452B", omit = "{measured_from}s", duration = "{until}s" }}'

    app = video if "interval_s" in asked else '"bulk"'

    def flow(label: str, ends: tuple[str, str], settings: sctp.Case, start_s: float) -> str:
        cmt = settings.get("cmt", "off")
        kind = "sctp" if cmt == "off" else "cmt-sctp"
        keys = [line for key, line in KEYS.items() if settings.get(key)]
        return "\n".join(
            [
                f'[[flow]]\nname = "{label}"\nfrom = "{ends[0]}"\nto = "{ends[1]}"\nstart = "{start_s:.3f}s"',
                f"app = {app}",
                f'[flow.transport]\nkind = "{kind}"\nprofile = "freebsd"\ntimer_defects = "both"',
                f'congestion = "{CONTROLS[cmt]}"',
                f'send_buffer = "{settings["send_buffer"]}B"',
                f'receive_buffer = "{settings["receive_buffer"]}B"',
                *keys,
            ]
        )

    text = links + flow("f", ("terminal", "server"), asked, 0.0)
    associations = sctp.request(group, row, seed)["associations"]
    if len(associations) > 1:
        text += "\n" + flow("rival", ("rival", "far"), group["association"], associations[1]["start_s"])
    return text + "\n"


def ours(row: Row, seed: int) -> sctp.Figures:
    """Figures of one run of the profile."""
    measured_from, until = group_of(row)["measure_s"]

    def ran(seconds: float | None = None) -> rw.Results:
        asked = rw.Scenario.parse(scenario(row, seed), "profile.toml")
        for key, value in row.get("set", {}).items():
            asked = asked.set(key, value)
        return (asked.set("duration", f"{seconds}s") if seconds else asked).run(seeds=[seed], series=False)

    found = ran()
    if "delay_mean_ms" in row["figures"]:
        return {"delay_mean_ms": 1e3 * float(found.measures.row(0, named=True)["delay_mean_s"])}
    if "ratio" in row["figures"]:
        before = ran(measured_from).flows["delivered_bytes"]
        one, other = (found.flows["delivered_bytes"] - before).to_list()
        return {"ratio": one / other}
    flow = found.flows.row(0, named=True)
    return {
        "goodput": flow["delivered_bytes"] * 8e-6 / until,
        "rtx_percent": 100.0 * flow["retransmitted_segments"] / flow["segments_sent"],
        "t3": float(flow["timeouts"]),
    }


def library(program: Path, row: Row) -> list[sctp.Figures]:
    """Figures of the runs of the library over our links."""
    return [sctp.run(program, group_of(row), row, seed) for seed in range(row.get("links", 0))]


def entries(label: str, row: Row, runs: list[sctp.Figures]) -> list[str]:
    """Lines of the record: a figure of each run."""
    return [
        f"{label}{figure} = [{', '.join(f'{one[figure]:.4f}' for one in runs)}]"
        for figure in row["figures"]
        if runs
    ]


def kept(row: Row, figures: dict[str, list[float]]) -> list[sctp.Figures]:
    """Figures of the library as recorded."""
    return [
        {figure: figures[f"links_{figure}"][seed] for figure in row["figures"]}
        for seed in range(row.get("links", 0))
    ]


def record(program: Path | None = None, library_too: bool = True) -> str:
    """The figures of all runs as TOML; without `library_too` those of the library stay as recorded."""
    text = [
        "# Figures of each run of the profile freebsd, and of libusrsctp over the same links (`links_`).\n"
        "# Written by `make validate-sctp`."
    ]
    known = {} if library_too else recorded()
    if library_too:
        program = program or sctp.build()
    for row in rows():
        print(name(row), flush=True)
        here = [ours(row, seed) for seed in range(row["runs"])]
        there = library(program, row) if program and library_too else kept(row, known[name(row)])
        text += [f'\n["{name(row)}"]', *entries("", row, here), *entries("links_", row, there)]
    return "\n".join(text) + "\n"


def recorded() -> Recorded:
    """The figures of all runs, as recorded."""
    with RECORD.open("rb") as file:
        return tomllib.load(file)


def of_reference(row: Row, figure: str) -> list[float] | None:
    """Mean, least and greatest of the other program."""
    found = row.get("reference", {}).get(figure)
    return found if found is None or isinstance(found, list) else [found] * 3


def cell(figures: Figures) -> str:
    """Figures of one cell: the first with its range, the others by their means."""
    said = []
    for figure, values in figures.items():
        if values is None:
            return NONE
        mean, least, greatest = values
        if figure == "rtx_percent":
            said.append(f"{mean:.2f} %" if mean else "0")
        elif figure == "t3":
            said.append(f"{mean:.0f}")
        else:
            digits, unit = (0, " ms") if figure == "delay_mean_ms" else (2, "")
            low, high = f"{least:.{digits}f}", f"{greatest:.{digits}f}"
            spread = f" [{low}, {high}]" if low != high else ""
            said.append(f"{mean:.{digits}f}{unit}{spread}" + (" : 1" if figure == "ratio" else ""))
    return "; ".join(said)


def difference(here: list[float], there: list[float]) -> str:
    """The difference of the means, and whether one lies in the range of the other."""
    percent = 100.0 * (here[0] / there[0] - 1.0)
    said = f"{percent:+.1f} %" if abs(percent) < 1.0 else f"{percent:+.0f} %"
    if abs(percent) < EQUAL:
        said = "0 %"
    inside = min(there) < max(there) and sctp.verdict(here, there) == "in the spread"
    return f"{said}, in the spread" if inside else said


def cells(table: Row, row: Row, found: dict[str, list[float]]) -> list[str]:
    """The cells of one row."""
    figures: list[str] = row["figures"]
    here: Figures = {figure: sctp.summary(found[figure]) for figure in figures}
    links: Figures = {
        figure: sctp.summary(found[f"links_{figure}"]) if "links" in row else None for figure in figures
    }
    reference: Figures = {figure: of_reference(row, figure) for figure in figures}
    if table["head"][-1] == "Here":
        return [row["words"], cell(reference), cell(links), cell(here)]
    there = links if row.get("library") == "links" else reference
    first = figures[0]
    one, other = here[first], there[first]
    words = [difference(one, other)] if one and other else []
    if "links" in row and "library" not in row:
        words.append(f"the library has {cell({first: links[first]})} over our links")
    if "slow" in row:
        counts = [sum(run < row["slow"] for run in found[f"{of}{first}"]) for of in ("links_", "")]
        words.append(f"{counts[0]} runs are below {row['slow']:g} in the library, {counts[1]} here")
    return [row["words"], cell(there), cell(here), "; ".join(words)]


def block() -> str:
    """The tables, from what is recorded."""
    found, text = recorded(), []
    for table in tables():
        text += ["", f"| {' | '.join(table['head'])} |", "|---" * len(table["head"]) + "|"]
        text += [f"| {' | '.join(cells(table, row, found[name(row)]))} |" for row in table["row"]]
    return "\n".join(text[1:]) + "\n"


def page() -> str:
    """The page with the tables of the record."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    return before + BEGIN + block() + END + rest.split(END)[1]


def main() -> None:
    """Runs all rows, and writes record and page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--page", action="store_true", help="write the tables from the record, and run nothing"
    )
    parser.add_argument(
        "--here", action="store_true", help="run the profile alone: figures of the library stay as recorded"
    )
    parser.add_argument("--program", type=Path, help="a program in place of that of these sources")
    options = parser.parse_args()
    if not options.page:
        sctp.RUNS.mkdir(parents=True, exist_ok=True)
        RECORD.write_text(record(options.program, not options.here), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
    print(block(), end="")


if __name__ == "__main__":
    main()
