"""The record: questions and answers."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

CALLS = Path(__file__).with_name("calls.json")


def answer(model: str, function: str) -> Callable[..., SimpleNamespace]:
    """A function that knows the calls on record and no others."""
    known = json.loads(CALLS.read_text(encoding="utf-8"))
    calls = [call for call in known if call["function"] == f"{model}.{function}"]

    def on_record(*arguments: object, **named: object) -> SimpleNamespace:
        for call in calls:
            if (call["arguments"], call["named"]) == (list(arguments), named):
                return SimpleNamespace(value=call["value"])
        raise LookupError(f"not on record: {model}.{function}{arguments}{named}; add it to {CALLS}")

    return on_record
