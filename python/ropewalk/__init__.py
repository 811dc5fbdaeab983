"""Ropewalk: a packet-level laboratory for multipath transport over satellite links.

>>> import ropewalk as rw
>>> results = rw.Scenario.load("scenarios/two-geo-beams.toml").run(seeds=20)
>>> results.flows
"""

# Ctrl-C during an import here ends in a traceback: `typing` alone would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ropewalk._core import MODEL_VERSION, RunFailed
    from ropewalk._core import VERSION as __version__  # noqa: N811
    from ropewalk.captures import Capture
    from ropewalk.connections import Reading, read
    from ropewalk.errors import Diagnostic, ScenarioError
    from ropewalk.results import Results
    from ropewalk.scenario import Scenario
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

_PLACES = {
    "MODEL_VERSION": "_core",
    "Capture": "captures",
    "Diagnostic": "errors",
    "Reading": "connections",
    "Results": "results",
    "RunFailed": "_core",
    "Scenario": "scenario",
    "ScenarioError": "errors",
    "Study": "study",
    "StudyResults": "study.results",
    "read": "connections",
}
"""Modules of the names, imported when one is used. A command that is interrupted meanwhile says so, and
`ropewalk show` does without polars, which results bring with them."""


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "__version__":
        return import_module("ropewalk._core").VERSION
    if name in _PLACES:
        return getattr(import_module(f"ropewalk.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
