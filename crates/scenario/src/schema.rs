//! The JSON Schema of scenario files, for editors.

use document::keys::Kind;
use serde_json::Value as Json;

use crate::keys::ROOT;
use crate::registries::Registries;

/// The JSON Schema (draft 2020-12) of scenario files with the algorithms of `registries`. It accepts every file that the
/// parser accepts; rules across keys, and keys that may be inherited, are left to the parser.
pub fn schema(registries: &Registries) -> Json {
    document::schema("Ropewalk scenario", Kind::Table(&ROOT), registries)
}
