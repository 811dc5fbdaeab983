"""When a proxy helps: the page has the times that its study gives, for cases without losses."""

import json
import re
import tomllib

import pytest

import ropewalk as rw
from conftest import ROOT

PAGE = (ROOT / "docs" / "explanation" / "when-a-proxy-helps.md").read_text(encoding="utf-8")
STUDY = tomllib.loads((ROOT / "studies" / "when-a-proxy-helps.toml").read_text(encoding="utf-8"))
GATEWAY = "MPTCP to the gateway"


def _toml(value: object) -> str:
    """An override as it is typed; words of TOML need no quotes there."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {json.dumps(one)}" for key, one in value.items()) + " }"
    return value if isinstance(value, str) else json.dumps(value)


def seconds(*levels: str, **more: str) -> float:
    """Completion of the download in a case of the study, with further keys of the gateway's client side."""
    overrides = dict(STUDY["set"])
    for vary, level in zip(STUDY["vary"], levels, strict=True):
        overrides |= vary["cases"][level]
    overrides |= {f"proxy.gateway.client.{key}": value for key, value in more.items()}
    keys = [(key, _toml(value)) for key, value in overrides.items()]
    scenario = rw.Scenario.load(ROOT / "scenarios" / "hybrid-access-proxies.toml", keys)
    flows = scenario.run(1, series=False).flows
    return float(flows.filter(flows["flow"] == "download")["completion_s"][0])


@pytest.mark.parametrize("control", ["CUBIC", "Hybla"])
def test_place_and_control(control: str) -> None:
    [row] = re.findall(rf"^\| GEO \| 0 \| {control} \|(.*)\|$", PAGE, re.MULTILINE)
    told = [float(cell) for cell in row.split("|")]
    places = ("TCP, satellite", "TCP, satellite, split", "MPTCP", GATEWAY)
    found = [seconds("GEO", "0", "100 MB", place, control) for place in places]
    assert found == pytest.approx(told, abs=0.06)


def test_the_page_over_leo() -> None:
    text = " ".join(PAGE.split())
    [(gateway, server)] = re.findall(r"\(([\d.]+) and ([\d.]+) s, CUBIC without losses\)", text)
    [nagle] = re.findall(r"client side the page takes ([\d.]+) s", text)
    [older] = re.findall(r"`minshall = false`\) ([\d.]+) s", text)
    page = ("LEO", "0", "page")
    assert seconds(*page, "MPTCP", "CUBIC") == pytest.approx(float(server), abs=0.006)
    for told, more in ((gateway, {}), (nagle, {"nagle": "false"}), (older, {"minshall": "false"})):
        assert seconds(*page, GATEWAY, "CUBIC", **more) == pytest.approx(float(told), abs=0.006)
