//! The tables themselves, but for that of transports. Order here is the order in expanded scenarios and on the
//! reference page.

use transport::AbortForm;
use units::{BitsPerSecond, Bytes, Nanos};

use super::proxy::PROXY;
use super::transport::TRANSPORT;
use super::{END, GIB, SYN};
use crate::held::Words;
use crate::model::{CrashForm, Ecmp};
use crate::registries::catalogue;
use document::keys::{Fallback, Key, Kind, Scalar, Section};
use document::shorthand::{
    FLAG, NAME, PROBABILITY, TEXT, duration, integer, key, rate, reference, size, words,
};

const YEAR: Nanos = Nanos::from_secs(365 * 86_400);
const DAY: Nanos = Nanos::from_secs(86_400);
pub(super) const RATE: Kind = rate(BitsPerSecond(1), BitsPerSecond(10_000_000_000_000));
/// Rate of a token bucket, which must have a limit.
const SHAPED: Kind = rate(BitsPerSecond(1), BitsPerSecond(u64::MAX));
const DELAY: Kind = duration(Nanos::ZERO, DAY);
const STRIP: &str = "a middlebox replaces MPTCP options by padding: on every segment, on SYNs only (\"syn\"), or on \
                     every segment once this number with options has passed";
const STRIPPED: Kind = Kind::Scalar(Scalar::FlagOrCount { word: SYN, of: "segments" });
/// An instant of the run.
const INSTANT: Kind = duration(Nanos::ZERO, YEAR);

pub(crate) static ROOT: Section = Section {
    name: "scenario",
    what: "a scenario",
    doc: "The top level of the file.",
    inline: false,
    inherits: false,
    keys: &[
        key("name", TEXT, Fallback::Derived("the file name without its ending"), "title of the scenario"),
        key("description", TEXT, Fallback::Text(""), "what it is and where its numbers come from"),
        key("duration", duration(Nanos(1), YEAR), Fallback::Compulsory, "simulated time"),
        key(
            "seeds",
            Kind::Scalar(Scalar::Seeds),
            Fallback::Text("1"),
            "replications: how many (20 means seeds 1 to 20), or a list",
        ),
        key(
            "jitter",
            DELAY,
            Fallback::Absent,
            "each packet takes up to this longer on links with a constant delay above zero, by chance and in order, so that \
             seeds differ where nothing else is random",
        ),
        key("routing", Kind::Table(&ROUTING), Fallback::Keys, "how packets find their way"),
        key("record", Kind::Table(&RECORD), Fallback::Keys, "what is recorded"),
        key("node", Kind::Tables(&NODE), Fallback::Absent, "hosts and routers"),
        key("path", Kind::Tables(&PATH), Fallback::Absent, "disjoint paths from a client to a server"),
        key("link", Kind::Tables(&LINK), Fallback::Absent, "links between two nodes"),
        key("mesh", Kind::Tables(&MESH), Fallback::Absent, "links from each of some nodes to each of others"),
        key(
            "proxy",
            Kind::Tables(&PROXY),
            Fallback::Absent,
            "performance enhancing proxies on the way of flows",
        ),
        key("flow", Kind::Tables(&FLOW), Fallback::Absent, "who sends what to whom, and how"),
        key("event", Kind::Tables(&EVENT), Fallback::Absent, "changes of links while the run goes on"),
    ],
};

static ROUTING: Section = Section {
    name: "routing",
    what: "`routing`",
    doc: "Packets take a way with the fewest links.",
    inline: false,
    inherits: false,
    keys: &[key(
        "ecmp",
        words(Ecmp::WORDS),
        Fallback::Text("flow"),
        "how ways of equal length are shared: by a hash of addresses and ports, or at random for each packet",
    )],
};

static RECORD: Section = Section {
    name: "record",
    what: "`record`",
    doc: "Time series that a run records.",
    inline: false,
    inherits: false,
    keys: &[key(
        "interval",
        duration(Nanos::from_millis(1), YEAR),
        Fallback::Text("100ms"),
        "interval of the time series",
    )],
};

static NODE: Section = Section {
    name: "node",
    what: "a node",
    doc: "A host or a router. The ends of a `[[path]]` exist without being declared.",
    inline: false,
    inherits: false,
    keys: &[
        key("name", NAME, Fallback::Compulsory, "its name; with `count` above 1 the stem of the names"),
        key("count", integer(1, 1000), Fallback::Text("1"), "this many nodes: \"r\" with 3 means r1, r2, r3"),
        key("forward", FLAG, Fallback::Text("true"), "passes on packets that are not for itself"),
    ],
};

const RATES: Kind = Kind::OneOrMore(&Kind::Setting { plain: &RATE, models: catalogue::RATE });
const DELAYS: Kind = Kind::OneOrMore(&Kind::Setting { plain: &DELAY, models: catalogue::DELAY });
const LOSSES: Kind = Kind::OneOrMore(&Kind::Choice(catalogue::LOSS));
const SHAPERS: Kind = Kind::OneOrMore(&Kind::Table(&SHAPER));
const QUEUE: Kind = Kind::Setting { plain: &Kind::Scalar(Scalar::Queue), models: catalogue::QUEUE };

static SHAPER: Section = Section {
    name: "shaper",
    what: "a shaper",
    doc: "A token bucket between the queue and the transmitter: no span of time t carries more than burst + rate * t.",
    inline: true,
    inherits: true,
    keys: &[
        key("rate", SHAPED, Fallback::Compulsory, "rate of the tokens; \"unlimited\" takes the shaper away"),
        key("burst", size(Bytes(1), GIB), Fallback::Compulsory, "size of the bucket"),
    ],
};

static FAULTS: Section = Section {
    name: "faults",
    what: "`faults`",
    doc: "Faults of a link, each with a probability of its own, for packets that are not lost.",
    inline: true,
    inherits: true,
    keys: &[
        key(
            "corrupt",
            PROBABILITY,
            Fallback::Text("0"),
            "damaged: a checksum at the far end finds it, and it is dropped there",
        ),
        key("duplicate", PROBABILITY, Fallback::Text("0"), "arrives twice"),
        key("reorder", PROBABILITY, Fallback::Text("0"), "held back, while others may overtake it"),
        key("reorder_delay", DELAY, Fallback::Text("10ms"), "for how long it is held back"),
    ],
};

pub(crate) static DIRECTION: Section = Section {
    name: "direction",
    what: "a link direction",
    doc: "One direction of a link: a queue, a transmitter, then loss and a delay.",
    inline: true,
    inherits: true,
    keys: &[
        key("rate", RATES, Fallback::Compulsory, "serialisation rate; of several the least at each moment"),
        key("delay", DELAYS, Fallback::Compulsory, "propagation delay, one way; several add up"),
        key("queue", QUEUE, Fallback::Text("100p"), "what may wait in front of the transmitter"),
        key(
            "queue_rtt",
            INSTANT,
            Fallback::Derived("of a queue in BDP: the sum of the delays of both directions"),
            "round-trip time that a queue limit in BDP is computed with",
        ),
        key("loss", LOSSES, Fallback::Text("none"), "which packets are lost; of several each may lose them"),
        key(
            "shaper",
            SHAPERS,
            Fallback::Absent,
            "a token bucket behind the queue; several must all let a packet go",
        ),
        key("faults", Kind::Table(&FAULTS), Fallback::Absent, "what else goes wrong with packets"),
        key("strip_mptcp", STRIPPED, Fallback::Text("false"), STRIP),
    ],
};

const fn direction(name: &'static str, doc: &'static str) -> Key {
    key(name, Kind::Table(&DIRECTION), Fallback::Compulsory, doc)
}

const BOTH: Key = key(
    "both",
    Kind::Table(&DIRECTION),
    Fallback::Absent,
    "keys of both directions; a direction's own keys come first",
);

static PATH: Section = Section {
    name: "path",
    what: "a path",
    doc: "A link of its own between a client and a server, with an address at each end.",
    inline: false,
    inherits: true,
    keys: &[
        key("name", NAME, Fallback::Compulsory, "its name; its directions are NAME.up and NAME.down"),
        key(
            "like",
            reference("another path"),
            Fallback::Absent,
            "take every key that is not given here from it",
        ),
        key("from", NAME, Fallback::Text("terminal"), "node at the client's end"),
        key("to", NAME, Fallback::Text("server"), "node at the server's end"),
        BOTH,
        direction("up", "from the client to the server"),
        direction("down", "from the server to the client"),
    ],
};

/// The link between a proxy and one end of the path that it stands on.
pub(crate) static LEG: Section = Section {
    name: "leg",
    what: "a leg",
    doc: "The link between a proxy on a path and one end of that path.",
    inline: true,
    inherits: true,
    keys: &[
        BOTH,
        key("up", Kind::Table(&DIRECTION), Fallback::Absent, "from the client to the server"),
        key("down", Kind::Table(&DIRECTION), Fallback::Absent, "from the server to the client"),
    ],
};

static LINK: Section = Section {
    name: "link",
    what: "a link",
    doc: "A link between two declared nodes.",
    inline: false,
    inherits: true,
    keys: &[
        key("name", NAME, Fallback::Compulsory, "its name; its directions are NAME.forward and NAME.reverse"),
        key(
            "like",
            reference("another link"),
            Fallback::Absent,
            "take every key that is not given here from it",
        ),
        key(
            "ends",
            Kind::Scalar(Scalar::Names { of: "node", least: 2, most: 2 }),
            Fallback::Compulsory,
            "the nodes that it joins",
        ),
        BOTH,
        direction("forward", "from the first end to the second"),
        direction("reverse", "from the second end to the first"),
    ],
};

static MESH: Section = Section {
    name: "mesh",
    what: "a mesh",
    doc: "A link from each node on the left to each on the right, named NAME.LEFT-RIGHT. The name of a counted node \
          stands for all of its nodes.",
    inline: false,
    inherits: false,
    keys: &[
        key("name", NAME, Fallback::Compulsory, "its name, the first part of the names of its links"),
        key(
            "left",
            Kind::Scalar(Scalar::Names { of: "node", least: 1, most: usize::MAX }),
            Fallback::Compulsory,
            "nodes on the one side",
        ),
        key(
            "right",
            Kind::Scalar(Scalar::Names { of: "node", least: 1, most: usize::MAX }),
            Fallback::Compulsory,
            "nodes on the other side",
        ),
        BOTH,
        direction("forward", "from left to right"),
        direction("reverse", "from right to left"),
    ],
};

static FLOW: Section = Section {
    name: "flow",
    what: "a flow",
    doc: "An application over a transport between two nodes.",
    inline: false,
    inherits: true,
    keys: &[
        key("name", NAME, Fallback::Compulsory, "its name"),
        key(
            "like",
            reference("another flow"),
            Fallback::Absent,
            "take every key that is not given here from it",
        ),
        key("from", reference("a node"), Fallback::Compulsory, "node that sends the data"),
        key("to", reference("a node"), Fallback::Compulsory, "node that receives it"),
        key(
            "count",
            integer(0, 1000),
            Fallback::Text("1"),
            "this many flows with this description: \"web\" with 3 means web1, web2, web3; with 0 there is none",
        ),
        key(
            "start",
            INSTANT,
            Fallback::Text("0s"),
            "when the application starts; with `after` the time from the end of that flow",
        ),
        key(
            "after",
            reference("another flow"),
            Fallback::Absent,
            "start when that flow (each of its `count`) has ended",
        ),
        key(
            "spread",
            INSTANT,
            Fallback::Text("0s"),
            "start at a random time up to this much later, each flow of a `count` at its own",
        ),
        key(
            "spacing",
            INSTANT,
            Fallback::Text("0s"),
            "time from the start of a flow of a `count` to the next",
        ),
        key(
            "stop",
            INSTANT,
            Fallback::Derived("`duration`"),
            "when the application stops writing, at the latest",
        ),
        key("app", Kind::Choice(catalogue::APP), Fallback::Text("bulk"), "what is sent"),
        key(
            "via",
            reference("a path or link"),
            Fallback::Derived("the first path that joins `from` and `to`, else routing decides"),
            "the way of a TCP connection and of the first subflow",
        ),
        key(
            "opened_by",
            words(&["sender", "receiver"]),
            Fallback::Derived("the end that asks in the application, such as the browser; else the sender"),
            "who opens the connections: an upload or a download",
        ),
        key(
            "compare_paths",
            FLAG,
            Fallback::Text("false"),
            "also run this flow as plain TCP, or as an association with one path, over each path alone, with the same seeds",
        ),
        key("transport", Kind::Table(&TRANSPORT), Fallback::Compulsory, "what carries it"),
    ],
};

static EVENT: Section = Section {
    name: "event",
    what: "an event",
    doc: "A change while the run goes on: of a link (`link` and `set`), of an address or a connection (`flow` and \
          `do`), or the crash of a proxy (`proxy` and `crash`).",
    inline: false,
    inherits: false,
    keys: &[
        key("at", INSTANT, Fallback::Compulsory, "when"),
        key(
            "link",
            reference("a path or link, or one of its directions"),
            Fallback::Absent,
            "what changes: both directions, or one (NAME.up, NAME.down, NAME.forward, NAME.reverse)",
        ),
        key("set", Kind::Table(&SET), Fallback::Absent, "what it becomes; the other keys stay"),
        key("flow", reference("a flow"), Fallback::Absent, "to whose connection something happens"),
        key("do", Kind::Table(&DO), Fallback::Absent, "what happens to it"),
        key("proxy", reference("a proxy"), Fallback::Absent, "which crashes: what it holds is lost"),
        key(
            "crash",
            words(CrashForm::WORDS),
            Fallback::Absent,
            "`reset`: its process dies, its peers get a RST, and it accepts connections again; `silent`: nothing answers any more",
        ),
    ],
};

/// Allowed values of `do`.
pub(crate) const FLOW_ACTIONS: &[&str] = &["leave", "join", "backup", "regular", "abort"];

const fn action(name: &'static str, doc: &'static str) -> Key {
    key(name, reference("a path or link"), Fallback::Absent, doc)
}

static DO: Section = Section {
    name: "do",
    what: "`do`",
    doc: "Something that happens to a connection; exactly one of `leave`, `join`, `backup`, `regular`, `abort`.",
    inline: true,
    inherits: false,
    keys: &[
        action("leave", "the address on it is gone: its subflows end, the peer is told (REMOVE_ADDR)"),
        action(
            "join",
            "the address on it is there (again): the path manager does its work. An address whose first event this is \
             was not there before",
        ),
        action("backup", "the subflows of the address on it become backups (MP_PRIO)"),
        action("regular", "they are so no longer"),
        key(
            "abort",
            words(AbortForm::WORDS),
            Fallback::Absent,
            "the connection is given up at once: MP_FASTCLOSE on an ACK, or on resets; a reset with plain TCP",
        ),
        END,
    ],
};

pub(crate) static SET: Section = Section {
    name: "set",
    what: "`set`",
    doc: "New values of a link direction; at least one.",
    inline: true,
    inherits: false,
    keys: &[
        key("rate", RATES, Fallback::Absent, "serialisation rate"),
        key("delay", DELAYS, Fallback::Absent, "propagation delay, one way"),
        key("queue", QUEUE, Fallback::Absent, "what may wait in front of the transmitter"),
        key("loss", LOSSES, Fallback::Absent, "which packets are lost"),
        key("shaper", SHAPERS, Fallback::Absent, "a token bucket behind the queue"),
        key("faults", Kind::Table(&FAULTS), Fallback::Absent, "what else goes wrong with packets"),
        key("strip_mptcp", STRIPPED, Fallback::Absent, STRIP),
        key("up", FLAG, Fallback::Absent, "false: nothing is transmitted; true: what waits is"),
    ],
};
