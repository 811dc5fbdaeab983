"""`ropewalk report`, `ropewalk figures` and `ropewalk export`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from ropewalk.cli.reporting import RUN_FAILED, WRONG_INPUT, describe, fail, refuse_to_replace, tell
from ropewalk.report.source import ReportError
from ropewalk.store import check_writable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FIGURES = "figures"


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    """Results that cannot be written where `--out` says, or where they go without it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        cure = "name another place with --out"
        fail(f"--out {out}: cannot be written: {describe(error, cure)}", RUN_FAILED)


@contextmanager
def _judged(directory: Path) -> Iterator[None]:
    """A directory that is no results, or lacks a file, is wrong input; what cannot be written is not."""
    if not directory.is_dir():
        found = "not a directory" if directory.exists() else "no such directory"
        fail(
            f"{directory}: {found}\n"
            "  fix: name the one that `ropewalk run`, `study` or `reproduce` has written with --out",
            WRONG_INPUT,
        )
    try:
        yield
    except ReportError as error:
        fail(str(error), WRONG_INPUT)
    except BrokenPipeError:
        raise
    except FileNotFoundError as error:
        fail(f"{describe(error)}\n  fix: run it again, or put its store back in its place", WRONG_INPUT)
    except OSError as error:
        fail(describe(error), RUN_FAILED)


def write_report(directory: Path, out: Path | None, seed: int | None, case: str | None) -> None:
    """Writes the report and says where it is."""
    from ropewalk import report

    target = directory / report.FILE if out is None else out
    with _judged(directory):
        kept = [file for file in directory.iterdir() if file.suffix != ".html"] if directory.is_dir() else []
        refuse_to_replace(kept, "--out", target, "a file of the results")
        text = report.build(directory, run=seed, case=case)
        with _writing(target):
            report.save(text, target)
    tell(f"{target} ({len(text.encode()) / 1e6:.1f} MB)")


def write_figures(
    directory: Path, formats: str, out: Path | None, seed: int | None, case: str | None
) -> None:
    """Draws the figures and says where they are."""
    from ropewalk import plots
    from ropewalk.report.source import file_names, open_source

    wanted = tuple(dict.fromkeys(part.strip() for part in formats.split(",")))
    if unknown := [part for part in wanted if part not in plots.FORMATS]:
        known = ", ".join(plots.FORMATS)
        fail(f"--format {formats}: found {unknown[0]!r}, known are {known}", WRONG_INPUT)
    with _judged(directory):
        source = open_source(directory, run=seed, case=case)
        if source.kind == "reproduction":
            fail(
                f"{directory}: a reproduction has its figures already, in {directory / FIGURES}/\n"
                f"  fix: name one of its studies for those of it: {directory / 'studies' / 'STUDY'}",
                WRONG_INPUT,
            )
        target = directory / FIGURES if out is None else out
        folders = file_names(source.cases)
        count = 0
        for section in source.sections:
            # Cases have the same figures: each has a folder.
            place = target if section.case is None else target / folders[section.case]
            with _writing(target):
                count += len(plots.write(section.charts, place, wanted))
        tell(f"{count} files in {target}/")


def write_export(directory: Path, form: str, out: Path | None) -> None:
    """Writes the files and says where they are."""
    from ropewalk.export import export

    with _judged(directory):
        with _writing(directory if out is None else out):
            check_writable(directory if out is None else out)
        written = export(directory, form, out)
        tell(f"{len(written)} files in {written[0].parent}/")
