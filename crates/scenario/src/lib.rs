//! Scenario files: TOML in, checked structs out.
//!
//! A file becomes a tree that remembers where everything was written; overrides are written into it, each value is
//! checked against the key tables, inheritance is resolved, defaults are filled in, and rules across the file are
//! checked. The filled tree is what [`Document::to_toml`] prints and what the [`model`] is made of.
//! May: know the names and options of all algorithms. May not: run anything.
//! To add a key: see `keys/mod.rs`. To add a profile: a file under `profiles/` and a row in `profiles.rs`.

mod addresses;
mod algorithm_page;
mod assemble;
mod buffer_rules;
mod choices;
mod draws;
mod flows;
mod graph;
mod held;
mod inherit;
mod invariants;
mod keys;
mod link_rules;
pub mod model;
mod overrides;
mod part;
mod path_managers;
mod profile_list;
mod profiles;
mod proxies;
mod proxy_legs;
mod reference;
mod registries;
mod rules;
mod scenario_file;
mod schema;
mod sctp_rules;
mod topology;
mod whole;

pub use algorithm_page::{AlgorithmPage, algorithm_pages, algorithms_markdown, allowed, parameter_row};
pub use document::diagnostic::{Code, Diagnostic, Diagnostics};
pub use draws::Draw;
pub use graph::{Graph, NodePair, UNREACHABLE, distances};
pub use part::{Part, Unsupported};
pub use profile_list::{Profile, profiles};
pub use reference::reference_markdown;
pub use registries::Registries;
pub use scenario_file::Document;
pub use schema::schema;
