//! The keys of the files of a reproduction: `reproduction.toml`, `quantities.toml`, `claims.toml`, `figures.toml`.
//!
//! Rules across the keys of one file are in `rules.rs`. The meaning of checks, and whether the quantities that they name exist, are
//! judged where the checks are computed, in `python/ropewalk/reproduce`.

use document::keys::{Fallback, Key, Kind, MAX_SEEDS, Scalar, Section};
use document::shorthand::{FLAG, TEXT, integer, key, reference, words};
use registry::OptionKind;

const MOST: u64 = MAX_SEEDS.unsigned_abs();
const NUMBER: Kind = Kind::Scalar(Scalar::Plain(OptionKind::Number { min: f64::MIN, max: f64::MAX }));
const TEXTS: Kind = Kind::List(&TEXT);
const METRIC: Kind = reference("a metric");
const CHECK: Kind = reference("an expression");
const EMPTY: Fallback = Fallback::Text("");

const fn text(name: &'static str, doc: &'static str) -> Key {
    key(name, TEXT, EMPTY, doc)
}

const fn optional(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    key(name, kind, Fallback::Absent, doc)
}

const fn section(name: &'static str, what: &'static str, doc: &'static str, keys: &'static [Key]) -> Section {
    Section { name, what, doc, keys, inline: false, inherits: false }
}

pub(crate) static REPRODUCTION: Section = section(
    "reproduction",
    "a reproduction",
    "The file `reproduction.toml`.",
    &[
        key("name", TEXT, Fallback::Derived("the name of its folder"), "its name on the command line"),
        key("title", TEXT, Fallback::Compulsory, "what the document is, in a few words"),
        key("source", TEXT, Fallback::Compulsory, "authors, title, where and when it was published"),
        optional(
            "profiles",
            TEXTS,
            "readings of the document under which everything is run; without any there is one",
        ),
        optional("apart", TEXTS, "profiles that are counted by themselves: no claim agrees because of them"),
        optional("readings", Kind::Map(&TEXT), "each of `profiles` in two sentences"),
        optional("quick", Kind::Table(&QUICK), "what `--quick` does"),
    ],
);

static QUICK: Section = section(
    "quick",
    "`quick`",
    "The extent of `--quick`.",
    &[optional("replications", integer(1, MOST), "most replications of each case")],
);

pub(crate) const QUANTITIES: Kind = Kind::Map(&Kind::Table(&QUANTITY));

pub(crate) static QUANTITY: Section = section(
    "quantity",
    "a quantity",
    "`NAME = { study = \"ideal\", metric = \"flow.file.goodput_bit_s\" }` in `quantities.toml`: a figure of each \
     replication of each case of a study, or a column of a table of the document. NAME consists of letters, digits and _.",
    &[
        optional("study", reference("a study"), "the study; `{profile}` stands for the profile"),
        optional("metric", METRIC, "the metric; the study need not list it"),
        optional("over", METRIC, "what it is divided by, seed by seed; needs `scale` and `unit`"),
        optional(
            "series",
            reference("a time series"),
            "instead of `metric`: flow.NAME.METRIC or link.NAME.METRIC",
        ),
        key(
            "make",
            TEXT,
            Fallback::Derived("`mean`"),
            "what is made of the series: `max`, `mean`, `p95` and the like",
        ),
        key("bin", NUMBER, Fallback::Derived("0: not"), "seconds over which it is averaged first"),
        key("from", NUMBER, Fallback::Derived("0"), "seconds of the run before which it does not count"),
        optional("until", NUMBER, "seconds of the run after which it does not count"),
        optional("scale", NUMBER, "what to multiply by to have it in `unit`"),
        optional("unit", TEXT, "what it is shown in; without it as the tables of the study do"),
        optional(
            "pool",
            TEXTS,
            "factors over whose levels it is averaged, seed by seed; checks leave them out",
        ),
        optional("profile", Kind::Map(&Kind::Table(&UNDER)), "what it is instead under some profiles"),
        optional(
            "table",
            reference("a CSV file"),
            "instead of `study`: a table of the document, seen from this file",
        ),
        optional("value", TEXT, "its column"),
        optional("by", TEXTS, "columns by whose values checks name a row"),
    ],
);

static UNDER: Section = section(
    "profile",
    "`profile`",
    "A quantity under one profile. With another `metric` go its own `over`, `scale` and `pool`.",
    &[
        optional("metric", METRIC, "the metric"),
        optional("over", METRIC, "what it is divided by, seed by seed"),
        optional("scale", NUMBER, "what to multiply by to have it in its unit"),
        optional("pool", TEXTS, "factors over whose levels it is averaged"),
    ],
);

pub(crate) static FIGURES: Section = section(
    "figures",
    "a file of figures",
    "The file `figures.toml`.",
    &[optional("figure", Kind::Tables(&FIGURE), "figures of the document, drawn again")],
);

static PROFILES: [Kind; 2] = [TEXT, TEXTS];

static FIGURE: Section = section(
    "figure",
    "a figure",
    "A figure in the manner of the original.",
    &[
        key("id", TEXT, Fallback::Compulsory, "name of its file"),
        key("title", TEXT, Fallback::Compulsory, "title"),
        key("kind", words(&["lines", "bars", "time"]), Fallback::Text("lines"), "its form"),
        key("x", Kind::Table(&AXIS), Fallback::Keys, "the axis to the right"),
        key("y", Kind::Table(&AXIS), Fallback::Keys, "the axis upwards"),
        optional(
            "ticks",
            Kind::List(&Kind::Scalar(Scalar::Any)),
            "places on the x axis, or names of groups of bars",
        ),
        optional("curve", Kind::Tables(&CURVE), "what is drawn"),
        key(
            "profile",
            Kind::Either(&PROFILES),
            Fallback::Derived("the first profile"),
            "the reading that is drawn; of a list each in a figure of its own",
        ),
    ],
);

static AXIS: Section = section(
    "axis",
    "an axis",
    "An axis.",
    &[
        text("label", "what it shows, with the unit"),
        key("log", FLAG, Fallback::Text("false"), "logarithmic"),
        optional("from", NUMBER, "its lower end"),
        optional("to", NUMBER, "its upper end"),
    ],
);

static CURVE: Section = section(
    "curve",
    "a curve",
    "One line, or the bars of one colour: an expression as in checks, a time series of one replication, published points.",
    &[
        text("label", "its name in the legend"),
        optional("value", CHECK, "a row: one item for each place on the x axis"),
        optional("series", reference("a time series"), "flow.NAME.METRIC or link.NAME.METRIC over time"),
        optional("study", reference("a study"), "the study of the series"),
        optional("levels", TEXTS, "the case of the series: a level of each factor"),
        key("seed", integer(0, i64::MAX as u64), Fallback::Text("1"), "the replication of the series"),
        optional("bin", NUMBER, "seconds over which the series is averaged"),
        key("scale", NUMBER, Fallback::Text("1"), "what to multiply the series by"),
        optional("total", FLAG, "integrates a rate: the total since the start"),
        optional("x", Kind::List(&NUMBER), "where the items stand; without it where those of the figure do"),
        optional("published", Kind::Table(&POINTS), "what was published"),
    ],
);

static POINTS: Section = section(
    "published",
    "`published`",
    "Published points: `values` in their order, or rows of a file.",
    &[
        optional("file", reference("a CSV file"), "seen from this file"),
        optional("x", TEXT, "its column of abscissae"),
        optional("y", TEXT, "its column of ordinates"),
        optional(
            "where",
            Kind::Map(&Kind::Scalar(Scalar::Any)),
            "values of other columns that a row must have",
        ),
        key("scale", NUMBER, Fallback::Text("1"), "what to multiply the ordinates by"),
        optional("values", Kind::List(&NUMBER), "ordinates; abscissae are 0, 1, 2"),
    ],
);

pub(crate) static CLAIMS: Section = section(
    "claims",
    "a file of claims",
    "The file `claims.toml`.",
    &[
        optional("root", Kind::Tables(&ROOT), "what several differences have in common"),
        optional("claim", Kind::Tables(&CLAIM), "statements of the document"),
    ],
);

/// The grounds of a cause.
pub(crate) const KINDS: [&str; 6] =
    ["prediction", "arithmetic", "documented", "fitted", "chance", "not carried"];
const KIND: Kind = words(&KINDS);
static CALIBRATED: [Kind; 2] = [TEXT, Kind::Map(&TEXT)];

static ROOT: Section = section(
    "root",
    "a root",
    "The root that several differences share.",
    &[
        key("name", TEXT, Fallback::Compulsory, "its name in claims"),
        key("title", TEXT, Fallback::Compulsory, "what it is, in a few words"),
        text("value", "the one value that gives all of its claims"),
        optional("kind", KIND, "what the cause rests on"),
        text("cause", "the cause, for all of its claims"),
        optional("predicts", Kind::Tables(&PREDICTION), "what else the value predicts"),
    ],
);

static PREDICTION: Section = section(
    "predicts",
    "a prediction",
    "A consequence of the value of a root, besides its claims.",
    &[
        key("what", TEXT, Fallback::Compulsory, "in words"),
        key("check", CHECK, Fallback::Compulsory, "the same as a check"),
    ],
);

static CLAIM: Section = section(
    "claim",
    "a claim",
    "A statement of the document: facts, and how it is judged. It has either `check` or `cannot`.",
    &[
        key("id", TEXT, Fallback::Compulsory, "a name of its own"),
        text("locator", "where it stands in the document"),
        text("experiment", "of which experiment it is"),
        text("metric", "what was measured"),
        text("unit", "in what"),
        text("conditions", "under which conditions"),
        key("published", TEXT, Fallback::Compulsory, "a number, a range, a relation, a trend, in words"),
        text("tolerance", "what counts as agreement, in words"),
        text("note", "more words"),
        optional("check", CHECK, "the same as a condition"),
        text("cannot", "instead: why a simulator cannot check it"),
        key(
            "configuration",
            FLAG,
            Fallback::Text("false"),
            "says how something is set up; listed and not counted",
        ),
        key(
            "calibrated",
            Kind::Either(&CALIBRATED),
            Fallback::Absent,
            "repeats a number to which something was set: what; or that for each profile",
        ),
        key("quick", FLAG, Fallback::Text("false"), "also checked by `--quick`"),
        text("root", "the root of the difference"),
        optional("kind", KIND, "what the cause rests on, if the root does not say it"),
        text("cause", "why the check fails, if it does"),
        optional("cause_check", CHECK, "a check that shows the cause"),
        optional("expected", words(&["differs"]), "the document contradicts itself here"),
    ],
);
