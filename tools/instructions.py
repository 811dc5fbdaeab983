"""Counts instructions and cache misses of the benchmark scenarios and compares them with those on record.

Wall-clock time varies between runs (shared virtual CPUs), instructions do not: the same program with the same
input executes as many again. benches/instructions.toml holds the counts. A case that needs over 3 % more
instructions fails, and so does one that needs 3 % less, so that the record follows what was gained.
`--update` writes what was counted.

Cache misses are those of a simulated machine: first-level caches of 32 KiB, a second level of 512 KiB. I1
misses tell whether the code of a packet fits into the instruction cache, L2 misses whether the state of the
flows does. A case with over 25 % more L2 misses fails, unless they are fewer than one in ten thousand
instructions.
I1 misses are only printed: they move by a third with the place of functions in the program, which another
source directory changes.

Beside them stands the share of the segments that take the usual way through sender, endpoint and MPTCP
connection (decision 0011), of the layer in which it is least. A case whose share falls by over 2 percentage
points fails, so that no change closes that way unnoticed.

Another compiler makes other code. Then the commit that last changed the record is counted with it, too, and
takes the place of the record.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import debian

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "benches" / "instructions.toml"
TOLERANCE = 0.03
MISS_TOLERANCE = 0.25
# Fewer misses per instruction are noise of addresses.
FEW_MISSES = 1e-4
SHARE_TOLERANCE = 0.02
# A segment arrives; it takes the general way through its sender, its endpoint, its MPTCP connection. None of
# these functions is inlined.
ARRIVES = ("MptcpConnection>::on_packet", "::TcpConnection::on_packet")
GENERAL = ("Sender>::on_any_ack", "::Endpoint::take_in", "MptcpConnection>::take_in")
CACHES = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=524288,8,64"]

HEAD = """\
# Instructions and cache misses of the benchmark scenarios over a part of their duration, by
# tools/instructions.py; other compilers make other code, so they hold for this one.
"""


Case = dict[str, Any]
MISSES = ("i1_misses", "l2_misses")
GATED_MISSES = ("l2_misses",)


class NoHistoryError(Exception):
    """The commit that last changed the record is missing, or cannot be checked out."""


def output(command: list[str], where: Path, **environment: str) -> str:
    """The standard output of a command."""
    settings = {**os.environ, **environment}
    done = subprocess.run(command, cwd=where, env=settings, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return done.stdout


def compiler() -> str:
    """The version of the Rust compiler."""
    return output(["rustc", "--version"], ROOT).strip()


def benchmark(sources: Path, name: str = "packet_hops", **environment: str) -> Path:
    """Builds a benchmark of these sources and returns its program."""
    command = ["cargo", "bench", "--package", "lab", "--bench", name, "--locked", "--quiet"]
    command += ["--no-run", "--message-format", "json"]
    lines = output(command, sources, **environment).splitlines()
    messages = (json.loads(line) for line in lines if line.startswith("{"))
    programs = (m["executable"] for m in messages if m.get("target", {}).get("name") == name)
    return Path(next(p for p in programs if p))


def valgrind() -> str:
    """Valgrind, installed if it is missing."""
    if not shutil.which("valgrind"):
        print("installing Valgrind to count instructions")
        if reason := debian.install("valgrind", "libc6-dbg"):
            sys.exit(f"Valgrind is needed and cannot be installed: {reason}\n  fix: apt-get install valgrind")
    return "valgrind"


def usual_share(profile: str) -> float | None:
    """The share of segments that take the usual way in a profile of Callgrind; none if no segment arrives.

    That of the layer in which it is least.
    """
    names: dict[str, str] = {}
    arrived, general = 0, dict.fromkeys(GENERAL, 0)
    called = ""
    for line in profile.splitlines():
        if found := re.match(r"c?fn=(\(\d+\))(?: (.*))?", line):
            number, name = found.groups()
            called = names.setdefault(number, name or "")
        elif found := re.match(r"calls=(\d+)", line):
            arrived += int(found[1]) if called.endswith(ARRIVES) else 0
            for layer in GENERAL:
                general[layer] += int(found[1]) if called.endswith(layer) else 0
    return round(1 - max(general.values()) / arrived, 3) if arrived else None


def count(program: Path, case: str, duration: str) -> Case:
    """Instructions and misses of one case, and its share of usual segments."""
    with tempfile.NamedTemporaryFile() as out:
        command = [valgrind(), "--tool=callgrind", *CACHES, f"--callgrind-out-file={out.name}", str(program)]
        command += [case, "--duration", duration]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
        share = usual_share(Path(out.name).read_text())
    found = re.search(r"Collected : ([\d ]+)", done.stderr)
    if done.returncode or not found:
        sys.exit(f"{' '.join(command)}: failed\n{done.stderr[-2000:]}")
    case_counts = of_callgrind([int(number) for number in found[1].split()])
    return case_counts if share is None else {**case_counts, "usual": share}


def of_callgrind(events: list[int]) -> Case:
    """The sums that callgrind prints: Ir, Dr, Dw, misses of I1, of D1 (two) and of the last level (three)."""
    instructions, _, _, i1_misses, _, _, *last_level = events
    return {"instructions": instructions, "i1_misses": i1_misses, "l2_misses": sum(last_level)}


def counted(sources: Path, cases: dict[str, Case], **environment: str) -> dict[str, Case]:
    """The cases with what these sources need for them."""
    program = benchmark(sources, **environment)
    return {
        name: {"duration": case["duration"], **count(program, name, case["duration"])}
        for name, case in cases.items()
    }


def written(rustc: str, cases: dict[str, Case]) -> str:
    """The record as text."""
    lines = [f'{HEAD}rustc = "{rustc}"']
    for name, case in cases.items():
        lines += ["", f"[cases.{name}]", f'duration     = "{case["duration"]}"']
        lines += [f"{key:<12} = {case[key]:_}" for key in ("instructions", *MISSES, "usual") if key in case]
    return "\n".join(lines) + "\n"


def git(*arguments: str) -> str:
    """The output of git.

    Raises:
        NoHistoryError: it cannot be done.
    """
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    except FileNotFoundError:
        raise NoHistoryError("there is no git") from None
    if done.returncode:
        raise NoHistoryError(done.stderr.strip().removeprefix("fatal: "))
    return done.stdout.strip()


def last_recorded() -> str:
    """The commit that last changed the record.

    Raises:
        NoHistoryError: the clone does not have it.
    """
    commit = git("log", "-1", "--format=%H", "--", str(RECORD))
    if not commit:
        raise NoHistoryError("no commit has the record")
    cut = Path(git("rev-parse", "--path-format=absolute", "--git-path", "shallow"))
    # Where history is cut off, every file looks new.
    if cut.exists() and commit in cut.read_text().split():
        raise NoHistoryError("the clone is shallow")
    return commit


def recounted(commit: str, rustc: str, target: Path, cases: dict[str, Case]) -> dict[str, Case]:
    """The cases as that commit needs them with this compiler; counted once, and kept beside what is built."""
    kept = target / f"instructions-{commit}.toml"
    if kept.exists():
        before = tomllib.loads(kept.read_text())
        if before["rustc"] == rustc and before["cases"].keys() == cases.keys():
            return dict(before["cases"])
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder) / "sources"
        git("worktree", "add", "--detach", str(sources), commit)
        try:
            # A target directory of its own: Cargo does not tell two copies of a workspace apart.
            found = counted(sources, cases, CARGO_TARGET_DIR=f"{folder}/target")
        finally:
            git("worktree", "remove", "--force", str(sources))
    target.mkdir(parents=True, exist_ok=True)
    kept.write_text(written(rustc, found))
    return found


def compared(before: dict[str, Case], now: dict[str, Case], *, comparable: bool) -> bool:
    """Prints a table. True if no case is off."""
    right = True
    heads = f"{'I1 misses':>20} {'L2 misses':>20} {'usual':>8}"
    print(f"{'case':<20} {'before':>16} {'now':>16} {'change':>8} {heads}")
    for name, case in now.items():
        old, new = before[name]["instructions"], case["instructions"]
        change = new / old - 1 if old else 0.0
        bad = comparable and abs(change) > TOLERANCE
        row = f"{name:<20} {old:>16,} {new:>16,} {change:>+8.1%}{'  !' if bad else ''}"
        for key in MISSES:
            text, more = missed(before[name].get(key), case.get(key, 0), new)
            more = comparable and more and key in GATED_MISSES
            bad = bad or more
            row += f" {text:>20}{'  !' if more else ''}"
        share, known = case.get("usual"), before[name].get("usual")
        fell = share is not None and known is not None and share < known - SHARE_TOLERANCE
        bad = bad or (comparable and fell)
        row += f" {'' if share is None else f'{share:.1%}':>8}{'  !' if comparable and fell else ''}"
        right = right and not bad
        print(row.rstrip())
    return right


def missed(before: int | None, now: int, instructions: int) -> tuple[str, bool]:
    """Misses as text, with their change where there is a record; and whether they have grown."""
    if before is None:
        return f"{now:,}", False
    change = now / before - 1 if before else 0.0
    few = max(before, now) < FEW_MISSES * instructions
    return f"{now:,} {change:+.0%}", change > MISS_TOLERANCE and not few


def main() -> int:
    """Counts, prints a table, compares or updates. 1 if a case is not as it was."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--update", action="store_true", help="write the counts to benches/instructions.toml")
    update = parser.parse_args().update
    record = tomllib.loads(RECORD.read_text())
    target = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
    rustc, before = compiler(), record["cases"]
    comparable, nothing = rustc == record["rustc"], ""
    if not comparable and not update:
        print(f"counts on record are of {record['rustc']}, this is {rustc}:", flush=True)
        try:
            commit = last_recorded()
            print(f"the commit of the record, {commit[:10]}, is counted with it, too", flush=True)
            before, comparable = recounted(commit, rustc, target, before), True
        except NoHistoryError as error:
            nothing = f"{error}, so the commit of the record cannot be counted: NOTHING HAS BEEN COMPARED"
    now = counted(ROOT, record["cases"])
    right = compared(before, now, comparable=comparable)
    if update:
        RECORD.write_text(written(rustc, now))
        return 0
    if nothing:
        cure = "a clone with its history, as after git fetch --unshallow; or"
        cure += f" RUSTUP_TOOLCHAIN={record['rustc'].split()[1]} make count"
        print(f"{nothing}\n  fix: {cure}", file=sys.stderr)
    if not right:
        cure = "if that is meant: make count-update, and say why in the commit"
        print(
            f"more than 3 % off, 25 % more L2 misses, or fewer segments on the usual way; {cure}",
            file=sys.stderr,
        )
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
