"""Study files: what they mean, and what is said about mistakes in them."""

import re
from pathlib import Path

import pytest

import ropewalk as rw
from conftest import ROOT, SMALL, Ropewalk
from ropewalk.study import StudyError
from study_files import STUDY, write_study

PLACE = re.compile(r"^.*study\.toml:(\d+):(\d+): ", re.MULTILINE)


def cases(path: Path, **options: int) -> list[str]:
    return [case.name for case in rw.Study.load(path, **options).plan.cases]  # type: ignore[arg-type]


def test_the_mark_that_some_editors_begin_files_with_is_none_of_it(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    path.write_text(STUDY, encoding="utf-8-sig")
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8-sig")
    assert len(cases(path)) == 4


def test_a_grid(tmp_path: Path) -> None:
    study = rw.Study.load(write_study(tmp_path))
    assert [case.name for case in study.plan.cases] == [
        "lia / 0.0",
        "lia / 0.02",
        "olia / 0.0",
        "olia / 0.02",
    ]
    assert study.plan.cases[3].levels == {"congestion": "olia", "error rate": "0.02"}
    assert 'congestion = "olia"' in study.plan.cases[3].text
    assert len({case.key for case in study.plan.cases}) == 4
    assert (study.plan.stopping.minimum, study.plan.stopping.maximum) == (3, 3)


def test_lists_in_step_and_named_cases(tmp_path: Path) -> None:
    text = STUDY[: STUDY.index("[[vary]]")].replace('baseline = { congestion = "lia" }', "")
    text += """
[[vary]]
name = "beams"
zip = { "path.a.both.rate" = ["1Mbit/s", "2Mbit/s"], "path.b.both.delay" = ["50ms", "60ms"] }
labels = ["slow", "fast"]
[[vary]]
name = "sky"
[vary.cases]
clear = { "path.b.both.loss.probability" = 0.0 }
rain = { "path.b.both.loss.probability" = 0.1, "path.b.both.queue" = "20p" }
"""
    study = rw.Study.load(write_study(tmp_path, text))
    assert [case.name for case in study.plan.cases] == [
        *("slow / clear", "slow / rain", "fast / clear", "fast / rain"),
    ]
    last = study.plan.cases[3].text
    assert 'up = { rate = "2Mbit/s", delay = "40ms", queue = "50p"' in last
    assert '"20p", loss = { kind = "packet", probability = 0.1 }' in last


def test_the_key_of_a_case_ignores_titles_and_heeds_everything_else(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    keys = [case.key for case in rw.Study.load(path).plan.cases]
    cosmetic = [("name", '"a\\n[b]\\nseeds = 3"'), ("description", "words"), ("seeds", "9")]
    assert [case.key for case in rw.Study.load(path, cosmetic).plan.cases] == keys
    longer = [case.key for case in rw.Study.load(path, [("duration", "5s")]).plan.cases]
    assert not set(longer) & set(keys)


def test_compare_paths_reaches_the_flows(tmp_path: Path) -> None:
    for wish, expected in (("true", "true"), ("false", "false"), ('["upload"]', "true"), ("[]", "false")):
        path = write_study(tmp_path, STUDY.replace("compare_paths = false", f"compare_paths = {wish}"))
        for case in rw.Study.load(path).plan.cases:
            assert f"compare_paths = {expected}" in case.text, wish


def test_what_to_repeat_is_quoted_for_the_shell(tmp_path: Path) -> None:
    plan = rw.Study.load(write_study(tmp_path)).plan
    command = plan.command(plan.cases[3], 7)
    assert command.startswith(f"ropewalk run {tmp_path}/small.toml --seed 7 --set ")
    assert """--set 'flow.upload.transport.congestion="olia"'""" in command


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        (
            'name = "study"',
            "name = 3",
            1,
            ["name: found the number 3; expected text", 'put it into quotes: "3"'],
        ),
        ('name = "study"', "", 1, ["`name` is missing"]),
        ('name = "study"', 'name = "', 1, ["invalid basic string", "close the quotes"]),
        ("small.toml", "large.toml", 2, ["scenario: ", "No such file"]),
        (
            "replications = 3",
            "replication = 3",
            3,
            ["did you mean `replications`"],
        ),
        (
            "replications = 3",
            "replications = 0",
            3,
            ["replications: found 0; allowed: whole numbers from 1 to 1000000"],
        ),
        (
            "replications = 3",
            'replications = { until = "flow.upload.goodput", half_width = "5", min = 4, max = 3 }',
            3,
            ["did you mean `goodput_bit_s`", 'found "5"', "max is 3, which is less than min, 4"],
        ),
        ("compare_paths = false", 'compare_paths = ["download"]', 4, ['no flow "download"', "known: upload"]),
        ("flow.upload.goodput_bit_s", "flow.upload.colour", 5, ['"colour" is not a column']),
        ("flow.upload.goodput_bit_s", "flows", 5, ["does not name a metric"]),
        (
            "flow.upload.goodput_bit_s",
            "flow.*.goodput_bit_s",
            5,
            ["several rows", "mean(flow.*.goodput_bit_s)"],
        ),
        ("flow.upload.goodput_bit_s", "summ(flow.*.goodput_bit_s)", 5, ["did you mean `sum`"]),
        (
            '{ congestion = "lia" }',
            '{ congestion = "cubic" }',
            6,
            ['"cubic" is not a level', "known: lia, olia"],
        ),
        ('{ congestion = "lia" }', '{ scheduler = "lia" }', 6, ['nothing called "scheduler" is varied']),
        ('{ congestion = "lia" }', "{}", 6, ["its own baseline"]),
        ("both.loss.probability", "both.los.probability", 14, ["did you mean `loss`"]),
        ('"flow.upload.transport.congestion"', '"flow.upload.congestion"', 9, ["not a key of a flow"]),
        ('"olia"', '"oila"', 10, ["did you mean `olia`", "[E006]"]),
        ('"olia"', '"lia"', 10, ['two levels are called "lia"']),
        ('"olia"', "1979-05-27", 10, ["dates and times"]),
        ('name = "error rate"', "", 13, []),
        ('name = "error rate"', 'name = "n"', 13, ['"n" is a column of the tables', 'name = "ns"']),
        ("values = [0.0, 0.02]", "values = [0.0, 2.0]", 15, ["path.b.up.loss.probability"]),
        ("values = [0.0, 0.02]", "values = []", 15, ["nothing in it"]),
        (
            'key = "path.b.both.loss.probability"\nvalues = [0.0, 0.02]',
            f'cases = {{ "{"x" * 10_001}" = {{}} }}',
            14,
            ["a level whose name has 10001 characters; allowed: up to 10000", "shorten it", "[E007]"],
        ),
        (
            "values = [0.0, 0.02]",
            f"values = [0.0, '{'x' * 10_001}']",
            15,
            ["a level whose name has 10001 characters", "`labels`"],
        ),
        ("values = [0.0, 0.02]", "values = [0.0, 0.02]\nlabels = ['x']", 16, ["1 labels for 2 levels"]),
        ("values = [0.0, 0.02]", "zip = { a = [1], b = [1, 2] }", 15, ["differ in length (a: 1, b: 2)"]),
        ("values = [0.0, 0.02]", "values = [1]\ncases = {}", 12, ["found `values` and `cases`"]),
        ('"path.b.both.loss.probability"', '"flow.upload.transport.congestion"', 14, ["sets `flow.upload"]),
    ],
)
def test_mistakes_have_place_and_cure(
    tmp_path: Path, old: str, new: str, line: int, words: list[str]
) -> None:
    assert old in STUDY
    path = write_study(tmp_path, STUDY.replace(old, new))
    if not words:
        # A name follows from the key.
        assert "lia / 0.02" in cases(path)
        return
    with pytest.raises(StudyError) as caught:
        rw.Study.load(path)
    text = str(caught.value)
    for word in words:
        assert word in text
    assert line in {int(found[0]) for found in PLACE.findall(text)}, text
    assert "fix: " in text
    assert all(diagnostic.file == str(path) for diagnostic in caught.value.diagnostics)


def test_the_command_ends_with_2_and_shows_the_line(ropewalk: Ropewalk, tmp_path: Path) -> None:
    path = write_study(tmp_path, STUDY.replace('"olia"', '"oila"').replace("= [0.0, 0.02]", "= [0.0, 2.0]"))
    done = ropewalk("study", path, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert '10 | values = ["lia", "oila"]' in done.stderr
    assert re.search(r"\n +\| +\^{6}\n", done.stderr)
    assert "2 mistakes" in done.stderr
    assert not (tmp_path / "results").exists()


def test_mistakes_of_the_scenario_are_its_own(ropewalk: Ropewalk, tmp_path: Path) -> None:
    path = write_study(tmp_path)
    scenario = tmp_path / "small.toml"
    scenario.write_text(scenario.read_text(encoding="utf-8").replace('"4s"', '"4parsec"'), encoding="utf-8")
    done = ropewalk("study", path, cwd=tmp_path)
    assert done.returncode == 2
    assert "small.toml:2:" in done.stderr
    assert done.stderr.count("parsec") < 5


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["missing.toml"], "missing.toml: No such file"),
        (["{study}", "--executor", "cloud"], "known: local, dask://HOST:PORT, slurm"),
        (["{study}", "--executor", "dask://"], "known: local"),
        (["{study}", "--seeds", "0"], "found 0; allowed: a whole number, 1 to 1000000"),
        (["{study}", "--set", "duration"], "no `=`"),
        (["{study}", "--set", "duration=never"], "--set"),
        (["{study}", "--out", ""], "empty"),
        (["{study}", "--out", "/proc/x"], "cannot write there"),
    ],
)
def test_wrong_arguments(ropewalk: Ropewalk, tmp_path: Path, arguments: list[str], reason: str) -> None:
    path = write_study(tmp_path)
    done = ropewalk("study", *[argument.format(study=path) for argument in arguments], cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_two_cases_that_are_the_same_scenario(tmp_path: Path) -> None:
    text = STUDY.replace("values = [0.0, 0.02]", "values = [0.01, 1e-2]\nlabels = ['a', 'b']")
    with pytest.raises(StudyError, match="are the same scenario"):
        rw.Study.load(write_study(tmp_path, text))


@pytest.mark.parametrize("path", sorted((ROOT / "studies").glob("*.toml")), ids=lambda path: path.stem)
def test_shipped_studies_are_valid(path: Path) -> None:
    assert cases(path)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("[" * 20_000, "`[` is never closed [E001]"),
        ("{a=" * 20_000, "`{` is never closed [E001]"),
        ("9" * 5000, "replications: found an integer beyond 64 bits"),
    ],
)
def test_what_exhausts_the_parser_has_place_and_cure(value: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(f'name = "x"\nreplications = {value}\n', encoding="utf-8")
    with pytest.raises(StudyError) as told:
        rw.Study.load(path)
    assert f"{path}:2:16: {what}" in str(told.value)
    assert len(str(told.value)) < 3000


def test_mistakes_that_only_the_scenario_tells_come_with_the_others(tmp_path: Path) -> None:
    text = STUDY.replace("replications = 3\n", "").replace("transport.congestion", "transport.congestoin")
    with pytest.raises(StudyError) as caught:
        rw.Study.load(write_study(tmp_path, text))
    found = {(one.code, one.key) for one in caught.value.diagnostics}
    assert {("E003", "replications"), ("E002", "flow.upload.transport.congestoin")} <= found
    assert "did you mean `congestion`?" in str(caught.value)
    (tmp_path / "small.toml").unlink()
    with pytest.raises(StudyError, match="No such file") as caught:
        rw.Study.load(tmp_path / "study.toml")
    assert {"E003", "E022"} <= {one.code for one in caught.value.diagnostics}
