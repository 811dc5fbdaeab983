"""Plots: that they are there, and show what the tables say."""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from matplotlib.typing import ColorType

import ropewalk as rw
from conftest import ROOT, SMALL
from ropewalk import catalogue, statistics
from ropewalk.limits import FAILED
from ropewalk.plots import buffers, charts, legs, series, worth
from ropewalk.plots.apart import apart, labels
from ropewalk.plots.draw import draw
from ropewalk.plots.model import Axis, Bars, Boxes, Cells, Chart, Line, Mark, Panel, Points, Stack
from ropewalk.plots.palette import LIMITS, PALETTE, looks
from ropewalk.plots.study import Layout
from ropewalk.report.plotly import Budget, plot
from ropewalk.study.manifest import CaseEntry

OVER_TIME = ["throughput", "cwnd", "srtt", "send-buffer", "receive-buffer", "out-of-order", "queue"]
NAMES = [*OVER_TIME, "benefit", "delay-cdf"]


def test_files_are_pictures_of_sane_size(results: rw.Results, tmp_path: Path) -> None:
    files = results.plot.write(tmp_path / "plots")
    assert [file.stem for file in files] == NAMES
    for file in files:
        assert file.read_bytes().startswith(b"\x89PNG")
        assert 5_000 < file.stat().st_size < 500_000, file.name
        pixels = imread(file)
        height, width = pixels.shape[:2]
        assert 800 < width < 2000
        assert 300 < height < 2000
        # White paper with something on it, and a margin: nothing runs over the edge.
        paper = pixels[..., :3].min(axis=-1)
        assert 0.01 < (paper < 0.9).mean() < 0.6, file.name
        border = np.concatenate([paper[0], paper[-1], paper[:, 0], paper[:, -1]])
        assert (border > 0.99).all(), file.name


def test_titles_axes_and_units(results: rw.Results) -> None:
    for figure in (results.plot.throughput(), results.plot.cwnd(), results.plot.srtt()):
        assert "small, seed 1" in figure.get_suptitle()
        assert "time (s)" in [axes.get_xlabel() for axes in figure.axes]
        assert "(" in figure.axes[0].get_ylabel()
        legend = figure.axes[0].get_legend()
        assert legend is not None
        labels = [text.get_text() for text in legend.get_texts()]
        assert labels[:2] == ["0: a", "1: b"]
    assert "seed 2 and spread of 3 runs" in results.plot.out_of_order(run=2).get_suptitle()
    assert "3 runs" in results.plot.delay_cdf().get_suptitle()


def test_names_of_users_are_no_formulas_and_no_title_is_cut(tmp_path: Path) -> None:
    name = "from $\\\\frac$ to 100 $, " + "and so on until the line is full of words, " * 3
    text = SMALL.replace('name = "small"', f'name = "{name}"')
    results = rw.Scenario.parse(text).run(seeds=1)
    figure = results.plot.cwnd()
    figure.savefig(tmp_path / "plot.png")
    assert r"from \$\frac\$ to 100 \$, and so on" in figure.get_suptitle()
    (heading,) = (text for text in figure.texts if text.get_text() == figure.get_suptitle())
    assert heading.get_window_extent().x1 < figure.bbox.x1


def contrast(one: ColorType, other: ColorType) -> float:
    """As WCAG 2 has it: 21 for black and white, 4.5 for what can be read without effort."""

    def luminance(colour: ColorType) -> float:
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("reverse", [False, True])
def test_figures_in_cells_can_be_read(*, reverse: bool) -> None:
    columns = [str(place) for place in range(41)]
    words = [[f"{place} ± 1" for place in columns]]
    values = np.linspace(0.0, 1.0, len(columns))[None, :]
    cells = Cells(["row"], columns, values, words, [["a"] * 41], [columns], "", reverse, "goodput (Mbit/s)")
    axis = Axis("level", levels=tuple(columns))
    figure = draw(Chart("key", "", "map", axis, Axis("row"), [Panel("", [cells])]))
    axes, bar = figure.axes
    assert figure.get_suptitle() == "map\ncells with a letter in common do not differ beyond chance"
    assert bar.get_ylabel() == "goodput (Mbit/s)"
    (image,) = axes.images
    assert len(axes.texts) == len(columns)
    for text, value in zip(axes.texts, values[0], strict=True):
        red, green, blue, _ = map(float, image.cmap(image.norm(value)))
        assert contrast(text.get_color(), (red, green, blue)) > 4.0, text.get_text()


def test_names_of_levels_do_not_run_into_each_other(tmp_path: Path) -> None:
    for names in (
        ["short", "names"],
        [f"a level of long name {n}" for n in range(6)],
        list(map(str, range(400))),
    ):
        box = statistics.box([1.0, 2.0, 3.0])
        assert box is not None
        marks: list[Mark] = [Boxes("all", PALETTE[0], names, [box] * len(names), names)]
        figure = draw(Chart("k", "", "", Axis("x", levels=tuple(names)), Axis("y"), [Panel("", marks)]))
        figure.savefig(tmp_path / "plot.png")
        labels = [tick.get_window_extent() for tick in figure.axes[0].get_xticklabels()]
        turned = [tick.get_rotation() > 0 for tick in figure.axes[0].get_xticklabels()]
        assert len(labels) <= 24
        assert all(turned) or not any(one.overlaps(other) for one, other in pairwise(labels))
        assert all(turned) == (len(names) > 2)


def test_events_are_marked(results: rw.Results) -> None:
    axes = results.plot.cwnd().axes[0]
    lines = [np.unique(line.get_xdata()) for line in axes.lines]
    assert {2.0, 3.0} <= {float(x[0]) for x in lines if len(x) == 1}
    above = [tick.get_text() for child in axes.child_axes for tick in child.get_xticklabels()]
    assert above == ["b down", "b up"]


@pytest.mark.parametrize(
    ("end_s", "round_trips", "width"),
    [
        (300.0, [0.5, 0.6, 3.8], 5.0),
        (12.0, [0.5, 0.55, 3.8], 0.6),
        (40.0, [3.0, 3.5, 3.8], 1.0),
        (3.0, [0.6, 0.6], 0.2),
        (30.0, [np.nan], 0.5),
    ],
)
def test_bins_follow_the_usual_round_trip_and_stay_short(
    end_s: float, round_trips: list[float], width: float
) -> None:
    instants = np.arange(1, round(end_s * 10) + 1) / 10
    results = SimpleNamespace(
        origin=SimpleNamespace(scenario=SimpleNamespace(duration_s=end_s)),
        runs=pl.DataFrame({"run": [1], "end_s": [end_s]}),
        series=pl.DataFrame({"run": [1] * len(instants), "t_s": instants}),
        subflows=pl.DataFrame({"run": [1] * len(round_trips), "srtt_mean_s": round_trips}),
    )
    assert series.Bins.make(results, 1).width == pytest.approx(width)  # type: ignore[arg-type]


def test_equal_curves_and_points_stay_visible_below_one_another() -> None:
    x = np.array([0.0, 1.0, 2.0])
    curves = [Line(name, x, x + shift) for name, shift in (("a", 0.0), ("b", 0.001), ("c", 1.0), ("d", 0.0))]
    points = [Points(name, 1.0, 1.0, PALETTE[0], "circle", None, "", "") for name in "ef"]
    widths = [mark.width for mark in apart([*curves, *points]) if isinstance(mark, Line)]
    # A point on each side of a curve is what the eye sees on paper and on a screen.
    assert widths[0] >= widths[1] + 1.0 >= widths[2] + 2.0
    assert widths[2] == widths[3] == curves[0].width
    sizes = [mark.size for mark in apart(points) if isinstance(mark, Points)]
    assert sizes[0] > sizes[1] == 1.0


def test_stacked_throughput_holds_all_bytes(results: rw.Results) -> None:
    axes = results.plot.throughput(run=1).axes[0]
    carried = 0.0
    for area in axes.collections:
        # Shoelace formula; Mbit/s times seconds.
        x, y = np.asarray(area.get_paths()[0].vertices).T
        carried += abs(float(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))) / 2
    rows = results.subflows.filter((pl.col("run") == 1) & (pl.col("flow") == "upload"))
    received = float(np.sum(rows["goodput_bit_s"].to_numpy()))
    assert carried == pytest.approx(received * 4 / 1e6, rel=0.01)


def test_delay_distributions_go_from_zero_to_one_and_include_baselines(results: rw.Results) -> None:
    lines = results.plot.delay_cdf().axes[0].lines
    assert [line.get_label() for line in lines] == ["upload", "upload@a", "upload@b"]
    for line in lines:
        y = np.asarray(line.get_ydata())
        assert (np.diff(y) >= 0).all()
        assert y[0] == 0.0
        assert y[-1] == pytest.approx(1.0)


def test_a_baseline_can_be_plotted_by_name(results: rw.Results) -> None:
    figure = results.plot.cwnd(flow="upload@b", run=3)
    assert "seed 3" in figure.get_suptitle()
    assert figure.axes[0].get_title(loc="left").startswith("upload@b (TCP, lia")


@pytest.mark.parametrize(
    ("options", "reason"), [({"flow": "uplaod"}, "flows: upload"), ({"run": 99}, "no run 99")]
)
def test_wrong_names_are_refused(results: rw.Results, options: dict[str, str], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        results.plot.throughput(**options)  # type: ignore[arg-type]


def test_notebooks_show_figures(results: rw.Results) -> None:
    assert results.plot.srtt()._repr_png_().startswith(b"\x89PNG")


def test_many_subflows_and_an_early_end_leave_room_for_the_data(tmp_path: Path) -> None:
    page = '{ kind = "http", page = "custom", objects = 60, object = "1kB", domains = 30 }'
    text = f"""
name = "many"
duration = "60s"
[[path]]
name = "a"
both = {{ rate = "4Mbit/s", delay = "40ms", queue = "500p" }}
[[flow]]
name = "web"
from = "server"
to = "terminal"
app = {page}
transport = {{ kind = "tcp" }}
"""
    results = rw.Scenario.parse(text).run(seeds=1)
    end_s = results.runs["end_s"][0]
    assert end_s < 10
    for figure in (results.plot.cwnd(), results.plot.throughput()):
        figure.savefig(tmp_path / "plot.png")
        axes = figure.axes[0]
        assert axes.get_xlim() == (0.0, end_s)
        legend = axes.get_legend()
        assert legend is not None
        labels = [text.get_text() for text in legend.get_texts()]
        assert len(labels) in {8, 10}
        hidden = len(results.subflows) - 7
        assert labels[-1] in {f"and {hidden + lines} more" for lines in range(3)}
        assert axes.get_position().width > 0.5
        assert axes.get_position().height > 0.3


@pytest.mark.parametrize("file", sorted((ROOT / "scenarios").glob("*.toml")), ids=lambda file: file.stem)
def test_shipped_scenarios_can_be_drawn(file: Path) -> None:
    results = rw.Scenario.load(file).run(seeds=[1])
    drawn = charts(results)
    of_legs = ["leg-throughput", "leg-cwnd", "leg-srtt", "leg-retransmissions", "proxy-held"]
    legs = of_legs if results.legs.height else []
    benefit = ["benefit"] if any("@" in flow for flow in results.flows["flow"]) else []
    assert [chart.key for chart in drawn] == [*OVER_TIME, *legs, *benefit, "delay-cdf"]
    assert all(panel.marks for chart in drawn if chart.key != "queue" for panel in chart.panels)


@pytest.mark.parametrize("slow", ["200kbit/s", "2Mbit/s"])
def test_a_slow_flow_is_not_drawn_as_nothing(slow: str) -> None:
    path = '[[path]]\nname = "{0}"\nboth = {{ rate = "{1}", delay = "20ms" }}\n'
    ends = 'from = "terminal"\nto = "server"\ntransport = {{ kind = "tcp" }}\n'
    flow = '[[flow]]\nname = "{0}"\nvia = "{0}"\n' + ends
    text = 'duration = "5s"\n' + path.format("fast", "8Mbit/s") + path.format("slow", slow)
    results = rw.Scenario.parse(text + flow.format("fast") + flow.format("slow"), "two.toml").run()
    figure = results.plot.throughput()
    fast, other = (axes for axes in figure.axes if axes.get_title(loc="left"))
    own = slow == "200kbit/s"
    assert ("scale of its own" in figure.get_suptitle()) == own
    assert fast.get_ylim()[0] == other.get_ylim()[0] == 0.0
    assert 7 < fast.get_ylim()[1] < 15
    assert (other.get_ylim()[1] < 0.3) if own else (other.get_ylim() == fast.get_ylim())
    chart = series.throughput(results, None, None)
    layouts = [plot(chart, panel, Budget(1000))["layout"] for panel in chart.panels]
    assert (layouts[0]["yaxis"]["range"] != layouts[1]["yaxis"]["range"]) == own


def test_fifteen_subflows_look_different_and_have_a_row_each() -> None:
    path = '[[path]]\nname = "p{}"\nboth = {{ rate = "1Mbit/s", delay = "20ms", queue = "9p" }}\n'
    flow = (
        '[[flow]]\nname = "f"\nfrom = "terminal"\nto = "server"\napp = "bulk"\ncompare_paths = false\n'
        'transport = { kind = "mptcp" }\n'
    )
    for count in (15, 18):
        text = 'name = "many"\nduration = "3s"\n' + "".join(map(path.format, range(count))) + flow
        results = rw.Scenario.parse(text).run(1)
        (panel,) = charts(results, 1)[0].panels
        stack = panel.marks[0]
        assert isinstance(stack, Stack)
        assert len(set(zip(stack.colours, stack.patterns, strict=True))) == count
        names = [f"{index}: p{index}" for index in range(count)]
        left_out = [] if count <= series.MAX_STRIPS else [f"{count - series.MAX_STRIPS} more left out"]
        assert [strip.name for strip in panel.strips] == names[: series.MAX_STRIPS] + left_out
        drawn = plot(charts(results, 1)[0], panel, Budget(500))
        filled = [trace for trace in drawn["data"] if trace.get("stackgroup")]
        assert ["fillpattern" in trace for trace in filled] == [index >= 7 for index in range(count)]
    # Lines, too, by colour and dash; dots are thresholds.
    assert len({look[:2] for look in looks(28)}) == 28
    assert "dot" not in {dash for _, dash, _ in looks(28)}


TRANSFER = """
name = "two"
duration = "6s"
seeds = 3
[[path]]
name = "fast"
up = { rate = "2Mbit/s", delay = "20ms" }
down = { rate = "8Mbit/s", delay = "20ms" }
[[path]]
name = "slow"
like = "fast"
down = { rate = "2Mbit/s", delay = "20ms" }
[[flow]]
name = "download"
from = "server"
to = "terminal"
compare_paths = true
transport = { kind = "mptcp" }
[[event]]
at = "3s"
link = "slow"
set = { up = false }
"""


@pytest.fixture(scope="module")
def transfer() -> rw.Results:
    return rw.Scenario.parse(TRANSFER).run()


def test_throughput_stands_beside_capacity_best_path_and_goodput(transfer: rw.Results) -> None:
    (panel,) = series.throughput(transfer, None, None).panels
    lines = {mark.name: mark for mark in panel.marks if isinstance(mark, Line)}
    assert list(lines) == ["in-order goodput", "best path alone: fast", "capacity of its paths"]
    capacity = lines["capacity of its paths"]
    before, after = capacity.y[capacity.x < 2.9], capacity.y[capacity.x > 3.1]
    assert before == pytest.approx(10.0)
    assert after == pytest.approx(8.0)
    for name, flow in (("in-order goodput", "download"), ("best path alone: fast", "download@fast")):
        mine = (pl.col("flow") == flow) & (pl.col("run") == 1)
        goodput = transfer.flows.filter(mine)["goodput_bit_s"][0] / 1e6
        amounts = lines[name].y[:-1] * np.diff(lines[name].x)
        assert amounts.sum() / 6 == pytest.approx(goodput, rel=0.02), name


NETWORK = """\
name = "through a gateway"
duration = "3s"
node = [{ name = "car" }, { name = "gateway" }, { name = "server" }]
link = [
    { name = "wlan", ends = ["car", "gateway"], both = { rate = "20Mbit/s", delay = "5ms" } },
    { name = "lte", ends = ["car", "gateway"], both = { rate = "8Mbit/s", delay = "30ms" } },
    { name = "core", ends = ["gateway", "server"], both = { rate = "RATE", delay = "10ms" } },
]
[[flow]]
name = "upload"
count = 2
from = "car"
to = "server"
transport = { kind = "mptcp" }
[[event]]
at = "2s"
link = "wlan"
set = { up = false }
"""


@pytest.mark.parametrize(("core", "before", "after"), [("25Mbit/s", 25.0, 8.0), ("100Mbit/s", 28.0, 8.0)])
def test_routes_that_share_a_link_share_its_capacity(core: str, before: float, after: float) -> None:
    found = rw.Scenario.parse(NETWORK.replace("RATE", core)).run()
    for panel in series.throughput(found, None, None).panels:
        (line,) = [mark for mark in panel.marks if isinstance(mark, Line) and "capacity" in mark.name]
        assert line.y[line.x < 1.9] == pytest.approx(before)
        assert line.y[line.x > 2.1] == pytest.approx(after)


def test_benefit_shows_each_path_and_both_together(transfer: rw.Results) -> None:
    (panel,) = worth.benefit(transfer).panels
    (bars,) = panel.marks
    assert isinstance(bars, Bars)
    assert bars.at == ["bonded", "fast", "slow"]
    assert [len(sample) for sample in bars.samples] == [3, 3, 3]
    assert bars.means[1] > bars.means[2] > 0
    assert bars.means[0] > bars.means[2]
    assert [value for _, value, _ in bars.levels] == [bars.means[1], bars.means[1] + bars.means[2]]
    assert "of the best path" in panel.title
    plain = rw.Scenario.parse(TRANSFER.replace("compare_paths = true", "compare_paths = false")).run(1)
    with pytest.raises(ValueError, match="compare_paths"):
        plain.plot.benefit()
    assert "benefit" not in [chart.key for chart in charts(plain)]


def test_the_ribbon_shows_the_limit_of_each_sample(transfer: rw.Results) -> None:
    (panel,) = charts(transfer, 1)[0].panels
    assert [strip.name for strip in panel.strips] == ["0: fast", "1: slow"]
    names = list(catalogue.limits().values())
    for index, strip in enumerate(panel.strips):
        wanted = (pl.col("metric") == "limit") & (pl.col("subflow") == index) & (pl.col("flow") == "download")
        rows = transfer.series.filter(wanted & (pl.col("run") == 1)).select("t_s", "value").rows()
        for at, code in rows[1:]:
            (what,) = [what for start, end, what in strip.spans if start < at <= end]
            assert what == names[int(code)]
    assert set(LIMITS) == {*names, FAILED}
    # The ribbon has no colour of a subflow above it.
    assert not {colour.lower() for colour in LIMITS.values()} & {colour.lower() for colour in PALETTE}


def test_a_full_send_buffer_is_as_large_as_its_size(transfer: rw.Results) -> None:
    (panel,) = buffers.send_buffer(transfer, None, None).panels
    size, inside = (mark for mark in panel.marks if isinstance(mark, Line))
    assert (inside.y <= size.y).all()
    assert inside.y.max() > 10
    (received,) = buffers.receive_buffer(transfer, None, None).panels
    assert [mark.name for mark in received.marks if isinstance(mark, Line)] == [
        "window offered",
        "held out of order",
    ]


CHAIN = """
name = "chain"
duration = "20s"
seeds = 2
[[path]]
name = "satellite"
to = "gateway"
up = { rate = "2Mbit/s", delay = "100ms" }
down = { rate = "8Mbit/s", delay = "100ms" }
[[path]]
name = "internet"
from = "gateway"
both = { rate = "50Mbit/s", delay = "10ms" }
[[proxy]]
name = "gateway"
node = "gateway"
kind = "split"
flows = ["download"]
client = { kind = "tcp", receive_buffer = "300kB", send_buffer = "300kB" }
server = { kind = "tcp", receive_buffer = "300kB", send_buffer = "300kB" }
[[flow]]
name = "download"
from = "server"
to = "terminal"
opened_by = "receiver"
app = { kind = "bulk", size = "3MB" }
transport = { kind = "tcp" }
[[flow]]
name = "beside"
like = "download"
app = { kind = "bulk", size = "100kB" }
"""


def test_legs_show_the_chain(tmp_path: Path) -> None:
    chained = rw.Scenario.parse(CHAIN).run(seeds=2)
    keys = [chart.key for chart in charts(chained)]
    assert [key for key in keys if "leg" in key or "proxy" in key] == [
        "leg-throughput",
        "leg-cwnd",
        "leg-srtt",
        "leg-retransmissions",
        "proxy-held",
    ]
    (panel,) = legs.throughput(chained, None, None).panels
    first, second = (mark for mark in panel.marks if isinstance(mark, Line))
    assert [first.name, second.name] == ["0: server → gateway", "1: gateway → terminal"]
    # Every byte goes over each leg; the first is ahead by what the proxy holds.
    for line in (first, second):
        sums = np.cumsum(line.y[:-1] * np.diff(line.x)) * 1e6 / 8
        assert sums[-1] == pytest.approx(3e6, rel=1e-3), line.name
    ahead = np.cumsum((first.y - second.y)[:-1] * np.diff(first.x))
    assert ahead.min() > -1e-6
    assert ahead.max() > 0.5
    (panel,) = legs.held(chained, None, None).panels
    (held,) = (mark for mark in panel.marks if isinstance(mark, Line))
    table = chained.legs.filter((pl.col("leg") == 1) & (pl.col("run") == 1))
    assert held.name == "gateway"
    assert 250 < held.y.max() <= table["held_max_bytes"][0] / 1e3
    (panel,) = legs.cwnd(chained, None, 2).panels
    assert len(panel.marks) == 2
    # The mean of the table counts samples, that of the curve time.
    (panel,) = legs.srtt(chained, None, None).panels
    trips = [float(np.mean(mark.y)) for mark in panel.marks if isinstance(mark, Line)]
    means = chained.legs.filter(pl.col("run") == 1).sort("leg")["srtt_mean_s"].to_list()
    assert trips == pytest.approx([1e3 * mean for mean in means], rel=0.2)
    for figure in (chained.plot.leg_throughput(), chained.plot.leg_cwnd(run=2), chained.plot.proxy_held()):
        assert "chain, seed" in figure.get_suptitle()
        assert "(" in figure.axes[0].get_ylabel()
        legend = figure.axes[0].get_legend()
        assert legend is not None
        assert legend.get_title().get_text() in {"leg: from → to", "proxy at"}
    with pytest.raises(ValueError, match="'beside'"):
        chained.plot.proxy_held(flow="beside")
    assert {"leg-throughput.png", "leg-cwnd.png", "proxy-held.png"} <= {
        file.name for file in chained.plot.write(tmp_path / "plots")
    }


def test_each_proxy_has_a_curve() -> None:
    home = ROOT / "scenarios" / "hybrid-access-proxies.toml"
    chained = rw.Scenario.load(home, overrides=[("flow.download.app.size", "2MB")]).run(seeds=1)
    (panel,) = legs.held(chained, None, None).panels
    lines = [mark for mark in panel.marks if isinstance(mark, Line)]
    assert [line.name for line in lines] == ["gateway", "box"]
    together = chained.series.filter(pl.col("metric") == "proxy_held_bytes")
    for at, value in together.select("t_s", "value").rows():
        parts = sum(line.y[line.x == at].sum() for line in lines)
        assert parts <= value / 1e3 + 1e-9
    assert max(line.y.max() for line in lines) > 1000


def test_legs_of_any_number_have_series_and_curves() -> None:
    nodes = ["terminal", "one", "two", "three", "server"]
    link = {"rate": "10Mbit/s", "delay": "10ms", "queue": "1000p"}
    lossy = {**link, "loss": {"kind": "packet", "probability": 0.01}}
    paths = [
        {"name": f"p{n}", "from": a, "to": b, "both": lossy if n == 2 else link}
        for n, (a, b) in enumerate(pairwise(nodes))
    ]
    side = {"kind": "tcp"}
    proxies = [{"name": n, "node": n, "kind": "split", "client": side, "server": side} for n in nodes[1:4]]
    flow = {"name": "up", "from": "terminal", "to": "server", "transport": side}
    keys: dict[str, Any] = {
        "name": "chain",
        "duration": "10s",
        "path": paths,
        "proxy": proxies,
        "flow": [flow],
    }
    chained = rw.Scenario.from_dict(keys).run([1])
    metrics = set(chained.series["metric"].cast(pl.String))
    assert {"leg3_cwnd_bytes", "leg3_srtt_s", "leg3_throughput_bit_s", "leg3_held_bytes"} <= metrics
    assert all(catalogue.of_series("flow", name) for name in metrics if name.startswith("leg"))
    (panel,) = legs.retransmissions(chained, None, None).panels
    lines = [mark for mark in panel.marks if isinstance(mark, Line)]
    repeated = chained.legs.sort("leg")["retransmitted_segments"].to_list()
    assert [line.y[-1] for line in lines] == repeated
    assert [count > 0 for count in repeated] == [False, False, True, False]
    assert len(legs.throughput(chained, None, None).panels[0].marks) == 4
    assert chained.plot.leg_retransmissions().axes[0].get_ylabel() == "retransmitted segments"


def test_without_a_proxy_there_are_no_legs(transfer: rw.Results) -> None:
    assert not [chart.key for chart in charts(transfer) if "leg" in chart.key or "proxy" in chart.key]
    with pytest.raises(ValueError, match="no proxy"):
        transfer.plot.leg_cwnd()


def test_labels_of_points_do_not_lie_on_each_other() -> None:
    places = [(0.1, 0.5), (0.12, 0.5), (0.9, 0.98), (0.8, 1.0), (0.15, 0.01), (0.11, 0.02), (0.5, 0.5)]
    found = labels(places)
    assert [left for _, left in found] == [False, False, True, True, False, False, False]
    for index, (y, _) in enumerate(found):
        assert 0.0 <= y <= 1.0
        for other in range(index):
            near = abs(places[other][0] - places[index][0]) < 0.3
            assert not near or abs(found[other][0] - y) > 0.055


def layout(baseline: dict[str, str] | None, first: int, second: int) -> tuple[Layout, list[CaseEntry]]:
    """Two factors, `sky` and `scheduler`, with these numbers of levels."""
    levels = {"sky": [f"s{n}" for n in range(first)], "scheduler": [f"r{n}" for n in range(second)]}
    cases = [
        SimpleNamespace(case=f"{sky} / {rule}", levels={"sky": sky, "scheduler": rule})
        for sky in levels["sky"]
        for rule in levels["scheduler"]
    ]
    results = SimpleNamespace(manifest=SimpleNamespace(factors=levels, baseline=baseline))
    return Layout.of(results), cases  # type: ignore[arg-type, return-value]


def test_letters_compare_what_the_baseline_names_under_the_same_environment() -> None:
    made, cases = layout({"scheduler": "r0"}, 3, 4)
    assert made.environment({"scheduler": "r0"}) == "sky"
    groups = made.compared(cases, {"scheduler": "r0"})
    assert [{case.levels["sky"] for case in group} for group in groups] == [{"s0"}, {"s1"}, {"s2"}]
    assert made.compared(cases, None) == [cases]
    assert made.compared(cases, {"scheduler": "r0", "sky": "s0"}) == [cases]


@pytest.mark.parametrize(
    ("baseline", "first", "second", "panels", "colours"),
    [
        ({"scheduler": "r0"}, 3, 4, ["sky"], "scheduler"),
        ({"sky": "s0"}, 3, 4, ["scheduler"], "sky"),
        (None, 3, 4, ["sky"], "scheduler"),
        (None, 2, 3, [], "sky"),
        (None, 13, 14, [], "sky"),
    ],
)
def test_many_cases_are_divided_among_panels(
    baseline: dict[str, str] | None, first: int, second: int, panels: list[str], colours: str
) -> None:
    made = layout(baseline, first, second)[0].divided(baseline)
    assert (made.panels, made.first) == (panels, colours)


def test_the_axis_of_a_replication_ends_with_it() -> None:
    text = SMALL.replace("compare_paths = true", 'app = { kind = "bulk", size = "500kB" }').partition(
        "[[event]]"
    )[0]
    results = rw.Scenario.parse(text.replace('"4s"', '"20s"')).run(seeds=4)
    ends = results.runs["end_s"].to_list()
    assert len(set(ends)) > 1
    for run, end in enumerate(ends, 1):
        assert series.cwnd(results, None, run).x.high == end
    assert series.out_of_order(results, None, 1).x.high == max(ends)
