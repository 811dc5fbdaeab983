"""Reads reproductions: `reproduction.toml`, `quantities.toml`, `claims.toml`, the study files beside them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ropewalk import shipped
from ropewalk.reproduce.claims import Claims
from ropewalk.reproduce.model import PROFILE, Quantity, Reproduction
from ropewalk.reproduce.published import Published, TableError, read
from ropewalk.reproduce.series import SeriesMetric
from ropewalk.reproduce.studies import named
from ropewalk.reproduce.tables import TomlFile
from ropewalk.study import file as study_files
from ropewalk.study.metrics import Metric, MetricError
from ropewalk.study.mistakes import (
    CONTRADICTION,
    MISSING,
    UNKNOWN_NAME,
    UNREADABLE,
    WRONG_VALUE,
    did_you_mean,
)

if TYPE_CHECKING:
    import os

    from ropewalk.study.mistakes import Path as Place
    from ropewalk.study.model import StudyFile

DIRECTORY = shipped.REPRODUCTIONS
ABOUT, QUANTITIES, CLAIMS = "reproduction.toml", "quantities.toml", "claims.toml"
ABOUT_KEYS = ("name", "title", "source", "profiles", "readings", "quick")
QUICK_KEYS = ("replications",)
QUANTITY_KEYS = (
    *("study", "metric", "over", "series", "make", "bin", "from", "until", "scale", "unit", "pool"),
    "profile",
)
OVERRIDING = ("metric", "over", "scale", "pool")
TABLE_KEYS = ("table", "value", "by")


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
    if (Path(name) / ABOUT).is_file():
        return Path(name)
    known = names()
    if Path(name).is_dir() and str(name) not in known:
        raise NotFound(
            f"{name}: no {ABOUT} there\n  fix: name the directory of a reproduction, or {', '.join(known)}"
        )
    if str(name) not in known:
        raise NotFound(f'there is no reproduction "{name}"\n  fix: {did_you_mean(str(name), known)}')
    return home() / str(name)


def load(name: str | os.PathLike[str]) -> Reproduction:
    """Reads a reproduction by its name or directory.

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
        readings=about.readings,
        quick_replications=about.quick_replications,
        quantities=quantities.found,
        published=quantities.published,
        roots=(),
        claims=(),
        studies=studies,
    )
    claims = Claims(directory / CLAIMS, loaded)
    return replace(loaded, roots=claims.roots, claims=claims.claims)


class _About(TomlFile):
    def __init__(self, directory: Path) -> None:
        super().__init__(directory / ABOUT)
        self.known(self.root, (), ABOUT_KEYS)
        self.name: str = self.take(self.root, (), "name", str, directory.resolve().name)
        self.title: str = self.take(self.root, (), "title", str, None)
        self.source: str = self.take(self.root, (), "source", str, None)
        self.profiles = tuple(self.texts(self.root, (), "profiles"))
        self.readings = self._readings()
        quick: dict[str, Any] = self.take(self.root, (), "quick", dict, {})
        self.known(quick, ("quick",), QUICK_KEYS)
        wanted: int = self.take(quick, ("quick",), "replications", int, 0)
        self.quick_replications = wanted if wanted > 0 else None
        self.mistakes.raise_any()

    def _readings(self) -> dict[str, str]:
        """What each profile is, in words: a name alone says nothing to a reader."""
        given: dict[str, Any] = self.take(self.root, (), "readings", dict, {})
        self.known(given, ("readings",), self.profiles)
        for profile in self.profiles:
            if profile not in given:
                message = f'nothing says what the profile "{profile}" is'
                cure = f'add [readings] with {profile} = "two sentences"'
                self.mistakes.add(("profiles",), MISSING, message, cure)
        return {profile: self.take(given, ("readings",), profile, str, "") for profile in self.profiles}


class _Quantities(TomlFile):
    def __init__(self, directory: Path, profiles: tuple[str, ...]) -> None:
        super().__init__(directory / QUANTITIES)
        self._profiles = profiles
        self.found: dict[str, Quantity] = {}
        self.published: dict[str, Published] = {}
        for name, table in self.root.items():
            if not self._is_table(name, table):
                continue
            if "table" in table:
                self._take_published(name, table)
            else:
                self.found[name] = self._quantity(name, table, (name,))
        self.mistakes.raise_any()

    def _is_table(self, name: str, table: object) -> bool:
        if isinstance(table, dict) and name.isidentifier():
            return True
        cure = (
            'write NAME = { study = "ideal", metric = "flow.file.goodput_bit_s" }, NAME of letters, digits, _'
        )
        self.mistakes.add((name,), WRONG_VALUE, "not a quantity", cure)
        return False

    def _take_published(self, name: str, table: dict[str, Any]) -> None:
        self.known(table, (name,), TABLE_KEYS)
        file: str = self.take(table, (name,), "table", str, None)
        value: str = self.take(table, (name,), "value", str, None)
        by = self.texts(table, (name,), "by")
        try:
            self.published[name] = read(name, self.path.parent / file, value, by)
        except TableError as error:
            self.mistakes.add((name,), WRONG_VALUE, str(error), error.cure)

    def _quantity(self, name: str, table: dict[str, Any], place: Place) -> Quantity:
        self.known(table, place, QUANTITY_KEYS)
        study = self.take(table, place, "study", str, None)
        metric = self._metric(table, place)
        # As the study's own tables show it, unless said otherwise.
        usual_unit, usual_divisor = metric.unit
        scale = self.take(table, place, "scale", float, 1.0 if "unit" in table else 1.0 / usual_divisor)
        if scale == 0.0:
            self.mistakes.add(
                (*place, "scale"), WRONG_VALUE, "with 0 there is nothing to see", "write what to multiply by"
            )
        unit = self.take(table, place, "unit", str, usual_unit if "scale" not in table else "")
        return Quantity(
            name,
            study,
            metric,
            scale,
            unit,
            tuple(self.texts(table, place, "pool")),
            self._divisor(table, place, metric),
            self._under(name, table, place),
        )

    def _under(self, name: str, table: dict[str, Any], place: Place) -> dict[str, Quantity]:
        """The quantity as the profiles have it that say otherwise."""
        readings: dict[str, Any] = self.take(table, place, "profile", dict, {})
        found = {}
        for profile, other in readings.items():
            at = (*place, "profile", profile)
            if profile not in self._profiles:
                cure = did_you_mean(profile, self._profiles)
                self.mistakes.add(at, UNKNOWN_NAME, f'there is no profile "{profile}"', cure)
            elif not isinstance(other, dict):
                self.mistakes.add(at, WRONG_VALUE, "not a table", 'write { metric = "...", scale = 1.0 }')
            else:
                self.known(other, at, OVERRIDING)
                # Scale and divisor belong to their metric.
                gone = {"profile", *(OVERRIDING if "metric" in other else ())}
                rest = {key: value for key, value in table.items() if key not in gone}
                found[profile] = self._quantity(name, rest | other, at)
        return found

    def _divisor(self, table: dict[str, Any], place: Place, metric: Metric | SeriesMetric) -> Metric | None:
        text: str = self.take(table, place, "over", str, "")
        if not text:
            return None
        try:
            divisor = Metric.parse(text)
        except MetricError as error:
            self.mistakes.add((*place, "over"), UNKNOWN_NAME, str(error), error.cure)
            return None
        if not isinstance(metric, Metric) or "unit" not in table or "scale" not in table:
            message = "a quotient is made of two metrics, and nothing tells its unit"
            self.mistakes.add((*place, "over"), CONTRADICTION, message, "add `metric`, `scale` and `unit`")
        return divisor

    def _metric(self, table: dict[str, Any], place: Place) -> Metric | SeriesMetric:
        key = "series" if "series" in table else "metric"
        if key == "series" and "metric" in table:
            self.mistakes.add(place, CONTRADICTION, "both `metric` and `series`", "keep one of them")
        text = self.take(table, place, key, str, None)
        try:
            if key == "metric":
                return Metric.parse(text)
            until = self.take(table, place, "until", float, -1.0)
            return SeriesMetric.parse(
                text,
                self.take(table, place, "make", str, "mean"),
                bin_s=self.take(table, place, "bin", float, 0.0),
                from_s=self.take(table, place, "from", float, 0.0),
                until_s=None if until < 0.0 else until,
            )
        except MetricError as error:
            self.mistakes.add((*place, key), UNKNOWN_NAME, str(error), error.cure)
            return Metric(text, None, "runs", "", "end_s")


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
