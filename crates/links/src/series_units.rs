//! Units that headers of measured files use, in the spellings of the tools that write them.

/// A unit and its size in bit/s or seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit {
    pub name: &'static str,
    pub factor: f64,
}

const fn unit(name: &'static str, factor: f64) -> Unit {
    Unit { name, factor }
}

/// Rates in bit/s. Capital B is bytes.
pub(crate) const RATES: &[Unit] = &[
    unit("bit/s", 1.0),
    unit("bps", 1.0),
    unit("b/s", 1.0),
    unit("kbit/s", 1e3),
    unit("kbps", 1e3),
    unit("Kbps", 1e3),
    unit("kb/s", 1e3),
    unit("Mbit/s", 1e6),
    unit("mbit/s", 1e6),
    unit("Mbps", 1e6),
    unit("mbps", 1e6),
    unit("Mb/s", 1e6),
    unit("Gbit/s", 1e9),
    unit("gbit/s", 1e9),
    unit("Gbps", 1e9),
    unit("gbps", 1e9),
    unit("Gb/s", 1e9),
    unit("B/s", 8.0),
    unit("Bps", 8.0),
    unit("kB/s", 8e3),
    unit("KB/s", 8e3),
    unit("kBps", 8e3),
    unit("MB/s", 8e6),
    unit("MBps", 8e6),
];

/// Times in seconds.
pub(crate) const TIMES: &[Unit] = &[
    unit("s", 1.0),
    unit("sec", 1.0),
    unit("secs", 1.0),
    unit("seconds", 1.0),
    unit("ms", 1e-3),
    unit("msec", 1e-3),
    unit("us", 1e-6),
    unit("µs", 1e-6),
    unit("usec", 1e-6),
    unit("ns", 1e-9),
    unit("min", 60.0),
];

/// The unit of this name.
pub(crate) fn named(name: &str, units: &[Unit]) -> Option<Unit> {
    units.iter().find(|unit| unit.name == name).copied()
}

/// The unit with which the name of a column ends: `rtt_ms`, `rate (Mbit/s)`, `goodput_bit_s`, `Throughput [kbps]`.
pub(crate) fn of_header(name: &str, units: &[Unit]) -> Option<Unit> {
    let name = name.trim_end_matches([')', ']']).replace("bit_s", "bit/s");
    let (_, last) = name.rsplit_once(['_', ' ', '(', '[', '.', '-'])?;
    named(last, units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_end_in_units() {
        let cases = [
            ("rate_Mbit/s", Some(1e6)),
            ("goodput_bit_s", Some(1.0)),
            ("Throughput (Mbps)", Some(1e6)),
            ("dl [kB/s]", Some(8e3)),
            ("rate", None),
            ("Mbps", None),
            ("rate_ms", None),
        ];
        for (name, factor) in cases {
            assert_eq!(of_header(name, RATES).map(|unit| unit.factor), factor, "{name}");
        }
        assert_eq!(of_header("rtt_ms", TIMES).map(|unit| unit.factor), Some(1e-3));
        assert_eq!(of_header("time.s", TIMES).map(|unit| unit.factor), Some(1.0));
    }
}
