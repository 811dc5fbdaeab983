//! The JSON Schema of scenario files, for editors.

use document::keys::Kind;
use serde_json::{Map, Value as Json, json};

use crate::keys::ROOT;
use crate::registries::Registries;

/// How the pattern of a quantity begins; that of a name begins otherwise.
const QUANTITY: &str = r"^\s*";

/// The JSON Schema (draft 2020-12) of scenario files with the algorithms of `registries`. It accepts every file that the
/// parser accepts; rules across keys, and keys that may be inherited, are left to the parser.
pub fn schema(registries: &Registries) -> Json {
    let mut schema = document::schema("Ropewalk scenario", Kind::Table(&ROOT), registries);
    drawn(&mut schema);
    schema["$defs"]["draw"] = draw();
    schema
}

/// Lets a draw stand for every number and every quantity.
fn drawn(schema: &mut Json) {
    match schema {
        Json::Array(items) => items.iter_mut().for_each(drawn),
        Json::Object(map) if is_quantity(map) => {
            let mut outer = Map::new();
            for key in ["description", "default"] {
                outer.extend(map.remove(key).map(|value| (key.to_owned(), value)));
            }
            let plain = Json::Object(std::mem::take(map));
            outer.insert("anyOf".into(), json!([plain, { "$ref": "#/$defs/draw" }]));
            *map = outer;
        }
        Json::Object(map) => {
            // Conditions ask which kind something is.
            map.iter_mut().filter(|(key, _)| *key != "if").for_each(|(_, value)| drawn(value));
        }
        _ => {}
    }
}

fn is_quantity(map: &Map<String, Json>) -> bool {
    let pattern = map.get("pattern").and_then(Json::as_str);
    match map.get("type").and_then(Json::as_str) {
        Some("number" | "integer") => true,
        Some("string") => pattern.is_some_and(|pattern| pattern.starts_with(QUANTITY)),
        _ => false,
    }
}

fn draw() -> Json {
    let bound = json!({ "type": ["string", "number"] });
    json!({
        "type": "object",
        "description": "A value drawn once per replication, between two bounds.",
        "properties": {
            "draw": { "const": "uniform", "description": "The distribution" },
            "from": bound,
            "to": bound,
            "stream": { "type": "string", "pattern": "^[A-Za-z0-9_.-]+$", "description": "Name of the random stream: the key, unless given" },
        },
        "required": ["draw", "from", "to"],
        "additionalProperties": false,
    })
}
