//! Synthetic shells of circular orbits (Walker, "Satellite constellations", J. British Interplanetary Society 37, 1984).
//!
//! Satellites of one plane are evenly spaced; planes are evenly spaced over the whole equator (delta) or over half of it
//! (star); a satellite is ahead of its neighbour in the plane to the west by `phasing` times 360° over the number of all
//! satellites. Motion is Kepler's: no oblateness, no drag. Within a run of an hour the node of a shell at 550 km and 53°
//! would drift by 0.2°.

use std::f64::consts::TAU;

use crate::earth::{RADIUS, ROTATION, mean_motion};
use crate::quantities::{Degrees, Kilometres, Vector};

/// Over how much of the equator the planes are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// All of it: satellites go up and down everywhere.
    Delta,
    /// Half of it: all go up on one side and down on the other, as in polar constellations.
    Star,
}

/// Parameters of a shell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shell {
    /// How the planes are spread.
    pub pattern: Pattern,
    /// Above the sphere of the equatorial radius.
    pub altitude: Kilometres,
    /// Inclination of all planes.
    pub inclination: Degrees,
    /// Number of planes, not zero.
    pub planes: u32,
    /// Satellites in each, not zero.
    pub per_plane: u32,
    /// Offset between neighbouring planes in units of 360° over the number of satellites.
    pub phasing: u32,
    /// Geographic longitude of the ascending node of the first plane at the start of the run.
    pub node: Degrees,
    /// Where the first satellite stands in its plane at the start, from the node on.
    pub anomaly: Degrees,
}

/// A shell in motion.
#[derive(Clone, Debug, PartialEq)]
pub struct Walker {
    shell: Shell,
    /// Radians per second along the orbit.
    motion: f64,
    /// Sine and cosine of the inclination.
    tilt: (f64, f64),
}

impl Walker {
    /// The satellites of `shell`, numbered plane by plane.
    pub fn new(shell: Shell) -> Self {
        assert!(shell.planes > 0 && shell.per_plane > 0, "a shell without satellites");
        let tilt = (shell.inclination.sin(), shell.inclination.cos());
        Self { shell, motion: mean_motion(shell.altitude), tilt }
    }

    /// How many satellites.
    pub fn len(&self) -> usize {
        self.shell.planes as usize * self.shell.per_plane as usize
    }

    /// Never true.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where a satellite is, `seconds` after the start, as seen from the turning Earth.
    pub(crate) fn position(&self, satellite: usize, seconds: f64) -> Vector {
        debug_assert!(satellite < self.len(), "satellite {satellite} of {}", self.len());
        let shell = &self.shell;
        let per_plane = shell.per_plane as usize;
        let (plane, slot) = ((satellite / per_plane) as f64, (satellite % per_plane) as f64);
        let spread = match shell.pattern {
            Pattern::Delta => TAU,
            Pattern::Star => TAU / 2.0,
        };
        let node = shell.node.radians() + spread * plane / f64::from(shell.planes) - ROTATION * seconds;
        let phase = f64::from(shell.phasing) * plane / self.len() as f64;
        let along = shell.anomaly.radians()
            + TAU * (slot / f64::from(shell.per_plane) + phase)
            + self.motion * seconds;
        let (sin, cos) = libm::sincos(along);
        let (sin_i, cos_i) = self.tilt;
        (Vector([cos, sin * cos_i, sin * sin_i]) * (RADIUS + shell.altitude.0)).turned(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHELL: Shell = Shell {
        pattern: Pattern::Delta,
        altitude: Kilometres(550.0),
        inclination: Degrees(53.0),
        planes: 6,
        per_plane: 4,
        phasing: 3,
        node: Degrees(10.0),
        anomaly: Degrees(0.0),
    };

    fn degrees(at: Vector) -> (f64, f64) {
        let [x, y, z] = at.0;
        (libm::asin(z / at.length()).to_degrees(), libm::atan2(y, x).to_degrees())
    }

    fn near(a: (f64, f64), b: (f64, f64)) {
        assert!((a.0 - b.0).abs() < 1e-9 && (a.1 - b.1).abs() < 1e-9, "{a:?} is not {b:?}");
    }

    #[test]
    fn satellites_stand_where_the_pattern_puts_them() {
        let walker = Walker::new(SHELL);
        assert_eq!(walker.len(), 24);
        near(degrees(walker.position(0, 0.0)), (0.0, 10.0));
        // A quarter of the orbit on: the northernmost point, 90 degrees further east.
        near(degrees(walker.position(1, 0.0)), (53.0, 100.0));
        near(degrees(walker.position(2, 0.0)), (0.0, -170.0));
        // The second plane: its node 60 degrees further east, its satellites 3 * 15 = 45 degrees ahead.
        let (lat, _) = degrees(walker.position(4, 0.0));
        let expected = libm::asin(SHELL.inclination.sin() * Degrees(45.0).sin()).to_degrees();
        assert!((lat - expected).abs() < 1e-9);
        let star = Walker::new(Shell { pattern: Pattern::Star, phasing: 0, ..SHELL });
        near(degrees(star.position(4, 0.0)), (0.0, 40.0));
        for satellite in 0..walker.len() {
            assert!((walker.position(satellite, 1234.5).length() - RADIUS - 550.0).abs() < 1e-9);
        }
    }

    #[test]
    fn after_a_period_the_earth_has_turned_below() {
        let walker = Walker::new(SHELL);
        let period = TAU / walker.motion;
        assert!((period - 5738.99).abs() < 5e-3);
        let turned = (ROTATION * period).to_degrees();
        near(degrees(walker.position(0, period)), (0.0, 10.0 - turned));
        near(degrees(walker.position(0, period / 4.0)), (53.0, 100.0 - turned / 4.0));
    }
}
