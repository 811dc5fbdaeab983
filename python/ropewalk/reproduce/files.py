"""Reads reproductions: `reproduction.toml`, `quantities.toml`, `claims.toml`, the study files beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ropewalk import arguments, shipped
from ropewalk.reproduce.claims import Claims
from ropewalk.reproduce.model import PROFILE, Quantity, Reproduction
from ropewalk.reproduce.published import Published, TableError, read
from ropewalk.reproduce.series import SeriesMetric
from ropewalk.reproduce.studies import named
from ropewalk.reproduce.tables import TomlFile
from ropewalk.study import file as study_files
from ropewalk.study.metrics import Metric, MetricError
from ropewalk.study.mistakes import (
    UNKNOWN_NAME,
    UNREADABLE,
    WRONG_VALUE,
    did_you_mean,
)

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from ropewalk.study.mistakes import Path as Place
    from ropewalk.study.model import StudyFile

DIRECTORY = shipped.REPRODUCTIONS
ABOUT, QUANTITIES, CLAIMS = "reproduction.toml", "quantities.toml", "claims.toml"
OVERRIDING = ("metric", "over", "scale", "pool")


class NotFound(ValueError):
    """There is no such reproduction."""


def home() -> Path:
    """The directory of the reproductions: of the checkout that this package belongs to, or of the wheel.

    Raises:
        NotFound: the package is installed without them.
    """
    found = shipped.folder()
    if found is None or not (found / DIRECTORY).is_dir():
        raise NotFound(
            "there are no reproductions in this installation\n"
            "  fix: name the directory of one, as in `ropewalk reproduce checkout/reproductions/omueti2007`, "
            "or install the wheel that `make wheel` builds"
        )
    return found / DIRECTORY


def names() -> list[str]:
    """The reproductions that come with Ropewalk.

    Raises:
        NotFound: the package is installed without its checkout.
    """
    return sorted(path.parent.name for path in home().glob(f"*/{ABOUT}"))


def find(name: str | os.PathLike[str]) -> Path:
    """The directory of a reproduction, by its name or as it is.

    Raises:
        NotFound: there is none of this name.
    """
    place = arguments.path("name", name)
    if (place / ABOUT).is_file():
        return place
    known = names()
    if place.is_dir() and str(name) not in known:
        raise NotFound(
            f"{name}: no {ABOUT} there\n  fix: name the directory of a reproduction, or {', '.join(known)}"
        )
    if str(name) not in known:
        raise NotFound(f'there is no reproduction "{name}"\n  fix: {did_you_mean(str(name), known)}')
    return home() / str(name)


def load(name: str | os.PathLike[str], *, judged: bool = True) -> Reproduction:
    """Reads a reproduction by its name or directory.

    Args:
        name: one of `names`, or a directory.
        judged: with its claims, which need not fit files that have been changed.

    Raises:
        NotFound: there is none of this name.
        OSError: a file cannot be read.
        StudyError: a file has mistakes.
    """
    directory = find(name)
    about = _About(directory)
    quantities = _Quantities(directory, about.profiles)
    studies = _Studies(directory, about.profiles or ("",)).load(quantities)
    loaded = Reproduction(
        directory=directory,
        name=about.name,
        title=about.title,
        source=about.source,
        profiles=about.profiles,
        apart=about.apart,
        readings=about.readings,
        quick_replications=about.quick_replications,
        quantities=quantities.found,
        published=quantities.published,
        roots=(),
        claims=(),
        studies=studies,
    )
    if not judged:
        return loaded
    claims = Claims(directory / CLAIMS, loaded)
    return replace(loaded, roots=claims.roots, claims=claims.claims, told=claims.told)


class _About(TomlFile):
    def __init__(self, directory: Path) -> None:
        super().__init__(directory / ABOUT, "reproduction")
        self.name: str = self.root.get("name", directory.resolve().name)
        self.title: str = self.root.get("title", "")
        self.source: str = self.root.get("source", "")
        self.profiles = tuple(profile for profile in self.root.get("profiles", []) if profile)
        self.apart = tuple(self.root.get("apart", []))
        given: dict[str, str] = self.root.get("readings", {})
        self.readings = {profile: given.get(profile, "") for profile in self.profiles}
        self.quick_replications: int | None = self.root.get("quick", {}).get("replications")
        self.mistakes.raise_any()


class _Quantities(TomlFile):
    def __init__(self, directory: Path, profiles: tuple[str, ...]) -> None:
        super().__init__(directory / QUANTITIES, "quantities")
        self._profiles = profiles
        self.found: dict[str, Quantity] = {}
        self.published: dict[str, Published] = {}
        for name, table in self.root.items():
            if "table" in table:
                self._take_published(name, table)
            else:
                self.found[name] = self._quantity(name, table, (name,))
        self.mistakes.raise_any()

    def _take_published(self, name: str, table: dict[str, Any]) -> None:
        file, value = self.path.parent / table["table"], table.get("value", "")
        if not value:
            return
        try:
            self.published[name] = read(name, file, value, table.get("by", []))
        except TableError as error:
            self.mistakes.add((name,), WRONG_VALUE, str(error), error.cure)

    def _quantity(self, name: str, table: dict[str, Any], place: Place) -> Quantity:
        metric = _metric(table)
        # As the study's own tables show it, unless said otherwise.
        usual_unit, usual_divisor = metric.unit
        scale: float = table.get("scale", 1.0 if "unit" in table else 1.0 / usual_divisor)
        unit: str = table.get("unit", usual_unit if "scale" not in table else "")
        return Quantity(
            name,
            table.get("study", ""),
            metric,
            scale,
            unit,
            tuple(table.get("pool", [])),
            _divisor(table),
            self._under(name, table, place),
        )

    def _under(self, name: str, table: dict[str, Any], place: Place) -> dict[str, Quantity]:
        """The quantity as the profiles have it that say otherwise."""
        readings: dict[str, Any] = table.get("profile", {})
        found = {}
        for profile, other in readings.items():
            at = (*place, "profile", profile)
            if profile not in self._profiles:
                cure = did_you_mean(profile, self._profiles)
                self.mistakes.add(at, UNKNOWN_NAME, f'there is no profile "{profile}"', cure)
            else:
                # Scale and divisor belong to their metric.
                gone = {"profile", *(OVERRIDING if "metric" in other else ())}
                rest = {key: value for key, value in table.items() if key not in gone}
                found[profile] = self._quantity(name, rest | other, at)
        return found


def _divisor(table: dict[str, Any]) -> Metric | None:
    try:
        return Metric.parse(table["over"]) if table.get("over") else None
    except MetricError:
        return None


def _metric(table: dict[str, Any]) -> Metric | SeriesMetric:
    """The metric, or any where there is none: the file is refused then."""
    try:
        if "series" not in table:
            return Metric.parse(table.get("metric", ""))
        return SeriesMetric.parse(
            table["series"],
            table.get("make", "mean"),
            bin_s=table.get("bin", 0.0),
            from_s=table.get("from", 0.0),
            until_s=table.get("until"),
        )
    except MetricError:
        return Metric("", None, "runs", "", "end_s")


class _Studies:
    """All study files `study-NAME.toml` of a directory that quantities name."""

    def __init__(self, directory: Path, profiles: tuple[str, ...]) -> None:
        self._directory = directory
        self._profiles = profiles

    def load(self, quantities: _Quantities) -> dict[str, StudyFile]:
        found: dict[str, StudyFile] = {}
        there = named(self._directory)
        for quantity in quantities.found.values():
            for profile in self._profiles:
                name = quantity.study.replace(PROFILE, profile)
                if name not in there:
                    message = f"there is no study-{name}.toml"
                    quantities.mistakes.add(
                        (quantity.name, "study"), UNREADABLE, message, did_you_mean(name, there)
                    )
                    continue
                if name not in found:
                    found[name] = study_files.load(*there[name])
                here = quantity.under.get(profile, quantity)
                _check_pool(quantities, here, [factor.name for factor in found[name].factors])
        quantities.mistakes.raise_any()
        return found


def _check_pool(quantities: _Quantities, quantity: Quantity, factors: list[str]) -> None:
    for factor in quantity.pool:
        if factor not in factors:
            message = f'the study has no factor "{factor}"'
            quantities.mistakes.add(
                (quantity.name, "pool"), UNKNOWN_NAME, message, did_you_mean(factor, factors)
            )
