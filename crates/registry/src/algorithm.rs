//! Algorithms by name: one table per family (congestion controls, schedulers, loss models, applications), filled
//! from the rows that come with Ropewalk and open to rows from outside.

use std::fmt;

use crate::{OptionFault, OptionSpec, Options};

/// A family of algorithms: how its members are made, and which come with Ropewalk.
pub trait Family: 'static {
    /// Function that makes one.
    type Build: Copy + 'static;
    /// The members that come with Ropewalk: the one place that a new one is entered.
    const BUILTIN: &'static [Algorithm<Self>];
}

/// The check of an algorithm whose options fit each other whatever they are.
///
/// # Errors
/// None.
pub fn independent(_options: &Options) -> Result<(), OptionFault> {
    Ok(())
}

/// Checks that an option, which `get` reads, is `least` or more: no clock stands still, no message is empty.
///
/// # Errors
/// It is less.
pub fn at_least<T: PartialOrd + fmt::Display>(
    option: &'static str,
    least: T,
    get: fn(&Options, &str) -> T,
    options: &Options,
) -> Result<(), OptionFault> {
    let found = get(options, option);
    if found >= least {
        return Ok(());
    }
    let [found, least] = [found, least].map(|value| as_in_a_file(&value));
    Err(OptionFault { option, message: format!("found {found}"), help: format!("at least {least}") })
}

/// Checks that an option, which `get` reads, is `most` or less: no sum overflows.
///
/// # Errors
/// It is more.
pub fn at_most<T: PartialOrd + fmt::Display>(
    option: &'static str,
    most: T,
    get: fn(&Options, &str) -> T,
    options: &Options,
) -> Result<(), OptionFault> {
    let found = get(options, option);
    if found <= most {
        return Ok(());
    }
    let [found, most] = [found, most].map(|value| as_in_a_file(&value));
    Err(OptionFault { option, message: format!("found {found}"), help: format!("at most {most}") })
}

/// Bare numbers stand without quotes.
fn as_in_a_file(value: &impl fmt::Display) -> String {
    let text = value.to_string();
    if text.parse::<f64>().is_ok() { text } else { format!("\"{text}\"") }
}

/// Checks that of two options of one kind, which `get` reads, `high` is not below `low`.
///
/// # Errors
/// It is.
pub fn in_order<T: PartialOrd + fmt::Display>(
    (low, high): (&'static str, &'static str),
    get: fn(&Options, &str) -> T,
    options: &Options,
) -> Result<(), OptionFault> {
    let (least, found) = (get(options, low), get(options, high));
    if found >= least {
        return Ok(());
    }
    let [found, least] = [found, least].map(|value| as_in_a_file(&value));
    Err(OptionFault {
        option: high,
        message: format!("found {found}, which is below {low} = {least}"),
        help: format!("at least {least}"),
    })
}

/// Stands in the notes of an algorithm whose source leaves so much open that results need not agree with it.
pub const FIDELITY_NOT_CLAIMED: &str = "fidelity is not claimed";

/// Common facts of an algorithm, for lists and docs.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name in scenario files.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// RFC, draft, paper, or what it is otherwise defined by.
    pub source: &'static str,
    /// Notes for the choice of the algorithm, such as "coupled"; may be empty.
    pub notes: &'static str,
    /// Its own options.
    pub options: &'static [OptionSpec],
    /// See [`Algorithm::check`].
    pub check: fn(&Options) -> Result<(), OptionFault>,
}

impl Entry {
    /// False where the notes contain [`FIDELITY_NOT_CLAIMED`].
    pub fn claims_fidelity(&self) -> bool {
        !self.notes.contains(FIDELITY_NOT_CLAIMED)
    }
}

/// One row.
pub struct Algorithm<F: Family + ?Sized> {
    /// Name in scenario files.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// RFC, draft, paper, or what it is otherwise defined by.
    pub source: &'static str,
    /// Notes for the choice of the algorithm, such as "coupled"; may be empty.
    pub notes: &'static str,
    /// Its own options.
    pub options: &'static [OptionSpec],
    /// Rules beyond the kinds of the options, such as those between two of them; names the one that is wrong. Each has been
    /// checked for itself.
    pub check: fn(&Options) -> Result<(), OptionFault>,
    /// Makes one, of options that have been checked.
    pub build: F::Build,
}

impl<F: Family + ?Sized> Clone for Algorithm<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Family + ?Sized> Copy for Algorithm<F> {}

impl<F: Family + ?Sized> fmt::Debug for Algorithm<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entry().fmt(f)
    }
}

impl<F: Family + ?Sized> Algorithm<F> {
    fn check_declarations(&self) {
        let name = self.name;
        debug_assert!(
            !name.is_empty() && !self.summary.is_empty(),
            "{name}: lists need a name and a summary"
        );
        for (index, spec) in self.options.iter().enumerate() {
            let option = spec.name;
            debug_assert!(option != "kind", "{name}: `kind` is the name of the algorithm");
            let first = self.options[..index].iter().all(|other| other.name != option);
            debug_assert!(first, "{name}: two options {option}");
            debug_assert!(spec.default.is_none_or(|text| spec.kind.parse(text).is_ok()), "{name}: {option}");
        }
    }

    /// Everything but how it is made.
    pub fn entry(&self) -> Entry {
        let Self { name, summary, source, notes, options, check, .. } = *self;
        Entry { name, summary, source, notes, options, check }
    }
}

/// The algorithms of one family by name, in the order of entry.
pub struct Registry<F: Family>(Vec<Algorithm<F>>);

impl<F: Family> Clone for Registry<F> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<F: Family> fmt::Debug for Registry<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

impl<F: Family> Registry<F> {
    /// All that come with Ropewalk.
    pub fn builtin() -> Self {
        let registry = Self(F::BUILTIN.to_vec());
        registry.check();
        registry
    }

    /// Adds one; a later entry with the same name replaces the earlier.
    pub fn register(&mut self, algorithm: Algorithm<F>) {
        self.0.retain(|a| a.name != algorithm.name);
        self.0.push(algorithm);
        self.check();
    }

    /// A name leads to one row, and the options of each row are well declared.
    fn check(&self) {
        for (index, row) in self.0.iter().enumerate() {
            debug_assert!(
                self.0[..index].iter().all(|other| other.name != row.name),
                "two rows of {}",
                row.name
            );
            row.check_declarations();
        }
    }

    /// The row of `name`.
    pub fn get(&self, name: &str) -> Option<&Algorithm<F>> {
        self.0.iter().find(|a| a.name == name)
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = &Algorithm<F>> {
        self.0.iter()
    }
}
