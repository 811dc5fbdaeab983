//! Bounds that RFC 9260 sets to what may be configured.

mod common;

use common::{BASE, good, parse};

fn over_sctp(keys: &str) -> String {
    assert!(BASE.contains("\"mptcp\""), "the flow whose transport is replaced");
    BASE.replacen("\"mptcp\"", &format!("\"sctp\", {keys}"), 1)
}

/// The mistake that these keys are, and what it is blamed on.
fn mistake(keys: &str) -> String {
    let found = parse(&over_sctp(keys), &[]).map(|_| ()).expect_err(keys);
    assert_eq!(found.iter().count(), 1, "{found}");
    found.to_string()
}

/// RFC 9260 section 6.2: "An implementation MUST NOT allow the maximum delay (protocol parameter 'SACK.Delay') to be
/// configured to be more than 500 ms."
#[test]
fn a_sack_waits_for_half_a_second_at_most() {
    let told = mistake("ack_delay = \"501ms\"");
    assert!(
        told.contains("found \"501ms\" with kind = \"sctp\"") && told.contains("at most \"500ms\""),
        "{told}"
    );
    good(&over_sctp("ack_delay = \"500ms\""), &[]);
    good(&BASE.replacen("\"mptcp\"", "\"mptcp\", ack_delay = \"501ms\"", 1), &[]);
}

/// RFC 9260 section 3.3.2: "The Advertised Receiver Window Credit MUST NOT be smaller than 1500."
#[test]
fn a_window_of_1500_bytes_at_least_is_advertised() {
    let told = mistake("receive_buffer = \"1499B\"");
    assert!(
        told.contains("found \"1499B\" with kind = \"sctp\"") && told.contains("at least \"1500B\""),
        "{told}"
    );
    good(&over_sctp("receive_buffer = \"1500B\""), &[]);
    good(&BASE.replacen("\"mptcp\"", "\"mptcp\", receive_buffer = \"1499B\"", 1), &[]);
}
