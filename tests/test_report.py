"""The report: what it says, that it needs no network, is always the same, and pleases a browser."""

import base64
import itertools
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import browser as programs
import ropewalk as rw
from conftest import ROOT, SMALL, Ropewalk
from ropewalk import plots, report
from ropewalk.export import export
from ropewalk.plots.study import ellipse
from ropewalk.report.thin import thin
from ropewalk.reproduce import page as claims
from ropewalk.reproduce.counting import count
from ropewalk.reproduce.page import NAMES
from ropewalk.reproduce.verdicts import Verdict, VerdictRow
from ropewalk.written import digests, seal
from study_files import FACTORS_START, STUDY, write_study

PATIENCE_S = 20.0


@pytest.fixture(scope="session")
def page(studied: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report.write(studied, tmp_path_factory.mktemp("page") / "report.html")


def data_of(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def rows_of(text: str) -> list[list[str]]:
    """The cells of the table of verdicts."""
    rows = re.findall(r'<tr class="mood-.*?</tr>', text, re.DOTALL)
    return [[re.sub("<.*?>", "", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", row)] for row in rows]


def test_same_results_same_bytes(studied: Path, ran: Path) -> None:
    for place in (studied, ran):
        assert report.build(place) == report.build(place)
    other = report.build(studied, case="olia / 0.02")
    assert other != report.build(studied)
    for text in (report.build(ran), other):
        digest = re.search(r'name="ropewalk-content" content="sha256:([0-9a-f]{64})"', text)
        assert digest is not None
        assert text.count(digest[1]) == 2, "the provenance names it, too"


def test_nothing_is_loaded_from_anywhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(text.encode()) < report.LARGEST
    ours = text.replace(plotly_js(), "")
    assert len(ours) < len(text) - 1_000_000
    assert not re.search(r'(?:src|href)="(?!data:|#)', ours)
    assert "http" not in re.sub(r"http-equiv|http://www.w3.org/2000/svg|https?://\S*rfc\S*", "", ours)


def plotly_js() -> str:
    import plotly  # type: ignore[import-untyped]

    path = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    return path.read_text(encoding="utf-8").replace("</script", "<\\/script")


def test_verdicts_are_those_of_the_comparisons(studied: Path, page: Path) -> None:
    results = rw.StudyResults.read(studied)
    assert results.comparisons is not None
    rows = rows_of(page.read_text(encoding="utf-8"))
    assert len(rows) == results.comparisons.height == 4
    good = {"flow.upload.goodput_bit_s": 1, "flow.upload.delay_p95_s": -1}
    for row, found in zip(rows, results.comparisons.iter_rows(named=True), strict=True):
        assert row[0] == found["case"]
        if not found["differs"]:
            expected = "= no difference"
        else:
            expected = "▲ better" if found["difference"] * good[found["metric"]] > 0 else "▼ worse"
        assert row[4] == expected
        assert f"{100 * found['relative']:+.1f} %" in row[5]


def test_a_changed_value_changes_the_verdict(tmp_path: Path) -> None:
    """Forty times the rate on one path is better, and one fortieth is worse."""
    factor = '[[vary]]\nkey = "path.a.both.rate"\nvalues = ["100kbit/s", "4Mbit/s"]\n'
    for baseline, expected in (("100kbit/s", "▲ better"), ("4Mbit/s", "▼ worse")):
        head = STUDY[:FACTORS_START].replace("replications = 3", "replications = 6")
        text = head.replace('{ congestion = "lia" }', f'{{ rate = "{baseline}" }}') + factor
        place = tmp_path / baseline[:1]
        place.mkdir()
        rw.Study.load(write_study(place, text)).run(place / "out", store=tmp_path / "store")
        (row, _) = rows_of(report.build(place / "out"))
        assert row[4] == expected


def test_a_study_without_baseline_is_compared_with_its_best_case(tmp_path: Path) -> None:
    head = STUDY[:FACTORS_START].replace('baseline = { congestion = "lia" }\n', "")
    factor = '[[vary]]\nkey = "path.a.both.rate"\nvalues = ["100kbit/s", "4Mbit/s"]\n'
    rw.Study.load(write_study(tmp_path, head + factor)).run(tmp_path / "out")
    rows = rows_of(report.build(tmp_path / "out"))
    assert [row[4] for row in rows[:2]] == ["▼ worse", "▲ best"]


def test_hundreds_of_levels_take_seconds(tmp_path: Path) -> None:
    """Each has a shade of its own and is compared with every other one: 40 s if either is done clumsily."""
    head = STUDY[:FACTORS_START].replace('baseline = { congestion = "lia" }\n', "")
    levels = ", ".join(f'"{20 + level / 10:g}ms"' for level in range(400))
    factor = f'[[vary]]\nkey = "path.b.both.delay"\nvalues = [{levels}]\n'
    rw.Study.load(write_study(tmp_path, head + factor), replications=1).run(tmp_path / "out")
    begun = time.process_time()
    assert len(rows_of(report.build(tmp_path / "out"))) == 2 * 400
    assert time.process_time() - begun < 15


def test_of_thousands_of_flows_the_first_are_listed(tmp_path: Path) -> None:
    text = SMALL.replace("seeds = 3", "seeds = 1").replace('name = "upload"', 'name = "upload"\ncount = 600')
    text = text.replace("compare_paths = true", 'app = { kind = "bulk", size = "1kB" }')
    rw.Scenario.parse(text).run(series=False).write(tmp_path)
    page = report.build(tmp_path)
    assert len(rows_of(page)) == 500
    assert "the first 500 of 600 flows are listed" in page


def test_claims_of_a_reproduction(ropewalk: Ropewalk, tmp_path: Path) -> None:
    claim = {"what": "delay", "conditions": "GEO", "unit": "s", "published": "360.6", "measured": "412 ± 8 s"}
    rest = {"reason": "allowed 306 to 415 s"} | dict.fromkeys(
        ("root", "cause", "shown", "calibrated", "expected"), ""
    )
    claims = [
        {"id": "X-1", **claim, **rest, "verdict": "agrees"},
        {"id": "X-2", **claim, **rest, "verdict": "differs, explained", "cause": "the initial window"},
    ]
    found = {"form": 2, "reproduction": "omueti2007", "title": "Title", "source": "Authors", "claims": claims}
    reading = {"name": "as printed", "says": "Word for word.", "agrees": 1, "calibrated": 0, "checked": 2}
    found |= {
        "counts": {"agrees": 1, "within chance": 0, "differs, explained": 1},
        "readings": [reading],
        "roots": [],
        "version": "0.1.0",
        "model_version": 1,
        "unexplained": ["X-2"],
        "quick": False,
        "studies": ["rates"],
    }
    for study in ("rates", "of-an-earlier-call"):
        (tmp_path / "studies" / study).mkdir(parents=True)
        (tmp_path / "studies" / study / "study.json").touch()
    found["figures"] = [{"id": "figure-02", "title": "Figure 2: rates", "file": "figures/figure-02.png"}]
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "figure-02.png").write_bytes(b"\x89PNG picture")
    found["files"] = digests({"figures/figure-02.png": b"\x89PNG picture"})
    (tmp_path / "verdicts.json").write_bytes(seal(found))
    text = report.build(tmp_path)
    rows = rows_of(text)
    assert [row[4] for row in rows] == ["▲ agrees", "▼ differs, explained"]
    picture = base64.b64encode(b"\x89PNG picture").decode()
    assert f'alt="Figure 2: rates" src="data:image/png;base64,{picture}"' in text
    assert '<a href="#figures">Figures</a>' in text
    assert len(text) < 100_000, "the library draws nothing here"
    assert "<li>rates</li>" in text
    assert "of-an-earlier-call" not in text
    assert rows[0][2:4] == ["360.6 s", "412 ± 8 s"]
    assert rows[1][5].endswith(". Cause: the initial window")
    assert "as printed: 1 of 2 agree. Under one reading or another: 1 agrees, 1 differs, explained." in text
    for options in (["--seed", "1"], ["--case", "x"]):
        done = ropewalk("report", tmp_path, *options)
        assert done.returncode == 2
        assert "a reproduction shows nothing over time\n  fix: leave --seed and --case out" in done.stderr
    done = ropewalk("figures", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"fix: name one of its studies for those of it: {tmp_path}/studies/STUDY" in done.stderr
    (tmp_path / "verdicts.json").write_bytes(seal({"form": 0}))
    with pytest.raises(report.ReportError, match="not the verdicts of a reproduction"):
        report.build(tmp_path)


def test_what_was_run_is_told(ran: Path) -> None:
    text = report.build(ran)
    assert '<svg class="topology" role="img" aria-label="Network of small"' in text
    drawing = text[text.index('<svg class="topology"') : text.index("</svg>")]
    for word in ("terminal", "server", ">a<", ">b<", "4Mbit/s", "40ms, loss 1 %"):
        assert word in drawing
    assert "model version" in text


def test_the_drawing_says_where_proxies_stand(tmp_path: Path) -> None:
    scenario = rw.Scenario.load(ROOT / "scenarios" / "converter-beside-the-way.toml", [("duration", "2s")])
    scenario.run([1]).write(tmp_path)
    text = report.build(tmp_path)
    drawing = text[text.index('<svg class="topology"') : text.index("</svg>")]
    assert drawing.count(">proxy: convert<") == 1
    assert "pop, proxy: convert" in drawing


def test_flows_that_are_not_drawn_are_told(tmp_path: Path) -> None:
    text = SMALL.replace("seeds = 3", "seeds = 1").replace('name = "upload"', 'name = "upload"\ncount = 8')
    nobody = '\n[[flow]]\nname = "nobody"\ncount = 0\nlike = "upload"\n'
    rw.Scenario.parse(text.replace("compare_paths = true", "") + nobody).run().write(tmp_path)
    page = report.build(tmp_path)
    assert page.count("Shown: the first 6 of 8 flows.") == 7
    assert "upload \u00d7 8" in page
    assert ">nobody<" not in page


def test_regions_of_the_means_stay_above_zero() -> None:
    x, y = np.array([0.1, 3.0, 0.2, 4.0]), np.array([2.0, 0.1, 0.3, 3.0])
    whole = ellipse(x + 100.0, y + 100.0)
    assert whole is not None
    cut = ellipse(x, y)
    assert cut is not None
    for values, others in zip(cut, (values - 100.0 for values in whole), strict=True):
        assert others.min() < 0.0
        assert values.min() == 0.0
        assert values.max() == pytest.approx(others.max())
        assert values[0] == values[-1]


def test_thinned_curves_keep_their_extremes() -> None:
    x = np.arange(100_000.0)
    y = np.sin(x / 3000)
    y[77_777] = 9.0
    few_x, few_y = thin(x, y, 200)
    assert len(few_x) <= 200
    assert (few_x[0], few_x[-1]) == (0.0, 99_999.0)
    assert few_y.max() == 9.0
    assert few_x[few_y.argmax()] == 77_777
    assert few_y.min() == pytest.approx(y.min(), abs=1e-6)
    assert (np.diff(few_x) > 0).all()
    assert len(thin(x[:50], y[:50], 50)[0]) == 50


def test_thinning_is_said(tmp_path: Path) -> None:
    text = SMALL.replace("seeds = 3", "seeds = 1") + '\n[record]\ninterval = "1ms"\n'
    rw.Scenario.parse(text).run().write(tmp_path)
    page = report.build(tmp_path)
    said = re.findall(r"([\d,]+) of ([\d,]+) samples are drawn", page)
    assert said
    for drawn, recorded in said:
        assert int(drawn.replace(",", "")) < int(recorded.replace(",", ""))
    lines = [t for p in data_of(page)["plots"] for t in p["data"] if t["type"] == "scatter" and "meta" in t]
    assert max(len(trace["y"]) for trace in lines) <= report.MOST_POINTS


def test_cases_of_like_names_have_folders_of_their_own(ropewalk: Ropewalk, tmp_path: Path) -> None:
    head = STUDY[:FACTORS_START].replace('baseline = { congestion = "lia" }\n', "series = 1\n")
    factor = '[[vary]]\nkey = "path.a.both.rate"\nvalues = ["1Mbit/s", "2Mbit/s", "3Mbit/s"]\n'
    factor += 'labels = ["5 dB", "-5/dB", "5_dB"]\n'
    path = write_study(tmp_path, head.replace("replications = 3", "replications = 1") + factor)
    rw.Study.load(path).run(tmp_path / "out")
    assert ropewalk("figures", tmp_path / "out", "--format", "png").returncode == 0
    figures = tmp_path / "out" / "figures"
    assert {folder.name for folder in figures.iterdir() if folder.is_dir()} == {"5_dB", "-5_dB", "5_dB_2"}
    assert len({(folder / "cwnd.png").read_bytes() for folder in figures.iterdir() if folder.is_dir()}) == 3
    files = export(tmp_path / "out", "flent")
    assert [path.name.partition(".")[0] for path in files] == ["5_dB", "-5_dB", "5_dB_2"]


def test_figures_for_papers(studied: Path, ropewalk: Ropewalk, tmp_path: Path) -> None:
    done = ropewalk("figures", studied, "--format", "svg", "--case", "olia / 0.02", "--out", tmp_path / "a")
    assert done.returncode == 0, done.stderr
    files = [path for path in (tmp_path / "a").rglob("*") if path.is_file()]
    assert done.stdout == f"{len(files)} files in {tmp_path / 'a'}/\n"
    assert all(path.read_text(encoding="utf-8").startswith("<?xml") for path in files)
    kinds = {path.stem.split("-flow")[0] for path in files}
    assert {"heat-map-1", "boxes-1", "cdf-2", "throughput-delay-upload", "cwnd", "queue"} <= kinds
    assert {path.parent.name for path in files} == {"a", "olia_0.02"}
    wrong = ropewalk("figures", studied, "--format", "svg,gif")
    assert wrong.returncode == 2
    assert "found 'gif', known are png, svg, pdf" in wrong.stderr


def test_the_same_figure_is_the_same_file(results: rw.Results, tmp_path: Path) -> None:
    chart = plots.charts(results)[1]
    one, two = (plots.write([chart], tmp_path / name, plots.FORMATS) for name in "ab")
    assert [path.name for path in one] == ["cwnd.png", "cwnd.svg", "cwnd.pdf"]
    for first, second in zip(one, two, strict=True):
        assert first.read_bytes() == second.read_bytes(), first.name


@pytest.fixture(scope="module")
def chromium() -> Iterator[webdriver.Chrome]:
    found = programs.find()
    if found is None:
        if os.environ.get("ROPEWALK_WITHOUT_BROWSER") == "1":
            pytest.skip("no Chromium here, and ROPEWALK_WITHOUT_BROWSER=1")
        pytest.fail("Chromium or its driver is missing: python tools/browser.py installs them")
    options = webdriver.ChromeOptions()
    options.binary_location = found["CHROMIUM"]
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(found["CHROMEDRIVER"]))
    yield driver
    driver.quit()


def wait_for(driver: webdriver.Chrome, script: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while not driver.execute_script(f"return {script}"):
        assert time.monotonic() < until, script
        time.sleep(0.05)


def show(driver: webdriver.Chrome, page: Path, width: int, height: int, colours: str = "light") -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    wishes = {"prefers-color-scheme": colours, "prefers-reduced-motion": "reduce"}
    features = [{"name": name, "value": value} for name, value in wishes.items()]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    driver.get_log("browser")
    driver.get(page.as_uri())
    wait_for(driver, "document.documentElement.dataset.ready === 'true'")


def draw_all(driver: webdriver.Chrome) -> int:
    """Scrolls through the page until every plot that can be seen is drawn."""
    canvases = [c for c in driver.find_elements(By.CSS_SELECTOR, ".canvas") if c.is_displayed()]
    for canvas in canvases:
        until = time.monotonic() + PATIENCE_S
        while canvas.get_attribute("data-drawn") != "true":
            # Again, as a reader would: plots that are drawn meanwhile move those below.
            driver.execute_script(
                "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", canvas
            )
            assert time.monotonic() < until, canvas.get_attribute("aria-label")
            time.sleep(0.05)
    return len(canvases)


def quiet(driver: webdriver.Chrome) -> bool:
    return not [entry for entry in driver.get_log("browser") if entry["level"] in {"SEVERE", "WARNING"}]


def click(driver: webdriver.Chrome, selector: str) -> None:
    """In the middle of the window, where nothing sticks."""
    target = driver.find_element(By.CSS_SELECTOR, selector)
    driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", target)
    target.click()


def visible(driver: webdriver.Chrome, selector: str) -> list[Any]:
    return [one for one in driver.find_elements(By.CSS_SELECTOR, selector) if one.is_displayed()]


LONG_CURE = """
const item = document.createElement("li");
item.innerHTML = "<code>--set flow.download.transport.receive_buffer_of_a_very_long_name=4MiB</code>";
document.querySelector("section").append(item);
"""


def test_a_browser_opens_it_without_complaint(
    chromium: webdriver.Chrome, page: Path, ran: Path, tmp_path: Path
) -> None:
    for path in (page, report.write(ran, tmp_path / "report.html")):
        for width, height in ((1366, 768), (390, 844)):
            show(chromium, path, width, height)
            assert draw_all(chromium) >= 5
            assert quiet(chromium)
            wide = chromium.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width, "the page scrolls sideways"
            chromium.execute_script(LONG_CURE)
            wide = chromium.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width, "a long key makes the page scroll sideways"


def test_every_level_is_named_on_a_phone(chromium: webdriver.Chrome, tmp_path: Path) -> None:
    """An axis of names has all of them as ticks."""
    levels = [f"{delay}ms" for delay in range(20, 80, 10)]
    head = STUDY[:FACTORS_START].replace('baseline = { congestion = "lia" }\n', "")
    factor = f'[[vary]]\nname = "wait"\nkey = "path.a.both.delay"\nvalues = {levels}\n'
    rw.Study.load(write_study(tmp_path, head + factor)).run(tmp_path / "out")
    show(chromium, report.write(tmp_path / "out"), 390, 844)
    draw_all(chromium)
    box = visible(chromium, '.canvas[aria-label^="Spread over replications"]')[0]
    assert [tick.text for tick in box.find_elements(By.CSS_SELECTOR, ".xtick")] == levels


def claims_page(place: Path, rows: list[VerdictRow] | None = None) -> Path:
    """A page of `rows`, or of 40 claims of 20 figures."""
    rows = rows or [
        VerdictRow(
            f"doc.F{number // 2}_1.c{number}",
            "delay",
            "3",
            "s",
            "4 ± 1 s",
            verdict,
            f"reason {number}; " * 60,
        )
        for number, verdict in zip(range(40), itertools.cycle(Verdict), strict=False)
    ]
    document = SimpleNamespace(
        name="doc", title="A document", source="Authors", claims=(), roots=(), profiles=()
    )
    made = SimpleNamespace(
        reproduction=document, rows=rows, roots=[], quick=False, counted=count(rows, {"": ""})
    )
    path = place / "verdicts.html"
    path.write_text(claims.page(made, [], []), encoding="utf-8")  # type: ignore[arg-type]
    return path


def test_claims_are_collapsed_and_found_again(chromium: webdriver.Chrome, tmp_path: Path) -> None:
    page = claims_page(tmp_path)
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    chromium.get_log("browser")
    chromium.get(page.as_uri())

    def claims_seen() -> int:
        return len(visible(chromium, "td.id"))

    shown = chromium.find_element(By.ID, "shown")
    closed = visible(chromium, 'tr.part button[aria-expanded="false"]')
    opened = visible(chromium, 'tr.part button[aria-expanded="true"]')
    assert (claims_seen(), shown.text) == (2 * len(opened), "40 claims")
    assert (len(closed), len(opened)) == (4, 16), "parts in which something differs are open"
    assert chromium.execute_script("return document.documentElement.scrollWidth") <= 390
    first = chromium.find_element(By.CSS_SELECTOR, "tr.part button")
    assert first.text.split() == ["Figure", "0.1", "✓", "1", "≈", "1"]
    seen = claims_seen()
    first.send_keys(Keys.ENTER)
    assert (claims_seen(), first.get_attribute("aria-expanded")) == (seen + 2, "true")
    first.send_keys(Keys.ENTER)
    assert claims_seen() == seen
    for verdict in NAMES.values():
        if verdict != "chance":
            click(chromium, f'input[data-verdict="{verdict}"]')
    assert (claims_seen(), shown.text) == (4, "4 of 40 claims")
    chromium.find_element(By.ID, "find").send_keys("figure 2.1")
    assert (claims_seen(), shown.text) == (1, "1 of 40 claims")
    # A link to a claim takes filters away.
    chromium.execute_script("location.hash = 'claim-doc.F0_1.c1'")
    wait_for(chromium, "document.getElementById('find').value === ''")
    assert not chromium.find_element(By.ID, "claim-doc.F0_1.c1").get_property("hidden")
    click(chromium, '[data-open="true"]')
    assert claims_seen() == 40
    assert quiet(chromium)


def test_hovering_tells_values(chromium: webdriver.Chrome, page: Path) -> None:
    show(chromium, page, 1366, 768)
    draw_all(chromium)
    canvas = visible(chromium, '.canvas[aria-label^="Congestion window"]')[0]
    chromium.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", canvas)
    ActionChains(chromium).move_to_element_with_offset(canvas, 40, -20).perform()
    hovered = "[...document.querySelectorAll('.hoverlayer')].map((layer) => layer.textContent).join('')"
    wait_for(chromium, f"{hovered} !== ''")
    text = chromium.execute_script(f"return {hovered}")
    assert "0: a" in text
    assert re.search(r"\d", text)
    assert quiet(chromium)


def test_filters_work_without_a_server(chromium: webdriver.Chrome, page: Path) -> None:
    show(chromium, page, 1366, 768)
    assert len(visible(chromium, "tr[data-case]")) == 2, "the verdicts of one metric"
    first = visible(chromium, "[data-metric] h3")[0].text
    Select(chromium.find_element(By.ID, "metric")).select_by_index(1)
    assert visible(chromium, "[data-metric] h3")[0].text != first
    assert "delay" in visible(chromium, "tr[data-case]")[0].text
    draw_all(chromium)
    boxes = "document.querySelectorAll('[data-metric=\"1\"] .boxlayer .trace').length"
    before = chromium.execute_script(f"return {boxes}")
    assert before == 4
    click(chromium, 'input[data-factor="error rate"][value="0.02"]')
    assert len(visible(chromium, "tr[data-case]")) == 1
    assert chromium.find_element(By.ID, "status").text == "2 of 4 cases, 1 verdict shown"
    draw_all(chromium)
    wait_for(chromium, f"{boxes} === 2")
    click(chromium, "#clear")
    assert len(visible(chromium, "tr[data-case]")) == 2
    Select(chromium.find_element(By.ID, "case")).select_by_index(3)
    assert visible(chromium, "[data-of-case]")[0].get_attribute("data-of-case") == "olia / 0.02"
    draw_all(chromium)
    assert quiet(chromium)


def test_the_keyboard_reaches_everything(chromium: webdriver.Chrome, page: Path) -> None:
    show(chromium, page, 1366, 768)
    draw_all(chromium)
    chromium.execute_script("window.scrollTo(0, 0); document.activeElement.blur()")
    seen = []
    for _ in range(60):
        ActionChains(chromium).send_keys(Keys.TAB).perform()
        here = chromium.switch_to.active_element
        seen.append(here.get_attribute("id") or here.get_attribute("data-act") or here.get_attribute("class"))
        outline = here.value_of_css_property("outline-style")
        assert outline != "none", f"the focus on {seen[-1]} is not seen"
    assert seen[:2] == ["skip", "theme"]
    assert {"metric", "clear", "values", "reset", "image"} <= set(seen)
    table = visible(chromium, "button[data-act='values']")[0]
    table.send_keys(Keys.ENTER)
    assert visible(chromium, ".values td")
    legend = visible(chromium, ".legend button")[0]
    legend.send_keys(Keys.SPACE)
    assert legend.get_attribute("aria-pressed") == "false"
    assert quiet(chromium)


def test_light_and_dark(chromium: webdriver.Chrome, page: Path) -> None:
    backgrounds = []
    for colours in ("light", "dark"):
        show(chromium, page, 1366, 768, colours)
        backgrounds.append(background(chromium))
        chromium.find_element(By.ID, "theme").click()
        backgrounds.append(background(chromium))
    light, switched, dark, back = backgrounds
    assert light == back
    assert switched == dark
    assert light != dark
    draw_all(chromium)
    assert quiet(chromium)


def background(driver: webdriver.Chrome) -> str:
    return str(driver.find_element(By.TAG_NAME, "body").value_of_css_property("background-color"))
