"""Stands in for the package of this name where it is not installed: its answers to the calls that tests make.

`make test-rain` checks that the record still holds; with `ROPEWALK_BLESS=1` it asks the real package again
and writes what it says into calls.json.
"""
