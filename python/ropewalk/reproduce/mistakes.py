"""Mistakes in expressions."""

from __future__ import annotations


class ExpressionError(ValueError):
    """A mistake in an expression; `cure` says how to mend it."""

    def __init__(self, message: str, cure: str) -> None:
        super().__init__(message)
        self.cure = cure
