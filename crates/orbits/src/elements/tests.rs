//! Published numbers of SGP4 and of the turn of the Earth; wrong files.

use super::*;

/// The verification cases of Vallado et al. that touch what satellite constellations need: near Earth with drag, and
/// deep space with an eccentric orbit of half a day.
const VANGUARD: &str = "\
1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753
2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667
";
const DELTA: &str = "\
DELTA 1 DEB
1 06251U 62025E   06176.82412014  .00008885  00000-0  12808-3 0  3985
2 06251  58.0579  54.0425 0030035 139.1568 221.1854 15.56387291  6774
";
const MOLNIYA: &str = "\
0 MOLNIYA 2-14
1 08195U 75081A   06176.33215444  .00000099  00000-0  11873-3 0   813
2 08195  64.1586 279.0717 6877146 264.7651  20.2257  2.00491383225656
";

fn epoch(text: &str) -> Epoch {
    text.parse().unwrap()
}

#[test]
fn sgp4_agrees_with_the_published_verification_cases() {
    for (text, minutes, expected) in [
        (VANGUARD, 0.0, [7022.46529266, -1400.08296755, 0.03995155]),
        (VANGUARD, 4320.0, [-9060.47373569, 4658.70952502, 813.68673153]),
        (DELTA, 0.0, [3988.31022699, 5498.96657235, 0.90055879]),
        (DELTA, 120.0, [-3935.69800083, 409.10980837, 5471.33577327]),
        (DELTA, 360.0, [4993.62642836, 2890.54969900, -3600.40145627]),
        (MOLNIYA, 240.0, [19752.78050009, -8600.07130962, 37522.72921090]),
        (MOLNIYA, 360.0, [19089.29762968, 3107.89495018, 39958.14661370]),
    ] {
        let sets = read(text).unwrap();
        let start = Epoch(sets[0].elements.datetime);
        let at = Satellite::new(&sets[0], start).unwrap().at(minutes * 60.0).unwrap();
        for (found, published) in at.0.iter().zip(expected) {
            // The publication prints eight decimals of a kilometre; machines agree on six.
            assert!((found - published).abs() < 1e-6, "{at:?} is not {expected:?}");
        }
    }
}

/// Vallado's example 3-15: the position in the frame of SGP4 and fixed to the Earth; UT1 is 0.4399619 s behind UTC.
#[test]
fn the_earth_turns_by_the_mean_sidereal_time() {
    let ut1 = epoch("2004-04-06T07:51:27.9460471Z");
    let sidereal = sgp4::iau_epoch_to_sidereal_time(sgp4::julian_years_since_j2000(&ut1.0));
    assert!((sidereal.to_degrees() - 312.809_894_3).abs() < 1e-6);
    let fixed = Vector([5_094.180_162_10, 6_127.644_659_50, 6_380.344_532_70]).turned(-sidereal);
    for (found, published) in fixed.0.iter().zip([-1_033.475_031_30, 7_901.305_585_60, 6_380.344_532_70]) {
        assert!((found - published).abs() < 1e-3, "{fixed:?}");
    }
}

#[test]
fn names_and_lines() {
    let text = format!("# two satellites\r\n{}{MOLNIYA}", DELTA.replace('\n', "\r\n"));
    let sets = read(&text).unwrap();
    assert_eq!(sets.iter().map(ElementSet::name).collect::<Vec<_>>(), ["DELTA 1 DEB", "MOLNIYA 2-14"]);
    assert_eq!(sets.iter().map(|set| set.line).collect::<Vec<_>>(), [3, 6]);
    assert_eq!(read(VANGUARD).unwrap()[0].name(), "5");
}

/// The same satellite as TLE and as OMM.
const OMM: &str = r#"[{
    "OBJECT_NAME": "DELTA 1 DEB",
    "OBJECT_ID": "1962-025E",
    "EPOCH": "2006-06-25T19:46:43.980096",
    "MEAN_MOTION": 15.56387291,
    "ECCENTRICITY": 0.0030035,
    "INCLINATION": 58.0579,
    "RA_OF_ASC_NODE": 54.0425,
    "ARG_OF_PERICENTER": 139.1568,
    "MEAN_ANOMALY": 221.1854,
    "EPHEMERIS_TYPE": 0,
    "CLASSIFICATION_TYPE": "U",
    "NORAD_CAT_ID": 6251,
    "ELEMENT_SET_NO": 398,
    "REV_AT_EPOCH": 677,
    "BSTAR": 0.00012808,
    "MEAN_MOTION_DOT": 8.885e-5,
    "MEAN_MOTION_DDOT": 0
}]"#;

#[test]
fn json_says_the_same_as_two_lines() {
    let start = epoch("2006-06-26T00:00:00Z");
    let [tle, omm] = [DELTA, OMM].map(|text| ElementSets::parse(text, start).unwrap());
    for seconds in [0.0, 1000.0, 86_400.0] {
        let [a, b] = [&tle, &omm].map(|sets| sets.position(0, seconds).unwrap());
        assert!((a - b).length() < 1e-3, "{a:?} is not {b:?}");
    }
    let without_list = OMM.trim_matches(['[', ']']);
    assert_eq!(read(without_list).unwrap()[0].name(), "DELTA 1 DEB");
}

#[test]
fn wrong_files_name_the_line_and_the_cure() {
    let start = "2006-06-26T00:00:00Z";
    let long = MOLNIYA.replacen("813", "8133", 1);
    for (text, line, message, help) in [
        ("", 1, "no element set", "TLE"),
        ("[]", 1, "no element set", "TLE"),
        (
            &DELTA.replacen("58.0579", "58.0578", 1),
            3,
            "checksum 4 in column 69, but the line sums up to 3",
            "anew",
        ),
        (&long, 2, "found 70 characters", "69 characters"),
        (&DELTA.replacen("1 06251U", "3 06251U", 1), 2, "a first line", "begins with 1"),
        (&DELTA.replacen("2 06251 ", "4 06251 ", 1), 3, "a second line", "begins with 2"),
        (&DELTA.replacen("62025E", "62025É", 1), 2, "ASCII", "remove"),
        (&format!("{DELTA}LOST\n"), 4, "no elements follow the name \"LOST\"", "both"),
        (
            &OMM.replacen("    \"EPOCH\": \"2006-06-25T19:46:43.980096\",\n", "", 1),
            18,
            "missing field `EPOCH`",
            "keys of an OMM",
        ),
        (&OMM.replacen("0.0030035", "true", 1), 6, "f64", "keys of an OMM"),
        (&OMM.replacen("0.0030035", "1.5", 1), 4, "DELTA 1 DEB: The epoch eccentricity", "remove"),
        ("\u{0}\u{1}\u{7f}", 1, "no elements follow", "both"),
    ] {
        let mistake = ElementSets::parse(text, epoch(start)).unwrap_err();
        assert!(
            mistake.line == line && mistake.message.contains(message) && mistake.help.contains(help),
            "wanted line {line}: {message} / {help}; found {mistake:?}"
        );
    }
}

#[test]
fn a_missing_epoch_and_a_distant_epoch() {
    let blank = DELTA.replacen("06176.82412014", "              ", 1);
    let line = blank.lines().nth(1).unwrap();
    let sum: u32 = line[..68].chars().map(|c| if c == '-' { 1 } else { c.to_digit(10).unwrap_or(0) }).sum();
    let blank = blank.replacen("3985\n", &format!("398{}\n", sum % 10), 1);
    let mistake = ElementSets::parse(&blank, epoch("2006-06-26T00:00:00Z")).unwrap_err();
    assert_eq!((mistake.line, mistake.message.as_str()), (2, "the epoch is missing"));
    let mistake = ElementSets::parse(DELTA, epoch("2026-01-01T00:00:00Z")).unwrap_err();
    assert!(
        mistake.message.contains("7129 days away") && mistake.help.contains("2006-06-25T19:46:43.98"),
        "{mistake:?}"
    );
    assert!("2026-01-01 00:00".parse::<Epoch>().unwrap_err().contains("2026-01-01T12:00:00Z"));
}
