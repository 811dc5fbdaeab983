"""On record."""

from itur.record import answer

rain_specific_attenuation = answer("itu838", "rain_specific_attenuation")
