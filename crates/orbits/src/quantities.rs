//! Angles, distances, and vectors in kilometres.

use std::ops::{Add, Mul, Sub};

use units::Nanos;

/// Speed of light in km/s (exact).
const LIGHT: f64 = 299_792.458;

/// An angle in degrees.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Degrees(pub f64);

impl Degrees {
    /// In radians.
    pub(crate) fn radians(self) -> f64 {
        self.0.to_radians()
    }

    /// From radians.
    pub(crate) fn from_radians(radians: f64) -> Self {
        Self(radians.to_degrees())
    }

    pub(crate) fn sin(self) -> f64 {
        libm::sin(self.radians())
    }

    pub(crate) fn cos(self) -> f64 {
        libm::cos(self.radians())
    }
}

/// A distance in kilometres.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Kilometres(pub f64);

impl Kilometres {
    /// How long light takes, in nanoseconds.
    pub(crate) fn light_nanos(self) -> f64 {
        self.0 / LIGHT * 1e9
    }

    /// How long light takes, to the nearest nanosecond.
    pub fn light_time(self) -> Nanos {
        Nanos::from_secs_f64(self.0 / LIGHT)
    }
}

impl Add for Kilometres {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// A point or direction: x towards the equator at Greenwich, z towards the north pole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Vector(pub [f64; 3]);

impl Vector {
    pub fn dot(self, other: Self) -> f64 {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        a * x + b * y + c * z
    }

    pub fn length(self) -> f64 {
        self.dot(self).sqrt()
    }

    /// Turned about the z axis: a point at longitude 0 comes to longitude `angle` (radians).
    pub fn turned(self, angle: f64) -> Self {
        let ([x, y, z], (sin, cos)) = (self.0, libm::sincos(angle));
        let turned = Self([x * cos - y * sin, x * sin + y * cos, z]);
        debug_assert!(
            (turned.length() - self.length()).abs() <= 1e-9 * self.length(),
            "a turn changes the length of {self:?}"
        );
        turned
    }
}

impl Sub for Vector {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a - x, b - y, c - z])
    }
}

impl Mul<f64> for Vector {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self(self.0.map(|x| x * factor))
    }
}
