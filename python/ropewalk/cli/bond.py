"""`ropewalk bond` and `ropewalk init`: what bonding is worth, from one line per path."""

from __future__ import annotations

import copy
import json
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from ropewalk.bonding import (
    DEFAULT_SEEDS,
    DEFAULT_TRANSPORT,
    FORM,
    TRANSPORTS,
    BondedPath,
    Bonding,
    parse_path,
)
from ropewalk.cli.options import WholeNumber, as_json, overrides, pairs_of, without_effect
from ropewalk.cli.progress import Progress
from ropewalk.cli.reporting import WRONG_INPUT, fail, reported, tell
from ropewalk.disk import write_whole
from ropewalk.errors import ScenarioError
from ropewalk.scenario import MAX_REPLICATIONS, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from ropewalk.errors import Diagnostic
    from ropewalk.statistics import Estimate
    from ropewalk.worth import Worth

Command = TypeVar("Command", bound="Callable[..., object]")

MADE = "the scenario of these paths"
"""Stands for the file in messages."""
_START = re.compile(r'receive_buffer = "([^"]+)"')
KEPT = "bonded.toml"
STDOUT = "-"
ENOUGH = 2
"""Paths that can be bonded."""

_OPTIONS = (
    click.option(
        "--path",
        "paths",
        metavar="[NAME,]RATE,DELAY[,LOSS]",
        multiple=True,
        help="A path, as in geo,20Mbit/s,280ms,0.5%: rate, delay of one way, share of packets lost. "
        "Further: up=, down=, rtt=, queue=.",
    ),
    click.option("--size", metavar="SIZE", help="Of the transfer, as in 100MB; without it until the end."),
    click.option(
        "--duration", metavar="TIME", help="Simulated time; 60s by default, with --size as long as it takes."
    ),
    click.option("--upload", is_flag=True, help="From the terminal to the server; a download by default."),
    click.option("--queue", metavar="LIMIT", help="In front of each transmitter, as in 100p or 64KiB."),
    click.option(
        "--transport",
        type=click.Choice(list(TRANSPORTS)),
        help=f"What bonds them; {DEFAULT_TRANSPORT} by default.",
    ),
    click.option("--scheduler", metavar="NAME", help="`ropewalk list schedulers`."),
    click.option("--congestion", metavar="NAME", help="Congestion control; `ropewalk list congestion`."),
    click.option("--receive-buffer", metavar="SIZE", help="Its largest size."),
    click.option("--send-buffer", metavar="SIZE", help="Its size."),
    click.option(
        "--seeds",
        type=WholeNumber(1, MAX_REPLICATIONS),
        metavar="N",
        default=DEFAULT_SEEDS,
        show_default=True,
        help="Replications.",
    ),
)


def described(command: Command) -> Command:
    """The options that describe paths and the transfer over them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _bonding(
    paths: tuple[BondedPath, ...], given: dict[str, str | None], *, upload: bool, seeds: int
) -> Bonding:
    kind = given["transport"] or DEFAULT_TRANSPORT
    chosen = {key: value for key, option in _keys(kind).items() if (value := given[option]) is not None}
    return Bonding(paths, given["size"], given["duration"], seeds, upload, chosen, kind)


def _keys(kind: str) -> dict[str, str]:
    """The keys of a transport that options set, with these options as in Python."""
    buffer = TRANSPORTS[kind].receive_buffer
    return {
        "congestion": "congestion",
        "scheduler": "scheduler",
        buffer: "receive_buffer",
        "send_buffer": "send_buffer",
    }


def _scenario(
    bonding: Bonding, given: dict[str, str | None], overrides: tuple[str, ...] = ()
) -> tuple[Scenario, str]:
    """The scenario of these options, and its text.

    Raises:
        ScenarioError: the value of an option is wrong: it names the option in the place of a line.
    """
    transport = f"flow.{bonding.flow}.transport"
    pairs = pairs_of(overrides)
    if (kind := next((value for key, value in pairs if key == f"{transport}.kind"), None)) is not None:
        raise ScenarioError(
            f"--set {transport}.kind={kind}: the other options are for {bonding.over.title}\n"
            f"  fix: --transport NAME; allowed: {', '.join(TRANSPORTS)}"
        )
    text = bonding.text()
    try:
        scenario = Scenario(text, MADE, pairs)
    except ScenarioError as error:
        raise ScenarioError(
            "\n".join(_at_option(one, bonding, given) for one in error.diagnostics), error.diagnostics
        ) from None
    return without_effect(scenario), text


def _at_option(mistake: Diagnostic, bonding: Bonding, given: dict[str, str | None]) -> str:
    """A mistake of the scenario with the option that it comes from, if any, in the place of file and line."""
    prefix, _, key = mistake.key.rpartition(".")
    option = _keys(bonding.kind).get(key) if prefix == f"flow.{bonding.flow}.transport" else None
    if mistake.file != MADE or option is None:
        place = f"{mistake.file}:{mistake.line}:{mistake.column}: {mistake.key}"
        return f"{place}: {mistake.message} [{mistake.code}]\n  fix: {mistake.help}"
    cure = mistake.help
    start = _START.match(mistake.message)
    if key == "receive_buffer_max" and start is not None:
        cure = (
            f"give more than {start[1]}, with which the buffer starts; "
            "one that starts smaller is for a file: ropewalk init"
        )
    return f"--{option.replace('_', '-')} {given[option]}: {mistake.message} [{mistake.code}]\n  fix: {cure}"


def _read(lines: tuple[str, ...], queue: str | None) -> tuple[BondedPath, ...]:
    return tuple(parse_path(line, number, queue) for number, line in enumerate(lines, 1))


@click.command()
@described
@overrides
@click.option("-j", "--jobs", type=WholeNumber(1), metavar="N", help="Threads; one per processor by default.")
@click.option("--why", "ask", is_flag=True, help="Say, too, what limits it and what helps, as `why` does.")
@as_json
def bond(
    *,
    paths: tuple[str, ...],
    ask: bool,
    upload: bool,
    seeds: int,
    queue: str | None,
    overrides: tuple[str, ...],
    jobs: int | None,
    as_json: bool,
    **given: str | None,
) -> None:
    """Say what it is worth to bond paths, without a file.

    ropewalk bond --path lte,20Mbit/s,30ms --path geo,20Mbit/s,280ms,0.5% --size 100MB

    MPTCP (or --transport cmt-sctp) over all paths is compared with TCP (SCTP) over each of them alone, under
    the same seeds.

    Exit codes: 0 fine, 1 the run failed, 2 the input is wrong, 130 interrupted.
    """
    with reported():
        bonding = _bonding(_read(paths, queue), given, upload=upload, seeds=seeds)
        scenario, _ = _scenario(bonding, given, overrides)
        from ropewalk.cli.why import WhyOrder, execute
        from ropewalk.why.hint import hints
        from ropewalk.worth import to_dict, worth

        if ask and as_json:
            fail("--why with --json\n  fix: ropewalk init FILE, then ropewalk why FILE --json", WRONG_INPUT)
        with Progress(scenario.name, scenario.duration_s) as progress:
            results = scenario.run(
                jobs=jobs, progress=progress.update, simulated=progress.simulated, series=False
            )
        found = worth(results, bonding.flow)
        if as_json:
            told = {"seeds": results.origin.seeds, "scenario": scenario.show(), **to_dict(found)}
            sys.stdout.write(json.dumps(told, ensure_ascii=False, allow_nan=False) + "\n")
        else:
            kept = _again(paths, {**given, "queue": queue}, upload=upload, seeds=seeds)
            _show(bonding, scenario, found, [] if ask else hints(results))
            if ask:
                execute(scenario, WhyOrder(None, "normal", jobs, None, as_json=False))
                sys.stdout.write("\n")
            _show_next_steps(kept, overrides, asked=ask)


def _show(bonding: Bonding, scenario: Scenario, found: Worth, held: list[str]) -> None:
    from ropewalk.cli.columns import Column, show_table
    from ropewalk.cli.tables import NONE, narrow, printer
    from ropewalk.worth import told

    def cell(value: Estimate | None, scale: float = 1.0) -> str:
        return NONE if value is None else narrow(value.mean, value.ci95, scale)

    out = printer()
    for paragraph in (told(found, bonding.size), held):
        for sentence in paragraph:
            out.paragraph(sentence)
        if paragraph:
            out.line()
    if (note := _doubled(scenario)) is not None:
        out.paragraph(note)
        out.line()
    rows = [("bonded", found.goodput, found.completion, found.vs_best)]
    rows += [(f"{one.path} alone", one.goodput, one.completion, one.vs_best) for one in found.alone]
    rows.append(("sum of these", found.sum, None, found.sum_vs_best))
    columns = [
        Column("over", [row[0] for row in rows], right=False, names=True),
        Column("goodput\nMbit/s", [cell(row[1], 1e6) for row in rows]),
        Column("completion\ntime s", [cell(row[2]) for row in rows]),
        Column("times the\nbest path", [cell(row[3]) for row in rows]),
    ]
    columns = [column for column in columns if set(column.cells) != {NONE}]
    over = bonding.over
    length = f"of {bonding.size}" if bonding.size else f"for {scenario.duration_s:g} s"
    show_table(
        out,
        f"{bonding.flow.capitalize()} {length}, {over.title} over all paths and {over.single} over each",
        columns,
    )
    several = f"± is the 95 % interval of {found.seeds} replications under the same seeds."
    out.paragraph(several if found.seeds > 1 else "One replication has no interval: --seeds 5 makes one.")
    out.line()


def _doubled(scenario: Scenario) -> str | None:
    """A note on a receive buffer that cannot grow and counts as memory."""
    transport = scenario.expanded()["flow"][0]["transport"]
    size = transport["receive_buffer"]
    if transport.get("receive_buffer_max") != size or transport.get("receive_counts", "payload") == "payload":
        return None
    return (
        f"The receive buffer starts with {size}, its largest size: it cannot grow and counts as SO_RCVBUF, "
        "which Linux doubles."
    )


def _again(lines: tuple[str, ...], given: dict[str, str | None], *, upload: bool, seeds: int) -> list[str]:
    """The options that describe the same again."""
    words = [word for line in lines for word in ("--path", line)]
    for name, value in given.items():
        words += [] if value is None else [f"--{name.replace('_', '-')}", value]
    words += ["--upload"] if upload else []
    return words + ([] if seeds == DEFAULT_SEEDS else ["--seeds", str(seeds)])


def _show_next_steps(options: list[str], overrides: tuple[str, ...], *, asked: bool) -> None:
    from ropewalk.cli.tables import printer

    out = printer()
    changes = [word for change in overrides for word in ("--set", change)]
    if not asked:
        out.paragraph("What limits it, and what helps: the same command with --why.")
    out.paragraph("As a file, to change and to keep:")
    out.command(["ropewalk", "init", KEPT, *options])
    out.command(["ropewalk", "why", KEPT, *changes])


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=KEPT)
@described
def init(
    *,
    file: Path,
    paths: tuple[str, ...],
    upload: bool,
    seeds: int,
    queue: str | None,
    **given: str | None,
) -> None:
    """Write a scenario of bonded paths, to begin with.

    ropewalk init mine.toml --path lte,20Mbit/s,30ms --path geo,20Mbit/s,280ms,0.5%

    Without --path it asks. FILE is bonded.toml if it is not named; - is stdout. `new` is the same.

    Exit codes: 0 fine, 1 the file could not be written, 2 the input is wrong.
    """
    with reported():
        if str(file) != STDOUT and file.exists():
            fail(f"{file}: there is such a file already\n  fix: name another one, or remove it", WRONG_INPUT)
        if paths:
            chosen = _read(paths, queue)
        elif sys.stdin.isatty():
            chosen = _asked(queue)
            given["size"] = given["size"] or _ask_size(given["duration"])
        else:
            fail(f"no --path, and no terminal to ask at\n  fix: add {FORM}, twice or more", WRONG_INPUT)
        bonding = _bonding(chosen, given, upload=upload, seeds=seeds)
        # The file that is written can be run.
        _, text = _scenario(bonding, given)
        if str(file) == STDOUT:
            sys.stdout.write(text)
            return
        write_whole(file, text.encode(), lasting=False)
        name = shlex.quote(str(file))
        tell(f"{file}: {bonding.title}\n  ropewalk run {name}\n  ropewalk why {name}")


new = copy.copy(init)
"""Another name of `init`, not listed."""
new.name, new.hidden = "new", True


def _asked(queue: str | None) -> tuple[BondedPath, ...]:
    """Asks for paths until there are enough."""
    from ropewalk.cli.tables import printer

    out = printer()
    out.paragraph("Each path in one line: NAME,RATE,DELAY,LOSS, as in geo,20Mbit/s,280ms,0.5%")
    out.paragraph("The delay is that of one way; loss may be left out; up=5Mbit/s is another rate upwards.")
    found: list[BondedPath] = []
    while True:
        enough = len(found) >= ENOUGH
        line = click.prompt(
            f"Path {len(found) + 1}{' (or Enter)' if enough else ''}", default="", show_default=False
        )
        if not line.strip():
            if enough:
                return tuple(found)
            continue
        try:
            path = parse_path(line, len(found) + 1, queue)
        except ScenarioError as error:
            out.paragraph(str(error).removeprefix("--path "))
            continue
        if path.name in [one.name for one in found]:
            out.paragraph(f"there is a path {path.name} already")
            continue
        found.append(path)


def _ask_size(duration: str | None) -> str | None:
    if duration is not None:
        return None
    text = click.prompt(
        "Size of the transfer, as in 100MB (Enter: as much as goes)", default="", show_default=False
    )
    return text.strip() or None
