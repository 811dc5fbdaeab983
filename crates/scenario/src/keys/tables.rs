//! The tables themselves, but for that of transports. Order here is the order in expanded scenarios and on the
//! reference page.

use registry::OptionKind;
use transport::AbortForm;
use units::{BitsPerSecond, Bytes, Nanos};

use super::shorthand::{END, FLAG, GIB, integer, key, words};
use super::transport::TRANSPORT;
use super::{Default, Key, Kind, Section};
use crate::held::Words;
use crate::model::Ecmp;
use crate::registries::Catalogue;

const YEAR: Nanos = Nanos::from_secs(365 * 86_400);
const DAY: Nanos = Nanos::from_secs(86_400);
const RATE: Kind = Kind::Rate { min: BitsPerSecond(1), max: BitsPerSecond(10_000_000_000_000) };
/// Of a token bucket: without a limit it is none.
const SHAPED: Kind = Kind::Rate { min: BitsPerSecond(1), max: BitsPerSecond(u64::MAX) };
const PROBABILITY: Kind = Kind::Plain(OptionKind::Probability);
const DELAY: Kind = Kind::Duration { min: Nanos::ZERO, max: DAY };
const STRIP: &str = "a middlebox replaces MPTCP options by padding: on every segment, on SYNs only (\"syn\"), or on \
                     every segment once so many with options have passed";
/// An instant of the run.
const INSTANT: Kind = Kind::Duration { min: Nanos::ZERO, max: YEAR };

pub(crate) static ROOT: Section = Section {
    name: "scenario",
    what: "a scenario",
    doc: "The top level of the file.",
    inline: false,
    inherits: false,
    keys: &[
        key(
            "name",
            Kind::Text,
            Default::Derived("the file name without its ending"),
            "title of the scenario",
        ),
        key("description", Kind::Text, Default::Text(""), "what it is and where its numbers come from"),
        key("duration", Kind::Duration { min: Nanos(1), max: YEAR }, Default::Compulsory, "simulated time"),
        key(
            "seeds",
            Kind::Seeds,
            Default::Text("1"),
            "replications: how many (20 means seeds 1 to 20), or a list",
        ),
        key("routing", Kind::Table(&ROUTING), Default::Keys, "how packets find their way"),
        key("record", Kind::Table(&RECORD), Default::Keys, "what is recorded"),
        key("node", Kind::Tables(&NODE), Default::Absent, "hosts and routers"),
        key("path", Kind::Tables(&PATH), Default::Absent, "disjoint paths from a client to a server"),
        key("link", Kind::Tables(&LINK), Default::Absent, "links between two nodes"),
        key("mesh", Kind::Tables(&MESH), Default::Absent, "links from each of some nodes to each of others"),
        key("flow", Kind::Tables(&FLOW), Default::Absent, "who sends what to whom, and how"),
        key("event", Kind::Tables(&EVENT), Default::Absent, "changes of links while the run goes on"),
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
        Default::Text("flow"),
        "how ways of equal length are shared: by a hash of addresses and ports, or at random for each packet",
    )],
};

static RECORD: Section = Section {
    name: "record",
    what: "`record`",
    doc: "What is written down while the run goes on.",
    inline: false,
    inherits: false,
    keys: &[key(
        "interval",
        Kind::Duration { min: Nanos::from_millis(1), max: YEAR },
        Default::Text("100ms"),
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
        key("name", Kind::Name, Default::Compulsory, "its name; with `count` above 1 the stem of the names"),
        key("count", integer(1, 1000), Default::Text("1"), "this many nodes: \"r\" with 3 means r1, r2, r3"),
        key("forward", FLAG, Default::Text("true"), "passes on packets that are not for itself"),
    ],
};

const RATES: Kind = Kind::OneOrMore(&Kind::Setting { plain: &RATE, models: Catalogue::Rate });
const DELAYS: Kind = Kind::OneOrMore(&Kind::Setting { plain: &DELAY, models: Catalogue::Delay });
const LOSSES: Kind = Kind::OneOrMore(&Kind::Choice(Catalogue::Loss));
const SHAPERS: Kind = Kind::OneOrMore(&Kind::Table(&SHAPER));
const QUEUE: Kind = Kind::Setting { plain: &Kind::Queue, models: Catalogue::Queue };

static SHAPER: Section = Section {
    name: "shaper",
    what: "a shaper",
    doc: "A token bucket between the queue and the transmitter: no span of time t carries more than burst + rate * t.",
    inline: true,
    inherits: true,
    keys: &[
        key("rate", SHAPED, Default::Compulsory, "rate of the tokens; \"unlimited\" takes the shaper away"),
        key("burst", Kind::Size { min: Bytes(1), max: GIB }, Default::Compulsory, "size of the bucket"),
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
            Default::Text("0"),
            "damaged: a checksum at the far end finds it, and it is dropped there",
        ),
        key("duplicate", PROBABILITY, Default::Text("0"), "arrives twice"),
        key("reorder", PROBABILITY, Default::Text("0"), "held back, while others may overtake it"),
        key("reorder_delay", DELAY, Default::Text("10ms"), "for how long it is held back"),
    ],
};

pub(crate) static DIRECTION: Section = Section {
    name: "direction",
    what: "a link direction",
    doc: "One direction of a link: a queue, a transmitter, then loss and a delay.",
    inline: true,
    inherits: true,
    keys: &[
        key("rate", RATES, Default::Compulsory, "serialisation rate; of several the least at each moment"),
        key("delay", DELAYS, Default::Compulsory, "propagation delay, one way; several add up"),
        key("queue", QUEUE, Default::Text("100p"), "what may wait in front of the transmitter"),
        key(
            "queue_rtt",
            INSTANT,
            Default::Derived("of a queue in BDP: the sum of the delays of both directions"),
            "round-trip time that a queue limit in BDP is computed with",
        ),
        key("loss", LOSSES, Default::Text("none"), "which packets are lost; of several each may lose them"),
        key(
            "shaper",
            SHAPERS,
            Default::Absent,
            "a token bucket behind the queue; several must all let a packet go",
        ),
        key("faults", Kind::Table(&FAULTS), Default::Absent, "what else goes wrong with packets"),
        key("strip_mptcp", Kind::Strip, Default::Text("false"), STRIP),
    ],
};

const fn direction(name: &'static str, doc: &'static str) -> Key {
    key(name, Kind::Table(&DIRECTION), Default::Compulsory, doc)
}

const BOTH: Key = key(
    "both",
    Kind::Table(&DIRECTION),
    Default::Absent,
    "keys of both directions; a direction's own keys come first",
);

static PATH: Section = Section {
    name: "path",
    what: "a path",
    doc: "A link of its own between a client and a server, with an address at each end.",
    inline: false,
    inherits: true,
    keys: &[
        key("name", Kind::Name, Default::Compulsory, "its name; its directions are NAME.up and NAME.down"),
        key(
            "like",
            Kind::Reference("another path"),
            Default::Absent,
            "take every key that is not given here from it",
        ),
        key("from", Kind::Name, Default::Text("terminal"), "node at the client's end"),
        key("to", Kind::Name, Default::Text("server"), "node at the server's end"),
        BOTH,
        direction("up", "from `from` to `to`"),
        direction("down", "from `to` to `from`"),
    ],
};

static LINK: Section = Section {
    name: "link",
    what: "a link",
    doc: "A link between two declared nodes.",
    inline: false,
    inherits: true,
    keys: &[
        key(
            "name",
            Kind::Name,
            Default::Compulsory,
            "its name; its directions are NAME.forward and NAME.reverse",
        ),
        key(
            "like",
            Kind::Reference("another link"),
            Default::Absent,
            "take every key that is not given here from it",
        ),
        key("ends", Kind::Nodes { exactly: Some(2) }, Default::Compulsory, "the nodes that it joins"),
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
        key("name", Kind::Name, Default::Compulsory, "its name, the first part of the names of its links"),
        key("left", Kind::Nodes { exactly: None }, Default::Compulsory, "nodes on the one side"),
        key("right", Kind::Nodes { exactly: None }, Default::Compulsory, "nodes on the other side"),
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
        key("name", Kind::Name, Default::Compulsory, "its name"),
        key(
            "like",
            Kind::Reference("another flow"),
            Default::Absent,
            "take every key that is not given here from it",
        ),
        key("from", Kind::Reference("a node"), Default::Compulsory, "node that sends the data"),
        key("to", Kind::Reference("a node"), Default::Compulsory, "node that receives it"),
        key(
            "count",
            integer(0, 1000),
            Default::Text("1"),
            "this many flows with this description: \"web\" with 3 means web1, web2, web3; with 0 there is none",
        ),
        key(
            "start",
            INSTANT,
            Default::Text("0s"),
            "when the application starts; with `after` the time from the end of that flow",
        ),
        key(
            "after",
            Kind::Reference("another flow"),
            Default::Absent,
            "start when that flow (each of its `count`) has ended",
        ),
        key(
            "spread",
            INSTANT,
            Default::Text("0s"),
            "start at a random time up to this much later, each flow of a `count` at its own",
        ),
        key(
            "spacing",
            INSTANT,
            Default::Text("0s"),
            "time from the start of a flow of a `count` to the next",
        ),
        key(
            "stop",
            INSTANT,
            Default::Derived("`duration`"),
            "when the application stops writing, at the latest",
        ),
        key("app", Kind::Choice(Catalogue::App), Default::Text("bulk"), "what is sent"),
        key(
            "via",
            Kind::Reference("a path or link"),
            Default::Derived("the first path that joins `from` and `to`, else routing decides"),
            "the way of a TCP connection and of the first subflow",
        ),
        key(
            "opened_by",
            words(&["sender", "receiver"]),
            Default::Derived("the end that asks in the application, such as the browser; else the sender"),
            "who opens the connections: an upload or a download",
        ),
        key(
            "compare_paths",
            FLAG,
            Default::Text("false"),
            "also run this flow as plain TCP over each path alone, with the same seeds",
        ),
        key("transport", Kind::Table(&TRANSPORT), Default::Compulsory, "what carries it"),
    ],
};

static EVENT: Section = Section {
    name: "event",
    what: "an event",
    doc: "A change while the run goes on: of a link (`link` and `set`), or of an address or a connection (`flow` and \
          `do`).",
    inline: false,
    inherits: false,
    keys: &[
        key("at", INSTANT, Default::Compulsory, "when"),
        key(
            "link",
            Kind::Reference("a path or link, or one of its directions"),
            Default::Absent,
            "what changes: both directions, or one (NAME.up, NAME.down, NAME.forward, NAME.reverse)",
        ),
        key("set", Kind::Table(&SET), Default::Absent, "what it becomes; the other keys stay"),
        key("flow", Kind::Reference("a flow"), Default::Absent, "to whose connection something happens"),
        key("do", Kind::Table(&DO), Default::Absent, "what happens to it"),
    ],
};

/// What `do` can ask for.
pub(crate) const FLOW_ACTIONS: &[&str] = &["leave", "join", "backup", "regular", "abort"];

const fn action(name: &'static str, doc: &'static str) -> Key {
    key(name, Kind::Reference("a path or link"), Default::Absent, doc)
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
            Default::Absent,
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
        key("rate", RATES, Default::Absent, "serialisation rate"),
        key("delay", DELAYS, Default::Absent, "propagation delay, one way"),
        key("queue", QUEUE, Default::Absent, "what may wait in front of the transmitter"),
        key("loss", LOSSES, Default::Absent, "which packets are lost"),
        key("shaper", SHAPERS, Default::Absent, "a token bucket behind the queue"),
        key("faults", Kind::Table(&FAULTS), Default::Absent, "what else goes wrong with packets"),
        key("strip_mptcp", Kind::Strip, Default::Absent, STRIP),
        key("up", FLAG, Default::Absent, "false: nothing is transmitted; true: what waits is"),
    ],
};
