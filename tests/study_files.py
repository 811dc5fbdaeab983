"""A study over the small scenario, for several tests."""

from pathlib import Path

from conftest import SMALL

STUDY = """\
name = "study"
scenario = "small.toml"
replications = 3
compare_paths = false
metrics = ["flow.upload.goodput_bit_s", "flow.upload.delay_p95_s"]
baseline = { congestion = "lia" }

[[vary]]
key = "flow.upload.transport.congestion"
values = ["lia", "olia"]

[[vary]]
name = "error rate"
key = "path.b.both.loss.probability"
values = [0.0, 0.02]
"""

FACTORS_START = STUDY.index("[[vary]]")


def write_study(directory: Path, text: str = STUDY) -> Path:
    """The scenario and the study file, side by side."""
    (directory / "small.toml").write_text(SMALL, encoding="utf-8")
    path = directory / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path
