"""`ropewalk rain`: a fade as a file that link models read."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ropewalk.cli.reporting import WRONG_INPUT, fail, reported

if TYPE_CHECKING:
    from ropewalk import rain as models


def _number(unit: str, text: str, *, shown: bool = False) -> Any:  # noqa: ANN401 - as typer.Option
    return typer.Option(metavar=unit, help=text, show_default=shown)


def _shape(text: str) -> Any:  # noqa: ANN401
    return _number("S", text, shown=True)


Out = Annotated[
    Path, typer.Option("--out", metavar="FILE", help="Where the lines `time,value` go.", show_default=False)
]
Peak = Annotated[float | None, _number("DB", "Attenuation at its deepest.")]
RainRate = Annotated[float | None, _number("MM/H", "While it rains this much: ITU-R P.838 and P.618.")]
Availability = Annotated[
    float | None, _number("PERCENT", "Not exceeded for this part of an average year: ITU-R P.618.")
]
Synthesise = Annotated[
    float | None, _number("DAYS", "The deepest fade of that many random days: ITU-R P.1853.")
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Of the random days.")]
Latitude = Annotated[float | None, _number("DEG", "North is positive.")]
Longitude = Annotated[float | None, _number("DEG", "East is positive.")]
Elevation = Annotated[float | None, _number("DEG", "Of the satellite above the horizon.")]
Frequency = Annotated[float | None, _number("GHZ", "Of the carrier.")]
Altitude = Annotated[float | None, _number("KM", "Above the sea; without it by the map of ITU-R P.1511.")]
Tilt = Annotated[float, _number("DEG", "Polarisation: 0 horizontal, 90 vertical, 45 (default) circular.")]
Duration = Annotated[float, _shape("Length of the series.")]
Step = Annotated[float, _shape("Time between samples; random days have one per second.")]
Start = Annotated[float, _shape("When the rain begins.")]
Ramp = Annotated[float, _shape("How long the attenuation rises.")]
Hold = Annotated[float, _shape("How long it stays.")]
Recovery = Annotated[float, _shape("How long it falls.")]
ClearSky = Annotated[
    float | None, _number("DB", "Es/N0 or C/N0 without rain; makes levels of the attenuation.")
]
NoiseTemperature = Annotated[
    float | None, _number("K", "Of the receiving system: adds the noise of the rain.")
]
Threshold = Annotated[
    float | None, _number("DB", "Write losses: everything while the level is below, else nothing.")
]


def rain(
    context: typer.Context,
    *,
    out: Out,
    peak: Peak = None,
    rain_rate: RainRate = None,
    availability: Availability = None,
    synthesise: Synthesise = None,
    seed: Seed = 1,
    lat: Latitude = None,
    lon: Longitude = None,
    elevation: Elevation = None,
    frequency: Frequency = None,
    altitude: Altitude = None,
    tilt: Tilt = 45.0,
    duration: Duration = 600.0,
    step: Step = 1.0,
    start: Start = 60.0,
    ramp: Ramp = 60.0,
    hold: Hold = 120.0,
    recovery: Recovery = 120.0,
    clear_sky: ClearSky = None,
    noise_temperature: NoiseTemperature = None,
    threshold: Threshold = None,
) -> None:
    """Write rain on the way to a satellite as a file for link models.

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
        sys.stdout.write(f"{out}: {what}; deepest attenuation {attenuation.max():.2f} dB\n")


def _depth(depth: dict[str, float | None]) -> str:
    options = {name: f"--{name.replace('_', '-')}" for name in depth}
    given = [name for name, value in depth.items() if value is not None]
    if len(given) != 1:
        found = " and ".join(options[name] for name in given) or "none"
        fail(f"how deep is the fade? found {found}; give one of {', '.join(options.values())}", WRONG_INPUT)
    return given[0]


def _refuse_unused(context: typer.Context, order: str, *, levels: bool) -> None:
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
