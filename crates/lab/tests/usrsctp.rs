//! Associations of libusrsctp over links of the simulator, where the library is installed.
//!
//! `ROPEWALK_REQUIRE=usrsctp` makes a missing library a failure: continuous integration sets it.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use lab::usrsctp::{self, Association, Cmt, Ran, Settings, Traffic};
use lab::{RunError, RunOptions, Usrsctp};
use scenario::model::Scenario;
use scenario::{Document, Registries};
use trace::Data;
use units::{Bytes, Nanos, SimTime};

/// The program; `None` with a line that says why where it cannot be built.
fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = PROGRAM.get_or_init(|| {
        match usrsctp::built(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("usrsctp")) {
            Ok(program) => Some(program),
            Err(reason) => {
                assert_ne!(std::env::var("ROPEWALK_REQUIRE").as_deref(), Ok("usrsctp"), "{reason}");
                eprintln!("skipped: {reason}");
                None
            }
        }
    });
    built.as_deref()
}

fn scenario(paths: &[&str], duration: &str) -> Scenario {
    let paths =
        paths.iter().enumerate().map(|(i, path)| format!("[[path]]\nname = \"p{i}\"\nboth = {path}\n"));
    let text = format!(
        "duration = \"{duration}\"\n{}[[flow]]\nname = \"f\"\nfrom = \"terminal\"\nto = \"server\"\n\
         transport = {{ kind = \"tcp\" }}\n",
        paths.collect::<String>()
    );
    let document = Document::parse(&text, "test.toml", &[], &Registries::builtin());
    document.unwrap_or_else(|mistakes| panic!("{mistakes}")).scenario
}

fn association(traffic: Traffic, settings: Settings) -> Association {
    Association { from: 0, to: 1, start: SimTime::ZERO, traffic, settings }
}

fn run(scenario: &Scenario, seed: u64, association: &Association) -> Option<Ran> {
    let never = AtomicBool::new(false);
    let associations = std::slice::from_ref(association);
    let ran = usrsctp::run(program()?, (scenario, seed), associations, true, &never);
    Some(ran.unwrap_or_else(|failure| panic!("{failure:?}")))
}

/// Goodput from `from` to the end of the run, in Mbit/s.
fn goodput(ran: &Ran, from: SimTime) -> f64 {
    let delivered = ran.associations[0].messages.iter().filter(|m| m.delivered.is_some_and(|at| at > from));
    delivered.count() as f64 * 1452.0 * 8.0 / ran.end.since(from).as_secs_f64() / 1e6
}

/// 100 messages of 1000 bytes with losses in both directions: every message exactly once, and the same in each run.
#[test]
fn an_association_carries_messages_over_a_link_with_losses() {
    let lossy = "{ rate = \"2Mbit/s\", delay = \"30ms\", queue = \"20p\", loss = { kind = \"packet\", probability = 0.05 } }";
    let scenario = scenario(&[lossy], "60s");
    let traffic =
        Traffic { count: Some(100), interval: Some(Nanos::from_millis(20)), ..Traffic::bulk(Bytes(1000)) };
    let association = association(traffic, Settings::default());
    let Some(ran) = run(&scenario, 1, &association) else { return };
    let one = &ran.associations[0];
    assert!(one.established.is_some_and(|at| at >= SimTime(120_000_000)), "two round trips of 60 ms");
    assert!(ran.end < SimTime(60_000_000_000), "it ends when all is delivered");
    assert_eq!(one.messages.len(), 100);
    assert!(one.messages.iter().all(|message| message.delay() >= Some(Nanos::from_millis(30))));
    assert!(one.messages.is_sorted_by_key(|message| message.delivered), "in order");
    assert!(one.paths[0].retransmitted > 0 && ran.links[0].drops_error > 0);
    assert_eq!(one.paths[0].retransmitted, u64::from(one.sender.retransmitted));
    assert_eq!(one.paths[0].repeated, u64::from(one.receiver.repeated));
    let again = run(&scenario, 1, &association).unwrap();
    assert_eq!((again.end, &again.links), (ran.end, &ran.links));
    assert_eq!(again.associations[0].messages, one.messages);
    let other = run(&scenario, 2, &association).unwrap();
    assert_ne!(other.associations[0].messages, one.messages);
}

/// The first 10 s of two paths of 10 Mbit/s and 10 ms: one is used, or both. 9.68 Mbit/s of each are user data.
#[test]
fn cmt_uses_both_paths() {
    let path = "{ rate = \"10Mbit/s\", delay = \"10ms\", queue = \"50p\" }";
    let scenario = scenario(&[path, path], "10s");
    let half = SimTime(5_000_000_000);
    let buffer = Bytes(1 << 20);
    for (cmt, whole, second) in [(Cmt::Off, 9.5..9.65, 9.67..9.69), (Cmt::Base, 17.0..19.0, 19.2..19.4)] {
        let settings = Settings { cmt, send_buffer: buffer, receive_buffer: buffer, ..Settings::default() };
        let Some(ran) = run(&scenario, 0, &association(Traffic::bulk(Bytes(1452)), settings)) else { return };
        let measured = (goodput(&ran, SimTime::ZERO), goodput(&ran, half));
        assert!(whole.contains(&measured.0) && second.contains(&measured.1), "{cmt:?}: {measured:?}");
        let paths = &ran.associations[0].paths;
        assert_eq!(paths[1].chunks > 0, cmt == Cmt::Base);
        assert_eq!(paths.iter().map(|path| path.duplex_link).collect::<Vec<_>>(), [0, 1]);
        let retransmitted: u64 = paths.iter().map(|path| path.retransmitted).sum();
        assert_eq!(retransmitted, u64::from(ran.associations[0].sender.retransmitted));
        let chunks: u64 = paths.iter().map(|path| path.chunks).sum();
        let lost = ran.links.iter().map(|link| link.drops_queue).sum::<u64>();
        assert!(
            retransmitted >= lost && retransmitted * 50 < chunks,
            "{retransmitted} of {chunks}, {lost} lost"
        );
    }
}

/// The back end: tables of a transfer of 1,000 messages over a path with losses, and of one that it refuses.
#[test]
fn a_scenario_runs_on_the_library() {
    let text = r#"
duration = "60s"
[[path]]
name = "a"
both = { rate = "4Mbit/s", delay = "40ms", queue = "50p", loss = { kind = "packet", probability = 0.002 } }
[[flow]]
name = "upload"
from = "terminal"
to = "server"
app = { kind = "bulk", size = "1452000B" }
[flow.transport]
kind = "sctp"
profile = "freebsd"
timer_defects = "both"
"#;
    if program().is_none() {
        return;
    }
    let backend = Usrsctp::new(Path::new(env!("CARGO_TARGET_TMPDIR")).join("usrsctp"));
    let document = Document::parse(text, "test.toml", &[], &Registries::builtin());
    let document = document.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let options =
        RunOptions { seeds: vec![1, 2], jobs: NonZeroUsize::MIN, series: true, trace: false, capture: None };
    let never = AtomicBool::new(false);
    let output = lab::run_on(&backend, &document, &options, &|_, _| (), &never);
    let output = output.unwrap_or_else(|error| panic!("{error}"));
    let table = |name: &str| output.tables.iter().find(|table| table.name == name).unwrap();
    let flows = table("flows");
    assert_eq!(flows.column("delivered_bytes"), Some(&Data::Integer(vec![1_452_000; 2])));
    assert_eq!(flows.column("completed"), Some(&Data::Flag(vec![true; 2])));
    let Some(Data::Real(times)) = flows.column("completion_s") else { panic!("they are measured") };
    // 1,000 packets of 1,500 bytes at 4 Mbit/s take 3 s.
    assert!(times.iter().all(|time| time.is_some_and(|time| (3.1..30.0).contains(&time))), "{times:?}");
    assert!(!table("links").column("link").unwrap().is_empty());
    let cancelled = lab::run_on(&backend, &document, &options, &|_, _| (), &AtomicBool::new(true));
    assert_eq!(cancelled, Err(RunError::Cancelled));
}
