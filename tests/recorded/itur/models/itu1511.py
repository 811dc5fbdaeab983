"""On record."""

from itur.record import answer

topographic_altitude = answer("itu1511", "topographic_altitude")
