"""Measurements of other tools, turned into a link of a scenario: trace files and the text that names them.

Each tool has a file with a function `read(source)`; `recognise` finds the one for a file.
"""
