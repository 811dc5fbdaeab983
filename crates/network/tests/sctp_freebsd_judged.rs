//! The profile `freebsd` judged by cases that had no part in making it: bulk transfers beside libusrsctp 0.9.5 over the same links
//! (`--backend usrsctp`), whose figures are recorded here. Each run has delays of its own, up to 1 % apart.

use std::sync::atomic::AtomicBool;

use network::{Observe, World};
use scenario::{Document, Registries};

/// A direction of a path: rate in kbit/s, queue in packets, losses.
type Link = (u32, u32, f64);

/// A transfer with the defects of the timers, and what the library had.
struct Case {
    seconds: u32,
    links: &'static [Link],
    /// Keys of the transport, and events of links.
    keys: &'static str,
    events: &'static str,
    /// Delays in ms; goodput in Mbit/s, share of packets of the first path, packets sent again in percent.
    runs: &'static [(&'static [f64], [f64; 3])],
}

const UNCOUPLED: &str = "kind = \"cmt-sctp\"\ncongestion = \"sctp\"\n";
const RPV1: &str = "kind = \"cmt-sctp\"\ncongestion = \"rpv1\"\n";
const RPV2: &str = "kind = \"cmt-sctp\"\ncongestion = \"rpv2\"\n";
const SINGLE: &str = "kind = \"sctp\"\n";

impl Case {
    /// The same figures of the simulator, for each run.
    fn figures(&self, common: &str, buffers: &str) -> Vec<[f64; 3]> {
        let one = |(seed, (delays, _)): (u64, &(&[f64], [f64; 3]))| {
            let mut text = format!("duration = \"{}s\"\n", self.seconds);
            for (number, ((rate, queue, loss), delay)) in self.links.iter().zip(*delays).enumerate() {
                text += &format!(
                    "[[path]]\nname = \"p{number}\"\nboth = {{ rate = \"{rate}kbit/s\", delay = \"{delay}ms\", queue = \"{queue}p\", loss = {{ kind = \"packet\", probability = {loss} }} }}\n"
                );
            }
            text += self.events;
            text += "[[flow]]\nname = \"f\"\nfrom = \"terminal\"\nto = \"server\"\napp = \"bulk\"\n[flow.transport]\n";
            text += "profile = \"freebsd\"\ntimer_defects = \"both\"\n";
            text += &format!(
                "{common}{}send_buffer = \"{buffers}\"\nreceive_buffer = \"{buffers}\"\n",
                self.keys
            );
            let document = match Document::parse(&text, "test.toml", &[], &Registries::builtin()) {
                Ok(document) => document,
                Err(mistakes) => panic!("{mistakes}\n{text}"),
            };
            let observe = Observe { series: false, trace: false };
            let record = World::new(&document.scenario, seed, observe).run(&AtomicBool::new(false));
            let flow = record.expect("the run is not cancelled").flows.remove(0);
            let sum = |of: fn(&trace::SubflowRecord) -> u64| flow.subflows.iter().map(of).sum::<u64>() as f64;
            let sent = sum(|path| path.sending.segments);
            [
                flow.delivered.as_f64() * 8e-6 / f64::from(self.seconds),
                flow.subflows[0].sending.segments as f64 / sent,
                100.0 * sum(|path| path.sending.retransmitted) / sent,
            ]
        };
        (0..).zip(self.runs).map(one).collect()
    }

    /// Means of the runs here and of the library: goodput within `goodput`, retransmissions within `again` (shares of the figure), the
    /// share of the first path within 0.02.
    fn judge(&self, common: &str, buffers: &str, (goodput, again): (f64, f64)) {
        let found = self.figures(common, buffers);
        let count = found.len() as f64;
        let here = |index: usize| found.iter().map(|run| run[index]).sum::<f64>() / count;
        let there = |index: usize| self.runs.iter().map(|(_, run)| run[index]).sum::<f64>() / count;
        let near = (here(0) / there(0) - 1.0).abs() < goodput
            && (here(1) - there(1)).abs() < 0.02
            && (here(2) / there(2) - 1.0).abs() < again;
        assert!(near, "{found:?}, the library has {:?}", self.runs);
    }
}

/// Three coupled paths: packet by packet that of the library. SACKs of the slow path that were overtaken revoke what gap blocks have
/// acknowledged (`sctp_check_for_revoked`); without that the goodput is 12 % lower. The handshake is completed by a HEARTBEAT on the fastest
/// path.
#[test]
fn three_coupled_paths() {
    let case = Case {
        seconds: 30,
        links: &[(4000, 50, 0.0), (8000, 50, 0.0), (12_000, 50, 0.0)],
        keys: "buffer_split = \"both\"\n",
        events: "",
        runs: &[
            (&[80.0, 50.0, 20.0], [2.539, 0.116, 0.500]),
            (&[79.7963, 49.5095, 20.1068], [2.525, 0.116, 0.487]),
            (&[80.735, 49.7065, 19.9397], [3.038, 0.304, 0.392]),
            (&[80.4415, 49.822, 19.8245], [3.057, 0.304, 0.390]),
        ],
    };
    let found = case.figures(RPV1, "1MiB");
    for (here, (_, there)) in found.iter().zip(case.runs) {
        let near = here.iter().zip(there).all(|(here, there)| (here / there - 1.0).abs() < 0.005);
        assert!(near, "{found:?}, the library has {:?}", case.runs);
    }
}

/// One path over GEO: slow start overflows the queue, and some 850 TSNs of which every second pair has arrived are told by SACKs with 150
/// gap blocks. While SACKs had room for 640 TSNs the transfer was five times as fast.
#[test]
fn slow_start_over_geo() {
    let case = Case {
        seconds: 60,
        links: &[(8000, 150, 0.0)],
        keys: "",
        events: "",
        runs: &[
            (&[280.0], [0.617, 1.0, 59.105]),
            (&[278.1656], [0.750, 1.0, 54.202]),
            (&[281.954], [0.722, 1.0, 54.966]),
            (&[282.413], [0.635, 1.0, 58.084]),
        ],
    };
    case.judge(SINGLE, "4MiB", (0.08, 0.05));
}

/// Two equal coupled paths with deep queues.
#[test]
fn two_equal_coupled_paths() {
    let case = Case {
        seconds: 30,
        links: &[(15_000, 80, 0.0), (15_000, 80, 0.0)],
        keys: "",
        events: "",
        runs: &[
            (&[35.0, 35.0], [18.034, 0.351, 0.709]),
            (&[34.679, 35.183], [19.990, 0.431, 0.491]),
            (&[34.9824, 34.8055], [19.551, 0.413, 0.454]),
            (&[34.6881, 35.0902], [20.049, 0.432, 0.703]),
        ],
    };
    case.judge(RPV1, "2MiB", (0.02, 0.05));
}

/// One of two equal paths loses 1 % of the packets. Draws of the losses are apart after the first difference.
#[test]
fn losses_on_one_of_two_equal_paths() {
    let case = Case {
        seconds: 30,
        links: &[(20_000, 60, 0.01), (20_000, 60, 0.0)],
        keys: "buffer_split = \"both\"\n",
        events: "",
        runs: &[
            (&[25.0, 25.0], [14.136, 0.223, 0.749]),
            (&[25.0354, 24.8633], [15.871, 0.205, 0.764]),
            (&[24.8104, 25.1507], [15.062, 0.209, 0.756]),
            (&[25.0789, 24.8362], [16.801, 0.214, 0.626]),
        ],
    };
    case.judge(UNCOUPLED, "1MiB", (0.05, 0.1));
}

/// A slow lossy path beside a fast one, coupled: as in the library without a change.
#[test]
fn a_slow_path_with_losses_beside_a_fast_one() {
    let case = Case {
        seconds: 30,
        links: &[(25_000, 50, 0.0), (5000, 80, 0.002)],
        keys: "buffer_split = \"both\"\n",
        events: "",
        runs: &[
            (&[10.0, 150.0], [20.631, 0.991, 0.159]),
            (&[9.9304, 148.7225], [19.912, 0.992, 0.167]),
            (&[9.9532, 151.1721], [20.524, 0.991, 0.159]),
        ],
    };
    case.judge(RPV2, "512KiB", (0.02, 0.1));
}

/// A link goes down at 8 s and comes back at 14 s.
fn outage(link: &str) -> &'static str {
    let event =
        |at: &str, up: bool| format!("[[event]]\nat = \"{at}\"\nlink = \"{link}\"\nset = {{ up = {up} }}\n");
    (event("8s", false) + &event("14s", true)).leak()
}

/// One of three coupled paths fails and returns: the library's turn of its round robin moves with each call that has something to send.
#[test]
fn one_of_three_coupled_paths_fails() {
    let case = Case {
        seconds: 40,
        links: &[(12_000, 50, 0.0), (8000, 50, 0.0), (4000, 50, 0.0)],
        keys: "",
        events: outage("p1"),
        runs: &[
            (&[20.0, 50.0, 80.0], [2.197, 0.369, 0.578]),
            (&[19.9272, 50.0965, 80.0815], [2.411, 0.329, 0.514]),
            (&[19.9394, 50.4668, 79.4735], [2.200, 0.369, 0.564]),
        ],
    };
    case.judge(RPV1, "1MiB", (0.002, 0.005));
}

/// A path of concurrent transfer is inactive after two errors. Passes offer it new data nevertheless, which finds it as soon as it is back:
/// without that the goodput of the first run is 15 % lower.
#[test]
fn an_inactive_path_is_offered_data() {
    let case = Case {
        seconds: 40,
        links: &[(10_000, 50, 0.0), (5000, 50, 0.0)],
        keys: "path_retries = 1\n",
        events: outage("p1"),
        runs: &[
            (&[30.0, 60.0], [10.701, 0.724, 0.915]),
            (&[30.243, 60.2271], [8.772, 0.725, 0.916]),
            (&[29.8201, 60.0651], [10.749, 0.718, 0.972]),
        ],
    };
    case.judge(UNCOUPLED, "512KiB", (0.05, 0.1));
}

/// Messages without order over unequal paths, the fast one with losses.
#[test]
fn messages_without_order() {
    let case = Case {
        seconds: 30,
        links: &[(10_000, 50, 0.005), (2000, 50, 0.0)],
        keys: "unordered = true\n",
        events: "",
        runs: &[
            (&[20.0, 100.0], [5.730, 0.911, 2.029]),
            (&[20.0883, 100.4249], [5.703, 0.903, 2.163]),
            (&[20.0119, 99.3372], [5.654, 0.914, 1.846]),
        ],
    };
    case.judge(UNCOUPLED, "256KiB", (0.005, 0.03));
}

/// Messages of five chunks.
#[test]
fn messages_of_several_chunks() {
    let case = Case {
        seconds: 30,
        links: &[(6000, 50, 0.0), (3000, 50, 0.0)],
        keys: "message = \"6000B\"\n",
        events: "",
        runs: &[
            (&[20.0, 40.0], [7.744, 0.684, 1.468]),
            (&[20.1213, 39.6912], [7.341, 0.678, 1.696]),
            (&[20.1793, 40.2886], [7.826, 0.672, 1.343]),
        ],
    };
    case.judge(UNCOUPLED, "512KiB", (0.03, 0.15));
}

/// The first path of an association is down for 6 s: as in the library without a change.
#[test]
fn a_path_that_fails_and_returns() {
    let case = Case {
        seconds: 40,
        links: &[(10_000, 50, 0.0), (5000, 50, 0.0)],
        keys: "",
        events: outage("p0"),
        runs: &[
            (&[30.0, 60.0], [7.220, 0.997, 5.473]),
            (&[29.7923, 59.5534], [6.930, 0.997, 0.784]),
            (&[29.9915, 60.4416], [7.220, 0.997, 5.476]),
        ],
    };
    case.judge(SINGLE, "512KiB", (0.005, 0.01));
}

/// Two paths over GEO without losses, one at a time: the storm after slow start. The COOKIE ACK gives a round trip (`sctp_handle_cookie_ack`),
/// without which the first run has 4.7 Mbit/s; a SACK that advances restarts the timers of both paths (`sctp_handle_sack`), and no window
/// grows while the association recovers (`sctp_cwnd_update_after_sack_common`).
#[test]
fn slow_start_over_geo_with_a_second_path() {
    let case = Case {
        seconds: 20,
        links: &[(5000, 234, 0.0), (5000, 234, 0.0)],
        keys: "",
        events: "",
        runs: &[
            (&[280.0, 280.0], [1.110, 0.908, 21.241]),
            (&[278.1656, 281.2], [1.091, 0.922, 48.731]),
            (&[281.954, 279.3], [1.346, 1.000, 72.365]),
            (&[282.413, 278.9], [3.816, 1.000, 6.589]),
        ],
    };
    case.judge(SINGLE, "4MiB", (0.02, 0.02));
}

/// The same with a SACK for each packet: a timeout that finds nothing old ends fast recovery nevertheless (`sctp_t3rxt_timer`).
#[test]
fn a_sack_for_each_packet_over_geo() {
    let case = Case {
        seconds: 30,
        links: &[(5000, 234, 0.0), (5000, 234, 0.0)],
        keys: "ack_every = 1\n",
        events: "",
        runs: &[
            (&[280.0, 280.0], [0.975, 0.929, 16.678]),
            (&[279.1656, 281.2], [0.933, 0.952, 45.681]),
            (&[281.954, 279.3], [1.106, 1.000, 69.037]),
            (&[282.413, 278.9], [1.313, 1.000, 63.841]),
        ],
    };
    case.judge(SINGLE, "4MiB", (0.05, 0.1));
}

/// Two coupled paths over GEO: a SACK that acknowledges timed chunks of both is a sample of one (`rto_ok` of `sctp_handle_sack`).
#[test]
fn two_coupled_paths_over_geo() {
    let case = Case {
        seconds: 20,
        links: &[(5000, 234, 0.0), (5000, 234, 0.0)],
        keys: "",
        events: "",
        runs: &[
            (&[280.0, 280.0], [2.176, 0.422, 17.545]),
            (&[279.1656, 281.2], [2.112, 0.427, 17.321]),
            (&[281.954, 279.3], [2.493, 0.432, 14.518]),
            (&[282.413, 278.9], [2.489, 0.430, 14.713]),
        ],
    };
    case.judge(RPV1, "4MiB", (0.005, 0.005));
}

/// NR-SACKs of ordered messages promise nothing (`sctp_process_a_data_chunk`): as without them.
#[test]
fn nr_sacks_of_ordered_messages() {
    let case = Case {
        seconds: 30,
        links: &[(8000, 80, 0.0), (3000, 30, 0.0)],
        keys: "nr_sack = true\n",
        events: "",
        runs: &[
            (&[30.0, 60.0], [8.055, 0.836, 0.731]),
            (&[29.8063, 60.4], [8.223, 0.837, 0.702]),
            (&[30.2035, 59.5], [8.983, 0.821, 0.635]),
            (&[29.735, 60.1], [8.578, 0.813, 0.836]),
        ],
    };
    case.judge(RPV2, "512KiB", (0.05, 0.1));
}
