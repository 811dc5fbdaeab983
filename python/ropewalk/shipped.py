"""Examples of a checkout or a wheel: scenarios, studies, reproductions and measurements."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ropewalk import toml
from ropewalk.disk import write_whole

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

KINDS = {"scenario": "scenarios", "study": "studies", "measurement": "examples/measured"}
"""The kinds that can be copied, and their folders."""
REPRODUCTIONS = "reproductions"
REPRODUCTION = "reproduction"
"""A further kind, whose examples are folders."""
FOLDERS = (*KINDS.values(), REPRODUCTIONS)
"""The folders of a checkout that a wheel contains."""
INSIDE = Path(__file__).resolve().parent / "shipped"
"""Where a wheel has these folders."""
CHECKOUT = Path(__file__).resolve().parents[2]


def folder() -> Path | None:
    """The folder that contains `FOLDERS`; None if there is none."""
    if (CHECKOUT / "Cargo.toml").is_file() and (CHECKOUT / "scenarios").is_dir():
        return CHECKOUT
    return INSIDE if INSIDE.is_dir() else None


@dataclass(frozen=True, slots=True)
class Example:
    """One file that can be copied, or the folder of a reproduction."""

    kind: str
    """One of `KINDS`, or `REPRODUCTION`."""
    path: Path
    about: str
    """One line."""

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return self.path.stem if self.path.suffix == ".toml" else self.path.name


def examples() -> list[Example]:
    """All examples: by kind in the order of `KINDS`, then by name; reproductions last."""
    home = folder()
    return [] if home is None else list(_examples(home))


def _examples(home: Path) -> Iterator[Example]:
    for kind, place in KINDS.items():
        if not (home / place).is_dir():
            continue
        for path in sorted((home / place).iterdir()):
            if kind == "measurement":
                yield Example(kind, path, MEASUREMENTS.get(path.name, ""))
            elif path.suffix == ".toml":
                content = toml.values(path.read_text(encoding="utf-8"), str(path))
                yield Example(kind, path, str(content.get("description") or content.get("name") or ""))
    for about in sorted((home / REPRODUCTIONS).glob("*/reproduction.toml")):
        title = str(toml.values(about.read_text(encoding="utf-8"), str(about)).get("title", ""))
        yield Example(REPRODUCTION, about.parent, title)


MEASUREMENTS = {
    "ping.txt": "ping -D -O: round-trip times and losses (synthetic)",
    "irtt.json": "irtt: round-trip times, losses by direction (synthetic)",
    "iperf3.json": "iperf3 --json --reverse: rate to the terminal (synthetic)",
    "rrul.flent": "flent: rates of both directions and ping under load (synthetic)",
    "cell.down": "mahimahi: delivery opportunities to the terminal (synthetic)",
    "cell.up": "mahimahi: the same of the other direction (synthetic)",
    "starlink.csv": "a table with named columns, as data sets of satellites have them (synthetic)",
}


def copy(example: Example, out: Path, done: Collection[Path] = ()) -> list[Path]:
    """Copies an example and the shipped files that it names, with their folders.

    Args:
        example: what to copy.
        out: the folder that gets `scenarios/` and the others.
        done: copies that this command has made before, which may be overwritten.

    Returns:
        the copies; the first is that of the example, or any file of a reproduction.

    Raises:
        FileExistsError: one of the files exists already; nothing was copied.
        OSError: it cannot be written.
    """
    home = folder()
    assert home is not None, "an example was found there"  # noqa: S101
    pairs = [(path, out / path.relative_to(home)) for path in _needed(example.path)]
    for _, target in pairs:
        if target.exists() and target not in done:
            raise FileExistsError(17, "there is such a file already", str(target))
    for source, target in pairs:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, source.read_bytes(), lasting=False)
    return [target for _, target in pairs]


def _needed(path: Path) -> list[Path]:
    """The files to copy: a file, or all files of a folder, and the files that they name."""
    if path.is_dir():
        own = sorted([*path.glob("*.toml"), *path.glob("published/*")])
        return list(dict.fromkeys(one for file in own for one in _needed(file)))
    if path.suffix != ".toml":
        return [path]
    found = [path]
    for text in _texts(toml.values(path.read_text(encoding="utf-8"), str(path))):
        named = (path.parent / text).resolve() if 0 < len(text) < 200 and "\n" not in text else path  # noqa: PLR2004
        if named.is_file() and named not in found:
            found += [one for one in _needed(named) if one not in found]
    return found


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
