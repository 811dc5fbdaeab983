"""Commands, options and help."""

from __future__ import annotations

import enum
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from ropewalk import _core
from ropewalk.cli.rain import rain
from ropewalk.cli.reporting import WRONG_INPUT, describe, fail, reported
from ropewalk.cli.reproduce import reproduce
from ropewalk.errors import ScenarioError
from ropewalk.scenario import MAX_REPLICATIONS, Scenario, choose_seeds

app = typer.Typer(
    help="A packet-level laboratory for multipath transport over satellite links.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file (TOML).", show_default=False)]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a key, as in flow.upload.transport.congestion=cubic. May be repeated.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on stdout.")]


class Kind(enum.StrEnum):
    """What `list` can list."""

    CONGESTION = "congestion"
    SCHEDULERS = "schedulers"
    PATH_MANAGERS = "path-managers"
    RATES = "rates"
    DELAYS = "delays"
    QUEUES = "queues"
    LOSS = "loss"
    APPS = "apps"
    PROFILES = "profiles"


def pairs_of(overrides: list[str] | None) -> list[tuple[str, str]]:
    """What stands after `--set`, as keys and values."""
    pairs = []
    for text in overrides or []:
        key, equals, value = text.partition("=")
        if not equals:
            raise ScenarioError(f"--set {text}: no `=`\n  fix: write KEY=VALUE, as in --set duration=10s")
        pairs.append((key.strip(), value.strip()))
    return pairs


def load(file: Path, overrides: list[str] | None) -> Scenario:
    """Reads a scenario; every mistake ends the command with exit code 2."""
    try:
        return Scenario.load(file, pairs_of(overrides))
    except OSError as error:
        fail(describe(error), WRONG_INPUT)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"ropewalk {_core.VERSION}, model version {_core.MODEL_VERSION}\n")
        raise typer.Exit


@app.callback()
def _main(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def _directory(text: str) -> Path:
    if not text.strip():
        raise typer.BadParameter("an empty name is not a directory")
    return Path(text)


@app.command()
def run(
    file: File,
    *,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_REPLICATIONS,
            help="Replications; without it as many as the scenario says.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="First seed; alone: just this replication.", show_default=False),
    ] = None,
    overrides: Overrides = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "-j", "--jobs", min=1, help="Threads; one per processor by default.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write tables (Parquet), summary, plots.",
            show_default=False,
            parser=_directory,
        ),
    ] = None,
    as_json: AsJson = False,
    trace: Annotated[
        bool,
        typer.Option("--trace", help="Readable event traces, in DIR/trace/ or on stdout without --out."),
    ] = False,
    no_plots: Annotated[bool, typer.Option("--no-plots", help="Write no plots.")] = False,
) -> None:
    """Simulate a scenario and print what happened.

    Exit codes: 0 fine, 1 the run failed, 2 the input is wrong, 130 interrupted.
    """
    from ropewalk.cli.run import Order, execute

    with reported():
        if trace and as_json and out is None:
            fail("--trace and --json both want stdout: add --out DIR", WRONG_INPUT)
        scenario = load(file, overrides)
        order = Order(_seeds(scenario, seeds, seed), jobs, out, as_json, trace, plots=not no_plots)
        execute(scenario, order)


def _seeds(scenario: Scenario, count: int | None, first: int | None) -> list[int]:
    if count is None and first is None:
        return scenario.seeds
    start = 1 if first is None else first
    try:
        return choose_seeds(range(start, start + (1 if count is None else count)))
    except ValueError as error:
        fail(f"--seed {start}: {error}", WRONG_INPUT)


StudyToml = Annotated[Path, typer.Argument(metavar="FILE", help="Study file (TOML).", show_default=False)]


@app.command()
def study(
    file: StudyToml,
    *,
    overrides: Overrides = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_REPLICATIONS,
            help="Replications of each case; without it as the study says.",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "-j",
            "--jobs",
            min=1,
            help="Units of work at a time; by default one per processor, Dask thread, or 100 SLURM jobs.",
            show_default=False,
        ),
    ] = None,
    executor: Annotated[
        str, typer.Option(metavar="WHERE", help="local, dask://HOST:PORT or slurm.")
    ] = "local",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Results; results/STUDY by default.", show_default=False, parser=_directory
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Finished runs; DIR/store by default.", show_default=False, parser=_directory
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be run and what is stored already.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Vary a scenario, repeat each case, compare. Finished runs are stored and never computed again.

    Exit codes: 0 fine, 1 a run failed or the work could not be done, 2 the input is wrong, 130 interrupted.
    """
    from ropewalk.cli.study import StudyOrder, execute
    from ropewalk.cli.study import dry_run as say
    from ropewalk.executors import check_name
    from ropewalk.study import Study

    with reported():
        try:
            check_name(executor)
        except ValueError as error:
            fail(f"--executor: {error}", WRONG_INPUT)
        try:
            loaded = Study.load(file, pairs_of(overrides), seeds)
        except OSError as error:
            fail(describe(error), WRONG_INPUT)
        order = StudyOrder(jobs, executor, out or Path("results") / file.stem, store, as_json)
        (say if dry_run else execute)(loaded, order)


Results = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="What study, run --out or reproduce has written.", show_default=False),
]
ShownSeed = Annotated[
    int | None,
    typer.Option(min=0, help="Replication to show over time; the first by default.", show_default=False),
]
ShownCase = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Of a study, the case to show over time.", show_default=False),
]


@app.command()
def report(
    directory: Results,
    *,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The HTML file; DIR/report.html by default.", show_default=False),
    ] = None,
    seed: ShownSeed = None,
    case: ShownCase = None,
) -> None:
    """Write a report that any browser opens: one HTML file, no server, no network.

    Exit codes: 0 fine, 1 it could not be written, 2 the input is wrong.
    """
    from ropewalk.cli.report import write_report

    with reported():
        write_report(directory, out, seed, case)


@app.command()
def figures(
    directory: Results,
    *,
    formats: Annotated[
        str, typer.Option("--format", metavar="LIST", help="Of png, svg and pdf, with commas.")
    ] = "pdf",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where to; DIR/figures by default.", show_default=False),
    ] = None,
    seed: ShownSeed = None,
    case: ShownCase = None,
) -> None:
    """Draw the figures of the report for a paper.

    Exit codes: 0 fine, 1 they could not be written, 2 the input is wrong.
    """
    from ropewalk.cli.report import write_figures

    with reported():
        write_figures(directory, formats, out, seed, case)


class Form(enum.StrEnum):
    """What `export` can write."""

    CSV = "csv"
    PARQUET = "parquet"
    FLENT = "flent"


@app.command()
def export(
    directory: Results,
    *,
    form: Annotated[
        Form,
        typer.Option("--format", help="Tables, or a .flent.gz per flow and replication.", show_default=False),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where to; DIR/export/FORMAT by default.", show_default=False),
    ] = None,
) -> None:
    """Write all tables as CSV or Parquet, or time series as data files of flent.

    Exit codes: 0 fine, 1 they could not be written, 2 the input is wrong.
    """
    from ropewalk.cli.report import write_export

    with reported():
        write_export(directory, form.value, out)


@app.command()
def show(file: File, *, overrides: Overrides = None) -> None:
    """Print a scenario with every default filled in.

    The output is itself a scenario and gives the same results.
    """
    with reported():
        sys.stdout.write(load(file, overrides).show())


@app.command()
def opportunities(
    file: File,
    link: Annotated[
        str, typer.Argument(metavar="LINK", help="Link direction, as in beam1.down.", show_default=False)
    ],
    *,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Replication whose rate it is.")] = 1,
    overrides: Overrides = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where it goes; stdout by default.", show_default=False),
    ] = None,
) -> None:
    """Write when a link could deliver 1500 bytes, as a mahimahi trace.

    Rates of kind "opportunities" read it, and so do the tools of mahimahi.
    """
    with reported():
        scenario = load(file, overrides)
        try:
            text = scenario.opportunities(link, seed)
        except ValueError as error:
            fail(str(error), WRONG_INPUT)
        if out is None:
            sys.stdout.write(text)
        else:
            out.write_text(text, encoding="utf-8")


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenario files."""
    with reported():
        sys.stdout.write(json.dumps(json.loads(_core.schema()), indent=2, ensure_ascii=False) + "\n")


@app.command(name="list")
def list_(kind: Annotated[Kind, typer.Argument(help="What to list.")], *, as_json: AsJson = False) -> None:
    """List what a scenario can name, with options."""
    with reported():
        entries = json.loads(_core.catalogue())[kind.value]
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


app.command()(reproduce)
app.command()(rain)
