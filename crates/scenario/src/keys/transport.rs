//! The table of a transport and those inside it.

use congestion::SsthreshFrom;
use transport::config::{
    AckPushed, CwndCounts, FlightAfterTimeout, IdleRestart, LossMeans, PacingRule, PrrRule, QuantumRule,
    Reassembly, ReceiveCounts, ReinjectOn, Reinjection, RtoFloor, RtoRule, UndoRule,
};
use transport::sctp::config::{
    BufferSplit, EagerSack, FastRetransmit, Occupancy, Reductions, RetransmissionPolicy, TimerDefects,
    WindowUpdate,
};
use units::{Bytes, Nanos};

use super::{BUFFER_RULES, END, GIB, INITIAL_WINDOWS};
use crate::held::Words;
use crate::registries::catalogue;
use crate::{path_managers, profiles};
use document::keys::{Fallback, Key, Kind, Scalar, Section};
use document::shorthand::{FLAG, PROBABILITY, buffer, duration, integer, key, limit, reference, size, words};

const HOUR: Nanos = Nanos::from_secs(3600);
const TIMER: Kind = duration(Nanos(1), HOUR);
const LIMIT: Kind = size(Bytes(1), Bytes::MAX);
const BUFFER: Kind = size(Bytes(1), GIB);
/// With headers of 40 bytes and all options a datagram has 64 KiB at most.
const LARGEST_MSS: Bytes = Bytes(65_535 - 40 - 40);

/// A transport setting whose default is in the profile.
const fn tcp(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, default: Fallback::Profile, doc, only: &["tcp", "mptcp"] }
}

/// The same for a setting that associations have, too.
const fn both(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, default: Fallback::Profile, doc, only: &["tcp", "mptcp", "sctp", "cmt-sctp"] }
}

/// A setting of associations whose default is in the profile.
const fn sctp(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, default: Fallback::Profile, doc, only: &["sctp", "cmt-sctp"] }
}

/// A setting of concurrent transfer.
const fn cmt(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, default: Fallback::Profile, doc, only: &["cmt-sctp"] }
}

const fn mptcp(name: &'static str, kind: Kind, default: Fallback, doc: &'static str) -> Key {
    Key { name, kind, default, doc, only: &["mptcp"] }
}

pub(crate) static TRANSPORT: Section = Section {
    name: "transport",
    what: "a transport",
    doc: "TCP, MPTCP or SCTP with all its settings; those of TCP hold for each subflow. UDP has three.",
    inline: false,
    inherits: true,
    keys: &[
        key(
            "kind",
            words(&["tcp", "mptcp", "sctp", "cmt-sctp", "udp"]),
            Fallback::Compulsory,
            "TCP, several of its paths, associations of SCTP that use one path or all at once, or datagrams",
        ),
        key(
            "profile",
            Kind::Scalar(Scalar::OneOf { what: "profiles", words: &profiles::NAMES }),
            Fallback::Text("linux"),
            "where the other defaults come from; with SCTP `rfc`, if none is named",
        ),
        both("congestion", Kind::Choice(catalogue::CONGESTION), "congestion control, one for each path"),
        Key {
            name: "scheduler",
            kind: Kind::Choice(catalogue::SCHEDULER),
            default: Fallback::Profile,
            doc: "which subflow or path carries the next segment or packet",
            only: &["mptcp", "cmt-sctp"],
        },
        mptcp(
            "path_manager",
            Kind::Choice(catalogue::PATH_MANAGER),
            Fallback::Text(path_managers::DEFAULT),
            "which subflows are opened after the first",
        ),
        mptcp(
            "endpoints",
            Kind::Tables(&ENDPOINT),
            Fallback::Absent,
            "addresses of both ends and what they are for; with `path_manager = \"in-kernel\"`",
        ),
        mptcp(
            "reinjection",
            words(Reinjection::WORDS),
            Fallback::Profile,
            "data of a subflow is sent again elsewhere at its first timeout, only when it dies, or as Linux since 5.15 does",
        ),
        mptcp(
            "reinject_on",
            words(ReinjectOn::WORDS),
            Fallback::Text("scheduler"),
            "where it is sent again: the scheduler's choice, no other subflow while its own lives, the fastest, each",
        ),
        mptcp(
            "reassembly",
            words(Reassembly::WORDS),
            Fallback::Text("separate"),
            "what a subflow holds behind a gap is acknowledged when the gap is filled, or when the connection's data comes further",
        ),
        mptcp(
            "subflow_unsent_limit",
            LIMIT,
            Fallback::Text("unlimited"),
            "a subflow is given no more while this much waits on it to be sent, two segments at least lest it starve; with schedulers \
             that queue up to a send buffer",
        ),
        mptcp(
            "checksum",
            FLAG,
            Fallback::Text("false"),
            "checksum of each mapping: its 2 bytes fit into the padding of the option, so that packets keep their size",
        ),
        mptcp(
            "wide_sequence",
            FLAG,
            Fallback::Text("true"),
            "64-bit data sequence numbers, otherwise 32-bit",
        ),
        mptcp(
            "short_data_ack",
            FLAG,
            Fallback::Profile,
            "Data ACKs have 32 bits until the peer has sent data, as with Linux; needs `wide_sequence`",
        ),
        mptcp(
            "peer_capable",
            FLAG,
            Fallback::Text("true"),
            "false: the peer does not speak MPTCP, TCP is the fallback",
        ),
        both(
            "mss",
            size(Bytes(1), LARGEST_MSS),
            "payload of a full segment without options; with SCTP largest user data of a DATA chunk",
        ),
        Key {
            name: "payload",
            kind: size(Bytes(1), Bytes(65_507)),
            default: Fallback::Text("1472B"),
            doc: "largest payload of a datagram; a larger message takes several",
            only: &["udp"],
        },
        key(
            "header",
            size(Bytes(20), Bytes(1000)),
            Fallback::Profile,
            "IP and TCP or UDP headers without options, with SCTP the IP and the common header",
        ),
        key(
            "overhead",
            size(Bytes(0), Bytes(10_000)),
            Fallback::Profile,
            "further bytes per packet on the wire",
        ),
        tcp("initial_window", integer(1, 10_000), "initial window in segments"),
        sctp(
            "initial_cwnd",
            buffer(&INITIAL_WINDOWS, Bytes(1), GIB),
            "initial window of a path, one chunk at least: about 4400 bytes as RFC 9260 or RFC 4960 reckon it, or a size",
        ),
        both("initial_ssthresh", size(Bytes(1), Bytes::MAX), "initial slow-start threshold"),
        tcp("slow_start_limit", limit(1, 10_000), "slow start adds at most this many segments per ACK"),
        tcp("byte_counting", FLAG, "congestion avoidance counts acknowledged bytes, otherwise ACKs"),
        tcp(
            "ssthresh_from",
            words(SsthreshFrom::WORDS),
            "what a congestion control takes a part of on loss, unless it has a rule of its own: the flight, or the window",
        ),
        Key {
            name: "cwnd_counts",
            kind: words(CwndCounts::WORDS),
            default: Fallback::Profile,
            doc: "the congestion window counts bytes, or segments as in Linux: a short one takes a whole MSS of it; `bytes` if absent",
            only: &["tcp", "mptcp"],
        },
        both("rto_initial", TIMER, "retransmission timer before the first sample"),
        both("rto_min", duration(Nanos::ZERO, HOUR), "its lower bound, see `rto_floor`"),
        both("rto_max", TIMER, "its upper bound, even when backed off"),
        both("rto_granularity", TIMER, "granularity of the clock"),
        tcp("rto_floor", words(RtoFloor::WORDS), "`rto_min` bounds the whole timer, or its variance term"),
        Key {
            name: "rto_estimator",
            kind: words(RtoRule::WORDS),
            default: Fallback::Profile,
            doc: "RFC 6298 if absent; `linux`: the largest deviation of a round trip counts, and fades by a quarter per round trip; `ns3`: as \
                  ns-3.19, in whole milliseconds, and every partial ACK restarts the timer",
            only: &["tcp", "mptcp"],
        },
        tcp("syn_retries", integer(0, 255), "SYN retransmissions before the attempt is given up"),
        tcp("retries", integer(1, 255), "timeouts of one segment in a row before the path is given up"),
        both("ack_every", integer(1, 1000), "the receiver acknowledges every n-th full segment at once"),
        both(
            "ack_delay",
            duration(Nanos::ZERO, HOUR),
            "the receiver holds an acknowledgement back for at most this long",
        ),
        tcp(
            "quick_acks",
            integer(0, 1_000_000),
            "the receiver acknowledges each of the first n segments at once",
        ),
        tcp(
            "acks_per_rtt",
            integer(0, 1000),
            "the receiver acknowledges this often per round trip instead, and what is out of order at once; 0: not so",
        ),
        Key {
            name: "ack_pushed",
            kind: words(AckPushed::WORDS),
            default: Fallback::Profile,
            doc: "as soon as everything is read the receiver acknowledges a short segment, or any that ends what the sender had \
                  (PSH), as Linux does since 6.7; neither if absent",
            only: &["tcp", "mptcp"],
        },
        tcp("sack", FLAG, "selective acknowledgements"),
        key("ecn", FLAG, Fallback::Text("false"), "explicit congestion notification: marks count as losses"),
        tcp("timestamps", FLAG, "timestamps: 12 bytes in every segment, a round-trip sample from every ACK"),
        tcp(
            "recovery",
            words(&["newreno", "sack", "rack", "snack", "stp"]),
            "how losses are found and repaired; `sack` and `rack` need `sack`, `snack` (SCPS-TP) and `stp` a plain TCP",
        ),
        tcp(
            "loss_means",
            words(LossMeans::WORDS),
            "what a loss tells the sender; after corruption the window stays and no timer is backed off",
        ),
        key(
            "scps_peer",
            FLAG,
            Fallback::Text("true"),
            "false: the peer does not speak SCPS-TP, TCP is the fallback; with `recovery = \"snack\"` only",
        ),
        tcp("prr", FLAG, "proportional rate reduction in recovery; needs `sack`"),
        Key {
            name: "prr_rule",
            kind: words(PrrRule::WORDS),
            default: Fallback::Profile,
            doc: "with `prr`: that of RFC 6937 with the slow-start reduction bound, or that of Linux, which takes the window in place of \
                  the flight and sends no more than is delivered until an ACK advances without a further loss; RFC 6937 if absent",
            only: &["tcp", "mptcp"],
        },
        Key {
            name: "undo_rule",
            kind: words(UndoRule::WORDS),
            default: Fallback::Profile,
            doc: "a reduction that proves needless is never taken back, or as in Linux: when an ACK echoes a timestamp from before the \
                  first retransmission, or each retransmission is reported as a duplicate; `never` if absent",
            only: &["tcp", "mptcp"],
        },
        tcp(
            "pacing",
            FLAG,
            "segments are spaced over the round trip, even without a congestion control that has a rate of its own",
        ),
        Key {
            name: "pacing_rule",
            kind: words(PacingRule::WORDS),
            default: Fallback::Profile,
            doc: "payload leaves at the rate, segment by segment, or as in Linux: MPTCP paces faster by what its options take of a \
                  segment, and BBR has room for units of several segments; the former if absent",
            only: &["tcp", "mptcp"],
        },
        Key {
            name: "quantum_rule",
            kind: words(QuantumRule::WORDS),
            default: Fallback::Profile,
            doc: "a segment leaves as soon as the windows have room, or as in Linux waits for more room if that is less than a send quantum \
                  and the next ACK is about to come; the former if absent",
            only: &["tcp", "mptcp"],
        },
        both("dupthresh", integer(1, 1000), "duplicate ACKs, or missing reports of SCTP, that mean a loss"),
        tcp("limited_transmit", FLAG, "new data on the first two duplicate ACKs"),
        Key {
            name: "multiple_fast_retransmits",
            kind: FLAG,
            default: Fallback::Profile,
            doc: "with `recovery = \"newreno\"`: duplicate ACKs after a timeout start a fast recovery, too, as in ns-3.19; \
                  RFC 6582 if absent",
            only: &["tcp", "mptcp"],
        },
        Key {
            name: "flight_after_timeout",
            kind: words(FlightAfterTimeout::WORDS),
            default: Fallback::Profile,
            doc: "FlightSize after a timeout: the data retransmitted since, or all that is outstanding, as in \
                  ns-3.19; the former if absent",
            only: &["tcp", "mptcp"],
        },
        tcp(
            "nagle",
            FLAG,
            "small segments wait while data is outstanding, with MPTCP while any subflow has data outstanding",
        ),
        tcp(
            "minshall",
            FLAG,
            "`nagle` holds a small segment back only while a small one is outstanding, as Linux does",
        ),
        tcp(
            "idle_restart",
            words(IdleRestart::WORDS),
            "the window after an idle time of one RTO: as it was, at most the initial window (RFC 5681), or halved for each RTO as in \
             Linux (RFC 2861)",
        ),
        sctp(
            "idle_decay",
            FLAG,
            "a path that carries nothing loses half of its window per timeout (RFC 9260 section 7.2.1)",
        ),
        tcp(
            "flight_limit",
            LIMIT,
            "at most this much outstanding on each subflow whatever the windows are, and never less than a segment",
        ),
        tcp("window_scaling", FLAG, "windows above 65535 bytes can be advertised"),
        both(
            "receive_buffer",
            BUFFER,
            "receive buffer at the start; one that equals `receive_buffer_max` is fixed, and under a profile of Linux SO_RCVBUF, which the \
             kernel doubles (`receive_counts`)",
        ),
        tcp(
            "receive_buffer_max",
            BUFFER,
            "autotuning may grow the receive buffer to this; a profile without it has a fixed buffer",
        ),
        tcp(
            "receive_counts",
            words(ReceiveCounts::WORDS),
            "what the sizes of the receive buffer count: the payload, so that they are windows, or memory as Linux does, \
             where a fixed one is SO_RCVBUF, which the kernel doubles; with \"subflow-memory\" each subflow of MPTCP has its own, as in \
             Linux 6.18",
        ),
        both(
            "send_buffer",
            buffer(&BUFFER_RULES, Bytes(1), GIB),
            "fixed (in Linux SO_SNDBUF of half of it, which the kernel doubles), twice the congestion windows, or twice the \
             memory that Linux reckons for the largest so far, of all subflows together \
             or of the largest",
        ),
        tcp("send_buffer_max", BUFFER, "upper limit where it is not fixed, with `expand` of each subflow"),
        tcp(
            "header_room",
            size(Bytes(0), Bytes(4096)),
            "bytes for headers in the memory of a segment that `expand` counts, and the queues of `minratio` with a \
             fixed size (MAX_TCP_HEADER): 320 in kernels of distributions, 192 without \
             wireless networks and tunnels",
        ),
        sctp(
            "message",
            size(Bytes(1), Bytes(1 << 20)),
            "messages are cut to user messages of at most this size",
        ),
        sctp(
            "streams",
            integer(1, 1024),
            "streams of an association, which do not wait for each other: messages go to each in turn, requests of a page and their \
             answers to one each",
        ),
        sctp(
            "unordered",
            FLAG,
            "messages are delivered as they arrive, whatever was sent before; a message above `message` is complete with its last part",
        ),
        sctp(
            "init_retries",
            integer(0, 255),
            "repetitions of INIT and COOKIE ECHO before the attempt is given up",
        ),
        sctp("path_retries", integer(0, 255), "errors in a row after which a path is inactive"),
        sctp(
            "association_retries",
            integer(0, 255),
            "errors in a row after which the association is given up",
        ),
        sctp(
            "heartbeat_interval",
            TIMER,
            "an idle path is asked after this long and a retransmission timeout",
        ),
        sctp("confirm_paths", FLAG, "data uses a further path only when it has answered a HEARTBEAT"),
        sctp(
            "burst",
            words(&["unlimited", "packets", "use-it-or-lose-it", "window-limiting"]),
            "how bursts of new data are limited: not, by counting, by cutting the window to the flight and `max_burst`, or so \
             that the threshold remembers it",
        ),
        sctp(
            "nr_sack",
            FLAG,
            "SACKs are non-renegable: data that gap blocks have acknowledged leaves the send buffer",
        ),
        sctp(
            "chunk_overhead",
            size(Bytes(0), Bytes(10_000)),
            "charged to the receive window beside data: by the sender for each chunk in flight, by the receiver for each that waits for others; \
             unless it is 0, the sender charges the header of the chunk as well, as FreeBSD does",
        ),
        sctp(
            "eager_sack",
            words(EagerSack::WORDS),
            "packets that are acknowledged at once: none, the first with DATA (RFC 9260 section 5.1), or the first, and whatever is delayed \
             when any other packet leaves, as in FreeBSD; then a SACK advertises the window from before its data is read, and a further one \
             follows for each eighth of the buffer that reading frees",
        ),
        sctp(
            "data_is_cookie_ack",
            FLAG,
            "DATA that arrives before the COOKIE ACK, such as by another path, completes the handshake; false: it is discarded",
        ),
        sctp(
            "timer_defects",
            words(TimerDefects::WORDS),
            "faults of T3-rtx in FreeBSD: SACKs without gaps do not restart it, and only old chunks time out; with concurrent transfer later data restarts it, \
             so that lost retransmissions wait",
        ),
        sctp(
            "fast_retransmit",
            words(FastRetransmit::WORDS),
            "fast retransmissions that leave whatever the window is: a single packet when a path enters fast recovery (RFC 9260 section 7.2.4), or \
             all, four packets at a time and one after a timeout; with `sctp` `all` also has the rules of recovery of `reductions = \"each\"`, but \
             for the number of reductions",
        ),
        sctp("max_burst", integer(1, 1000), "packets of one burst on a path"),
        cmt(
            "retransmission",
            words(RetransmissionPolicy::WORDS),
            "the path on which a chunk is sent again: RTX-SAME, RTX-CWND, RTX-SSTHRESH (`largest-threshold`), RTX-LOSSRATE, RTX-ASAP \
             (`any-with-room`), or that with the lowest round-trip time",
        ),
        cmt(
            "buffer_split",
            words(BufferSplit::WORDS),
            "each of n paths may use an n-th of the send buffer, the receive window, or both",
        ),
        cmt(
            "buffer_split_by",
            words(Occupancy::WORDS),
            "what counts as use: data that is not cumulatively acknowledged, or in flight",
        ),
        cmt(
            "window_update",
            words(WindowUpdate::WORDS),
            "CUC: a path advances with the oldest of its chunks that were sent once, `v2` also with that of those sent again",
        ),
        cmt(
            "reductions",
            words(Reductions::WORDS),
            "a path reduces its window once per fast recovery, or as FreeBSD does with each SACK that reports losses; then SACKs that advance \
             also report chunks that nothing later has overtaken on their path, and a retransmission has the path that was best when its \
             chunk was taken for lost",
        ),
        cmt(
            "rescheduling",
            words(BufferSplit::WORDS),
            "whose buffer is watched for chunks that have arrived out of order: if they fill the share of a path, that path carries \
             the oldest chunk in flight, too",
        ),
        cmt("rescheduling_threshold", PROBABILITY, "part of the share above which that happens"),
        cmt("rescheduling_reduces", FLAG, "the former path of that chunk reduces its window as after a loss"),
        cmt("delayed_ack", FLAG, "SACKs are delayed even while chunks are out of order (DAC)"),
        tcp("unsent_limit", LIMIT, "the application waits while this much has not been sent once"),
    ],
};

static ENDPOINT: Section = Section {
    name: "endpoint",
    what: "an endpoint",
    doc: "One address of the in-kernel path manager.",
    inline: true,
    inherits: false,
    keys: &[
        key("path", reference("a path or link"), Fallback::Compulsory, "the address that the end has on it"),
        END,
        key(
            "flags",
            Kind::Scalar(Scalar::Words(&["subflow", "signal", "backup", "fullmesh", "laminar"])),
            Fallback::Compulsory,
            "`subflow`: join the peer's first address from here; `fullmesh`: every known address; `signal`: announce \
             it; `laminar`: join announced addresses from here; `backup`: used when no other subflow is usable",
        ),
    ],
};
