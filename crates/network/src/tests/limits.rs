//! Limits of senders against closed forms.

use trace::{FlowRecord, LIMITS, Limited};
use units::Nanos;

use super::*;

fn seconds_in(limited: &Limited, limit: &str) -> f64 {
    let index = LIMITS.iter().position(|name| *name == limit).expect("a limit");
    limited.0[index].as_secs_f64()
}

/// Runs `text` and returns its flow, whose limits sum to its lifetime.
fn flow(text: &str) -> FlowRecord {
    let flow = checked(text, 1).flows.remove(0);
    let lifetime = flow.end.since(flow.start);
    let of_subflows = flow.subflows.iter().map(|subflow| subflow.limited);
    for limited in flow.limited.iter().copied().chain(of_subflows) {
        assert_eq!(limited.total(), lifetime, "{limited:?}");
    }
    flow
}

/// One path of 10 Mbit/s and 100 ms each way: a window of 250 kB fills it.
fn limits(app: &str, transport: &str) -> Limited {
    let app = format!("app = {{ kind = \"bulk\"{app} }}");
    let transport = format!(", profile = \"rfc\", congestion = \"newreno\", timestamps = false{transport}");
    let flow = flow(&one_path("", &app, &transport, ""));
    assert_eq!(flow.limited[0], flow.subflows[0].limited, "plain TCP has one path");
    flow.limited[0]
}

#[test]
fn the_handshake_takes_a_round_trip() {
    for transport in ["", ", receive_buffer = \"64kB\", receive_buffer_max = \"64kB\""] {
        let handshake = seconds_in(&limits("", transport), "handshake");
        assert!((handshake - 0.2).abs() < 0.001, "{handshake}");
    }
}

#[test]
fn the_smallest_window_is_the_limit() {
    let windows = [
        (
            ", receive_buffer = \"50kB\", receive_buffer_max = \"50kB\", send_buffer = \"1MB\"",
            "receive_window",
        ),
        (", receive_buffer = \"1MB\", receive_buffer_max = \"1MB\", send_buffer = \"50kB\"", "send_buffer"),
        (
            ", receive_buffer = \"4MB\", receive_buffer_max = \"4MB\", send_buffer = \"4MB\"",
            "congestion_window",
        ),
    ];
    for (transport, limit) in windows {
        let limited = limits("", transport);
        // Slow start takes less than two seconds of the twenty.
        let most = seconds_in(&limited, limit) + seconds_in(&limited, "recovery");
        assert!(most > 18.0, "{limit}: {limited:?}");
    }
}

/// A window of data leaves at once; the last one takes half a round trip to arrive.
#[test]
fn a_short_transfer_ends_without_data() {
    let limited = limits(", size = \"14600B\"", ", ack_every = 1");
    assert!(seconds_in(&limited, "congestion_window") < 1e-9, "{limited:?}");
    let application = seconds_in(&limited, "application");
    assert!((0.1..0.12).contains(&application), "serialisation and propagation: {limited:?}");
}

#[test]
fn what_limits_a_subflow_is_its_own() {
    let path = |name: &str, rate: &str| {
        format!(
            "[[path]]\nname = \"{name}\"\nboth = {{ rate = \"{rate}\", delay = \"50ms\", queue = \"100p\" }}\n"
        )
    };
    let text = |app: &str, events: &str| {
        format!(
            "name = \"limits\"\nduration = \"20s\"\n{}{}[[flow]]\nname = \"up\"\nfrom = \"terminal\"\nto = \"server\"\n\
             app = {{ kind = \"bulk\"{app} }}\ntransport = {{ kind = \"mptcp\" }}\n{events}",
            path("a", "3Mbit/s"),
            path("b", "3Mbit/s")
        )
    };
    let bulk = flow(&text("", ""));
    let handshakes: Vec<f64> = bulk.subflows.iter().map(|s| seconds_in(&s.limited, "handshake")).collect();
    assert!((handshakes[0] - 0.1).abs() < 0.002, "{handshakes:?}");
    assert!(handshakes[1] > 0.3 && handshakes[1] < 0.5, "it joins after the first data: {handshakes:?}");
    let event = "[[event]]\nat = \"5s\"\nflow = \"up\"\ndo = { leave = \"b\" }\n";
    let left = flow(&text("", event));
    let gone = seconds_in(&left.subflows[1].limited, "path_down");
    assert!((gone - 15.0).abs() < 1e-6, "{gone}");
    assert_eq!(left.limited[0].0[8], Nanos::ZERO, "the connection goes on");
}
