//! A connection with every registered scheduler, over wires of unequal delay that lose nothing: each byte is
//! given out once, in order on each subflow, unless the scheduler asked for more.

use proptest::collection::vec;
use proptest::prelude::*;
use registry::Options;
use schedulers::{Algorithm, Registry};
use testkit::{Duo, Reading, Wire, setups};
use transport::config::SendBuffer;
use units::{Bytes, Nanos, SimTime};

fn any_row() -> impl Strategy<Value = Algorithm> {
    proptest::sample::select(Registry::builtin().iter().copied().collect::<Vec<_>>())
}

/// Two or three wires whose delays are anything from alike to two hundred to one.
fn wires() -> impl Strategy<Value = Vec<Wire>> {
    let wire = (1_u64..200).prop_map(|ms| Wire { delay: Nanos::from_millis(ms), rate: None });
    vec(wire, 2..4)
}

fn buffer() -> impl Strategy<Value = u64> {
    prop_oneof![3_000_u64..30_000, 60_000_u64..400_000, Just(10_000_000)]
}

/// Subflow and data sequence number of each segment that the client sent first, from the readable trace.
fn sent(log: &str) -> Vec<(usize, u64)> {
    let number = |word: &str| word.parse::<u64>().expect("a number");
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let dsn = words.iter().position(|word| *word == "dsn")?;
        (words[2] == "send").then(|| (number(words[1]) as usize, number(words[dsn + 1])))
    };
    log.lines().skip(1).filter_map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn each_byte_is_given_out_once_and_in_order(
        row in any_row(),
        wires in wires(),
        (receive, send) in (buffer(), proptest::option::of(buffer())),
        total in 1_u64..400_000,
        slowly: bool,
    ) {
        let mut config = setups::tcp();
        (config.buffers.receive_buffer, config.buffers.receive_buffer_max) = (Bytes(receive), Bytes(receive));
        config.buffers.send_buffer = send.map_or(SendBuffer::Auto { max: Bytes(4 << 20) }, |n| SendBuffer::Fixed(Bytes(n)));
        let (client, server) =
            setups::mptcp_pair(&config, &setups::mptcp(), "newreno", row.name, wires.len() as u8);
        let reading =
            if slowly { Reading::Slowly(Bytes(20_000), Nanos::from_millis(50)) } else { Reading::AtOnce };
        let mut duo = Duo::new(client, server, wires, Bytes(total)).with_reading(reading).with_log();
        prop_assert!(duo.run(SimTime::from_secs(600)), "{}: {} of {total}", row.name, duo.server.delivered());

        let stats: Vec<_> = (0..duo.client.subflow_count()).map(|i| duo.client.stats(i)).collect();
        // A window that closes for long makes subflows time out although nothing was lost.
        prop_assume!(stats.iter().all(|s| s.segments_retransmitted == 0));
        let needs = (row.build)(&Options::defaults(row.options)).needs();
        let again: u64 = stats.iter().map(|s| s.reinjected_bytes).sum();
        prop_assert!(again == 0 || needs.head || needs.copies, "{}: {again} bytes again", row.name);
        let bytes: u64 = stats.iter().map(|s| s.bytes_sent).sum();
        // Reinjected data may still be queued when the connection is over.
        prop_assert!((total..=total + again).contains(&bytes), "{}: {bytes}, {total} + {again}", row.name);
        // Data that moves to another queue may come behind data that follows it in the stream.
        if !needs.redistribution && (again == 0 || needs.copies) {
            let sent = sent(duo.log());
            for i in 0..stats.len() {
                let numbers: Vec<u64> = sent.iter().filter(|(on, _)| *on == i).map(|(_, dsn)| *dsn).collect();
                prop_assert!(numbers.is_sorted_by(|a, b| a < b), "{} on {i}: {numbers:?}", row.name);
            }
        }
    }

    /// Copies are not goodput: where both paths are alike, twice the bytes take the time of one path.
    #[test]
    fn redundant_is_no_faster_than_the_best_path(wires in wires(), total in 1_u64..400_000) {
        let finish = |wires: Vec<Wire>| {
            let (client, server) =
                setups::mptcp_pair(&setups::tcp(), &setups::mptcp(), "newreno", "redundant", wires.len() as u8);
            let mut duo = Duo::new(client, server, wires, Bytes(total));
            assert!(duo.run(SimTime::from_secs(600)));
            duo.seen.delivered_at
        };
        let both = finish(wires.clone());
        // The first path opens the connection whichever is best.
        let best = wires.iter().map(|wire| wire.delay).min().expect("two at least");
        let alone = finish(vec![Wire { delay: best, rate: None }]);
        prop_assert!(both >= alone, "{both} before {alone}");
    }
}
