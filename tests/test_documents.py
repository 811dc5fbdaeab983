"""Commands print what README, the tutorial and how-to guides show."""

import contextlib
import io
import re
import textwrap
from pathlib import Path

import click
import polars as pl
import pytest

import ropewalk as rw
from conftest import ROOT, Ropewalk
from ropewalk.cli.app import app
from terminal import on_terminal

TERMINAL = 80
"""Columns of the terminal that the README shows."""
README = ROOT / "README.md"
TUTORIAL = ROOT / "docs" / "tutorial" / "first-scenario.md"
HOWTO = ROOT / "docs" / "howto"
BEAMS = ROOT / "scenarios" / "two-geo-beams.toml"


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of one language, in order."""
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def lines(text: str) -> list[str]:
    """Without the widths of columns, which follow the longest name."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip("─ ")]


def prints(expected: str, found: str) -> None:
    missing = [line for line in lines(expected) if line not in lines(found)]
    assert not missing, "\n".join(["not printed:", *missing, "but:", found])


def spoken(code: str) -> str:
    """The output of a snippet."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, "snippet", "exec"), {})  # noqa: S102
    return said.getvalue()


def options(command: click.Command) -> set[str]:
    """Options of a command, or of all commands of a group."""
    parts = command.commands.values() if isinstance(command, click.Group) else [command]
    return {option for part in parts for parameter in part.params for option in parameter.opts}


def test_options_that_are_named_exist() -> None:
    known = {name: options(command) for name, command in app.commands.items()}
    named = []
    for page in [README, *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        for command, rest in re.findall(r"\bropewalk ([a-z]+)\b([^`\n]*)", text):
            if command in known:
                named += [(page.name, command, option) for option in re.findall(r"(?<!\S)--[a-z-]+", rest)]
    assert len(named) > 40
    assert [one for one in named if one[2] not in known[one[1]]] == []


def test_the_first_scenario_of_readme(ropewalk: Ropewalk, tmp_path: Path) -> None:
    [scenario] = blocks(README, "toml")
    tables, better, mistake, _ = blocks(README, "text")
    file = tmp_path / "bonded.toml"
    file.write_text(scenario, encoding="utf-8")
    run = ("run", file.name, "--seeds", "10")
    assert max(map(len, tables.splitlines())) <= TERMINAL
    prints(tables, on_terminal(TERMINAL, *run, cwd=tmp_path)[1])
    cure = ("--set", "flow.download.transport.receive_buffer_max=8MiB")
    assert " ".join(cure) in README.read_text(encoding="utf-8")
    prints(better, on_terminal(TERMINAL, *run, *cure, cwd=tmp_path)[1])
    file.write_text(scenario.replace('delay = "280ms"', 'delya = "280ms"'), encoding="utf-8")
    prints(mistake, ropewalk("run", file.name, cwd=tmp_path).stderr)


def test_the_snippet_of_readme(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    [snippet] = blocks(README, "python")
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    prints(blocks(README, "text")[3], spoken(snippet))
    assert (tmp_path / "throughput.png").stat().st_size > 10_000


def test_the_runs_of_the_tutorial(ropewalk: Ropewalk, tmp_path: Path) -> None:
    table, longer, mistakes, three, _ = blocks(TUTORIAL, "text")
    [lte] = blocks(TUTORIAL, "toml")
    copy = tmp_path / "mine.toml"
    shipped = BEAMS.read_text(encoding="utf-8")
    copy.write_text(shipped, encoding="utf-8")
    prints(table, ropewalk("run", "mine.toml", cwd=tmp_path).stdout)
    prints(longer, ropewalk("run", "mine.toml", "--set", "path.beam2.both.delay=400ms", cwd=tmp_path).stdout)

    wrong = shipped.replace("delay =", "delya =", 1).replace('like = "beam1"', 'like = "beem1"')
    copy.write_text(wrong.replace('"cubic"', '"cubik"'), encoding="utf-8")
    done = ropewalk("run", "mine.toml", cwd=tmp_path)
    assert done.returncode == 2
    prints(mistakes, done.stderr)
    assert "3 mistakes" in done.stderr

    copy.write_text(shipped.replace('like = "beam1"\n', f'like = "beam1"\n\n{lte}'), encoding="utf-8")
    prints(three, ropewalk("run", "mine.toml", cwd=tmp_path).stdout)


def test_the_law_of_the_tutorial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    prints(blocks(TUTORIAL, "text")[4], spoken(blocks(TUTORIAL, "python")[1]))


def test_many_seeds(ropewalk: Ropewalk) -> None:
    [table] = blocks(HOWTO / "run-many-seeds.md", "text")
    prints(table, ropewalk("run", BEAMS, "--seeds", "200").stdout)


def test_the_bonded_link_of_the_operator(ropewalk: Ropewalk, tmp_path: Path) -> None:
    worth, why, cured, better = blocks(HOWTO / "why-is-my-bonded-link-slow.md", "text")
    link = ("--path", "lte,20Mbit/s,30ms", "--path", "geo,20Mbit/s,280ms,0.5%", "--receive-buffer")
    prints(worth, ropewalk("bond", *link, "512KiB").stdout)
    ropewalk("init", "bonded.toml", *link, "512KiB", cwd=tmp_path)
    prints(why, ropewalk("why", "bonded.toml", cwd=tmp_path).stdout)
    cure = ("--set", "flow.download.transport.receive_buffer_max=16MiB")
    prints(cured, ropewalk("why", "bonded.toml", *cure, cwd=tmp_path).stdout)
    prints(better, ropewalk("bond", *link, "16MiB", "--congestion", "bbr").stdout)


def row_of(shown: str, flow: str) -> list[str]:
    """The figures of a flow in the first table: means alone."""
    line = next(line for line in shown.splitlines() if line.startswith(f" {flow} "))
    return [word.partition("±")[0] for word in line.split()[1:]]


def test_the_figures_of_cmt_sctp(ropewalk: Ropewalk, tmp_path: Path) -> None:
    page = HOWTO / "use-cmt-sctp.md"
    text = textwrap.dedent(page.read_text(encoding="utf-8"))
    mine, neighbour, outage = (
        textwrap.dedent(block)
        for block in re.findall(r"^   ```toml\n(.*?)^   ```", text, re.DOTALL | re.MULTILINE)
    )
    key = "flow.download.transport"
    file = tmp_path / "mine.toml"
    file.write_text(mine + outage)
    ways = {
        "CMT-SCTP": [],
        "CMT-SCTP, `path_retries = 0`": [f"{key}.path_retries=0"],
        'CMT-SCTP, `path_retries = 0`, `heartbeat_interval = "1s"`': [
            f"{key}.path_retries=0",
            f"{key}.heartbeat_interval=1s",
        ],
        "MPTCP": [f'{key}={{ kind = "mptcp" }}'],
    }
    file.write_text(mine)
    for name, way in (("CMT-SCTP", []), ("MPTCP", ["--set", ways["MPTCP"][0]])):
        line = next(line for line in ropewalk("run", file, *way).stdout.splitlines() if " download " in line)
        assert re.search(rf"\b{line.split()[2].replace('±', ' ± ')} s over {name}", text), line
    file.write_text(mine + outage)
    for name, sets in ways.items():
        changes = [word for one in sets for word in ("--set", one)]
        goodput, stall = row_of(ropewalk("run", file, *changes).stdout, "download")[:2]
        row = next(line for line in text.splitlines() if line.strip().startswith(f"| {name} |"))
        told = [cell.split()[0] for cell in row.split("|")[2:4]]
        assert told == [goodput, f"{float(stall):.{len(told[1].partition('.')[2])}f}"], name
    file.write_text(mine.replace(', size = "20MB"', "") + neighbour)
    for congestion in ("sctp", "lia", "rpv1", "rpv2"):
        shown = ropewalk("run", file, "--set", f"{key}.congestion={congestion}").stdout
        row = next(line for line in text.splitlines() if line.strip().startswith(f"| `{congestion}` |"))
        told = [cell.split()[0] for cell in row.split("|")[2:4]]
        assert told == [row_of(shown, "download")[0], row_of(shown, "neighbour")[0]], congestion


def test_lines_of_a_trace(ropewalk: Ropewalk) -> None:
    whole, shortened = blocks(HOWTO / "read-a-trace.md", "text")
    trace = ropewalk("run", BEAMS, "--seed", "1", "--set", "duration=4s", "--trace").stdout
    prints(whole, trace)
    # The last column is left out.
    prints(shortened, "\n".join(line.rsplit(maxsplit=1)[0] for line in trace.splitlines() if line.strip()))


def test_the_surprises_are_as_large_as_the_page_says() -> None:
    page = " ".join(
        (ROOT / "docs" / "explanation" / "why-these-numbers.md").read_text(encoding="utf-8").split()
    )

    def means(results: rw.Results, flow: str) -> dict[str, float]:
        rows = results.flows.filter(pl.col("flow") == flow).select(pl.selectors.float().mean())
        return rows.row(0, named=True)

    beams = rw.Scenario.load(BEAMS)
    clean = beams.set("path.beam1.both.loss", "none").set("duration", "120s")
    alone = means(clean.run(seeds=1, series=False), "upload")
    goodput, part = alone["goodput_bit_s"] / 1e6, alone["benefit_vs_sum"]
    assert f"{goodput:.1f} Mbit/s, {part:.2f} of the sum" in page
    assert f"its delay of {alone['delay_mean_s']:.1f} s in the mean" in page
    short = beams.run(seeds=20, series=False)
    one, other = (means(short, f"upload@beam{n}")["goodput_bit_s"] / 1e6 for n in (1, 2))
    assert f"gets {one:.2f} Mbit/s in 30 s" in page
    beams_alone = short.flows.filter(pl.col("flow") != "upload").group_by("run")
    better = beams_alone.agg(pl.col("goodput_bit_s").max())["goodput_bit_s"].to_numpy().mean() / 1e6
    assert f"{one:.2f} and {other:.2f} are the means of the beams" in page
    assert f"the mean of the better of both is {better:.2f}." in page
    long = beams.set("duration", "600s").run(seeds=20, series=False)
    assert f"the benefit is {means(long, 'upload')['benefit_vs_best']:.2f}" in page
    assert f"in 30 s and {means(long, 'upload@beam1')['goodput_bit_s'] / 1e6:.2f} in 600 s" in page
    mixed = rw.Scenario.load(ROOT / "scenarios" / "geo-plus-lte.toml").run(series=False)
    both, lte = means(mixed, "download"), means(mixed, "download@lte")
    gain, part = both["benefit_vs_best"], both["benefit_vs_sum"]
    assert f"{gain:.2f} times what LTE alone gives, and {part:.2f} of the sum" in page
    assert f"{both['delay_mean_s'] * 1e3:.0f} ms against {lte['delay_mean_s'] * 1e3:.0f} ms" in page
