"""Commands, options and help."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ropewalk import _core, backends
from ropewalk.cli.bond import bond, init, new
from ropewalk.cli.control import cc
from ropewalk.cli.emulate import compare, emulate
from ropewalk.cli.examples import examples
from ropewalk.cli.kinds import is_study, refuse_other_kind
from ropewalk.cli.measure import import_
from ropewalk.cli.options import (
    WholeNumber,
    as_json,
    capture,
    directory,
    executor,
    overrides,
    pairs_of,
    snap,
    units,
    without_effect,
)
from ropewalk.cli.rain import rain
from ropewalk.cli.reporting import WRONG_INPUT, describe, fail, refuse_to_replace, reported, tell
from ropewalk.cli.reproduce import reproduce
from ropewalk.disk import write_whole
from ropewalk.errors import ScenarioError
from ropewalk.numbers import count
from ropewalk.scenario import MAX_REPLICATIONS, Scenario, choose_seeds

if TYPE_CHECKING:
    from collections.abc import Sequence

FILE = click.Path(path_type=Path)
STDIN = Path("/dev/stdin")
FILES = ("scenario", "study", "reproduction", "quantities", "claims", "figures")
"""Kinds of files that have a schema."""
CATALOGUE = (
    "congestion",
    "schedulers",
    "path-managers",
    "rates",
    "delays",
    "queues",
    "loss",
    "apps",
    "profiles",
)
"""The kinds that `list` lists."""

scenario_file = click.argument("file", type=FILE)
study_file = click.argument("file", type=FILE)


def load(file: Path, overrides: Sequence[str]) -> Scenario:
    """Reads a scenario, from stdin with `-`; every mistake ends the command with exit code 2."""
    place = STDIN if str(file) == "-" else file
    try:
        return without_effect(Scenario.load(place, pairs_of(overrides)))
    except ScenarioError:
        refuse_other_kind(place, "study")
        raise
    except OSError as error:
        fail(describe(error), WRONG_INPUT)


class InOrder(click.Group):
    """Lists its commands as they stand here."""

    def list_commands(self, _context: click.Context) -> list[str]:
        """Their names."""
        return list(self.commands)


@click.group(
    cls=InOrder,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(
    f"{_core.VERSION}, model version {_core.MODEL_VERSION}", "--version", message="ropewalk %(version)s"
)
def app() -> None:
    """A packet-level laboratory for multipath transport over satellite links."""


@app.command()
@scenario_file
@click.option(
    "--seeds",
    type=WholeNumber(1, MAX_REPLICATIONS),
    metavar="N",
    help="Replications; without it as many as the scenario says.",
)
@click.option("--seed", type=WholeNumber(0), metavar="N", help="First seed; alone: just this replication.")
@overrides
@click.option("-j", "--jobs", type=WholeNumber(1), metavar="N", help="Threads; one per processor by default.")
@click.option("--out", callback=directory, metavar="DIR", help="Write tables (Parquet) and summary.")
@as_json
@click.option(
    "--trace", is_flag=True, help="Readable event traces, in DIR/trace/ or on stdout without --out."
)
@capture
@snap
@click.option("--no-clobber", is_flag=True, help="With --out, do not replace earlier results.")
@click.option("--plots", is_flag=True, help="With --out, draw the plots as PNG, in DIR/plots/.")
@click.option(
    "--backend",
    type=click.Choice(backends.names()),
    default=backends.default(),
    show_default=True,
    help="What runs it.",
)
def run(
    *,
    file: Path,
    seeds: int | None,
    seed: int | None,
    overrides: tuple[str, ...],
    jobs: int | None,
    out: Path | None,
    as_json: bool,
    trace: bool,
    plots: bool,
    backend: str,
    no_clobber: bool,
    capture: str | None,
    snap: int | None,
) -> None:
    """Run a scenario and print what happened.

    Exit codes: 0 fine, 1 the run failed, 2 the input is wrong, 130 interrupted.
    """
    with reported():
        if trace and as_json and out is None:
            fail("--trace and --json both write to stdout\n  fix: add --out DIR", WRONG_INPUT)
        if no_clobber and out is None:
            fail("--no-clobber without --out\n  fix: add --out DIR", WRONG_INPUT)
        if plots and out is None:
            fail("--plots without --out\n  fix: add --out DIR, the plots go into DIR/plots/", WRONG_INPUT)
        if capture is not None and out is None:
            fail(
                "--capture without --out\n  fix: add --out DIR, the packets go into DIR/capture/", WRONG_INPUT
            )
        if snap is not None and capture is None:
            fail("--snap without --capture\n  fix: add --capture both", WRONG_INPUT)
        scenario = load(file, overrides)
        from ropewalk.captures import SNAP
        from ropewalk.cli.run import Order, execute

        chosen = chosen_seeds(scenario, seeds, seed)
        kept = SNAP if snap is None else snap
        order = Order(
            file, chosen, jobs, out, as_json, trace, plots, backend, overrides, capture, kept, no_clobber
        )
        execute(scenario, order)


def chosen_seeds(scenario: Scenario, count: int | None, first: int | None) -> list[int]:
    """The seeds that `--seeds` and `--seed` ask for."""
    if count is None and first is None:
        return scenario.seeds
    start = 1 if first is None else first
    try:
        return choose_seeds(range(start, start + (1 if count is None else count)))
    except ValueError as error:
        fail(f"--seed {start}: {error}", WRONG_INPUT)


app.add_command(emulate)
app.add_command(compare)
app.add_command(cc)
app.add_command(bond)
app.add_command(init)
app.add_command(new)
app.add_command(import_)
app.add_command(examples)


@app.command()
@scenario_file
@click.option(
    "--seeds",
    type=WholeNumber(2, MAX_REPLICATIONS),
    metavar="N",
    help="Replications to compare; without it as many as the effort says.",
)
@click.option(
    "--effort",
    type=click.Choice(["quick", "normal", "thorough"]),
    default="normal",
    show_default=True,
    help="How much is tried.",
)
@overrides
@click.option("-j", "--jobs", type=WholeNumber(1), metavar="N", help="Threads; one per processor by default.")
@as_json
def why(
    *,
    file: Path,
    seeds: int | None,
    effort: str,
    overrides: tuple[str, ...],
    jobs: int | None,
    as_json: bool,
) -> None:
    """Say why flows are as slow as they are, and what helps.

    FILE is a scenario, or a directory of `ropewalk run --out`, whose report then says it, too.

    Each change is tried against the scenario as it stands, under the same seeds. Those that help are listed.

    Exit codes: 0 fine, 1 the run failed, 2 the input is wrong, 130 interrupted.
    """
    with reported():
        from ropewalk.cli.why import WhyOrder, execute, scenario_of

        kept = file if file.is_dir() else None
        scenario = load(file, overrides) if kept is None else scenario_of(kept, overrides)
        chosen = None if seeds is None else chosen_seeds(scenario, seeds, None)
        execute(scenario, WhyOrder(chosen, effort, jobs, kept, as_json))


@app.command()
@study_file
@overrides
@click.option(
    "--seeds",
    type=WholeNumber(1, MAX_REPLICATIONS),
    metavar="N",
    help="Replications of each case; without it as the study says.",
)
@click.option("--reading", metavar="NAME", help="Which of the readings, if the study has any.")
@click.option(
    "--backend",
    type=click.Choice(backends.names()),
    default=backends.default(),
    show_default=True,
    help="What runs it.",
)
@units
@executor
@click.option("--out", callback=directory, metavar="DIR", help="Results; results/STUDY by default.")
@click.option("--store", callback=directory, metavar="DIR", help="Finished runs; DIR/store by default.")
@click.option("--dry-run", is_flag=True, help="Say what would be run and what is stored already.")
@as_json
def study(
    *,
    file: Path,
    overrides: tuple[str, ...],
    seeds: int | None,
    reading: str | None,
    backend: str,
    jobs: int | None,
    executor: str,
    out: Path | None,
    store: Path | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Vary a scenario, repeat each case, compare. Finished runs are stored and never computed again.

    Exit codes: 0 fine, 1 a run failed or the work could not be done, 2 the input is wrong, 130 interrupted.
    """
    from ropewalk.cli.study import StudyOrder, execute, warn
    from ropewalk.cli.study import dry_run as say
    from ropewalk.executors import check_name
    from ropewalk.study import Study, StudyError

    with reported():
        try:
            check_name(executor)
        except ValueError as error:
            fail(f"--executor: {error}", WRONG_INPUT)
        try:
            loaded = Study.load(file, pairs_of(overrides), seeds, reading, backend)
        except StudyError:
            refuse_other_kind(file, "run")
            raise
        except OSError as error:
            fail(describe(error), WRONG_INPUT)
        name = file.stem if reading is None else f"{file.stem}-{reading}"
        if backend == "linux":
            from ropewalk.cli.emulate import permitted

            permitted()
            jobs = 1
        order = StudyOrder(jobs, executor, out or Path("results") / name, store, as_json)
        warn(loaded)
        (say if dry_run else execute)(loaded, order)


app.add_command(reproduce)

results = click.argument("directory", metavar="DIR", type=FILE)
shown_seed = click.option(
    "--seed",
    type=WholeNumber(0),
    metavar="N",
    help="Replication to show over time; the first by default.",
)
shown_case = click.option("--case", metavar="NAME", help="Of a study, the case to show over time.")


@app.command()
@results
@click.option("--out", type=FILE, metavar="FILE", help="The HTML file; DIR/report.html by default.")
@shown_seed
@shown_case
def report(*, directory: Path, out: Path | None, seed: int | None, case: str | None) -> None:
    """Write a report: one HTML file that any browser opens.

    It needs no server and no network.

    Exit codes: 0 fine, 1 it could not be written, 2 the input is wrong.
    """
    from ropewalk.cli.report import write_report

    with reported():
        write_report(directory, out, seed, case)


@app.command()
@results
@click.option(
    "--format",
    "formats",
    metavar="LIST",
    default="pdf",
    show_default=True,
    help="Of png, svg and pdf, with commas.",
)
@click.option("--out", callback=directory, metavar="DIR", help="Where to; DIR/figures by default.")
@shown_seed
@shown_case
def figures(*, directory: Path, formats: str, out: Path | None, seed: int | None, case: str | None) -> None:
    """Draw the figures of the report for a paper.

    Exit codes: 0 fine, 1 they could not be written, 2 the input is wrong.
    """
    from ropewalk.cli.report import write_figures

    with reported():
        write_figures(directory, formats, out, seed, case)


@app.command()
@results
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "parquet", "flent"]),
    required=True,
    help="Tables, or a .flent.gz per flow and replication.",
)
@click.option("--out", callback=directory, metavar="DIR", help="Where to; DIR/export/FORMAT by default.")
def export(*, directory: Path, form: str, out: Path | None) -> None:
    """Write tables as CSV or Parquet, or time series for flent.

    Exit codes: 0 fine, 1 they could not be written, 2 the input is wrong.
    """
    from ropewalk.cli.report import write_export

    with reported():
        write_export(directory, form, out)


@app.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--out", callback=directory, metavar="DIR", help="Write tables (Parquet) and summary.")
@click.option("--plots", is_flag=True, help="With --out, draw the plots as PNG, in DIR/plots/.")
@click.option(
    "--scenario",
    type=FILE,
    metavar="FILE",
    help="Write a scenario that is fitted to the connection with most data.",
)
@click.option(
    "--anonymise",
    type=FILE,
    metavar="FILE",
    help="Write the packets without addresses, payload and keys, and nothing else.",
)
@as_json
def read(
    *,
    files: tuple[Path, ...],
    out: Path | None,
    plots: bool,
    scenario: Path | None,
    anonymise: Path | None,
    as_json: bool,
) -> None:
    """Read captures (pcap, pcapng): TCP and MPTCP connections.

    `ropewalk report DIR` makes a page of what --out has written, `ropewalk why FILE` tries changes of the
    fitted scenario.

    Exit codes: 0 fine, 1 nothing could be read or fitted, 2 the input is wrong.
    """
    if plots and out is None:
        fail("--plots without --out\n  fix: say with --out where they go", WRONG_INPUT)
    with reported():
        from ropewalk.cli import read as command

        if anonymise is not None:
            if out is not None or scenario is not None or as_json:
                fail(
                    "--anonymise with --out, --scenario or --json\n  fix: read the file that it has written",
                    WRONG_INPUT,
                )
            command.anonymise(files, anonymise)
        else:
            command.execute(command.ReadOrder(files, out, plots, scenario, as_json))


@app.command()
@scenario_file
@overrides
@click.option("--reading", metavar="NAME", help="Of a study: with the changes of this reading.")
def show(*, file: Path, overrides: tuple[str, ...], reading: str | None) -> None:
    """Print a scenario or study with all that it leaves out.

    Every default is filled in. The output is itself a scenario and gives the same results. Of a study it is
    the whole: what it takes from the study that it is like is written out, and files are named as seen from
    its folder.
    """
    with reported():
        if is_study(file):
            from ropewalk.cli import shown

            shown.study(file, overrides, reading)
        elif reading is not None:
            fail(f"--reading {reading}: {file} is no study\n  fix: leave it out", WRONG_INPUT)
        else:
            sys.stdout.write(load(file, overrides).show())


@app.command()
@scenario_file
@click.argument("link")
@click.option(
    "--seed",
    type=WholeNumber(0),
    metavar="N",
    default=1,
    show_default=True,
    help="Replication whose rate it is.",
)
@overrides
@click.option("--out", type=FILE, metavar="FILE", help="Where it goes; stdout by default.")
def opportunities(*, file: Path, link: str, seed: int, overrides: tuple[str, ...], out: Path | None) -> None:
    """Write when a link can deliver packets: a mahimahi trace.

    LINK is a link direction, as in beam1.down. Each line is a time at which it could deliver 1500 bytes.

    Rates of kind "opportunities" read it, and so do the tools of mahimahi.
    """
    with reported():
        if out is not None:
            refuse_to_replace([file], "--out", out, "the scenario")
        scenario = load(file, overrides)
        try:
            text = scenario.opportunities(link, seed)
        except ValueError as error:
            fail(str(error), WRONG_INPUT)
        if out is None:
            sys.stdout.write(text)
        else:
            write_whole(out, text.encode(), lasting=False)
            tell(f"{count(text.count(chr(10)), 'time')} in {out}")


app.add_command(rain)


@app.command()
@click.argument("kind", metavar="[KIND]", default="scenario", type=click.Choice(FILES))
def schema(*, kind: str) -> None:
    """Print the JSON Schema of a kind of file.

    KIND is scenario (the default), study, or one of the files of a reproduction: reproduction,
    quantities, claims, figures.
    """
    with reported():
        sys.stdout.write(json.dumps(json.loads(_core.schema(kind)), indent=2, ensure_ascii=False) + "\n")


@app.command(name="list")
@click.argument("kind", metavar="[KIND]", required=False, type=click.Choice(CATALOGUE))
@as_json
def list_(*, kind: str | None, as_json: bool) -> None:
    """List what a scenario can name, with options.

    KIND is one of congestion, schedulers, path-managers, rates, delays, queues, loss, apps, profiles.

    Without KIND the kinds are listed.
    """
    with reported():
        catalogue = json.loads(_core.catalogue())
        if kind is None:
            text = (
                json.dumps(CATALOGUE) if as_json else "\n".join(f"ropewalk list {one}" for one in CATALOGUE)
            )
            sys.stdout.write(f"{text}\n")
            return
        entries = catalogue[kind]
        if as_json:
            sys.stdout.write(json.dumps(entries, ensure_ascii=False) + "\n")
        else:
            from ropewalk.cli.tables import show_catalogue

            show_catalogue(entries)


@app.command()
def doctor() -> None:
    """Check that everything works on this machine."""
    from ropewalk.cli.doctor import examine

    with reported():
        examine()
