//! Geostationary satellites over a sphere: elevation and distance by latitude and difference of longitude.

use units::Nanos;

use crate::earth::{Place, RADIUS};
use crate::quantities::{Degrees, Kilometres};

/// Altitude of the geostationary orbit above the equator.
const ALTITUDE: f64 = 35_786.0;

/// The satellite stands below the horizon of a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeoError {
    /// 0: the first of the stations asked for, 1: the second.
    pub station: usize,
    /// Its elevation, negative.
    pub elevation: Degrees,
}

/// Cosine of the angle at the centre of the Earth between a place and the point below the satellite.
fn central(place: Place, satellite: Degrees) -> f64 {
    place.latitude.cos() * Degrees(place.longitude.0 - satellite.0).cos()
}

/// Elevation at which a geostationary satellite over the longitude `satellite` stands, seen from sea level.
fn geo_elevation(place: Place, satellite: Degrees) -> Degrees {
    let cos = central(place, satellite);
    let sin = (1.0 - cos * cos).max(0.0).sqrt();
    Degrees::from_radians(libm::atan2(cos - RADIUS / (RADIUS + ALTITUDE), sin))
}

/// Distance to it.
fn geo_range(place: Place, satellite: Degrees) -> Kilometres {
    let (near, far) = (RADIUS + place.altitude.0, RADIUS + ALTITUDE);
    let range = (near * near + far * far - 2.0 * near * far * central(place, satellite)).sqrt();
    debug_assert!(range >= far - near - 1e-6 && range <= far + near, "{range} km to a satellite at {far} km");
    Kilometres(range)
}

/// One way from a station by way of the satellite to another station.
///
/// # Errors
/// If one of them does not see the satellite.
pub fn geo_delay(stations: [Place; 2], satellite: Degrees) -> Result<Nanos, GeoError> {
    for (station, place) in stations.into_iter().enumerate() {
        let elevation = geo_elevation(place, satellite);
        if elevation.0 < 0.0 {
            return Err(GeoError { station, elevation });
        }
    }
    let [a, b] = stations.map(|place| geo_range(place, satellite));
    Ok((a + b).light_time())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closed_forms::{near, slant_range};

    fn place(latitude: f64, longitude: f64) -> Place {
        Place { latitude: Degrees(latitude), longitude: Degrees(longitude), altitude: Kilometres(0.0) }
    }

    #[test]
    fn geo_1() {
        for (elevation, km, ms) in [
            (90.0, 35_786.0, 119.3692),
            (40.0, 37_780.304, 126.0215),
            (30.0, 38_611.697, 128.7948),
            (10.0, 40_586.099, 135.3807),
            (5.0, 41_126.753, 137.1841),
        ] {
            let range = slant_range(Kilometres(ALTITUDE), Degrees(elevation));
            near(range.0, km, 5e-4);
            near(range.light_time().as_secs_f64() * 1e3, ms, 5e-5);
        }
        let gothenburg = place(57.7, 2.0);
        let satellite = Degrees(12.0);
        near(geo_elevation(gothenburg, satellite).0, 23.7955, 5e-5);
        near(geo_range(gothenburg, satellite).0, 39_184.896, 5e-4);
        near(geo_range(gothenburg, satellite).light_time().as_secs_f64() * 1e3, 130.7067, 5e-5);
        let way = geo_delay([gothenburg; 2], satellite).unwrap().as_secs_f64() * 1e3;
        near(way, 261.413, 5e-4);
        near(2.0 * way, 522.827, 5e-4);
    }

    #[test]
    fn range_and_elevation_are_two_sides_of_one_triangle() {
        for (latitude, longitude) in [(0.0, 0.0), (81.0, 0.0), (-35.0, 55.0), (12.0, -70.0)] {
            let elevation = geo_elevation(place(latitude, longitude), Degrees(0.0));
            let range = geo_range(place(latitude, longitude), Degrees(0.0));
            near(slant_range(Kilometres(ALTITUDE), elevation).0, range.0, 1e-8);
        }
    }

    #[test]
    fn across_the_date_line_and_below_the_horizon() {
        near(
            geo_range(place(10.0, -179.0), Degrees(179.0)).0,
            geo_range(place(10.0, 2.0), Degrees(0.0)).0,
            1e-9,
        );
        let hidden = geo_delay([place(0.0, 0.0), place(0.0, 90.0)], Degrees(0.0)).unwrap_err();
        assert_eq!(hidden.station, 1);
        assert!(hidden.elevation.0 < 0.0);
        // The horizon is where the line to the satellite touches the sphere.
        let horizon = libm::acos(RADIUS / (RADIUS + ALTITUDE)).to_degrees();
        for (longitude, sees) in [(horizon - 0.01, true), (horizon + 0.01, false)] {
            assert_eq!(geo_delay([place(0.0, longitude); 2], Degrees(0.0)).is_ok(), sees, "{longitude}");
        }
    }

    #[test]
    fn an_aeroplane_below_the_satellite_is_nearer_by_its_altitude() {
        let aloft = Place { altitude: Kilometres(11.0), ..place(0.0, 7.0) };
        near(geo_range(aloft, Degrees(7.0)).0, ALTITUDE - 11.0, 1e-9);
    }
}
