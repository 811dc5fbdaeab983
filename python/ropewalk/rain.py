"""Rain on the way to a satellite: attenuation by ITU-R models, turned into files that link models read.

The models come from the package `itur`, an optional extra: `pip install 'ropewalk[rain]'`. Fades of a
given depth need nothing but this module. Attenuations and levels are in dB, times in s, frequencies in GHz,
angles in degrees.

>>> from ropewalk import rain
>>> site = rain.Site(latitude=57.7, longitude=12.0, elevation=23.8, frequency=20.0)
>>> fade = rain.Fade(peak=rain.exceeded(site, availability=99.9), start=60.0)
>>> times = rain.times(600.0)
>>> rain.write("fade.csv", times, rain.level(fade.attenuation(times), clear_sky=13.0))
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ropewalk import arguments
from ropewalk.disk import write_whole
from ropewalk.visible import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Series = NDArray[np.float64]

EFFECTIVE_TEMPERATURE = 275.0
"""Temperature of the medium that attenuates, in K (ITU-R P.618-13 section 3)."""
COSMIC_TEMPERATURE = 2.7
"""Temperature of the sky behind the rain, in K."""
WARM_UP = 200_000
"""First samples of a synthesis, discarded (ITU-R P.1853-1 annex 1, step D6)."""
DAY = 86_400


class RainError(ValueError):
    """Something that no rain can be computed for; the text names the cure."""


@dataclass(frozen=True, slots=True)
class Site:
    """A ground station and the satellite that it looks at."""

    latitude: float
    """In degrees; north is positive."""
    longitude: float
    """In degrees; east is positive."""
    elevation: float
    """Elevation of the satellite above the horizon, in degrees."""
    frequency: float
    """Frequency of the carrier, in GHz."""
    altitude: float | None = None
    """Above the sea in km; None: by the map of ITU-R P.1511."""
    tilt: float = 45.0
    """Tilt of the polarisation against the horizon, in degrees: 0 horizontal, 90 vertical, 45 circular."""

    def __post_init__(self) -> None:
        for name, low, high in (
            ("latitude", -90.0, 90.0),
            ("longitude", -180.0, 360.0),
            ("elevation", 5.0, 90.0),
            ("frequency", 1.0, 55.0),
            ("tilt", 0.0, 90.0),
        ):
            _within(name, getattr(self, name), low, high)
        if self.altitude is not None:
            # From the Dead Sea to above all settlements: values in metres would be far outside.
            _within("altitude", self.altitude, -0.5, 9.0)


@dataclass(frozen=True, slots=True)
class Fade:
    """One event: the attenuation rises on a line, stays, and falls on a line."""

    peak: float
    """Deepest attenuation in dB."""
    start: float = 60.0
    """When the rain begins, in s."""
    ramp: float = 60.0
    """How long the attenuation takes to rise, in s."""
    hold: float = 120.0
    """How long it stays, in s."""
    recovery: float = 120.0
    """How long it takes to fall, in s."""

    def __post_init__(self) -> None:
        for name in ("peak", "start", "ramp", "hold", "recovery"):
            _within(name, getattr(self, name), 0.0, 1e9)

    def attenuation(self, times: Series) -> Series:
        """The attenuation in dB at these times in s."""
        top = self.start + self.ramp
        end = top + self.hold
        # Two points at the same time would be a step; np.interp takes the later one there.
        corners = [self.start, top, end, end + self.recovery]
        return np.interp(_series("times", times), corners, [0.0, self.peak, self.peak, 0.0])


def times(duration: float, step: float = 1.0) -> Series:
    """From 0 to `duration`, `step` apart, in s."""
    _within("step", step, 0.001, 1e6)
    _within("duration", duration, step, 1e9)
    return np.arange(math.floor(duration / step + 1e-9) + 1, dtype=np.float64) * np.float64(step)


def specific_attenuation(rain_rate: float, site: Site) -> float:
    """Attenuation in dB/km of rain that falls at `rain_rate` in mm/h (ITU-R P.838-3)."""
    _within("rain_rate", rain_rate, 0.0, 500.0)
    _of_site(site)
    value = _itur("itu838").rain_specific_attenuation(rain_rate, site.frequency, site.elevation, site.tilt)
    return float(value.value)


def free_space_loss(distance: float, frequency: float) -> float:
    """Loss in dB over `distance` in km at `frequency` in GHz, under a clear sky (ITU-R P.525)."""
    _within("distance", distance, 0.001, 1e9)
    _within("frequency", frequency, 0.001, 1000.0)
    return 92.45 + 20.0 * math.log10(frequency) + 20.0 * math.log10(distance)


def exceeded(site: Site, availability: float) -> float:
    """Rain attenuation that is not exceeded for `availability` percent of a mean year (ITU-R P.618-13)."""
    _within("availability", availability, 95.0, 99.999)
    return _rain(site, 100.0 - availability, None)


def at_rain_rate(site: Site, rain_rate: float) -> float:
    """Attenuation of the whole slant path while it rains at `rain_rate` in mm/h at the station.

    The path reduction of ITU-R P.618-13, made for the rain rate that is exceeded for 0.01 % of a year.
    """
    _within("rain_rate", rain_rate, 0.0, 500.0)
    return _rain(site, 0.01, rain_rate) if rain_rate > 0 else 0.0


def synthesis(site: Site, duration: float, seed: int) -> Series:
    """A random series of rain attenuation with one sample per second (ITU-R P.1853-1).

    Most of it is zero, as most of the time it does not rain. The same seed gives the same series.
    """
    _of_site(site)
    arguments.whole("seed", seed, 0)
    samples = len(times(duration))
    noise = np.random.default_rng(seed).standard_normal(samples + WARM_UP)
    series = _itur("itu1853").rain_attenuation_synthesis(
        site.latitude,
        site.longitude,
        site.frequency,
        site.elevation,
        _altitude(site),
        samples,
        tau=site.tilt,
        n=noise,
    )
    return np.asarray(getattr(series, "value", series), dtype=np.float64)[WARM_UP:]


def deepest(series: Series, duration: float) -> Series:
    """The stretch of a series with one sample per second that has its maximum in the middle."""
    series = _series("series", series)
    samples = len(times(duration))
    if len(series) < samples:
        raise RainError(f"the series lasts {len(series)} s, shorter than the stretch of {duration:g} s")
    first = int(np.argmax(series)) - samples // 2
    first = min(max(first, 0), len(series) - samples)
    return series[first : first + samples]


def level(attenuation: Series, clear_sky: float, noise_temperature: float | None = None) -> Series:
    """C/N0 or Es/N0 in dB where `clear_sky` is its value without rain.

    With the `noise_temperature` of the receiving system under a clear sky, in K, the noise of the rain comes
    on top of its attenuation (ITU-R P.618-13 section 3), as at a ground station; a satellite sees the warm
    Earth anyway.
    """
    _within("clear_sky", clear_sky, -100.0, 200.0)
    attenuation = _series("attenuation", attenuation)
    through = 10.0 ** (-attenuation / 10.0)
    received = clear_sky - attenuation
    if noise_temperature is None:
        return received
    _within("noise_temperature", noise_temperature, 1.0, 1e5)
    noise = (EFFECTIVE_TEMPERATURE - COSMIC_TEMPERATURE) * (1.0 - through)
    return received - 10.0 * np.log10(1.0 + noise / noise_temperature)


def losses(levels: Series, threshold: float) -> Series:
    """Packet loss of a modem with one fixed modulation: everything below the threshold, nothing above."""
    _within("threshold", threshold, -100.0, 200.0)
    return np.where(_series("levels", levels) < threshold, 1.0, 0.0)


def write(path: str | Path, at: Series, values: Series, comment: Sequence[str] = ()) -> None:
    """Writes lines `time,value` for link models; of a value that repeats only the ends."""
    place = arguments.path("path", path)
    at, values = _series("at", at), _series("values", values)
    if len(at) != len(values):
        raise RainError(f"values: found {len(values)} for {len(at)} times; allowed: one for each")
    rounded = [f"{value:.4f}" for value in values]
    lines = [one_line(f"# {line}") for line in arguments.texts("comment", comment)]
    before = [None, *rounded[:-1]]
    after = [*rounded[1:], None]
    for time, text, *neighbours in zip(at, rounded, before, after, strict=True):
        if neighbours != [text, text]:
            lines.append(f"{time:.10g},{text}")
    write_whole(place, ("\n".join(lines) + "\n").encode(errors="backslashreplace"), lasting=False)


def _rain(site: Site, percent: float, rain_rate: float | None) -> float:
    _of_site(site)
    value = _itur("itu618").rain_attenuation(
        site.latitude,
        site.longitude,
        site.frequency,
        site.elevation,
        hs=_altitude(site),
        p=percent,
        R001=rain_rate,
        tau=site.tilt,
    )
    return float(value.value)


def _altitude(site: Site) -> float:
    if site.altitude is not None:
        return site.altitude
    return float(_itur("itu1511").topographic_altitude(site.latitude, site.longitude).value)


def _itur(model: str) -> Any:  # noqa: ANN401 - the package has no types
    try:
        from importlib import import_module

        return import_module(f"itur.models.{model}")
    except ModuleNotFoundError as error:
        if error.name != "itur":
            raise
        raise RainError("the ITU-R models are not installed\n  fix: pip install 'ropewalk[rain]'") from error


def _within(name: str, value: float, low: float, high: float) -> None:
    try:
        arguments.number(name, value, low, high)
    except ValueError as error:
        raise RainError(str(error)) from None


def _series(name: str, values: Series) -> Series:
    """Finite numbers, one after the other."""
    try:
        return np.asarray(arguments.numbers(name, values), dtype=np.float64)
    except ValueError as error:
        raise RainError(str(error)) from None


def _of_site(site: Site) -> Site:
    return arguments.instance("site", "a ropewalk.rain.Site", Site, site)
