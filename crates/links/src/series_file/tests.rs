//! Tests of the reading of measured files.

use registry::NamedFile;

use super::*;
use crate::trace_file::{DECIBELS, DELAYS, PROBABILITIES, RATES};

/// The series of a text, with options `name=value`.
fn read(format: registry::FileFormat, text: &str, options: &[&str]) -> Result<Series, OptionFault> {
    let file = NamedFile::read("x.csv", text, format).map_err(|e| OptionFault {
        option: "file",
        message: e.message,
        help: String::new(),
    })?;
    let mut values = vec![("file", OptionValue::File(file))];
    for option in options {
        let (name, value) = option.split_once('=').unwrap();
        let spec =
            [TIME, COLUMN, TIME_UNIT, ORIGIN, DELAY_UNIT, RTT].into_iter().find(|spec| spec.name == name);
        let value = if name == "unit" {
            OptionValue::Choice(value.into())
        } else {
            spec.unwrap().kind.parse(value).unwrap()
        };
        values.push((spec.unwrap().name, value));
    }
    series(&Options::new(values)).map(|series| series.to_vec())
}

fn values(format: registry::FileFormat, text: &str, options: &[&str]) -> Vec<(u64, f64)> {
    let series = read(format, text, options).unwrap_or_else(|fault| panic!("{text:?}: {fault:?}"));
    series.into_iter().map(|(at, value)| (at.0 / 1_000_000, value)).collect()
}

#[test]
fn values_have_units_of_their_own_or_of_a_header_or_of_an_option() {
    let expected = [(0, 41.7e6), (1500, 2e7), (2000, 0.0)];
    assert_eq!(values(RATES, "# t rate\n0 41.7Mbit/s\n1.5s, 20 Mbit/s\n\n2;0 # gap\n", &[]), expected);
    assert_eq!(values(RATES, "0 41.7\n1.5 20\n2 0\n", &["unit=Mbit/s"]), expected);
    assert_eq!(values(RATES, "time_s,rate_Mbit/s\n0,41.7\n1.5,20\n2,0\n", &[]), expected);
    assert_eq!(
        values(RATES, "\"time_ms\";\"Throughput (kbps)\"\n0;41700\n1500;20000\n2000;0\n", &[]),
        expected
    );
    let delays = [(0, 0.0225), (3000, 0.25)];
    assert_eq!(values(DELAYS, "0 22.5ms\n3 250ms", &[]), delays);
    assert_eq!(values(DELAYS, "0 22.5\n3 250", &["unit=ms"]), delays);
    assert_eq!(values(DELAYS, "time delay_ms\n0 22.5\n3 250", &[]), delays);
    assert_eq!(values(DECIBELS, "0 7.5\n1 -3", &[]), [(0, 7.5), (1000, -3.0)]);
    let losses = [(0, 0.01), (1000, 0.5)];
    assert_eq!(values(PROBABILITIES, "0 1%\n1 0.5", &[]), losses);
    assert_eq!(values(PROBABILITIES, "t,loss_percent\n0,1\n1,50", &[]), losses);
}

#[test]
fn columns_are_named_or_numbered_and_times_are_those_of_a_clock() {
    let text = "timestamp,rtt_ms,throughput_mbps\n1714564800,45,37.4\n1714564801.5,61,21\n";
    let rates = [(0, 37.4e6), (1500, 21e6)];
    let first = "origin=first";
    assert_eq!(values(RATES, text, &["column=throughput_mbps", first]), rates);
    assert_eq!(values(RATES, text, &["column=3", first]), rates);
    assert_eq!(values(DELAYS, text, &["column=RTT_ms", first, "rtt=true"]), [(0, 0.0225), (1500, 0.0305)]);
    let millis = "1714564800000 37.4\n1714564801500 21\n";
    assert_eq!(values(RATES, millis, &["time_unit=ms", first, "unit=Mbit/s"]), rates);
    let iso = "2024-05-01 12:00:00,37.4Mbit/s\n2024-05-01T12:00:01.5Z,21Mbit/s\n";
    assert_eq!(values(RATES, iso, &[first]), rates);
    let behind = "rate_Mbit/s,time\n37.4,0\n21,1.5\n";
    assert_eq!(values(RATES, behind, &[]), rates);
}

/// Format, text, options; option, message and cure of the fault.
type Case<'a> = (registry::FileFormat, &'a str, &'a [&'a str], &'a str, &'a str, &'a str);

#[test]
fn what_is_wrong_has_its_line_and_its_cure() {
    let csv = "timestamp,rtt_ms,throughput_mbps\n0,45,37.4\n1,61,21\n";
    let cases: [Case<'_>; 22] = [
        (
            RATES,
            "0 3Mbit/s\n3,41.7",
            &[],
            "file",
            "x.csv:2: found \"41.7\" without a unit",
            "unit = \"Mbit/s\"",
        ),
        (DELAYS, "3,22.5", &[], "file", "x.csv:1: found \"22.5\" without a unit", "\"22.5ms\""),
        (RATES, csv, &[], "file", "x.csv:1: number of columns: found 3; expected 2", "column = \"rtt_ms\""),
        (RATES, csv, &["column=rate"], "column", "no column \"rate\"", "timestamp, rtt_ms, throughput_mbps"),
        (RATES, csv, &["column=timestamp"], "column", "holds the times", "columns: "),
        (DELAYS, csv, &["column=rtt_ms"], "rtt", "\"rtt_ms\" seems to hold round-trip", "rtt = true"),
        (DELAYS, "time_s,delay_ms\n0,1", &["unit=s"], "unit", "the header of x.csv says ms", "remove unit"),
        (DELAYS, "0,1ms", &["unit=s"], "unit", "every value of x.csv has its unit", "remove it"),
        (RATES, "1714564800000,0", &[], "file", "more than a century", "time_unit = \"ms\""),
        (
            RATES,
            "0 1bit/s\n-1 1bit/s",
            &[],
            "file",
            "x.csv:2: found the time -1, which is negative",
            "times rising",
        ),
        (
            RATES,
            "0 1bit/s\n1 -5",
            &["unit=bit/s"],
            "file",
            "x.csv:2: found -5, which is negative",
            "times rising",
        ),
        (RATES, "1 0\n\n1 0", &[], "file", "x.csv:3: found the time 1, which is not after", "times rising"),
        (
            RATES,
            "5 0\n1 0",
            &["origin=first"],
            "file",
            "x.csv:2: found the time 1, which is not after",
            "rising",
        ),
        (RATES, "0 0\n1", &[], "file", "x.csv:2: number of columns: found 1; expected 2", "times rising"),
        (RATES, "0 0\n1 0 0", &[], "file", "x.csv:2: number of columns: found 3; expected 2", "times rising"),
        (RATES, "5\n", &[], "file", "x.csv:1: number of columns: found 1; expected 2", "a time and a value"),
        (RATES, "0 9fast", &[], "file", "not a rate", "times rising"),
        (DELAYS, "0 nan", &[], "file", "not a delay", "times rising"),
        (RATES, "later 5", &[], "file", "x.csv:1: found \"later\", which is not a time", "times rising"),
        (RATES, "time rate\n", &[], "file", "no lines below its header", ""),
        (RATES, "# nothing\n", &[], "file", "no lines", ""),
        (PROBABILITIES, "0 1.5", &[], "file", "between 0 and 1", "times"),
    ];
    for (format, text, options, option, message, help) in cases {
        let fault = read(format, text, options).unwrap_err();
        let right = fault.option == option && fault.message.contains(message) && fault.help.contains(help);
        assert!(right, "{text:?} {options:?}: {fault:?}");
    }
}

#[test]
fn a_file_that_begins_after_the_run_is_told() {
    let options = |text: &str| {
        let file = NamedFile::read("x.csv", text, RATES).unwrap();
        Options::new(vec![("file", OptionValue::File(file))])
    };
    let run = Nanos::from_secs(20);
    let fault = beyond_the_run(&options("1714564800 0\n1714564801 0"), run).unwrap();
    assert!(
        fault.message.contains("a time of a clock") && fault.help.contains("origin = \"first\""),
        "{fault:?}"
    );
    assert!(beyond_the_run(&options("20 0"), run).is_some());
    // A file may go on after the run.
    assert_eq!(beyond_the_run(&options("19 0\n1000 0"), run), None);
}
