//! Closed forms for circular orbits over a sphere, with which tests compare the geometry.

use std::f64::consts::PI;

use units::Nanos;

use crate::earth::{RADIUS, mean_motion};
use crate::quantities::{Degrees, Kilometres};

/// Distance to a satellite at `altitude` that is seen at `elevation`, over a sphere.
pub(crate) fn slant_range(altitude: Kilometres, elevation: Degrees) -> Kilometres {
    let orbit = RADIUS + altitude.0;
    let flat = RADIUS * elevation.cos();
    Kilometres((orbit * orbit - flat * flat).sqrt() - RADIUS * elevation.sin())
}

/// Period of a circular orbit at `altitude` (Kepler's third law, no oblateness).
fn period(altitude: Kilometres) -> Nanos {
    Nanos::from_secs_f64(2.0 * PI / mean_motion(altitude))
}

/// How long a satellite at `altitude` that passes through the zenith stays above `elevation`, without the rotation of
/// the Earth.
pub(crate) fn longest_pass(altitude: Kilometres, elevation: Degrees) -> Nanos {
    let reach = libm::acos(RADIUS / (RADIUS + altitude.0) * elevation.cos()) - elevation.radians();
    Nanos::from_secs_f64(2.0 * reach / mean_motion(altitude))
}

#[track_caller]
pub(crate) fn near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} is not {b} within {tolerance}");
}

#[test]
fn leo_1() {
    let h = Kilometres(550.0);
    for (elevation, km, ms) in
        [(90.0, 550.0, 1.8346), (40.0, 812.107, 2.7089), (25.0, 1123.418, 3.7473), (10.0, 1815.652, 6.0564)]
    {
        let range = slant_range(h, Degrees(elevation));
        near(range.0, km, 5e-4);
        near(range.light_time().as_secs_f64() * 1e3, ms, 5e-5);
    }
    near(period(h).as_secs_f64(), 5738.99, 5e-3);
    near(period(Kilometres(780.0)).as_secs_f64(), 6027.14, 5e-3);
    near(longest_pass(h, Degrees(25.0)).as_secs_f64(), 269.4, 0.05);
    near(longest_pass(h, Degrees(10.0)).as_secs_f64(), 476.9, 0.05);
}
