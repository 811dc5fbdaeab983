//! Delays by way of satellites, from the geometry of `orbits`: geostationary, a synthetic shell, or real element sets.
//!
//! A bent pipe: terminal, satellite, gateway, and back the same way; `extra` is everything on the ground. Where no
//! satellite carries, during a hand-over or in a gap of the coverage, packets wait in front of the transmitter or are
//! lost, by choice (D-65). A transmission that would not end before a gap begins after it.

use std::sync::Arc;

use orbits::{
    BentPipe, Choice, Constellation, Degrees, ElementSets, Epoch, GroundStation, Kilometres, Pattern, Place,
    Service, Shell, Sight, Walker, geo_delay,
};
use registry::{OptionFault, OptionKind, OptionSpec, Options};
use units::{Nanos, SimTime};

use super::{Algorithm, ConstantDelay, DelayModel};
use crate::trace_file::ELEMENT_SETS;

const LATITUDE: OptionKind = OptionKind::Number { min: -90.0, max: 90.0 };
const LONGITUDE: OptionKind = OptionKind::Number { min: -180.0, max: 360.0 };
const ALTITUDE: OptionKind = OptionKind::Number { min: -0.5, max: 20.0 };
const CIRCLE: OptionKind = OptionKind::Number { min: -360.0, max: 360.0 };

const EXTRA: OptionSpec = OptionSpec::new(
    "extra",
    OptionKind::Duration,
    "0s",
    "further constant delay: processing, and the way on the ground",
);

/// Where terminal and gateway are.
const PLACES: [OptionSpec; 6] = [
    OptionSpec::compulsory(
        "terminal_lat",
        LATITUDE,
        "latitude of the terminal in degrees, north is positive",
    ),
    OptionSpec::compulsory(
        "terminal_lon",
        LONGITUDE,
        "longitude of the terminal in degrees, east is positive",
    ),
    OptionSpec::new("terminal_alt", ALTITUDE, "0", "altitude of the terminal in km"),
    OptionSpec::compulsory("gateway_lat", LATITUDE, "latitude of the gateway in degrees, north is positive"),
    OptionSpec::compulsory("gateway_lon", LONGITUDE, "longitude of the gateway in degrees, east is positive"),
    OptionSpec::new("gateway_alt", ALTITUDE, "0", "altitude of the gateway in km"),
];

/// How moving satellites serve them.
const SERVICE: [OptionSpec; 8] = [
    OptionSpec::new(
        "min_elevation",
        OptionKind::Number { min: 0.0, max: 89.0 },
        "25",
        "terminal and gateway use satellites from this elevation on, in degrees",
    ),
    OptionSpec::new(
        "choose",
        OptionKind::Choice(&["highest", "longest"]),
        "highest",
        "at each slot the satellite that stands highest over the terminal, or the present one as long as it can serve and \
         then the one that can serve longest",
    ),
    OptionSpec::new(
        "rank",
        OptionKind::Integer { min: 1, max: 100 },
        "1",
        "2: the second best satellite, as for a second terminal beside the first; the last if there are fewer",
    ),
    OptionSpec::new(
        "slot",
        OptionKind::Duration,
        "15s",
        "satellites are chosen anew this often; from 100 ms to 5 min",
    ),
    OptionSpec::new(
        "phase",
        OptionKind::Duration,
        "0s",
        "the first slot of the run begins then; below `slot`",
    ),
    OptionSpec::new(
        "outage",
        OptionKind::Duration,
        "0s",
        "nothing is carried for this long after each change of the satellite; below `slot`",
    ),
    OptionSpec::new(
        "while_out",
        OptionKind::Choice(&["wait", "lose"]),
        "wait",
        "while no satellite carries, packets wait in front of the transmitter, or are sent and lost",
    ),
    EXTRA,
];

pub(super) const GEO: Algorithm = Algorithm {
    name: "geo",
    summary: "a geostationary satellite, by the places of terminal, satellite and gateway",
    source: "slant range over a sphere",
    notes: "",
    options: &OptionSpec::joined::<8>(&[
        &[OptionSpec::compulsory(
            "satellite_lon",
            LONGITUDE,
            "longitude of the satellite in degrees, east is positive",
        )],
        &PLACES,
        &[EXTRA],
    ]),
    check: check_geo,
    build: |options, _| Box::new(ConstantDelay(geo(options))),
};

pub(super) const WALKER: Algorithm = Algorithm {
    name: "walker",
    summary: "a synthetic shell of satellites in circular orbits, with hand-overs",
    source: "Walker 1984; Tanveer et al. 2023",
    notes: "",
    options: &OptionSpec::joined::<22>(&[
        &[
            OptionSpec::compulsory(
                "altitude",
                OptionKind::Number { min: 160.0, max: 40_000.0 },
                "altitude of the satellites in km",
            ),
            OptionSpec::compulsory(
                "inclination",
                OptionKind::Number { min: 0.0, max: 180.0 },
                "inclination of the orbits in degrees",
            ),
            OptionSpec::compulsory(
                "planes",
                OptionKind::Integer { min: 1, max: 1000 },
                "number of orbital planes",
            ),
            OptionSpec::compulsory(
                "per_plane",
                OptionKind::Integer { min: 1, max: 1000 },
                "satellites in each plane; at most 100,000 in all planes",
            ),
            OptionSpec::new(
                "phasing",
                OptionKind::Integer { min: 0, max: 999 },
                "0",
                "a satellite is ahead of its neighbour in the plane to the west by this times 360 degrees over the number of \
                 satellites; below `planes`",
            ),
            OptionSpec::new(
                "pattern",
                OptionKind::Choice(&["delta", "star"]),
                "delta",
                "planes are spread over all of the equator, or over half of it",
            ),
            OptionSpec::new(
                "node",
                CIRCLE,
                "0",
                "longitude of the ascending node of the first plane at the start, in degrees",
            ),
            OptionSpec::new(
                "anomaly",
                CIRCLE,
                "0",
                "angle of the first satellite from that node at the start, in degrees",
            ),
        ],
        &PLACES,
        &SERVICE,
    ]),
    check: check_walker,
    build: |options, _| {
        Satellites::boxed(Constellation::Walker(shell(options)), GroundStation::on_sphere, options)
    },
};

pub(super) const SGP4: Algorithm = Algorithm {
    name: "sgp4",
    summary: "real satellites by frozen element sets, with hand-overs",
    source: "Vallado et al., AIAA 2006-6753; Tanveer et al. 2023",
    notes: "",
    options: &OptionSpec::joined::<16>(&[
        &[
            OptionSpec::compulsory(
                "file",
                OptionKind::File(ELEMENT_SETS),
                "path of the element sets, TLE or OMM in JSON or KVN, from the folder of the scenario",
            ),
            OptionSpec::compulsory(
                "epoch",
                OptionKind::Text,
                "when the run starts, in UTC such as \"2026-01-01T12:00:00Z\", within 30 days of the element sets",
            ),
        ],
        &PLACES,
        &SERVICE,
    ]),
    check: check_sgp4,
    build: |options, _| {
        let sets = element_sets(options).unwrap_or_else(|fault| panic!("checked before: {fault:?}"));
        Satellites::boxed(Constellation::ElementSets(sets), GroundStation::on_ellipsoid, options)
    },
};

/// Satellites of a shell: each is looked at in each slot without service.
const MOST: u64 = 100_000;

fn check_geo(options: &Options) -> Result<(), OptionFault> {
    geostationary(options).map(|_| ())
}

fn check_walker(options: &Options) -> Result<(), OptionFault> {
    let (phasing, planes) = (options.integer("phasing"), options.integer("planes"));
    if phasing >= planes {
        return Err(OptionFault {
            option: "phasing",
            message: format!("found {phasing}, but there are {planes} planes"),
            help: format!("choose a number from 0 to {}", planes - 1),
        });
    }
    let per_plane = options.integer("per_plane");
    if planes.saturating_mul(per_plane) > MOST {
        return Err(OptionFault {
            option: "per_plane",
            message: format!("found {planes} planes of {per_plane} satellites"),
            help: format!("choose numbers whose product is at most {MOST}"),
        });
    }
    check_service(options)
}

fn check_sgp4(options: &Options) -> Result<(), OptionFault> {
    element_sets(options)?;
    check_service(options)
}

fn check_service(options: &Options) -> Result<(), OptionFault> {
    let slot = options.duration("slot");
    let (least, most) = (Nanos::from_millis(100), Nanos::from_secs(300));
    if slot < least || slot > most {
        return Err(OptionFault {
            option: "slot",
            message: format!("found \"{slot}\""),
            help: format!("choose a duration from \"{least}\" to \"{most}\""),
        });
    }
    for option in ["phase", "outage"] {
        let found = options.duration(option);
        if found >= slot {
            return Err(OptionFault {
                option,
                message: format!("found \"{found}\", but slot = \"{slot}\""),
                help: "choose a shorter time".into(),
            });
        }
    }
    Ok(())
}

fn place(options: &Options, end: &str) -> Place {
    let number = |what: &str| options.number(&format!("{end}_{what}"));
    Place {
        latitude: Degrees(number("lat")),
        longitude: Degrees(number("lon")),
        altitude: Kilometres(number("alt")),
    }
}

const ENDS: [&str; 2] = ["terminal", "gateway"];

fn geostationary(options: &Options) -> Result<Nanos, OptionFault> {
    let satellite = Degrees(options.number("satellite_lon"));
    geo_delay(ENDS.map(|end| place(options, end)), satellite).map_err(|error| OptionFault {
        option: "satellite_lon",
        message: format!(
            "the satellite stands {:.1} degrees below the horizon of the {}",
            -error.elevation.0, ENDS[error.station]
        ),
        help: "choose a satellite or a place so that both ends see it; east is positive".into(),
    })
}

/// The delay of `geo`, which never changes.
fn geo(options: &Options) -> Nanos {
    let way = geostationary(options).unwrap_or_else(|fault| panic!("checked before: {fault:?}"));
    way + options.duration("extra")
}

fn shell(options: &Options) -> Walker {
    // Bounds of the options keep these within 32 bits.
    let count = |name| options.integer(name) as u32;
    Walker::new(Shell {
        pattern: if options.choice("pattern") == "star" { Pattern::Star } else { Pattern::Delta },
        altitude: Kilometres(options.number("altitude")),
        inclination: Degrees(options.number("inclination")),
        planes: count("planes"),
        per_plane: count("per_plane"),
        phasing: count("phasing"),
        node: Degrees(options.number("node")),
        anomaly: Degrees(options.number("anomaly")),
    })
}

fn element_sets(options: &Options) -> Result<ElementSets, OptionFault> {
    let epoch: Epoch = options.text("epoch").parse().map_err(|message| OptionFault {
        option: "epoch",
        message,
        help: "write the date, a T, the time and a Z".into(),
    })?;
    let file = options.file("file");
    // A scenario that needs no other file holds the text in the place of the path.
    let name = if file.path().contains('\n') { "the text" } else { file.path() };
    ElementSets::parse(&file.content::<String>(), epoch).map_err(|mistake| OptionFault {
        option: "file",
        message: format!("{name}:{}: {}", mistake.line, mistake.message),
        help: mistake.help,
    })
}

fn service(options: &Options) -> Service {
    Service {
        min_elevation: Degrees(options.number("min_elevation")),
        slot: options.duration("slot"),
        phase: options.duration("phase"),
        outage: options.duration("outage"),
        choice: if options.choice("choose") == "longest" { Choice::Longest } else { Choice::Highest },
        rank: options.integer("rank") as usize,
    }
}

/// A bent pipe over moving satellites.
#[derive(Clone, Debug)]
struct Satellites {
    pipe: BentPipe,
    extra: Nanos,
    lose: bool,
}

impl Satellites {
    fn boxed(
        sky: Constellation,
        station: fn(Place) -> GroundStation,
        options: &Options,
    ) -> Box<dyn DelayModel> {
        let stations = ENDS.map(|end| station(place(options, end)));
        Box::new(Self {
            pipe: BentPipe::new(Arc::new(sky), stations, service(options)),
            extra: options.duration("extra"),
            lose: options.choice("while_out") == "lose",
        })
    }

    fn carries(&mut self, at: SimTime) -> bool {
        self.pipe.carries(at)
    }

    /// The end of the gap at `at`, or of the search for it: then it has to go on.
    fn opens(&mut self, at: SimTime) -> SimTime {
        let (open, on) = self.pipe.next_up_or_again(at);
        let again = if open.is_never() { on } else { open };
        debug_assert!(again > at, "the gap at {at} ends at {again}");
        again
    }
}

impl DelayModel for Satellites {
    fn delay(&mut self, depart: SimTime) -> Nanos {
        // A transmission that no stretch of service is long enough for ends in a gap; it gets through after it.
        let through = self.pipe.next_up(depart);
        match self.pipe.at(through) {
            Sight::Up { delay, .. } => through.since(depart) + delay + self.extra,
            // Without a satellite for a long time it is lost.
            _ => self.extra,
        }
    }

    fn ready(&mut self, start: SimTime, end: SimTime) -> SimTime {
        if self.lose {
            return start;
        }
        if !self.carries(start) {
            return self.opens(start);
        }
        let mut edge = self.pipe.slot_end(start);
        while edge <= end {
            if !self.carries(edge) {
                let fresh = start == SimTime::ZERO || !self.carries(SimTime(start.0 - 1));
                return if fresh { start } else { self.opens(edge) };
            }
            edge = self.pipe.slot_end(edge);
        }
        start
    }

    fn loses(&mut self, depart: SimTime) -> bool {
        if self.lose { !self.carries(depart) } else { self.pipe.next_up(depart).is_never() }
    }
}

#[cfg(test)]
mod tests;
