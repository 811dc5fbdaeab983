"""Counts the instructions of the benchmark scenarios and compares them with what is on record.

Seconds depend on the machine's mood, instructions do not: the same program with the same input executes
as many again. benches/instructions.toml holds the counts. A case that needs over 3 % more fails, and so does
one that needs 3 % less, so that the record follows what was gained. `--update` writes what was counted.
"""

import argparse
import json
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

HEAD = """\
# Instructions of the benchmark scenarios over a part of their duration, by tools/instructions.py; other
# compilers make other code, so they hold for this one.
"""


Case = dict[str, Any]


def output(command: list[str]) -> str:
    """What a command writes to its standard output."""
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout  # noqa: S603


def compiler() -> str:
    """The version of the Rust compiler."""
    return output(["rustc", "--version"]).strip()


def benchmark() -> Path:
    """Builds the benchmark and returns its program."""
    command = ["cargo", "bench", "--package", "lab", "--bench", "packet_hops", "--locked", "--quiet"]
    command += ["--no-run", "--message-format", "json"]
    lines = output(command).splitlines()
    messages = (json.loads(line) for line in lines if line.startswith("{"))
    programs = (m["executable"] for m in messages if m.get("target", {}).get("name") == "packet_hops")
    return Path(next(p for p in programs if p))


def valgrind() -> str:
    """Valgrind, installed if it is missing."""
    if not shutil.which("valgrind"):
        print("installing Valgrind to count instructions")
        if reason := debian.install("valgrind", "libc6-dbg"):
            sys.exit(f"Valgrind is needed and cannot be installed: {reason}\n  fix: apt-get install valgrind")
    return "valgrind"


def count(program: Path, case: str, duration: str) -> int:
    """Instructions of one case."""
    with tempfile.NamedTemporaryFile() as out:
        command = [valgrind(), "--tool=callgrind", f"--callgrind-out-file={out.name}", str(program)]
        command += [case, "--duration", duration]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        sys.exit(f"{' '.join(command)}: failed\n{done.stderr[-2000:]}")
    return int(found[1])


def written(rustc: str, cases: dict[str, Case]) -> str:
    """The record as text."""
    tables = (
        f'\n[cases.{name}]\nduration     = "{case["duration"]}"\ninstructions = {case["instructions"]:_}\n'
        for name, case in cases.items()
    )
    return HEAD + f'rustc = "{rustc}"\n' + "".join(tables)


def main() -> int:
    """Counts, prints a table, compares or updates. 1 if a case is not as on record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--update", action="store_true", help="write the counts to benches/instructions.toml")
    update = parser.parse_args().update
    record = tomllib.loads(RECORD.read_text())
    rustc = compiler()
    comparable = rustc == record["rustc"]
    if not comparable and not update:
        print(f"counts on record are of {record['rustc']}, this is {rustc}: nothing is compared")
    program = benchmark()
    wrong = 0
    print(f"{'case':<20} {'on record':>16} {'now':>16} {'change':>8}")
    for name, case in record["cases"].items():
        before, now = case["instructions"], count(program, name, case["duration"])
        change = now / before - 1 if before else 0.0
        bad = comparable and abs(change) > TOLERANCE
        wrong += bad
        print(f"{name:<20} {before:>16,} {now:>16,} {change:>+8.1%}{'  !' if bad else ''}")
        case["instructions"] = now
    if update:
        RECORD.write_text(written(rustc, record["cases"]))
        return 0
    if wrong:
        cure = "if that is meant: make count-update, and say why in the commit"
        print(f"more than 3 % off the record; {cure}", file=sys.stderr)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
