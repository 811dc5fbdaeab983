//! The integer rules of the BPF programs in deploy/bpf beside the controllers of this crate, over random windows.
//!
//! The kernel counts whole segments to acknowledge for one segment of growth: half of one is added to the tolerance of 1 %.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use congestion::{Ack, CongestionControl, Growth, Loss, PathView, Paths, Registry, Setup, SsthreshFrom};
use registry::Options;
use units::{Bytes, Nanos, SimTime};

/// Bytes of a segment: so many that whole bytes are fractions of a segment.
const MSS: f64 = 1e9;
const QUESTIONS: usize = 2000;
const TOLERANCE: f64 = 0.01;
/// More is no different: the window does not grow.
const MOST_SEGMENTS: f64 = 1_048_576.0;

/// A path in the words of the kernel.
#[derive(Clone, Copy, Debug)]
struct Seen {
    cwnd: u64,
    rtt_us: u64,
    measured: u64,
}

/// Numbers without a crate: splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Evenly over the orders of magnitude.
    fn between(&mut self, least: f64, most: f64) -> u64 {
        let share = self.next() as f64 / u64::MAX as f64;
        (least * libm::pow(most / least, share)).round() as u64
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/bpf")
}

/// The answers of the C program to these lines; `None` without a C compiler.
fn answers(questions: &str) -> Option<Vec<Vec<f64>>> {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("check-{}", questions.len()));
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Wno-sign-compare", "-Werror", "-O1", "-o"])
        .args([program.as_os_str(), folder().join("check.c").as_os_str()])
        .status();
    let Ok(status) = compiled else {
        // The reason stands in the output of the test.
        let _ = writeln!(std::io::stderr(), "skipped: no C compiler `cc`");
        return None;
    };
    assert!(status.success(), "check.c does not compile");
    let mut child =
        Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let (mut input, text) = (child.stdin.take().expect("piped"), questions.to_owned());
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("a thread").expect("it reads");
    let lines = String::from_utf8(output.stdout).expect("text");
    let numbers = |line: &str| line.split(' ').map(|word| word.parse().expect("a number")).collect();
    Some(lines.lines().map(numbers).collect())
}

fn connections(random: &mut Random, least_rtt: f64) -> Vec<(usize, Vec<Seen>)> {
    let mut connection = || {
        let count = 2 + random.next() as usize % 6;
        let mut path = || Seen {
            cwnd: random.between(2.0, 20_000.0),
            rtt_us: random.between(least_rtt, 2e6),
            measured: random.between(1e3, 1e10),
        };
        let paths: Vec<Seen> = (0..count).map(|_| path()).collect();
        (random.next() as usize % count, paths)
    };
    (0..QUESTIONS).map(|_| connection()).collect()
}

fn ask(name: &str, connections: &[(usize, Vec<Seen>)]) -> Option<Vec<Vec<f64>>> {
    let mut text = String::new();
    for (me, paths) in connections {
        write!(text, "{name} {me}").expect("a string");
        for Seen { cwnd, rtt_us, measured } in paths {
            write!(text, " {cwnd} {rtt_us} {measured}").expect("a string");
        }
        text.push('\n');
    }
    let found = answers(&text)?;
    assert_eq!(found.len(), connections.len());
    Some(found)
}

fn views(paths: &[Seen]) -> Vec<PathView> {
    let view = |seen: &Seen| PathView {
        loss_interval: seen.measured as f64,
        ..PathView::new(seen.cwnd as f64 * MSS, seen.rtt_us as f64 / 1e6, MSS, true)
    };
    paths.iter().map(view).collect()
}

fn control(name: &str, segments: f64) -> Box<dyn CongestionControl> {
    let registry = Registry::builtin();
    let row = registry.get(name).expect("a controller");
    let window = Bytes((segments * MSS) as u64);
    let setup = Setup {
        mss: Bytes(MSS as u64),
        initial_window: window,
        initial_ssthresh: window,
        growth: Growth { slow_start_limit: 1, byte_counting: true },
        ssthresh_from: SsthreshFrom::Cwnd,
        paced: false,
        offload: false,
    };
    (row.build)(&setup, &Options::defaults(row.options))
}

fn ack(acked: f64) -> Ack {
    Ack {
        now: SimTime::ZERO,
        acked: Bytes(acked as u64),
        delivered: Bytes(acked as u64),
        rtt: None,
        srtt: Nanos::ZERO,
        flight_before: Bytes(acked as u64),
        flight: Bytes::ZERO,
        pipe: Bytes::ZERO,
        lost: Bytes::ZERO,
        rwnd: Bytes::MAX,
        snd_una: 0,
        snd_nxt: 0,
        cwnd_limited: true,
        marked: false,
        rate: None,
    }
}

/// Growth of this crate's controller by one segment acknowledged, in segments.
fn growth(name: &str, me: usize, paths: &[Seen], snd_una: u64) -> f64 {
    let mut cc = control(name, paths[me].cwnd as f64);
    let all = views(paths);
    let before = cc.window().cwnd.0 as f64;
    cc.on_ack(&Ack { snd_una, ..ack(MSS) }, Paths { all: &all, me });
    (cc.window().cwnd.0 as f64 - before) / MSS
}

/// The kernel grows by a segment for `segments`, and the crate by `growth` for each.
#[track_caller]
fn assert_same(segments: f64, growth: f64, of: &dyn std::fmt::Debug) {
    if segments >= MOST_SEGMENTS {
        assert!(growth < 1.01 / MOST_SEGMENTS, "no growth, and {growth}: {of:?}");
        return;
    }
    let wanted = 1.0 / growth;
    assert!((segments - wanted).abs() <= TOLERANCE * wanted + 0.5, "{segments} segments, {wanted}: {of:?}");
}

#[test]
fn lia_and_balia_grow_as_here() {
    for name in ["lia", "balia"] {
        let connections = connections(&mut Random(1), 1000.0);
        let Some(found) = ask(name, &connections) else { return };
        for ((me, paths), found) in connections.iter().zip(found) {
            assert_same(found[0], growth(name, *me, paths, 0), &(name, me, paths));
        }
    }
}

/// The window of this crate's controller after a loss, in segments.
fn after_loss(mut cc: Box<dyn CongestionControl>, paths: Paths<'_>) -> f64 {
    let flight = cc.window().cwnd;
    let loss = Loss {
        now: SimTime::ZERO,
        flight,
        cwnd_limited: true,
        srtt: Nanos::ZERO,
        snd_nxt: flight.0,
        marked: false,
        first_timeout: true,
    };
    cc.on_loss(&loss, paths);
    cc.window().cwnd.0 as f64 / MSS
}

/// A whole segment of a window with its part, as OLIA keeps it.
const ONE_SEGMENT: f64 = 4_294_967_296.0;

#[test]
fn olia_takes_half_at_a_loss_with_the_part_of_a_segment() {
    let mut random = Random(5);
    let windows: Vec<f64> = (0..QUESTIONS).map(|_| random.between(1e6, 2e10) as f64 / 1e6).collect();
    let text: String =
        windows.iter().map(|window| format!("half {}\n", (window * ONE_SEGMENT) as u64)).collect();
    let Some(found) = answers(&text) else { return };
    for (window, found) in windows.into_iter().zip(found) {
        let wanted = after_loss(control("olia", window), Paths { all: &[], me: 0 });
        assert!((found[0] / ONE_SEGMENT - wanted).abs() < 1e-6, "{window}: {found:?}, {wanted}");
    }
}

#[test]
fn balia_takes_as_much_at_a_loss() {
    let connections = connections(&mut Random(2), 1000.0);
    let Some(found) = ask("balia", &connections) else { return };
    for ((me, paths), found) in connections.iter().zip(found) {
        let cc = control("balia", paths[*me].cwnd as f64);
        let wanted = after_loss(cc, Paths { all: &views(paths), me: *me });
        assert!((found[1] - wanted).abs() <= TOLERANCE * wanted + 1.0, "{found:?}, {wanted}: {me} {paths:?}");
    }
}

/// Shares whose parts cancel have no small relative error: a hundred-thousandth of Reno's growth is added.
#[test]
fn olia_grows_and_shrinks_as_here() {
    let connections = connections(&mut Random(3), 1000.0);
    let Some(found) = ask("olia", &connections) else { return };
    let mut shrank = 0;
    for ((me, paths), found) in connections.iter().zip(found) {
        let cwnd = paths[*me].cwnd as f64;
        let share = cwnd * (found[0] / ONE_SEGMENT - cwnd);
        let wanted = cwnd * growth("olia", *me, paths, paths[*me].measured);
        let tolerance = TOLERANCE * wanted.abs() + 1e-5;
        assert!((share - wanted).abs() <= tolerance, "{share} of Reno, {wanted}: {me} {paths:?}");
        shrank += usize::from(share < 0.0);
    }
    assert!((QUESTIONS / 20..QUESTIONS / 2).contains(&shrank), "{shrank} windows shrink");
}

/// A window in avoidance, a path that has been seen empty, and a round of four samples.
#[test]
fn wvegas_queues_and_weighs_as_here() {
    let mut random = Random(4);
    let mut questions = Vec::new();
    let mut text = String::new();
    for _ in 0..QUESTIONS {
        let base = random.between(1000.0, 1e6);
        let (cwnd, rtt) = (random.between(4.0, 20_000.0), base + random.between(1.0, 1e6));
        // Segments per second of the siblings.
        let others = random.between(1.0, 1e6);
        writeln!(text, "wvegas {cwnd} {base} {rtt} {}", (others << 32) / 1_000_000).expect("a string");
        questions.push((cwnd, base, rtt, others));
    }
    let Some(found) = answers(&text) else { return };
    let mut weighed = 0;
    for ((cwnd, base, rtt, others), found) in questions.into_iter().zip(found) {
        let measured_rate = others as f64 * MSS;
        let all = [cwnd, 10].map(|cwnd| PathView {
            measured_rate,
            ..PathView::new(cwnd as f64 * MSS, base as f64 / 1e6, MSS, true)
        });
        let mut cc = control("wvegas", cwnd as f64);
        let paths = Paths { all: &all, me: 0 };
        let sample = |us: u64| Some(Nanos(us * 1000));
        if let Some(hooks) = cc.recovery_hooks() {
            hooks.on_recovery_ack(&Ack { rtt: sample(base), ..ack(0.0) });
        }
        for (snd_una, snd_nxt) in [(1, 100), (2, 100), (3, 100), (100, 200)] {
            cc.on_ack(&Ack { rtt: sample(rtt), snd_una, snd_nxt, ..ack(MSS) }, paths);
        }
        let (mut queued, mut alpha) = (None, 2.0);
        cc.gauges(paths, &mut |name, value| match name {
            "diff_segments" => queued = Some(value),
            "alpha_segments" => alpha = value,
            _ => {}
        });
        let of = (cwnd, base, rtt, others);
        let queued = queued.unwrap_or_else(|| panic!("a decision: {of:?}"));
        assert!(
            (found[0] / 1024.0 - queued).abs() <= TOLERANCE * queued + 1e-3,
            "{found:?}, {queued}: {of:?}"
        );
        if queued >= 2.0 {
            weighed += 1;
            let exact = (cwnd as f64 / rtt as f64) / (cwnd as f64 / rtt as f64 + others as f64 / 1e6) * 10.0;
            // Where the product is whole within the tolerance, either side is right.
            let whole = (exact - exact.round()).abs() < TOLERANCE * exact;
            assert!(whole || (found[2] - alpha).abs() < 0.5, "{found:?}, {alpha}: {of:?}");
        }
        let fitting = (cwnd as f64 * base as f64 / rtt as f64 + 1.0).clamp(2.0, cwnd as f64);
        assert!((found[3] - fitting).abs() <= TOLERANCE * fitting + 1.0, "{found:?}, {fitting}: {of:?}");
        let drained = (cwnd as f64 * base as f64 / (2.0 * rtt as f64)).max(2.0);
        assert!((found[4] - drained).abs() <= TOLERANCE * drained + 1.0, "{found:?}, {drained}: {of:?}");
    }
    assert!(weighed > QUESTIONS / 2, "{weighed} rounds weighed");
}

/// Two rounds of avoidance; with the second the queueing delay may double, which drains the queue and leaves the threshold as it was.
#[test]
fn wvegas_drains_as_here() {
    let mut random = Random(5);
    let mut questions = Vec::new();
    let mut text = String::new();
    for _ in 0..QUESTIONS {
        let base = random.between(1000.0, 1e6);
        let rtts = [0; 2].map(|_| base + random.between(1.0, 1e5));
        let cwnd = random.between(4.0, 20_000.0);
        writeln!(text, "rounds {cwnd} {base} {} {}", rtts[0], rtts[1]).expect("a string");
        questions.push((cwnd, base, rtts));
    }
    let Some(found) = answers(&text) else { return };
    assert_eq!(found.len(), QUESTIONS);
    let mut drained = 0;
    for (of, found) in questions.into_iter().zip(found) {
        let (cwnd, base, rtts) = of;
        assert_eq!(found.len(), 4, "{found:?}");
        let all = [PathView::new(cwnd as f64 * MSS, base as f64 / 1e6, MSS, true)];
        let mut cc = control("wvegas", cwnd as f64);
        let paths = Paths { all: &all, me: 0 };
        let sample = |us: u64| Some(Nanos(us * 1000));
        if let Some(hooks) = cc.recovery_hooks() {
            hooks.on_recovery_ack(&Ack { rtt: sample(base), ..ack(0.0) });
        }
        for (round, (rtt, found)) in rtts.into_iter().zip(found.chunks(2)).enumerate() {
            let end = 100 * (round as u64 + 1);
            for (snd_una, snd_nxt) in [(end - 99, end), (end - 98, end), (end - 97, end), (end, end + 100)] {
                cc.on_ack(&Ack { rtt: sample(rtt), snd_una, snd_nxt, ..ack(MSS) }, paths);
            }
            let window = cc.window();
            let here = [window.cwnd, window.ssthresh].map(|bytes| bytes.0 as f64 / MSS);
            for (here, found) in here.into_iter().zip(found) {
                assert!((here - found).abs() <= TOLERANCE * here + 1.0, "{here} {found}: {of:?}");
            }
            drained += usize::from(here[0] < 0.9 * here[1]);
        }
    }
    assert!(drained > QUESTIONS / 10, "{drained} drains");
}

/// The rules of a connection with one subflow are those of Reno.
#[test]
fn alone_all_are_reno() {
    let alone: Vec<_> =
        [2, 10, 300].map(|cwnd| (0, vec![Seen { cwnd, rtt_us: 50_000, measured: 9000 }])).to_vec();
    for name in ["lia", "balia", "olia"] {
        let Some(found) = ask(name, &alone) else { return };
        for ((_, paths), found) in alone.iter().zip(found) {
            let cwnd = paths[0].cwnd as f64;
            let segments = if name == "olia" { 1.0 / (found[0] / ONE_SEGMENT - cwnd) } else { found[0] };
            assert!((segments - cwnd).abs() < 0.5, "{name} {paths:?} {found:?}");
        }
    }
    let absent = vec![(8, vec![Seen { cwnd: 0, rtt_us: 1, measured: 0 }])];
    let Some(found) = ask("lia", &absent) else { return };
    assert!(found[0][0] < 0.5, "no subflow of the socket counts");
}
