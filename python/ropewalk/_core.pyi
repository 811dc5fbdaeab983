"""The Rust side of Ropewalk. Use `ropewalk.Scenario` and `ropewalk.Results` instead."""

from collections.abc import Callable

VERSION: str
MODEL_VERSION: int

class InvalidScenario(ValueError):
    """A scenario with mistakes. Arguments: all of them as text, and the same as JSON."""

class RunFailed(RuntimeError):
    """A replication broke an assertion; the text names its seed."""

class Columns:
    """One table. Anything that reads Arrow streams takes it."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Output:
    """Tables, totals and traces of a set of replications."""

    @property
    def tables(self) -> list[tuple[str, Columns]]: ...
    @property
    def events(self) -> int: ...
    @property
    def packet_hops(self) -> int: ...
    @property
    def cpu_s(self) -> float: ...
    @property
    def traces(self) -> list[tuple[int, str]]: ...

class Document:
    """A checked scenario."""

    @staticmethod
    def parse(text: str, file: str, sets: list[tuple[str, str]]) -> Document: ...
    def to_toml(self) -> str: ...
    def to_whole_toml(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def seeds(self) -> list[int]: ...
    def events(self) -> list[tuple[float, str, str]]: ...
    def run(
        self,
        seeds: list[int],
        jobs: int,
        series: bool,
        trace: bool,
        progress: Callable[[int, int], object] | None = None,
    ) -> Output: ...

def schema() -> str: ...
def reference() -> str: ...
def catalogue() -> str: ...
