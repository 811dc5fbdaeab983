//! The keys of a study file: parser, schema and reference page read these tables.

use document::keys::{Fallback, Key, Kind, MAX_SEEDS, Scalar, Section};
use document::shorthand::{FLAG, TEXT, integer, key, reference, words};

/// Most replications of a case.
const MOST: u64 = MAX_SEEDS.unsigned_abs();
const ANY: Kind = Kind::Scalar(Scalar::Any);
/// Keys of a scenario with their values.
const KEYS: Kind = Kind::Map(&ANY);
const LISTED: Kind = Kind::List(&ANY);
const METRIC: Kind = reference("a metric");

const OUTLIERS: &[&str] = &["keep", "z-score"];
const TESTS: &[&str] = &["t", "wilcoxon"];
const CORRECTIONS: &[&str] = &["holm", "none"];

const fn number() -> Kind {
    Kind::Scalar(Scalar::Plain(registry::OptionKind::Number { min: 0.0, max: f64::MAX }))
}

static COUNT_OR_RULE: [Kind; 2] = [integer(1, MOST), Kind::Table(&STOPPING)];

static STUDY_OR_READING: [Kind; 2] = [reference("a study file"), Kind::Table(&LIKE)];

const SCENARIO: Key = key(
    "scenario",
    reference("a scenario file"),
    Fallback::Compulsory,
    "the scenario file, seen from this file: scenario = \"two-beams.toml\"",
);
const SET: Key = key(
    "set",
    KEYS,
    Fallback::Absent,
    "keys of the scenario that hold for all cases, in quotes if they have dots: set = { \"path.a.both.delay\" = \
         \"40ms\" }",
);
const FACTORS: Key =
    key("vary", Kind::Tables(&VARY), Fallback::Absent, "factors; without any there is one case");
const REPLICATIONS: Key = key(
    "replications",
    Kind::Either(&COUNT_OR_RULE),
    Fallback::Compulsory,
    "of each case: a number, or a stopping rule with until, half_width, min and max; the seeds of the scenario do \
         not count",
);
const SERIES: Key = key(
    "series",
    integer(0, MOST),
    Fallback::Text("0"),
    "number of replications of each case that keep their time series",
);
const COMPARE_PATHS: Key = key(
    "compare_paths",
    Kind::Either(&[FLAG, Kind::List(&reference("a flow"))]),
    Fallback::Derived("as the scenario says"),
    "baselines over each path alone: for all MPTCP flows or none, or a list of flows, all others without",
);
const METRICS: Key = key(
    "metrics",
    Kind::List(&METRIC),
    Fallback::Derived(
        "goodput and p95 delay of each flow; of more than three, sum and fairness of their goodputs",
    ),
    "what tables and comparisons are about",
);
const BASELINE: Key = key(
    "baseline",
    Kind::Map(&TEXT),
    Fallback::Absent,
    "a level of one or more factors: each case is compared with the one that has these levels and otherwise its own",
);
const TREATMENT: Key =
    key("statistics", Kind::Table(&STATISTICS), Fallback::Keys, "options of the statistics");

pub(crate) static STUDY: Section = Section {
    name: "study",
    what: "a study",
    doc: "The top level of the file.",
    inline: false,
    inherits: true,
    keys: &[
        key("name", TEXT, Fallback::Compulsory, "title for tables, as in name = \"schedulers over GEO\""),
        key("description", TEXT, Fallback::Text(""), "more words"),
        key(
            "like",
            Kind::Either(&STUDY_OR_READING),
            Fallback::Absent,
            "the study that this one is, but for the keys given here: a file seen from this one, or one of its readings: \
             like = \"latency.toml\"",
        ),
        key(
            "without",
            Kind::List(&TEXT),
            Fallback::Absent,
            "dotted keys of that study that do not hold here; a factor goes by its name: without = [\"baseline\", \
             \"vary.'test case'\"]",
        ),
        SCENARIO,
        SET,
        FACTORS,
        REPLICATIONS,
        SERIES,
        COMPARE_PATHS,
        METRICS,
        BASELINE,
        TREATMENT,
        key(
            "reading",
            Kind::Map(&Kind::Table(&READING)),
            Fallback::Absent,
            "readings by name, of which one is chosen: what each changes in the rest of the file",
        ),
    ],
};

static LIKE: Section = Section {
    name: "like",
    what: "`like`",
    doc: "A study, and which of its readings.",
    inline: true,
    inherits: false,
    keys: &[
        key("study", reference("a study file"), Fallback::Compulsory, "the file, seen from this file"),
        key(
            "reading",
            reference("a reading"),
            Fallback::Absent,
            "the one reading that is meant; all by default",
        ),
    ],
};

static READING: Section = Section {
    name: "reading",
    what: "a reading",
    doc: "The changes of a reading. Its keys take the place of those of the file; `set`, `baseline`, `statistics`, and the `zip` \
          and `cases` of a factor are merged key by key. A `[[vary]]` with the name of another changes that one, any other \
          is added behind them, or before the one that its `before` names. If levels are given in another way (`values`, `zip`, \
          `cases`), the former ones do not hold.",
    inline: false,
    inherits: true,
    keys: &[
        key(
            "like",
            reference("a reading"),
            Fallback::Absent,
            "another reading, whose changes are made before those of this one",
        ),
        SCENARIO,
        SET,
        FACTORS,
        REPLICATIONS,
        SERIES,
        COMPARE_PATHS,
        METRICS,
        BASELINE,
        TREATMENT,
    ],
};

static VARY: Section = Section {
    name: "vary",
    what: "`vary`",
    doc: "A factor: one of `key` with `values`, `zip`, `cases`. The cases are all combinations of the levels of all factors, \
          the last one changing fastest.",
    inline: false,
    inherits: false,
    keys: &[
        key("name", TEXT, Fallback::Derived("the last word of `key`"), "its name: a column of all tables"),
        key(
            "key",
            reference("a key of the scenario"),
            Fallback::Absent,
            "the key that is varied; with `values`",
        ),
        key("values", LISTED, Fallback::Absent, "one level for each value"),
        key("zip", Kind::Map(&LISTED), Fallback::Absent, "several keys in step: lists of equal length"),
        key("cases", Kind::Map(&KEYS), Fallback::Absent, "sets of keys by name"),
        key(
            "labels",
            Kind::List(&TEXT),
            Fallback::Derived("the values"),
            "names of the levels of `values` or `zip`, one for each",
        ),
        key(
            "levels",
            Kind::List(&reference("a level")),
            Fallback::Derived("all"),
            "names of the levels that are kept, in this order",
        ),
        key(
            "hold",
            reference("a level"),
            Fallback::Absent,
            "the one level that holds for all cases: the factor is no longer varied, and its keys act like those of `set`",
        ),
        key(
            "before",
            reference("a factor"),
            Fallback::Absent,
            "in a reading or an overlay: the factor that this further one stands before",
        ),
    ],
};

static STOPPING: Section = Section {
    name: "replications",
    what: "`replications`",
    doc: "A stopping rule: replications until the 95 % interval of a metric is narrow enough.",
    inline: true,
    inherits: false,
    keys: &[
        key("until", METRIC, Fallback::Compulsory, "the metric"),
        key(
            "half_width",
            Kind::Scalar(Scalar::Percentage),
            Fallback::Compulsory,
            "wanted half width of its 95 % interval, as a part of the mean",
        ),
        key("min", integer(2, MOST), Fallback::Compulsory, "replications before the first look"),
        key("max", integer(2, MOST), Fallback::Compulsory, "replications at most"),
        key("step", integer(1, MOST), Fallback::Derived("`min`"), "replications between two looks"),
    ],
};

static STATISTICS: Section = Section {
    name: "statistics",
    what: "`statistics`",
    doc: "Options of the statistics.",
    inline: false,
    inherits: false,
    keys: &[
        key(
            "outliers",
            words(OUTLIERS),
            Fallback::Text("keep"),
            "\"z-score\" drops values with |z| > `z`, once, case by case and metric by metric",
        ),
        key("z", number(), Fallback::Text("3"), "the threshold, above 0"),
        key("test", words(TESTS), Fallback::Text("t"), "paired test: Student's t, or signed ranks"),
        key(
            "correction",
            words(CORRECTIONS),
            Fallback::Text("holm"),
            "of the significances for the number of comparisons of a metric",
        ),
        key("alpha", number(), Fallback::Text("0.05"), "what counts as a difference, between 0 and 1"),
        key(
            "pool",
            Kind::List(&reference("a factor")),
            Fallback::Absent,
            "factors over which means and standard deviations are pooled, in a table of their own",
        ),
    ],
};
