//! Delays, gaps and hand-overs where the geometry puts them.

use proptest::prelude::*;

use super::*;
use crate::closed_forms::{longest_pass, slant_range};
use crate::earth::Place;
use crate::quantities::Degrees;
use crate::{Choice, Pattern, Shell, Walker};

fn place(latitude: f64, longitude: f64) -> Place {
    Place { latitude: Degrees(latitude), longitude: Degrees(longitude), altitude: Kilometres(0.0) }
}

/// The first instant after `t` at which the way opens, closes, or goes over another satellite; at the latest the end of a
/// thousand slots.
fn next_change(pipe: &mut BentPipe, t: SimTime) -> SimTime {
    match pipe.at(t) {
        Sight::Up { .. } => pipe.change_after(pipe.service.slot_of(t)),
        Sight::HandOver { until, .. } | Sight::Gap { until } => until,
    }
}

const STARLINK: Shell = Shell {
    pattern: Pattern::Delta,
    altitude: Kilometres(550.0),
    inclination: Degrees(53.0),
    planes: 72,
    per_plane: 22,
    phasing: 39,
    node: Degrees(0.0),
    anomaly: Degrees(0.0),
};

/// One satellite over the equator.
const LONELY: Shell = Shell { inclination: Degrees(0.0), planes: 1, per_plane: 1, phasing: 0, ..STARLINK };

const SERVICE: Service = Service {
    min_elevation: Degrees(25.0),
    slot: Nanos::from_secs(15),
    phase: Nanos::ZERO,
    outage: Nanos::ZERO,
    choice: Choice::Highest,
    rank: 1,
};

fn pipe(shell: Shell, places: [Place; 2], service: Service) -> BentPipe {
    let sky = Arc::new(Constellation::Walker(Walker::new(shell)));
    BentPipe::new(sky, places.map(GroundStation::on_sphere), service)
}

fn gothenburg() -> [Place; 2] {
    [place(57.7, 12.0), place(53.6, 10.0)]
}

fn delay(sight: Sight) -> Nanos {
    match sight {
        Sight::Up { delay, .. } => delay,
        other => panic!("{other:?}"),
    }
}

#[test]
fn overhead_it_is_twice_the_altitude() {
    let mut pipe = pipe(LONELY, [place(0.0, 0.0); 2], SERVICE);
    let vertical = Kilometres(1100.0).light_time();
    assert_eq!(delay(pipe.at(SimTime::ZERO)), vertical);
    assert_eq!(vertical, Nanos(3_669_205));
}

/// One satellite over the equator: the pass ends where its elevation falls below the minimum, which the closed form of
/// the pass gives; in the frame of the Earth it moves by the mean motion less the rotation.
#[test]
fn a_pass_lasts_as_long_as_geometry_says() {
    let service = Service { slot: Nanos::from_millis(100), ..SERVICE };
    let mut pipe = pipe(LONELY, [place(0.0, 0.0); 2], service);
    let half = longest_pass(LONELY.altitude, SERVICE.min_elevation).as_secs_f64() / 2.0;
    let motion = crate::earth::mean_motion(LONELY.altitude);
    let relative = motion - crate::earth::ROTATION;
    let end = half * motion / relative;
    // A slot is served to its end or not at all; a thousand slots at a time are looked at.
    let mut gap = SimTime::ZERO;
    while matches!(pipe.at(gap), Sight::Up { .. }) {
        gap = next_change(&mut pipe, gap);
    }
    let gap = gap.as_secs_f64();
    assert!(gap <= end && gap > end - 0.1, "{gap} {end}");
    assert!(matches!(pipe.at(SimTime::from_millis((gap * 1000.0) as u64 + 1)), Sight::Gap { .. }));
    // It comes back after a revolution relative to the ground.
    let mut back = SimTime::from_secs(5900);
    while pipe.next_up(back).is_never() {
        back += Nanos::from_secs(100);
    }
    let back = pipe.next_up(back).as_secs_f64();
    let rise = std::f64::consts::TAU / relative - end;
    assert!(back >= rise && back < rise + 0.1, "{back} {rise}");
    // Just above the minimum the delay is that of the slant range at 25 degrees.
    let low = delay(pipe.at(SimTime((back * 1e9) as u64 + 1_000_000)));
    let range = slant_range(LONELY.altitude, SERVICE.min_elevation);
    assert!((low.as_secs_f64() - 2.0 * range.light_time().as_secs_f64()).abs() < 5e-6);
}

/// Within a slot the delay is smooth, at a change it jumps; changes happen at slots only.
#[test]
fn saw_teeth_between_hand_overs() {
    let service = Service { phase: Nanos::from_secs(12), outage: Nanos::from_millis(80), ..SERVICE };
    let mut pipe = pipe(STARLINK, gothenburg(), service);
    let (mut changes, mut last) = (0, pipe.at(SimTime::ZERO));
    for ms in (20..600_000).step_by(20) {
        let t = SimTime::from_millis(ms);
        let sight = pipe.at(t);
        let since_slot = (ms + 3000) % 15_000;
        match (last, sight) {
            (Sight::Up { satellite: a, delay: before }, Sight::Up { satellite: b, delay: after }) => {
                assert_eq!(a, b, "a change without an outage at {t:?}");
                // Neither hop gets longer or shorter by more than the speed over ground.
                let change = before.0.abs_diff(after.0) as f64 * 1e-9 / 0.02;
                assert!(change < 2.0 * 7.6 / 299_792.458, "{change}");
            }
            (Sight::Up { satellite: a, .. }, Sight::HandOver { satellite: b, until }) => {
                assert!(a != b && since_slot == 0);
                assert_eq!(until, t + Nanos::from_millis(80));
                changes += 1;
            }
            (Sight::HandOver { satellite: a, until }, Sight::Up { satellite: b, .. }) => {
                assert!(a == b && t == until && since_slot == 80);
            }
            (Sight::HandOver { until: a, .. }, Sight::HandOver { until: b, .. }) => assert_eq!(a, b),
            other => panic!("{other:?} at {t:?}"),
        }
        last = sight;
    }
    assert!(changes >= 10, "{changes} hand-overs in ten minutes");
}

/// Slots that are not asked for are not computed where the choice does not depend on them, and the answers are the same.
#[test]
fn a_late_question_is_answered_at_once() {
    let service = Service { outage: Nanos::from_millis(80), ..SERVICE };
    let mut all = pipe(STARLINK, gothenburg(), service);
    let mut some = pipe(STARLINK, gothenburg(), service);
    for slot in [300, 301, 299, 300, 0, 1, 250] {
        for ms in [0, 79, 80, 7000] {
            let t = SimTime::from_millis(15_000 * slot + ms);
            all.serving.clear();
            (all.first, all.knot) = (0, Knot { from: t, until: t, ..all.knot });
            for earlier in 0..slot {
                all.at(SimTime::from_secs(15 * earlier));
            }
            let carries = some.carries(t);
            assert_eq!(carries, matches!(some.at(t), Sight::Up { .. }), "{t}");
            assert_eq!(some.at(t), all.at(t), "{t}");
        }
    }
    let late = SimTime::from_secs(31_536_000);
    some.at(late);
    assert!(some.serving.len() < 5, "{}", some.serving.len());
}

/// Slots long past are forgotten, and found again where the choice depends on them.
#[test]
fn a_long_run_keeps_few_slots() {
    let shell = Shell { planes: 6, per_plane: 6, phasing: 1, ..STARLINK };
    for choice in [Choice::Longest, Choice::Highest] {
        let service = Service { choice, ..SERVICE };
        let mut long = pipe(shell, gothenburg(), service);
        let far = 3 * KEPT;
        for slot in (0..far).step_by(7) {
            long.at(service.begin(slot));
            assert!(long.serving.len() as u64 <= 2 * KEPT + LOOK_AHEAD, "{}", long.serving.len());
        }
        for slot in [far, far - 1, 100, 90, 0, KEPT + 1, far] {
            let t = service.begin(slot) + Nanos::from_secs(3);
            assert_eq!(long.at(t), pipe(shell, gothenburg(), service).at(t), "{choice:?}, slot {slot}");
        }
    }
}

/// A search among many satellites goes a few slots at a time, and arrives where one search does.
#[test]
fn a_search_that_goes_on_ends_where_one_search_ends() {
    let shell = Shell { planes: 200, per_plane: 100, inclination: Degrees(0.0), ..STARLINK };
    let mut north = pipe(shell, [place(60.0, 0.0); 2], SERVICE);
    let (open, again) = north.next_up_or_again(SimTime::ZERO);
    assert!(open.is_never());
    assert_eq!(again, north.service.begin(1 + LOOKED_AT / 20_000));
    let service = Service { slot: Nanos::from_secs(1), ..SERVICE };
    let mut pipe = pipe(LONELY, [place(0.0, 0.0); 2], service);
    let (mut at, whole) = (SimTime::from_secs(1000), SimTime::from_secs(5900));
    let wanted = pipe.next_up(whole);
    assert!(!wanted.is_never());
    while at < wanted {
        let (open, again) = pipe.next_up_or_again(at);
        at = if open.is_never() { again } else { open };
    }
    assert_eq!(at, wanted);
}

/// By brute force: the satellite chosen is the highest of those that serve, and `longest` changes less often.
#[test]
fn the_highest_is_chosen_and_the_longest_stays() {
    let changes = |choice, rank| {
        let mut pipe = pipe(STARLINK, gothenburg(), Service { choice, rank, ..SERVICE });
        let mut serving = Vec::new();
        for slot in 0..40 {
            match pipe.at(SimTime::from_secs(15 * slot)) {
                Sight::Up { satellite, .. } => serving.push(satellite),
                other => panic!("{other:?}"),
            }
        }
        serving
    };
    let walker = Walker::new(STARLINK);
    let [terminal, gateway] = gothenburg().map(GroundStation::on_sphere);
    let highest = changes(Choice::Highest, 1);
    let second = changes(Choice::Highest, 2);
    let sin25 = libm::sin(25.0_f64.to_radians());
    for (slot, (first, second)) in highest.iter().zip(&second).enumerate() {
        let t = 15.0 * slot as f64;
        let mut ranking: Vec<(f64, usize)> = (0..walker.len())
            .filter(|s| {
                [t, t + 15.0].into_iter().all(|t| {
                    let at = walker.position(*s, t);
                    terminal.look(at).0 >= sin25 && gateway.look(at).0 >= sin25
                })
            })
            .map(|s| (terminal.look(walker.position(s, t)).0, s))
            .collect();
        ranking.sort_by(|a, b| b.0.total_cmp(&a.0));
        assert_eq!((*first, *second), (ranking[0].1, ranking[1].1), "slot {slot}");
    }
    let count = |serving: &[usize]| serving.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let longest = changes(Choice::Longest, 1);
    assert!(count(&longest) * 2 < count(&highest), "{longest:?} {highest:?}");
}

#[test]
fn a_station_without_a_satellite_has_a_gap_for_ever() {
    let mut pipe = pipe(STARLINK, [place(89.0, 0.0); 2], SERVICE);
    assert!(matches!(pipe.at(SimTime::ZERO), Sight::Gap { .. }));
    assert!(pipe.next_up(SimTime::ZERO).is_never());
    assert_eq!(pipe.at(SimTime::NEVER), Sight::Gap { until: SimTime::NEVER });
}

#[test]
fn a_gap_ends_with_an_outage_of_the_acquisition() {
    let shell = Shell { node: Degrees(-100.0), ..LONELY };
    let service = Service { outage: Nanos::from_secs(1), ..SERVICE };
    let mut pipe = pipe(shell, [place(0.0, 0.0); 2], service);
    let Sight::Gap { until } = pipe.at(SimTime::ZERO) else { panic!("visible at the start") };
    assert_eq!(until.0 % SERVICE.slot.0, 0);
    assert_eq!(pipe.at(until), Sight::HandOver { satellite: 0, until: until + Nanos::from_secs(1) });
    assert_eq!(pipe.next_up(SimTime::ZERO), until + Nanos::from_secs(1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The interpolation keeps its promise, for either direction, in any order of questions.
    #[test]
    fn interpolated_within_two_nanoseconds(
        times in prop::collection::vec(0u64..300_000_000_000, 1..20),
        latitude in -50.0..50.0,
        outage in 0u64..900,
    ) {
        let places = [place(latitude, 5.0), place(latitude + 4.0, 9.0)];
        let service = Service { outage: Nanos::from_millis(outage), ..SERVICE };
        let mut there = pipe(STARLINK, places, service);
        let mut back = pipe(STARLINK, [places[1], places[0]], service);
        let walker = Walker::new(STARLINK);
        for nanos in times {
            let t = SimTime(nanos);
            if let Sight::Up { satellite, delay } = there.at(t) {
                let at = walker.position(satellite, t.as_secs_f64());
                let km: f64 = places.iter().map(|p| GroundStation::on_sphere(*p).look(at).1).sum();
                prop_assert!(delay.0.abs_diff(Kilometres(km).light_time().0) <= 2);
                // The highest over the one end need not be the highest over the other.
                if let Sight::Up { satellite: other, delay: other_delay } = back.at(t) && other == satellite {
                    prop_assert_eq!(delay, other_delay);
                }
            }
            prop_assert!(there.next_up(t) >= t && next_change(&mut there, t) > t);
        }
    }
}
