"""Reads `claims.toml`: claims, and the roots that their differences have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ropewalk.reproduce import wording
from ropewalk.reproduce.expressions import parse
from ropewalk.reproduce.mistakes import ExpressionError
from ropewalk.reproduce.model import PROFILE, Claim, Kind, Prediction, Reproduction, Root
from ropewalk.reproduce.studies import named
from ropewalk.reproduce.tables import TomlFile
from ropewalk.study.mistakes import UNREADABLE, WRONG_VALUE, did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from ropewalk.reproduce.expressions import Expression
    from ropewalk.study.mistakes import Path as Place

FACTS = ("id", "locator", "experiment", "metric", "unit", "conditions", "published", "tolerance", "note")


class Claims(TomlFile):
    """The claims of a reproduction whose quantities and studies are known.

    Raises:
        StudyError: the file has mistakes.
    """

    def __init__(self, path: Path, reproduction: Reproduction) -> None:
        super().__init__(path, "claims")
        self._reproduction = reproduction
        self._levels = [reproduction.names(profile) for profile in reproduction.profiles or ("",)]
        roots, claims = enumerate(self.root.get("root", [])), enumerate(self.root.get("claim", []))
        self.told: dict[str, Expression] = {}
        self.roots = tuple(self._root(("root", index), table or {}) for index, table in roots)
        self.claims = tuple(self._claim(("claim", index), table or {}) for index, table in claims)
        self.mistakes.raise_any()

    def _root(self, place: Place, table: dict[str, Any]) -> Root:
        name: str = table.get("name", "")
        predictions = []
        for index, each in enumerate(table.get("predicts", [])):
            text = (each or {}).get("check")
            at = (*place, "predicts", index, "check")
            check = self._check(at, name, text, published=False) if text else None
            if check is not None:
                predictions.append(Prediction(each.get("what", ""), check))
            self._read((*place, "predicts", index, "what"), name, (each or {}).get("what", ""))
        value, cause = (self._read((*place, key), name, table.get(key, "")) for key in ("value", "cause"))
        return Root(name, table.get("title", ""), value, cause, _kind(table), tuple(predictions))

    def _claim(self, place: Place, table: dict[str, Any]) -> Claim:
        facts = {key: table.get(key, "") for key in FACTS}
        cannot, text = table.get("cannot", ""), table.get("check", "")
        claim = Claim(
            **facts,
            check=None,
            cannot=cannot,
            cause=self._read((*place, "cause"), table.get("id", ""), table.get("cause", "")),
            cause_check=None,
            expected=table.get("expected", ""),
            quick=table.get("quick", False),
            kind=_kind(table),
            root=table.get("root", ""),
            calibrated=self._calibrated(table, place),
            set_up=table.get("configuration", False),
        )
        number = claim.published_number is not None
        shown = table.get("cause_check", "")
        return replace(
            claim,
            check=self._check((*place, "check"), claim.id, text, published=number) if text else None,
            cause_check=self._check((*place, "cause_check"), claim.id, shown, published=number)
            if shown
            else None,
        )

    def _calibrated(self, table: dict[str, Any], place: Place) -> dict[str, str]:
        """A sentence for all readings, or one for each that is meant."""
        given: dict[str, str] | str = table.get("calibrated", "")
        for sentence in (given,) if isinstance(given, str) else given.values():
            self._read((*place, "calibrated"), table.get("id", ""), sentence)
        if isinstance(given, str):
            return {"": given} if given else {}
        self.only(given, (*place, "calibrated"), self._reproduction.profiles)
        return given

    def _read(self, place: Place, name: str, sentence: str) -> str:
        """A sentence, whose values are read."""
        for value in wording.values(sentence):
            for levels in self._levels:
                try:
                    self.told[value] = parse(value, levels, check=False)
                except ExpressionError as error:
                    self.mistakes.add(place, WRONG_VALUE, f"{name}: {error}", error.cure)
        return sentence

    def _check(self, place: Place, name: str, text: str, *, published: bool) -> Expression | None:
        """Parsed under each profile: its levels must exist in all of them."""
        found = None
        for levels in self._levels:
            try:
                found = parse(text, levels, check=True, published=published)
            except ExpressionError as error:
                self.mistakes.add(place, WRONG_VALUE, f"{name}: {error}", error.cure)
        for target, *_ in found.configs if found else ():
            self._config(place, name, target)
        return found

    def _config(self, place: Place, name: str, target: str) -> None:
        """`config` names a scenario file or a study."""
        directory = self._reproduction.directory
        known = [path.name for path in directory.glob("*.toml")]
        for profile in self._reproduction.profiles or ("",):
            study = target.replace(PROFILE, profile)
            if study not in known and study not in named(directory):
                file = study if study.endswith(".toml") else f"study-{study}.toml"
                message = f"{name}: there is no {file}"
                self.mistakes.add(place, UNREADABLE, message, did_you_mean(file, sorted(known)))


def _kind(table: dict[str, Any]) -> Kind | None:
    return Kind(table["kind"]) if "kind" in table else None
