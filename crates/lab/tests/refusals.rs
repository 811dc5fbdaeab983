//! Words to type: with the value that a refusal of the back end `linux` names the kernel runs the key.

#![cfg(target_os = "linux")]

use std::path::Path;

use scenario::{Document, Registries};

const PATHS: &str = r#"duration = "5s"
[[path]]
name = "a"
both = { rate = "4Mbit/s", delay = "40ms" }
[[path]]
name = "b"
both = { rate = "4Mbit/s", delay = "20ms" }
"#;

fn flow(name: &str, app: &str, transport: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nfrom = \"terminal\"\nto = \"server\"\napp = {app}\n[flow.transport]\n{transport}\n"
    )
}

const MPTCP: &str = "kind = \"mptcp\"\nprofile = \"linux\"\n";
const TCP: &str = "kind = \"tcp\"\nprofile = \"linux\"\n";
const COMMAND: &str = "{ kind = \"command\", client = \"a {server} {port}\", server = \"b {port}\" }";

type Sets = Vec<(String, String)>;

/// The refusal of the kernel, empty if it runs the scenario.
fn told(text: &str, sets: &Sets) -> String {
    let parsed = Document::parse(text, "test.toml", sets, &Registries::builtin());
    let document = parsed.unwrap_or_else(|mistakes| panic!("{sets:?}\n{mistakes}"));
    let backends = lab::backends(Path::new(""));
    let linux = backends.iter().find(|backend| backend.name() == "linux").expect("it is one");
    match document.refuse("linux", &linux.unsupported(&document.scenario)) {
        Ok(()) => String::new(),
        Err(mistakes) => mistakes.to_string(),
    }
}

/// Keys and values that it says to set.
fn cures(told: &str) -> Sets {
    let fixes = told.lines().filter_map(|line| line.trim().strip_prefix("fix: --set "));
    fixes
        .map(|fix| {
            let (set, _) = fix.split_once(", or use the back end simulator").expect("two cures");
            let (key, value) = set.split_once('=').expect("a key and a value");
            (key.to_owned(), value.to_owned())
        })
        .collect()
}

/// Sets the values of each refusal until the kernel runs the scenario; every refusal has to say something.
fn cured(text: &str) -> Sets {
    let mut sets = Vec::new();
    // A profile hides the refusals that come after its own, and `both` stands for one direction after the other.
    for _ in 0..6 {
        let told = told(text, &sets);
        if told.is_empty() {
            return sets;
        }
        let found = cures(&told);
        assert_eq!(found.len(), told.matches("fix: ").count(), "one without words to type:\n{told}");
        sets.extend(found);
    }
    panic!("{text}\n{sets:?} does not help:\n{}", told(text, &sets));
}

fn assert_cure(text: &str, cure: &[(&str, &str)]) {
    let expected: Sets = cure.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    assert_eq!(cured(text), expected, "{text}");
}

#[test]
fn a_scheduler_a_path_manager_and_a_control_that_the_kernel_lacks() {
    let of = |more: &str| PATHS.to_owned() + &flow("f", "\"bulk\"", &format!("{MPTCP}{more}"));
    for scheduler in ["ecf", "blest", "minrtt", "roundrobin", "redundant"] {
        let text = of(&format!("scheduler = \"{scheduler}\""));
        assert_cure(&text, &[("flow.f.transport.scheduler", "minratio")]);
    }
    assert_cure(
        &of("scheduler = { kind = \"minratio\", kernel = \"5.15\" }"),
        &[("flow.f.transport.scheduler", "minratio")],
    );
    for manager in ["\"fullmesh\"", "{ kind = \"per-path\", subflows = 2 }"] {
        let text = of(&format!("path_manager = {manager}"));
        assert_cure(&text, &[("flow.f.transport.path_manager", "per-path")]);
    }
    for control in
        ["\"vegas\"", "{ kind = \"lia\", min_increase = \"1B\" }", "{ kind = \"cubic\", beta = 0.5 }"]
    {
        let text = of(&format!("congestion = {control}"));
        assert_cure(&text, &[("flow.f.transport.congestion", "cubic")]);
    }
}

#[test]
fn values_of_another_size_or_kind() {
    let mptcp = |more: &str| PATHS.to_owned() + &flow("f", "\"bulk\"", &format!("{MPTCP}{more}"));
    for (line, value) in [
        ("mss = \"100B\"", "536B"),
        ("mss = \"20kB\"", "8948B"),
        ("idle_restart = \"initial\"", "halving"),
        ("pacing = true", "false"),
        ("receive_counts = \"payload\"", "subflow-memory"),
        ("send_buffer = \"auto\"", "expand"),
        ("send_buffer = \"4kB\"", "4608B"),
        ("ecn = true", "false"),
        ("rto_min = \"1s\"", "200ms"),
    ] {
        let (key, _) = line.split_once(' ').expect("a key");
        assert_cure(&mptcp(line), &[(&format!("flow.f.transport.{key}"), value)]);
    }
    assert_cure(&mptcp("").replace("\"5s\"", "\"61min\""), &[("duration", "60min")]);
    let often = format!("record = {{ interval = \"1ms\" }}\n{}", mptcp(""));
    assert_cure(&often, &[("record.interval", "10ms")]);
    let fast = mptcp("").replace("4Mbit/s", "400Mbit/s");
    let each = ["a.up", "b.up", "a.down", "b.down"].map(|way| format!("path.{way}.rate"));
    assert_cure(&fast, &each.each_ref().map(|key| (&**key, "150Mbit/s")));
    let many = mptcp("").replacen("4Mbit/s", "400Mbit/s", 1).replacen("4Mbit/s", "300Mbit/s", 1);
    let each = ["a.up", "a.down", "b.up", "b.down"].map(|way| format!("path.{way}.rate"));
    assert_cure(&many, &each.each_ref().map(|key| (&**key, "150Mbit/s")));
    let compared = mptcp("").replace("app =", "compare_paths = true\napp =");
    assert_cure(&compared, &[("flow.f.compare_paths", "false")]);
}

#[test]
fn another_transport_or_profile() {
    let of = |app: &str, transport: &str| PATHS.to_owned() + &flow("f", app, transport);
    assert_cure(
        &of("\"bulk\"", "kind = \"sctp\"\nprofile = \"freebsd\""),
        &[("flow.f.transport.kind", "mptcp"), ("flow.f.transport.profile", "linux")],
    );
    assert_cure(
        &of("\"ping\"", "kind = \"udp\"\npayload = \"2000B\""),
        &[("flow.f.transport.payload", "1472B")],
    );
    assert_cure(&of("\"ping\"", "kind = \"udp\"\nheader = \"40B\""), &[("flow.f.transport.header", "28B")]);
    for profile in ["rfc", "ns3", "opnet2007"] {
        for kind in ["tcp", "mptcp"] {
            let text = of("\"bulk\"", &format!("kind = \"{kind}\"\nprofile = \"{profile}\""));
            assert_cure(&text, &[("flow.f.transport.profile", "linux")]);
        }
    }
    // Keys that the file itself sets come up when the profile is that of the kernel.
    assert_cure(
        &of("\"bulk\"", "kind = \"tcp\"\nprofile = \"rfc\"\necn = true"),
        &[("flow.f.transport.profile", "linux"), ("flow.f.transport.ecn", "false")],
    );
}

/// A kernel has one setting for all connections of a host.
#[test]
fn settings_that_another_flow_has_otherwise() {
    let of = |second: &str| {
        let flows = [flow("f", "\"bulk\"", TCP), flow("g", "\"bulk\"", &format!("{TCP}{second}"))];
        PATHS.to_owned() + &flows.concat()
    };
    for (line, value) in [
        ("window_scaling = false", "true"),
        ("mss = \"1000B\"", "1448B"),
        ("overhead = \"10B\"", "0B"),
        ("idle_restart = \"never\"", "halving"),
        ("syn_retries = 2", "6"),
        ("retries = 3", "15"),
        ("receive_buffer_max = \"1MiB\"", "6291456B"),
        ("send_buffer_max = \"1MiB\"", "4194304B"),
    ] {
        let (key, _) = line.split_once(' ').expect("a key");
        assert_cure(&of(line), &[(&format!("flow.g.transport.{key}"), value)]);
    }
    assert_cure(&of("timestamps = false"), &[("flow.g.transport.timestamps", "true")]);
    let after_datagrams = PATHS.to_owned()
        + &flow("f", "\"ping\"", "kind = \"udp\"")
        + &flow("g", "\"bulk\"", &format!("{TCP}mss = \"1000B\""));
    assert_cure(&after_datagrams, &[("flow.g.transport.mss", "1448B")]);
    // The settings of another TCP are not told one by one.
    let another = PATHS.to_owned()
        + &flow("f", "\"bulk\"", TCP)
        + &flow("g", "\"bulk\"", "kind = \"tcp\"\nprofile = \"stp\"");
    assert_eq!(told(&another, &Vec::new()).matches("fix: ").count(), 1);
    let commands = PATHS.to_owned()
        + &flow("f", COMMAND, TCP)
        + &flow("g", "\"bulk\"", &format!("{TCP}congestion = \"newreno\""));
    assert_cure(&commands, &[("flow.g.transport.congestion", "cubic")]);
    let reno = PATHS.to_owned()
        + &flow("f", "\"bulk\"", &format!("{TCP}congestion = \"newreno\""))
        + &flow("g", COMMAND, TCP);
    assert_cure(&reno, &[("flow.g.transport.congestion", "newreno")]);
}
