"""Builds a wheel that has scenarios, studies, reproductions and measurements in it, and tries it out.

python tools/wheel.py build    # into dist/; with MATURIN_PGO=1 in the environment guided by a profile
python tools/wheel.py test     # in a fresh venv, away from the checkout, with the libraries of .venv
python tools/wheel.py install  # the same with libraries from the package index, as a user installs it
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from ropewalk.shipped import FOLDERS, INSIDE  # noqa: E402

DIST = ROOT / "dist"
LEFT_OUT = shutil.ignore_patterns("ropewalk.schema.json", "__pycache__", "*.pyc")
COMMANDS = [
    ["--version"],
    ["examples"],
    ["examples", "two-geo-beams", "coupled-and-schedulers", "geo-rain-fade", "ping.txt"],
    [
        "run",
        "scenarios/two-geo-beams.toml",
        "--seeds",
        "1",
        "--set",
        "duration=3s",
        "--out",
        "run",
        "--plots",
    ],
    ["report", "run"],
    ["show", "scenarios/geo-rain-fade.toml"],
    ["study", "studies/coupled-and-schedulers.toml", "--dry-run"],
    ["import", "examples/measured/ping.txt", "--down", "20Mbit/s", "--name", "sat"],
    ["run", "sat.toml"],
    ["bond", "--path", "20Mbit/s,30ms", "--path", "20Mbit/s,280ms,0.5%", "--duration", "3s", "--seeds", "2"],
    ["init", "--path", "20Mbit/s,30ms", "--path", "20Mbit/s,280ms,0.5%"],
    ["reproduce"],
    ["reproduce", "lantto2025", "--quick", "--out", "reproduced"],
    ["examples", "omueti2007"],
    [
        "reproduce",
        "reproductions/omueti2007",
        "--compare",
        "--figure",
        "figure-02",
        "--set",
        "duration=100s",
    ],
    ["doctor"],
]
"""The commands that must work without the checkout."""


def build() -> Path:
    """The wheel; the extension is that of `make build` as long as no source is newer."""
    shutil.rmtree(INSIDE, ignore_errors=True)
    for old in DIST.glob("ropewalk-*.whl"):
        old.unlink()
    try:
        for name in FOLDERS:
            shutil.copytree(ROOT / name, INSIDE / name, ignore=LEFT_OUT)
        maturin = Path(sys.executable).parent / "maturin"
        command = [str(maturin), "build", "--release", "--locked", "--quiet", "--out", str(DIST)]
        subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603
    finally:
        shutil.rmtree(INSIDE, ignore_errors=True)
    wheel = newest()
    print(f"{wheel.relative_to(ROOT)}, {wheel.stat().st_size / 1e6:.1f} MB")
    return wheel


def newest() -> Path:
    """The wheel that was built."""
    found = sorted(DIST.glob("ropewalk-*.whl"))
    if not found:
        sys.exit("there is no wheel in dist/: make wheel")
    return found[-1]


def test(*, libraries_from_index: bool) -> None:
    """Installs the wheel into a fresh venv and runs `COMMANDS` there."""
    with tempfile.TemporaryDirectory(prefix="ropewalk-wheel-") as folder:
        place = Path(folder)
        venv.create(place / "venv", with_pip=True)
        python = place / "venv" / "bin" / "python"
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if not libraries_from_index:
            install.append("--no-deps")
            own = next((place / "venv" / "lib").glob("python*/site-packages"))
            # After what the venv has itself, so that ropewalk is that of the wheel.
            (own / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
        subprocess.run([*install, str(newest())], check=True)  # noqa: S603
        work = place / "work"
        work.mkdir()
        for arguments in COMMANDS:
            command = [str(python.parent / "ropewalk"), *arguments]
            done = subprocess.run(  # noqa: S603
                command,
                cwd=work,
                capture_output=True,
                text=True,
                check=False,
                env={"PATH": "/usr/bin:/bin", "HOME": folder},
            )
            if done.returncode != 0 or str(ROOT) in done.stdout:
                sys.exit(f"{' '.join(arguments)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        where = "import ropewalk, ropewalk._core as core; print(ropewalk.__file__, core.BUILD, sep='\\n')"
        found = subprocess.run(  # noqa: S603
            [str(python), "-c", where], cwd=work, capture_output=True, text=True, check=True
        )  # noqa: RUF100, S603
        file, made = found.stdout.splitlines()
        if not file.startswith(str(place)):
            sys.exit(f"not the wheel was run, but {file}")
        if os.environ.get("MATURIN_PGO") and made != "guided by a profile":
            sys.exit(f"the wheel is not guided by a profile, but {made}")
        print(f"{newest().name}, {made}: {len(COMMANDS)} commands work in a fresh venv")


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["build"]
    for word in wanted:
        if word == "build":
            build()
        elif word in {"test", "install"}:
            test(libraries_from_index=word == "install")
        else:
            sys.exit(f"{word}: build, test or install")
