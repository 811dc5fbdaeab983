"""The studies beside a reproduction: files `study-NAME.toml`; one with readings is a study for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropewalk import _core
from ropewalk.study.file import text_of

if TYPE_CHECKING:
    from pathlib import Path


def named(directory: Path) -> dict[str, tuple[Path, str | None]]:
    """File and reading of each study of a directory, by its name: `NAME`, or `NAME-READING`.

    Raises:
        OSError: a file cannot be read.
        StudyError: a file is no text.
    """
    found: dict[str, tuple[Path, str | None]] = {}
    for path in sorted(directory.glob("study-*.toml")):
        name = path.stem.removeprefix("study-")
        readings = _core.Study.readings(text_of(path), str(path))
        if readings:
            found |= {f"{name}-{reading}": (path, reading) for reading in readings}
        else:
            found[name] = (path, None)
    return found
