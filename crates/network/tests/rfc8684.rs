//! MUSTs of RFC 8684 that a host keeps, not a connection; those of connections are in `crates/transport/tests/rfc8684.rs`.
//! `tools/requirements.py` compares the sentences with the list of requirements.

use std::sync::atomic::AtomicBool;

use network::{Observe, World};
use scenario::{Document, Registries};
use units::Bytes;

/// RFC 8684 section 3.2: "Demultiplexing subflow SYNs MUST be done using the token"
///
/// Five connections of two terminals to one server, whose second subflows all arrive within milliseconds of each other.
/// A join that reached another connection would be refused there, as it could not prove that it knows the keys.
#[test]
fn each_join_finds_its_connection() {
    let mut text = String::from("name = \"joins\"\nduration = \"20s\"\n");
    for name in ["t", "u", "s"] {
        text += &format!("[[node]]\nname = \"{name}\"\n");
    }
    for terminal in ["t", "u"] {
        for n in 0..2 {
            text += &format!(
                "[[link]]\nname = \"{terminal}{n}\"\nends = [\"{terminal}\", \"s\"]\n\
                 both = {{ rate = \"10Mbit/s\", delay = \"20ms\", queue = \"100p\" }}\n"
            );
        }
    }
    for (n, terminal) in ["t", "u", "t", "u", "t"].into_iter().enumerate() {
        text += &format!(
            "[[flow]]\nname = \"f{n}\"\nfrom = \"{terminal}\"\nto = \"s\"\n\
             app = {{ kind = \"bulk\", size = \"1MB\" }}\ntransport = {{ kind = \"mptcp\" }}\n"
        );
    }
    let document = Document::parse(&text, "test.toml", &[], &Registries::builtin());
    let scenario = document.unwrap_or_else(|e| panic!("{e}\n{text}")).scenario;
    let record =
        World::new(&scenario, 1, Observe { series: false, trace: false }).run(&AtomicBool::new(false));
    for flow in record.expect("nothing cancels it").flows {
        assert_eq!(flow.delivered, Bytes(1_000_000), "{flow:?}");
        assert_eq!(flow.subflows.len(), 2, "{flow:?}");
        assert!(flow.subflows.iter().all(|subflow| subflow.received > Bytes::ZERO), "{flow:?}");
    }
}
