"""On record."""

from itur.record import answer

rain_attenuation = answer("itu618", "rain_attenuation")
