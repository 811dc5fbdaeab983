//! The front end of every file that users write: TOML in, a checked tree with places out.
//!
//! A text becomes a tree that remembers where everything was written ([`tree`]). Tables of keys ([`keys`]) say what may
//! stand in it: they check it ([`check`]), fill in defaults ([`fill`]), and are printed as a JSON Schema ([`schema()`])
//! and as a reference page ([`reference`]). Mistakes are collected with place, value found, values allowed and cure
//! ([`diagnostic`]).
//! May: know TOML, units and the form of registries. May not: know what a key means.

pub mod check;
pub mod diagnostic;
pub mod files;
pub mod fill;
pub mod keys;
pub mod print;
pub mod queue_size;
pub mod reference;
pub mod scalar;
mod schema;
pub mod shorthand;
pub mod source;
mod syntax;
pub mod tree;
pub mod vocabulary;
pub mod work;

pub use schema::schema;
pub use syntax::read;
