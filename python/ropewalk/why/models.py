"""Models of a link direction, one or several in a list, and the settings that change one of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from ropewalk.facts import kind, quantity
from ropewalk.scenario import toml_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ropewalk.facts import Way
    from ropewalk.why.model import Setting

Model: TypeAlias = "str | dict[str, Any]"
Options: TypeAlias = "Mapping[str, Any]"

NEARLY_ALL = 0.9
"""Part of the packets: a link that loses it is down, whatever the scenario calls it."""
SHORTEST_S = 0.2
"""Least variance term of the timer of Linux: shorter bursts of losses need no timeout."""


def models(way: Way, key: str) -> list[Model]:
    """Models of a direction under a key such as `loss`, in order."""
    value = way.settings.get(key)
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def changes(way: Way, key: str, change: Callable[[Model], Options | str | None]) -> tuple[Setting, ...]:
    """Settings of a direction that change its models.

    Args:
        way: the direction.
        key: of its models, such as `loss`.
        change: a model to its changed options, or to the name of another model; None: it stays.
    """
    value = way.settings.get(key)
    several = models(way, key)
    found = [change(one) for one in several]
    if all(one is None for one in found):
        return ()
    if not isinstance(value, list):
        [new] = found
        if isinstance(new, str):
            return ((f"{way.key}.{key}", new),)
        return tuple((f"{way.key}.{key}.{option}", _text(to)) for option, to in (new or {}).items())
    # An override of one element would replace a list that both directions share.
    whole = [_merged(old, new) for old, new in zip(several, found, strict=True)]
    return ((f"{way.key}.{key}", toml_value(whole)),)


def _text(value: object) -> str:
    return value if isinstance(value, str) else toml_value(value)  # type: ignore[arg-type]


def _merged(old: Model, new: Options | str | None) -> Any:  # noqa: ANN401
    if new is None or isinstance(new, str):
        return old if new is None else new
    assert isinstance(old, dict)  # noqa: S101
    return {**old, **new}


def fades(way: Way) -> Iterator[tuple[Model, float]]:
    """Loss models that lose nearly everything for a while, and the mean of that time in s."""
    for model in models(way, "loss"):
        lasting = _fade_s(model)
        if lasting >= SHORTEST_S:
            yield model, lasting


def is_lossy(way: Way) -> bool:
    """Packets are lost outside of fades, too."""
    faded = [model for model, _ in fades(way)]
    return _corrupts(way) or any(
        kind(model) != "none" and (model not in faded or _fades_alone(model) is not None)
        for model in models(way, "loss")
    )


def lossless(ways: Iterable[Way]) -> tuple[Setting, ...]:
    """Directions without what their models lose outside of fades."""
    return tuple(setting for way in ways if is_lossy(way) for setting in without_losses(way))


def without_fades(way: Way) -> tuple[Setting, ...]:
    """The direction that loses while it fades what it loses at other times."""
    faded = [model for model, _ in fades(way)]
    return changes(way, "loss", lambda model: _kept_up(model) if model in faded else None)


def without_losses(way: Way) -> tuple[Setting, ...]:
    """The direction that loses packets only while it loses nearly all of them."""
    faded = [model for model, _ in fades(way)]

    def change(model: Model) -> Options | str | None:
        if model in faded:
            return _fades_alone(model)
        return None if kind(model) == "none" else "none"

    whole = ((f"{way.key}.faults.corrupt", "0"),) if _corrupts(way) else ()
    return (*changes(way, "loss", change), *whole)


def _corrupts(way: Way) -> bool:
    """Packets arrive with bit errors, which a checksum finds: for a sender they are lost."""
    faults = way.settings.get("faults")
    # A share that each seed draws is a table.
    return isinstance(faults, dict) and faults["corrupt"] != 0


def _fade_s(model: Model) -> float:
    """Mean time for which a loss model loses nearly everything; 0 of one that never does."""
    if not isinstance(model, dict):
        return 0.0
    name = kind(model)
    if name in LOST and _number(model[LOST[name]]) < NEARLY_ALL:
        return 0.0
    if name in DISTANCES:
        speed = float(model["speed"])
        return float(model[DISTANCES[name]]) / speed if speed else math.inf
    if name == "semi_markov":
        states = zip(model["losses"], model["dwell"], strict=True)
        return max((quantity(time) or 0.0 for loss, time in states if loss >= NEARLY_ALL), default=0.0)
    return quantity(model[TIMES[name]]) or 0.0 if name in TIMES else 0.0


LOST = {"lutz": "loss_bad", "perez_fontan": "loss_deep", "on_off": "loss", "gilbert_elliott_time": "e_bad"}
"""Model to the part of the packets that it loses in its worst state; others lose all."""
DISTANCES = {"lutz": "distance_bad", "perez_fontan": "distance_deep"}
"""Model to the mean distance in that state."""
TIMES = {
    "on_off": "mean_off",
    "gilbert_time": "mean_bad",
    "gilbert_elliott_time": "mean_bad",
    "bursty_time": "burst",
}
"""Model to the mean time in that state."""


def _number(value: object) -> float:
    """A probability, which expanded scenarios write as a number."""
    return float(value) if isinstance(value, (int, float)) else 0.0


USUAL = {"lutz": ("loss_good", "loss_bad"), "gilbert_elliott_time": ("e_good", "e_bad")}
"""Model of two states to the losses of the usual one and of the fade."""


def _kept_up(model: Model) -> Options | str:
    """The model without its fades."""
    assert isinstance(model, dict)  # noqa: S101
    name = kind(model)
    if name in USUAL:
        usual, faded = USUAL[name]
        return {faded: model[usual]}
    match name:
        case "perez_fontan":
            rest = model["loss_los"]
            moderate = model["loss_moderate"]
            return {"loss_deep": rest, "loss_moderate": rest if moderate >= NEARLY_ALL else moderate}
        case "on_off":
            return {"loss": 0.0}
        case "semi_markov":
            least = min(model["losses"])
            return {"losses": [least if loss >= NEARLY_ALL else loss for loss in model["losses"]]}
    return "none"


def _fades_alone(model: Model) -> Options | None:
    """The model with its fades alone; None if it loses nothing at other times."""
    assert isinstance(model, dict)  # noqa: S101
    name = kind(model)
    found: dict[str, Any] = {}
    if name in USUAL:
        found = {USUAL[name][0]: 0.0}
    elif name == "perez_fontan":
        found = {key: 0.0 for key in ("loss_los", "loss_moderate") if model[key] < NEARLY_ALL}
    elif name == "on_off":
        found = {"ber": 0.0}
    elif name == "semi_markov":
        found = {"losses": [loss if loss >= NEARLY_ALL else 0.0 for loss in model["losses"]]}
    return None if all(model[key] == value for key, value in found.items()) else found
