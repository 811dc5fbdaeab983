"""Ropewalk: a packet-level laboratory for multipath transport over satellite links.

>>> import ropewalk as rw
>>> results = rw.Scenario.load("scenarios/two-geo-beams.toml").run(seeds=20)
>>> results.flows
"""

from typing import TYPE_CHECKING

from ropewalk._core import MODEL_VERSION, RunFailed
from ropewalk._core import VERSION as __version__  # noqa: N811
from ropewalk.captures import Capture
from ropewalk.errors import Diagnostic, ScenarioError
from ropewalk.scenario import Scenario

if TYPE_CHECKING:
    from ropewalk.connections import Reading, read
    from ropewalk.results import Results
    from ropewalk.study import Study
    from ropewalk.study.results import StudyResults

__all__ = [
    "MODEL_VERSION",
    "Capture",
    "Diagnostic",
    "Reading",
    "Results",
    "RunFailed",
    "Scenario",
    "ScenarioError",
    "Study",
    "StudyResults",
    "__version__",
    "read",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> object:
    # Results bring polars with them, which a command such as `ropewalk show` does not need.
    if name in {"Reading", "read"}:
        from ropewalk import connections

        return getattr(connections, name)
    if name == "Results":
        from ropewalk.results import Results

        return Results
    if name == "Study":
        from ropewalk.study import Study

        return Study
    if name == "StudyResults":
        from ropewalk.study.results import StudyResults

        return StudyResults
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
