"""`ropewalk rain`: a fade as a file that link models read."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from ropewalk.cli.options import WholeNumber
from ropewalk.cli.reporting import WRONG_INPUT, fail, reported, tell

if TYPE_CHECKING:
    from collections.abc import Callable

    from ropewalk import rain as models

Command = TypeVar("Command", bound="Callable[..., object]")


def _number(name: str, unit: str, text: str, default: float | None = None) -> Callable[[Command], Command]:
    return click.option(
        name, type=float, metavar=unit, help=text, default=default, show_default=default is not None
    )


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    required=True,
    help="Where the lines `time,value` go.",
)
@_number("--peak", "DB", "Attenuation at its deepest.")
@_number("--rain-rate", "MM/H", "While it rains this much: ITU-R P.838 and P.618.")
@_number("--availability", "PERCENT", "Not exceeded for this part of an average year: ITU-R P.618.")
@_number("--synthesise", "DAYS", "The deepest fade of that many random days: ITU-R P.1853.")
@click.option(
    "--seed", type=WholeNumber(0), metavar="N", default=1, show_default=True, help="Of the random days."
)
@_number("--lat", "DEG", "North is positive.")
@_number("--lon", "DEG", "East is positive.")
@_number("--elevation", "DEG", "Of the satellite above the horizon.")
@_number("--frequency", "GHZ", "Of the carrier.")
@_number("--altitude", "KM", "Above the sea; without it by the map of ITU-R P.1511.")
@_number("--tilt", "DEG", "Polarisation: 0 horizontal, 90 vertical, 45 circular.", 45.0)
@_number("--duration", "S", "Length of the series.", 600.0)
@_number("--step", "S", "Time between samples; random days have one per second.", 1.0)
@_number("--start", "S", "When the rain begins.", 60.0)
@_number("--ramp", "S", "How long the attenuation rises.", 60.0)
@_number("--hold", "S", "How long it stays.", 120.0)
@_number("--recovery", "S", "How long it falls.", 120.0)
@_number("--clear-sky", "DB", "Es/N0 or C/N0 without rain; makes levels of the attenuation.")
@_number("--noise-temperature", "K", "Of the receiving system: adds the noise of the rain.")
@_number("--threshold", "DB", "Write losses: everything while the level is below, else nothing.")
@click.pass_context
def rain(
    context: click.Context,
    *,
    out: Path,
    peak: float | None,
    rain_rate: float | None,
    availability: float | None,
    synthesise: float | None,
    seed: int,
    lat: float | None,
    lon: float | None,
    elevation: float | None,
    frequency: float | None,
    altitude: float | None,
    tilt: float,
    duration: float,
    step: float,
    start: float,
    ramp: float,
    hold: float,
    recovery: float,
    clear_sky: float | None,
    noise_temperature: float | None,
    threshold: float | None,
) -> None:
    """Write rain on the way to a satellite, for link models.

    Rates of kind "acm" read levels, losses of kind "series" read losses. Without --clear-sky it writes the
    attenuation.
    """
    depth = {"peak": peak, "rain_rate": rain_rate, "availability": availability, "synthesise": synthesise}
    place = {"lat": lat, "lon": lon, "elevation": elevation, "frequency": frequency}
    shape = {"start": start, "ramp": ramp, "hold": hold, "recovery": recovery}
    with reported():
        from ropewalk import rain as models

        order = _depth(depth)
        _refuse_unused(context, order, levels=clear_sky is not None)
        try:
            at = models.times(duration, step)
            if order == "synthesise":
                days = models.synthesis(_site(place, altitude, tilt), (synthesise or 0.0) * models.DAY, seed)
                at, attenuation = models.times(duration), models.deepest(days, duration)
            else:
                deepest = peak if order == "peak" else _peak(order, depth, _site(place, altitude, tilt))
                attenuation = models.Fade(deepest or 0.0, **shape).attenuation(at)
            what, values = "attenuation in dB", attenuation
            if clear_sky is not None:
                what, values = "level in dB", models.level(attenuation, clear_sky, noise_temperature)
            if threshold is not None:
                what, values = "loss", models.losses(values, threshold)
            models.write(out, at, values, [shlex.join(["ropewalk", *sys.argv[1:]]), f"time in s, {what}"])
        except models.RainError as error:
            fail(str(error), WRONG_INPUT)
        tell(f"{out}: {what}; deepest attenuation {attenuation.max():.2f} dB")


def _depth(depth: dict[str, float | None]) -> str:
    options = {name: f"--{name.replace('_', '-')}" for name in depth}
    given = [name for name, value in depth.items() if value is not None]
    if len(given) != 1:
        found = " and ".join(options[name] for name in given) or "none"
        fail(f"depth of the fade: found {found}; give one of {', '.join(options.values())}", WRONG_INPUT)
    return given[0]


def _refuse_unused(context: click.Context, order: str, *, levels: bool) -> None:
    shape = ("step", "start", "ramp", "hold", "recovery")
    place = ("lat", "lon", "elevation", "frequency", "altitude", "tilt")
    unused = {
        "with --synthesise": shape if order == "synthesise" else (),
        "without --synthesise": () if order == "synthesise" else ("seed",),
        "with --peak": place if order == "peak" else (),
        "without --clear-sky": () if levels else ("noise_temperature", "threshold"),
    }
    for why, names in unused.items():
        for name in names:
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                fail(f"--{name.replace('_', '-')} has no meaning {why}", WRONG_INPUT)


def _peak(order: str, depth: dict[str, float | None], site: models.Site) -> float:
    from ropewalk import rain as models

    value = depth[order] or 0.0
    return models.at_rain_rate(site, value) if order == "rain_rate" else models.exceeded(site, value)


def _site(place: dict[str, float | None], altitude: float | None, tilt: float) -> models.Site:
    from ropewalk import rain as models

    missing = [f"--{name}" for name, value in place.items() if value is None]
    if missing:
        fail(f"missing: {', '.join(missing)}; the ITU-R models need the place and the frequency", WRONG_INPUT)
    latitude, longitude, elevation, frequency = (value or 0.0 for value in place.values())
    return models.Site(latitude, longitude, elevation, frequency, altitude, tilt)
