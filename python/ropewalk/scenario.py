"""Scenarios: what to simulate."""

from __future__ import annotations

import itertools
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

from ropewalk import _core, arguments, backends, numbers, reading
from ropewalk.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ropewalk.captures import Capture
    from ropewalk.results import Results
    from ropewalk.why import Diagnosis

Value: TypeAlias = "str | bool | int | float | os.PathLike[str] | Sequence[Value] | Mapping[str, Value]"
"""A value of a key of a scenario."""

MAX_SEED = 2**63 - 1
MAX_REPLICATIONS = 1_000_000
_PLACE = re.compile(r"^--set:\d+:\d+: ", re.MULTILINE)


class Scenario:
    """A checked scenario. It does not change: `set` returns another one.

    Raises:
        ScenarioError: the text has mistakes; all of them are listed.
    """

    def __init__(self, text: str, name: str = "<text>", overrides: Sequence[tuple[str, str]] = ()) -> None:
        if not isinstance(text, str):
            raise TypeError(
                f"the text of a scenario is a str, not {type(text).__name__}: "
                "Scenario.from_dict takes keys, Scenario.load a file"
            )
        self._text = text
        self._name = reading.shown(arguments.text("name", name))
        self._overrides = tuple(arguments.pairs("overrides", overrides))
        try:
            self._document = _core.Document.parse(text, self._name, list(self._overrides))
        except _core.InvalidScenario as error:
            raise ScenarioError.from_core(error) from None
        except UnicodeEncodeError as error:
            raise ScenarioError(
                f"{self._name}: found {error.object[error.start : error.end]!r}, half of a surrogate pair, "
                "which is no text\n  fix: decode the text as what it is, without surrogateescape"
            ) from None

    @classmethod
    def load(cls, path: str | os.PathLike[str], overrides: Sequence[tuple[str, str]] = ()) -> Scenario:
        """Reads the scenario file `path`.

        Args:
            path: a TOML file.
            overrides: `(key, value)` pairs as after `--set`: values are TOML, or bare text.

        Raises:
            OSError: the file cannot be read, or its name is not UTF-8 text.
            ScenarioError: it has mistakes.
        """
        arguments.path("path", path)
        name = reading.name(path)
        try:
            text = reading.text(path)
        except UnicodeDecodeError as error:
            raise ScenarioError(
                f"{path}: not UTF-8 text (byte {error.start})\n  fix: save it as UTF-8"
            ) from None
        return cls(text, name, overrides)

    @classmethod
    def from_dict(cls, keys: Mapping[str, Value], name: str = "<dict>") -> Scenario:
        """Takes the keys of a scenario as a dict: tables are dicts, `[[path]]` and the like lists of dicts.

        Args:
            keys: as `tomllib.loads` would read them.
            name: what messages say instead of a file.

        Raises:
            ScenarioError: it has mistakes.
            TypeError: something in it has no form in TOML.
            ValueError: it nests too deeply, or has integers of thousands of digits.
        """
        if not isinstance(keys, Mapping):
            raise TypeError(f"the keys of a scenario are a dict, not {type(keys).__name__}")
        lines = [f"{toml_value(key)} = {toml_value(value)}\n" for key, value in keys.items()]
        return cls("".join(lines), name)

    @classmethod
    def parse(cls, text: str, name: str = "<text>") -> Scenario:
        """Takes the TOML text itself; `name` stands for the file in messages."""
        return cls(text, name)

    def set(self, key: str, value: Value) -> Scenario:
        """The same scenario with one key changed, as in `set("flow.upload.transport.congestion", "cubic")`.

        Values may be those of numpy, too, and files may be paths, seen from the scenario file if relative.

        A `UserWarning` names the keys of the scenario that another `kind` leaves out, see `left_out`.

        Raises:
            ScenarioError: there is no such key, or it does not take this value.
            TypeError: nothing in a scenario is of this type.
            ValueError: the value nests too deeply, or has integers of thousands of digits.
        """
        arguments.text("a key of a scenario", key)
        try:
            changed = self.override([(key, toml_value(value))])
        except ScenarioError as error:
            # The place in an override means something on the command line only.
            raise ScenarioError(_PLACE.sub("", str(error)), error.diagnostics) from None
        if changed.left_out not in (None, self.left_out):
            warnings.warn(str(changed.left_out), stacklevel=2)
        return changed

    def override(self, overrides: Sequence[tuple[str, str]]) -> Scenario:
        """The same scenario with several keys changed at once; values as after `--set`: TOML, or bare text.

        Raises:
            ScenarioError: there is no such key, or it does not take this value.
        """
        more = arguments.pairs("overrides", overrides)
        return Scenario(self._text, self._name, [*self._overrides, *more])

    @property
    def name(self) -> str:
        """Title."""
        return self._document.name

    @property
    def duration_s(self) -> float:
        """Simulated time in seconds."""
        return self._document.duration_s

    @property
    def seeds(self) -> list[int]:
        """Seeds of the replications that the file asks for."""
        return self._document.seeds

    @property
    def left_out(self) -> str | None:
        """Keys of the file without effect since another `kind` was set, with places; None without any."""
        return self._document.left_out()

    def events(self) -> list[tuple[float, str, str]]:
        """Changes of links while the run goes on: (time in seconds, links, what happens)."""
        return self._document.events()

    def opportunities(self, link: str, seed: int = 1) -> str:
        """When a link direction such as `"beam1.down"` could carry 1500 more bytes: a mahimahi trace.

        Lines in whole milliseconds, by the rate of the link under a seed, its changes and outages, as if
        there were always something to send.

        Raises:
            ValueError: there is no such link direction, or it never carries anything.
        """
        (chosen,) = choose_seeds([seed])
        return self._document.opportunities(arguments.text("link", link), chosen)

    def capacity(self, link: str, edges_s: Sequence[float], seed: int = 1) -> list[float]:
        """Mean rate of a link direction such as `"beam1.down"` between each two of `edges_s`, in bit/s.

        By its rate under a seed, its changes and outages. Edges are seconds since the start, and rise.

        Raises:
            ValueError: there is no such link direction.
        """
        (chosen,) = choose_seeds([seed])
        edges = arguments.numbers("edges_s", edges_s)
        return self._document.capacity(arguments.text("link", link), chosen, edges)

    def show(self) -> str:
        """The scenario with every default filled in: TOML that gives the same results."""
        return self._document.to_toml()

    def whole(self) -> str:
        """As `show`, with the content of each file in the place of its path: it needs no other file."""
        return self._document.to_whole_toml()

    def expanded(self) -> dict[str, Any]:
        """The scenario with every default as plain data: dicts, and lists of dicts for `[[path]]`."""
        from ropewalk import toml

        return toml.values(self.show(), self._name)

    def run(
        self,
        seeds: int | Iterable[int] | None = None,
        *,
        jobs: int | None = None,
        progress: Callable[[int, int], object] | None = None,
        simulated: Callable[[float], object] | None = None,
        series: bool = True,
        trace: bool = False,
        backend: str = "simulator",
        capture: Capture | None = None,
    ) -> Results:
        """Runs one replication per seed, and the baselines of flows that ask for them.

        Args:
            seeds: that many replications from seed 1 on, or the seeds themselves; None: as the scenario says.
            jobs: threads; None: one per processor. The results do not depend on it.
            progress: called with (done, total) about every 50 ms.
            simulated: called before it with the simulated seconds of all runs together, baselines included;
                a run that ended early counts with its whole duration.
            series: record time series.
            trace: record a readable trace of every replication.
            backend: what runs it, one of `ropewalk.backends.names()`; what it does not measure is null.
            capture: write the packets of each replication into a file (pcapng), where the back end can.

        Raises:
            ScenarioError: the back end cannot run this scenario; all keys that it cannot run are listed.
            ValueError: no seed, or a seed twice, or there is no such back end, or nothing to capture.
            TypeError: `capture` is no `Capture`.
            OSError: captures cannot be written where they should be.
            RunFailed: a replication failed, or the back end is not installed.
            KeyboardInterrupt: Ctrl-C; the run ends at once.
        """
        from ropewalk.captures import Capture, beside, take
        from ropewalk.results import Results

        chosen = choose_seeds(self.seeds if seeds is None else seeds)
        threads = arguments.jobs(jobs) or available_processors()
        if capture is not None:
            arguments.instance("capture", "a ropewalk.Capture(directory)", Capture, capture)
        with nullcontext() if capture is None else beside(capture) as staged:
            output = self.output(
                chosen,
                # More threads than runs are of no use.
                min(threads, MAX_REPLICATIONS),
                series=series,
                trace=trace,
                progress=progress,
                simulated=simulated,
                backend=backend,
                capture=staged,
            )
            results = Results.from_output(self, chosen, output, backend)
            if capture is not None and staged is not None:
                results.captures = take(capture, staged, chosen)
        return results

    def why(
        self,
        seeds: int | Iterable[int] | None = None,
        *,
        effort: str = "normal",
        jobs: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> Diagnosis:
        """Why the flows are as slow as they are: where their time goes, and which changes help.

        Each change is run against the scenario as it stands, under the same seeds.

        Args:
            seeds: a number of replications, or the seeds; None: as many as the effort says.
            effort: `quick`, `normal` or `thorough`.
            jobs: threads; None: one per processor. The diagnosis does not depend on it.
            progress: called with (done, total) replications; promising changes raise the total.

        Raises:
            ValueError: there is no such effort, or no seed, or a seed twice.
            RunFailed: a replication without any change failed.
            KeyboardInterrupt: Ctrl-C; the run ends at once.
        """
        from ropewalk.why import why

        return why(self, seeds, effort=effort, jobs=jobs, progress=progress)

    def output(
        self,
        seeds: list[int],
        jobs: int,
        *,
        series: bool,
        trace: bool = False,
        progress: Callable[[int, int], object] | None = None,
        simulated: Callable[[float], object] | None = None,
        backend: str = "simulator",
        capture: Capture | None = None,
    ) -> _core.Output:
        """The records of the back end, to make tables of many runs at once; otherwise as `run`."""
        arguments.call("progress", progress)
        arguments.call("simulated", simulated)
        arguments.text("backend", backend)
        folder = backends.folder()
        able = next((one for one in backends.all_backends() if one["name"] == backend), None)
        if capture is not None and able is not None and not able["capture"]:
            raise ValueError(f"the back end {backend} captures no packets")
        order = None if capture is None else (capture.directory, capture.at, capture.snap)
        try:
            return self._document.run(seeds, jobs, series, trace, progress, backend, folder, simulated, order)
        except _core.InvalidScenario as error:
            raise ScenarioError.from_core(error) from None

    def check_backend(self, backend: str) -> None:
        """Nothing if this back end can run the scenario.

        Raises:
            ScenarioError: it cannot; all keys that it cannot run are listed.
        """
        try:
            self._document.check_backend(arguments.text("backend", backend))
        except _core.InvalidScenario as error:
            raise ScenarioError.from_core(error) from None

    def ns3_arguments(self) -> dict[str, str]:
        """The arguments of our program for ns-3 that mean this scenario, without the seed.

        Raises:
            ScenarioError: ns-3 cannot run it; all keys that it cannot run are listed.
        """
        try:
            return self._document.ns3_arguments()
        except _core.InvalidScenario as error:
            raise ScenarioError.from_core(error) from None

    def _repr_html_(self) -> str:
        from ropewalk import notebook

        return notebook.of_scenario(self)

    def __repr__(self) -> str:
        runs = numbers.count(len(self.seeds), "replication")
        return f"<Scenario {self.name!r}, {self.duration_s:g} s, {runs}>"


def choose_seeds(seeds: int | Iterable[int]) -> list[int]:
    """A count as the seeds 1 to n; anything else as it is, checked."""
    if isinstance(seeds, Iterable) and not isinstance(seeds, str | bytes):
        wanted = seeds
    else:
        wanted = range(1, arguments.whole("the number of seeds, where they are not listed,", seeds) + 1)
    # JSON takes no integers of numpy.
    first = itertools.islice(wanted, MAX_REPLICATIONS + 1)
    chosen = [seed if type(seed) is int else arguments.whole("a seed", seed) for seed in first]
    if not 1 <= len(chosen) <= MAX_REPLICATIONS:
        raise ValueError(f"the number of seeds lies between 1 and {MAX_REPLICATIONS}")
    if len(set(chosen)) < len(chosen):
        raise ValueError("a seed occurs twice: replications with the same seed are the same run")
    if min(chosen) < 0 or max(chosen) > MAX_SEED:
        raise ValueError(f"seeds lie between 0 and {MAX_SEED}")
    return chosen


def available_processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def toml_value(value: Value) -> str:
    """`value` written as TOML.

    Raises:
        TypeError: TOML has nothing for it, or no scenario has.
        ValueError: it nests too deeply.
    """
    try:
        return _toml_value(value)
    except RecursionError:
        raise ValueError("the value nests too deeply: no key of a scenario takes it") from None


def _toml_value(value: Value) -> str:
    if hasattr(value, "tolist"):
        # A number or an array of numpy.
        return _toml_value(value.tolist())
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            escaped = (f"\\u{ord(c):04x}" if c < " " or c in '"\\\x7f' else c for c in value)
            return f'"{"".join(escaped)}"'
        case int() | float():
            return repr(value)
        case Mapping():
            return "{" + ", ".join(f"{_toml_key(k)} = {_toml_value(v)}" for k, v in value.items()) + "}"
        case Sequence():
            return "[" + ", ".join(map(_toml_value, value)) + "]"
    raise TypeError(
        f"found {value!r}, which no key of a scenario takes; write a text, a number, true or false, "
        "a list of these or a table"
    )


def _toml_key(key: Value) -> str:
    """Bare where it can be, as people write it."""
    return key if isinstance(key, str) and re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml_value(key)
