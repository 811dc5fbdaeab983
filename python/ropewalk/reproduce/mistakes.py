"""What can be wrong with an expression."""

from __future__ import annotations


class ExpressionError(ValueError):
    """What is wrong with an expression; `cure` says what to write instead."""

    def __init__(self, message: str, cure: str) -> None:
        super().__init__(message)
        self.cure = cure
