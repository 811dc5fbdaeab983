"""Compares results of WebAssembly, run in Node, with those of the machine itself: the same to the byte."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import debian

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "webassembly"
MACHINE = "wasm32-unknown-unknown"
SCENARIOS = ("two-geo-beams", "layered-graph", "leo-handovers", "space-transports")
"""Shipped scenarios that read no file: two paths, a graph, orbits, other transports."""


def missing() -> str | None:
    """Installs Node and the standard library for WebAssembly if missing; the reason where that fails."""
    if shutil.which("node") is None and (reason := debian.install("nodejs")):
        return f"Node cannot be installed: {reason}"
    rustup = shutil.which("rustup")
    if rustup is None:
        return "there is no rustup here to install the standard library for WebAssembly"
    done = subprocess.run([rustup, "target", "add", MACHINE], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        return f"rustup target add {MACHINE} failed: {done.stderr.strip().splitlines()[-1:]}"
    return None


def build(target: Path) -> tuple[list[str], list[str]]:
    """Builds both programs; the commands that print the tables of a scenario whose path follows."""
    shutil.copy(ROOT / "Cargo.lock", EXAMPLE / "Cargo.lock")
    cargo = [
        "cargo",
        "build",
        "--quiet",
        "--manifest-path",
        str(EXAMPLE / "Cargo.toml"),
        "--target-dir",
        str(target),
    ]
    for machine in ([], ["--target", MACHINE]):
        subprocess.run([*cargo, *machine], check=True)  # noqa: S603
    module = target / MACHINE / "debug" / "webassembly.wasm"
    return [str(target / "debug" / "webassembly")], ["node", str(EXAMPLE / "run.mjs"), str(module)]


def tables(command: list[str], scenario: str) -> bytes:
    """The output of `command` for a shipped scenario."""
    path = ROOT / "scenarios" / f"{scenario}.toml"
    return subprocess.run([*command, str(path)], check=True, stdout=subprocess.PIPE).stdout  # noqa: S603


def main() -> int:
    """1 if a table differs."""
    reason = missing()
    if reason is not None:
        print(f"WebAssembly is not checked on this machine: {reason}")
        return 0
    native, wasm = build(Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")))
    different = [name for name in SCENARIOS if tables(native, name) != tables(wasm, name)]
    for name in different:
        print(
            f"scenarios/{name}.toml: the tables of WebAssembly differ from those of this machine\n"
            f"  fix: compare {' '.join([*native, f'scenarios/{name}.toml'])}\n"
            f"       with    {' '.join([*wasm, f'scenarios/{name}.toml'])}",
            file=sys.stderr,
        )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
