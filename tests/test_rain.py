"""Rain: published numbers of the ITU-R models, shapes of fades, and `ropewalk rain` as a user types it.

The models are a download of 160 MB. Where they are not installed, their answers on record take their place,
so that everything of ours runs in every `make test`.
"""

import importlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ropewalk as rw
from conftest import Ropewalk
from ropewalk import rain

INSTALLED = (
    subprocess.run([sys.executable, "-c", "import itur"], capture_output=True, check=False).returncode == 0
)
itur = pytest.mark.skipif(
    not INSTALLED, reason="the optional package itur is not installed (make test-rain installs it)"
)
RECORDED = Path(__file__).parent / "recorded"


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ITU-R models, or what they have answered, here and in commands."""
    if not INSTALLED:
        monkeypatch.syspath_prepend(str(RECORDED))
        path = os.pathsep.join(filter(None, [str(RECORDED), os.environ.get("PYTHONPATH")]))
        monkeypatch.setenv("PYTHONPATH", path)


GOTHENBURG = rain.Site(latitude=57.7, longitude=12.0, elevation=23.8, frequency=20.0)


def rows(path: Path) -> list[tuple[float, float]]:
    """The lines of a series without its comments."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return [(float(time), float(value)) for time, value in (line.split(",") for line in lines)]


def test_a_fade_rises_stays_and_falls() -> None:
    fade = rain.Fade(peak=10.0, start=60.0, ramp=60.0, hold=120.0, recovery=240.0)
    at = np.array([0.0, 60.0, 90.0, 120.0, 240.0, 300.0, 480.0, 1000.0])
    assert fade.attenuation(at).tolist() == [0.0, 0.0, 5.0, 10.0, 10.0, 7.5, 0.0, 0.0]
    step = rain.Fade(peak=3.0, start=10.0, ramp=0.0, hold=5.0, recovery=0.0)
    assert step.attenuation(np.array([9.9, 10.1, 14.9, 15.1])).tolist() == [0.0, 3.0, 3.0, 0.0]


def test_levels_fall_by_the_attenuation_and_by_the_noise_of_the_rain() -> None:
    attenuation = np.array([0.0, 3.0, 10.0])
    assert rain.level(attenuation, 13.0).tolist() == [13.0, 10.0, 3.0]
    # 272.3 K times 1 - 10^(-0.3) = 135.83 K on top of 150 K: 2.800 dB.
    with_noise = rain.level(attenuation, 13.0, noise_temperature=150.0)
    assert with_noise == pytest.approx([13.0, 7.200, -1.206], abs=5e-4)
    assert rain.losses(with_noise, 7.2).tolist() == [0.0, 1.0, 1.0]


def test_free_space_loss_of_a_geostationary_path() -> None:
    assert rain.free_space_loss(38611.7, 12.0) == pytest.approx(205.768, abs=5e-4)


def test_levels_that_are_none_are_refused() -> None:
    attenuation = np.zeros(2)
    with pytest.raises(rain.RainError, match="clear_sky: found nan"):
        rain.level(attenuation, math.nan)
    with pytest.raises(rain.RainError, match="threshold: found nan"):
        rain.losses(attenuation, math.nan)


def test_repeated_values_are_written_at_both_ends(tmp_path: Path) -> None:
    path = tmp_path / "fade.csv"
    at = rain.times(5.0)
    rain.write(path, at, np.array([1.0, 1.0, 1.0, 2.0, 2.0, 1.0]), ["how it was made"])
    assert path.read_text(encoding="utf-8").startswith("# how it was made\n0,1.0000\n")
    assert rows(path) == [(0.0, 1.0), (2.0, 1.0), (3.0, 2.0), (4.0, 2.0), (5.0, 1.0)]


def test_the_deepest_stretch() -> None:
    series = np.zeros(100)
    series[70] = 5.0
    assert np.argmax(rain.deepest(series, 10.0)) == 5
    series[99] = 6.0
    stretch = rain.deepest(series, 10.0)
    assert len(stretch) == 11
    assert np.argmax(stretch) == 10
    with pytest.raises(rain.RainError, match="shorter than"):
        rain.deepest(series, 100.0)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"latitude": 91.0}, "latitude: found 91; allowed: -90 to 90"),
        ({"elevation": 2.0}, "elevation: found 2; allowed: 5 to 90"),
        ({"frequency": float("nan")}, "frequency: found nan"),
        ({"altitude": 120.0}, "altitude: found 120; allowed: -0.5 to 9"),
    ],
)
def test_sites_are_checked(change: dict[str, float], part: str) -> None:
    fields = {"latitude": 57.7, "longitude": 12.0, "elevation": 23.8, "frequency": 20.0} | change
    with pytest.raises(rain.RainError, match=part):
        rain.Site(**fields)


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("frequency", "gamma"), [(12.0, 1.3313), (20.0, 3.3350), (30.0, 6.0500)], ids=lambda x: f"{x:g}"
)
def test_specific_attenuation_of_p838(frequency: float, gamma: float) -> None:
    site = rain.Site(latitude=0.0, longitude=0.0, elevation=5.0, frequency=frequency, altitude=0.0, tilt=0.0)
    # The numbers are for horizontal polarisation on a level path; 5 degrees up change less than 0.2 %.
    flat = rain.specific_attenuation(30.0, site)
    assert flat == pytest.approx(gamma, rel=2e-3)


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("site", "attenuation"),
    [
        (
            rain.Site(51.5, -0.14, 31.07699124, 14.25, altitude=0.031382984, tilt=0.0),
            (0.495317069, 2.185847422, 6.798072267, 14.89982248),
        ),
        (
            rain.Site(41.9, 12.49, 40.232036, 29.0, altitude=0.046122988, tilt=0.0),
            (2.823465634, 10.73100773, 28.74272193, 54.25561152),
        ),
        (
            rain.Site(22.9, -43.23, 22.27833468, 14.25, altitude=0.0, tilt=0.0),
            (1.706901281, 8.271647438, 18.94410356, 29.91171296),
        ),
        (
            rain.Site(3.133, 101.7, 85.80459566, 29.0, altitude=0.051251456, tilt=90.0),
            (10.2131477, 48.81996807, 83.37856227, 96.67521082),
        ),
    ],
    ids=["London", "Rome", "22.9 N 43.2 W", "Kuala Lumpur"],
)
def test_rain_attenuation_of_p618(site: rain.Site, attenuation: tuple[float, ...]) -> None:
    """Validation examples of ITU-R Study Group 3 for P.618-13: 1, 0.1, 0.01 and 0.001 % of a year."""
    for availability, expected in zip((99.0, 99.9, 99.99, 99.999), attenuation, strict=True):
        assert rain.exceeded(site, availability) == pytest.approx(expected, rel=1e-4)


@pytest.mark.usefixtures("models")
def test_more_rain_attenuates_more() -> None:
    depths = [rain.at_rain_rate(GOTHENBURG, rate) for rate in (0.0, 10.0, 30.0)]
    assert depths[0] == 0.0
    assert 0 < depths[1] < depths[2]
    # The path through the rain, which reaches up to some 2.5 km here, is seen at 24 degrees.
    per_km = rain.specific_attenuation(30.0, GOTHENBURG)
    assert 1 < depths[2] / per_km < 6.5


@itur
def test_the_record_holds() -> None:
    """`ROPEWALK_BLESS=1` writes it anew."""
    path = RECORDED / "itur" / "calls.json"
    calls = json.loads(path.read_text(encoding="utf-8"))
    for call in calls:
        model, function = call["function"].split(".")
        real = getattr(importlib.import_module(f"itur.models.{model}"), function)
        said = float(real(*call["arguments"], **call["named"]).value)
        if os.environ.get("ROPEWALK_BLESS"):
            call["value"] = said
        assert call["value"] == pytest.approx(said, rel=1e-9), call
    if os.environ.get("ROPEWALK_BLESS"):
        path.write_text("[\n" + ",\n".join(map(json.dumps, calls)) + "\n]\n", encoding="utf-8")


@itur
def test_a_synthesis_has_the_statistics_of_the_place() -> None:
    series = rain.synthesis(GOTHENBURG, 60 * rain.DAY, seed=1)
    assert len(series) == 60 * rain.DAY + 1
    # It rains on the path for 6.6 % of the year (P.837); 60 days hold dozens of independent events.
    assert 0.03 < (series > 0).mean() < 0.12
    # P.1853 fits its series to P.618 at this level among others.
    share = (series > rain.exceeded(GOTHENBURG, 99.0)).mean() * 100
    assert 0.4 < share < 2.5


@itur
def test_a_seed_is_a_sky() -> None:
    first, again, other = (rain.synthesis(GOTHENBURG, rain.DAY, seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    "source",
    [
        ("--availability", "99.9"),
        ("--rain-rate", "10"),
        pytest.param(("--synthesise", "5", "--seed", "3"), marks=itur),
    ],
    ids=lambda source: source[0],
)
def test_rain_on_the_command_line(ropewalk: Ropewalk, tmp_path: Path, source: tuple[str, ...]) -> None:
    place = ("--lat", "57.7", "--lon", "12", "--elevation", "23.8", "--frequency", "20")
    out = tmp_path / "fade.csv"
    done = ropewalk("rain", *source, *place, "--clear-sky", "13", "--duration", "900", "--out", out)
    assert done.returncode == 0, done.stderr
    deepest = float(done.stdout.split()[-2])
    assert deepest > 0.3
    assert min(value for _, value in rows(out)) == pytest.approx(13.0 - deepest, abs=0.006)
    assert rows(out)[-1][0] == 900.0


def test_a_given_peak_needs_no_models(ropewalk: Ropewalk, tmp_path: Path) -> None:
    out = tmp_path / "fade.csv"
    done = ropewalk("rain", "--peak", "8", "--out", out)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{out}: attenuation in dB; deepest attenuation 8.00 dB\n"
    assert out.read_text(encoding="utf-8").startswith(
        f"# ropewalk rain --peak 8 --out {out}\n# time in s, attenuation in dB\n"
    )
    done = ropewalk("rain", "--peak", "8", "--clear-sky", "12", "--threshold", "6", "--out", out)
    assert done.returncode == 0, done.stderr
    # More than 6 dB from 6/8 of the ramp on (60 s + 45 s) until 2/8 of the recovery (240 s + 30 s).
    assert rows(out) == [(0.0, 0.0), (105.0, 0.0), (106.0, 1.0), (269.0, 1.0), (270.0, 0.0), (600.0, 0.0)]


LINK = """
name = "rain"
duration = "90s"

[[path]]
name = "geo"
up = { rate = "5Mbit/s", delay = "50ms", queue = "100p" }
down = { %s, delay = "50ms", queue = "60p" }

[[flow]]
name = "download"
from = "server"
to = "terminal"
opened_by = "receiver"
transport = { kind = "tcp", profile = "linux" }
"""


def throughput(folder: Path, down: str) -> tuple[float, float]:
    """Mean throughput in Mbit/s before the fade (20 s to 30 s) and at its bottom (50 s to 60 s)."""
    file = folder / "scenario.toml"
    file.write_text(LINK % down, encoding="utf-8")
    series = rw.Scenario.load(file).run(jobs=1).series
    rows = [
        row for row in series.iter_rows(named=True) if row["metric"] == "throughput_bit_s" and row["flow"]
    ]

    def mean(first: float, last: float) -> float:
        values = [row["value"] for row in rows if first < row["t_s"] <= last]
        return float(sum(values)) / len(values) / 1e6

    return mean(20, 30), mean(50, 60)


def test_links_read_what_is_written(ropewalk: Ropewalk, tmp_path: Path) -> None:
    shape = ("--start", "30", "--ramp", "10", "--hold", "30", "--recovery", "10", "--duration", "90")
    fade = ("rain", "--peak", "8", *shape, "--clear-sky", "13")
    assert ropewalk(*fade, "--out", tmp_path / "level.csv").returncode == 0
    assert ropewalk(*fade, "--threshold", "7", "--out", tmp_path / "loss.csv").returncode == 0
    # 13 dB less 0.5 dB of margin: 16APSK 5/6, 3.300184 bit/symbol; at 5 dB: QPSK 3/4, 1.487473 bit/symbol.
    before, below = throughput(tmp_path, 'rate = { kind = "acm", file = "level.csv", symbol_rate = 1e6 }')
    assert 0.85 * 3.300 < before <= 3.301
    assert 0.80 * 1.487 < below <= 1.488
    before, below = throughput(tmp_path, 'rate = "3Mbit/s", loss = { kind = "series", file = "loss.csv" }')
    assert before > 0.85 * 3.0
    assert below == 0.0


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ((), "found none; give one of --peak, --rain-rate, --availability, --synthesise"),
        (("--peak", "3", "--rain-rate", "5"), "found --peak and --rain-rate"),
        (("--peak", "-3"), "peak: found -3; allowed: 0 to"),
        (("--peak", "3", "--lat", "50"), "--lat has no meaning with --peak"),
        (("--peak", "3", "--threshold", "5"), "--threshold has no meaning without --clear-sky"),
        (("--peak", "3", "--seed", "5"), "--seed has no meaning without --synthesise"),
        (("--peak", "3", "--step", "0"), "step: found 0"),
        (("--synthesise", "3", "--hold", "5"), "--hold has no meaning with --synthesise"),
        (("--availability", "99.9", "--lat", "50"), "missing: --lon, --elevation, --frequency"),
    ],
)
def test_wrong_orders_name_the_cure(
    ropewalk: Ropewalk, tmp_path: Path, arguments: tuple[str, ...], part: str
) -> None:
    done = ropewalk("rain", *arguments, "--out", tmp_path / "fade.csv")
    assert done.returncode == 2
    assert part in done.stderr
    assert not (tmp_path / "fade.csv").exists()


def test_without_the_package_the_cure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name=name.split(".", maxsplit=1)[0])

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(rain.RainError, match=r"pip install 'ropewalk\[rain\]'"):
        rain.exceeded(GOTHENBURG, 99.9)
