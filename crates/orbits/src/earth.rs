//! The Earth, stations on it, and the speed of circular orbits above it.
//!
//! Two shapes. Formulas and synthetic shells stand on a sphere of the equatorial radius, as altitudes of such shells are
//! given above it. Element sets are seen from the ellipsoid WGS 84, as maps give coordinates on it.

use crate::quantities::{Degrees, Kilometres, Vector};

/// Equatorial radius in km (WGS 84).
pub(crate) const RADIUS: f64 = 6378.137;
/// Flattening of the ellipsoid (WGS 84).
const FLATTENING: f64 = 1.0 / 298.257_223_563;
/// Gravitational parameter in km³/s² (WGS 84).
pub(crate) const MU: f64 = 398_600.441_8;
/// Rotation in radians per second, with respect to the stars (WGS 84).
pub(crate) const ROTATION: f64 = 7.292_115e-5;

/// A place on the ground or above it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// North is positive.
    pub latitude: Degrees,
    /// East is positive.
    pub longitude: Degrees,
    /// Above the sphere or ellipsoid.
    pub altitude: Kilometres,
}

/// A ground station: a place as a point in space, with its vertical.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroundStation {
    at: Vector,
    up: Vector,
}

impl GroundStation {
    /// On a sphere of 6378.137 km.
    pub fn on_sphere(place: Place) -> Self {
        let up = vertical(place);
        Self { at: up * (RADIUS + place.altitude.0), up }
    }

    /// On the ellipsoid WGS 84; the latitude is the geodetic one of maps.
    pub fn on_ellipsoid(place: Place) -> Self {
        let up = vertical(place);
        let e2 = FLATTENING * (2.0 - FLATTENING);
        let sin = place.latitude.sin();
        // Radius of curvature in the prime vertical.
        let n = RADIUS / (1.0 - e2 * sin * sin).sqrt();
        let ([x, y, z], h) = (up.0, place.altitude.0);
        Self { at: Vector([(n + h) * x, (n + h) * y, (n * (1.0 - e2) + h) * z]), up }
    }

    /// Sine of the elevation at which a satellite stands, and its distance in km.
    pub(crate) fn look(&self, satellite: Vector) -> (f64, f64) {
        let line = satellite - self.at;
        let distance = line.length();
        debug_assert!(distance > 0.0, "the satellite stands on the station");
        (line.dot(self.up) / distance, distance)
    }
}

fn vertical(place: Place) -> Vector {
    let (lat, lon) = (place.latitude, place.longitude);
    let up = Vector([lat.cos() * lon.cos(), lat.cos() * lon.sin(), lat.sin()]);
    debug_assert!((up.length() - 1.0).abs() < 1e-12, "a vertical of length {}", up.length());
    up
}

/// Radians per second of a circular orbit.
pub(crate) fn mean_motion(altitude: Kilometres) -> f64 {
    let a = RADIUS + altitude.0;
    (MU / (a * a * a)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closed_forms::{near, slant_range};

    #[test]
    fn a_look_at_the_sky_agrees_with_the_slant_range() {
        let place = Place { latitude: Degrees(57.7), longitude: Degrees(12.0), altitude: Kilometres(0.0) };
        let station = GroundStation::on_sphere(place);
        let h = Kilometres(550.0);
        for degrees in [-3.0, 0.0, 12.5, 40.0, 77.0] {
            // A satellite further north, by the central angle of the arc.
            let away = vertical(Place { latitude: Degrees(place.latitude.0 + degrees), ..place });
            let (sin, distance) = station.look(away * (RADIUS + h.0));
            let elevation = Degrees::from_radians(libm::asin(sin));
            near(slant_range(h, elevation).0, distance, 1e-8);
        }
    }

    #[test]
    fn the_ellipsoid_is_flat_at_the_pole_and_round_at_the_equator() {
        let at = |latitude: f64| {
            let place =
                Place { latitude: Degrees(latitude), longitude: Degrees(-90.0), altitude: Kilometres(0.5) };
            GroundStation::on_ellipsoid(place).at
        };
        near(at(90.0).0[2], 6_356.752_314_245 + 0.5, 1e-9);
        near(at(0.0).0[1], -RADIUS - 0.5, 1e-9);
        // Geodetic 45 degrees: textbook values of the prime vertical radius 6388.8383 km.
        near(at(45.0).0[1], -(6_388.838_290 + 0.5) * std::f64::consts::FRAC_1_SQRT_2, 1e-5);
    }
}
