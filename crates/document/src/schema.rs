//! The key tables as a JSON Schema, for editors. It accepts every file that the parser accepts; rules across keys, and
//! keys that may be inherited, are left to the parser.

use registry::{Items, OptionKind};
use serde_json::{Map, Value as Json, json};
use units::{BitsPerSecond, Bytes};

use crate::keys::{Fallback, Kind, MAX_SEEDS, Scalar, Section, UNLIMITED};
use crate::scalar::{LONGEST_NAME, LONGEST_TEXT, RATES, SIZES, TIMES, from_default};
use crate::tree::Value;
use crate::vocabulary::{Catalogue, Vocabulary};

/// The JSON Schema (draft 2020-12) of files whose top level is of the kind `top`, with the algorithms of `vocabulary`.
pub fn schema(title: &str, top: Kind, vocabulary: &dyn Vocabulary) -> Json {
    let mut defs = Map::new();
    let mut root = match top {
        Kind::Table(section) => object(section, vocabulary, &mut defs),
        other => property(other, vocabulary, &mut defs),
    };
    if let Some(map) = root.as_object_mut() {
        map.insert("$defs".into(), Json::Object(defs));
    }
    let mut whole = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
    });
    if let (Some(whole), Json::Object(root)) = (whole.as_object_mut(), root) {
        whole.extend(root);
    }
    whole
}

fn object(section: &Section, vocabulary: &dyn Vocabulary, defs: &mut Map<String, Json>) -> Json {
    let mut properties = Map::new();
    for key in section.keys {
        let mut property = property(key.kind, vocabulary, defs);
        if let Some(map) = property.as_object_mut() {
            map.insert("description".into(), key.doc.into());
            if let Fallback::Text(text) = key.default {
                map.insert("default".into(), default(key.kind, text));
            }
        }
        properties.insert(key.name.into(), property);
    }
    let compulsory = |name: &&'static str| {
        let given = matches!(section.key(name).map(|key| key.default), Some(Fallback::Compulsory));
        let both = section.key("both").is_some()
            && matches!(section.key(name).map(|k| k.kind), Some(Kind::Table(_)));
        given && !both && (*name == "name" || !section.inherits)
    };
    let mut schema = json!({
        "type": "object",
        "description": section.doc,
        "properties": properties,
        "required": section.names().filter(compulsory).collect::<Vec<_>>(),
        "additionalProperties": false,
    });
    if let Some(map) = schema.as_object_mut() {
        let all = exclusions(section);
        if !all.is_empty() {
            map.insert("allOf".into(), Json::Array(all));
        }
    }
    schema
}

/// Keys that only one `kind` has are refused for each other.
fn exclusions(section: &Section) -> Vec<Json> {
    let Some(Kind::Scalar(Scalar::Plain(OptionKind::Choice(kinds)))) =
        section.key("kind").map(|key| key.kind)
    else {
        return Vec::new();
    };
    let one = |kind: &&'static str| {
        let refused: Map<String, Json> = section
            .keys
            .iter()
            .filter(|key| !key.exists_with(Some(kind)))
            .map(|key| (key.name.to_owned(), Json::Bool(false)))
            .collect();
        (!refused.is_empty()).then(|| {
            json!({
                "if": { "properties": { "kind": { "const": kind } }, "required": ["kind"] },
                "then": { "properties": refused },
            })
        })
    };
    kinds.iter().filter_map(one).collect()
}

fn default(kind: Kind, text: &str) -> Json {
    match from_default(kind, text) {
        Value::Integer(n) => n.into(),
        Value::Float(x) => x.into(),
        Value::Flag(flag) => flag.into(),
        _ => text.into(),
    }
}

fn property(kind: Kind, vocabulary: &dyn Vocabulary, defs: &mut Map<String, Json>) -> Json {
    match kind {
        Kind::Scalar(scalar) => scalar_property(scalar),
        Kind::Choice(catalogue) => choice(catalogue, vocabulary, defs),
        Kind::OneOrMore(one) => {
            let one = property(*one, vocabulary, defs);
            json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
        }
        Kind::Setting { plain, models } => {
            let plain = property(*plain, vocabulary, defs);
            json!({ "anyOf": [plain, choice(models, vocabulary, defs)] })
        }
        Kind::Table(section) => reference(section, vocabulary, defs),
        Kind::Tables(section) => json!({ "type": "array", "items": reference(section, vocabulary, defs) }),
        Kind::List(one) => json!({ "type": "array", "items": property(*one, vocabulary, defs) }),
        Kind::Map(one) => {
            json!({ "type": "object", "additionalProperties": property(*one, vocabulary, defs) })
        }
        Kind::Either(kinds) => {
            let any: Vec<Json> = kinds.iter().map(|kind| property(*kind, vocabulary, defs)).collect();
            json!({ "anyOf": any })
        }
    }
}

fn scalar_property(scalar: Scalar) -> Json {
    match scalar {
        Scalar::Text => json!({ "type": "string", "maxLength": LONGEST_TEXT }),
        Scalar::Any => json!({ "type": ["string", "number", "boolean", "array", "object"] }),
        Scalar::Percentage => json!({ "type": "string", "pattern": r"^\s*[0-9.]+\s*%\s*$" }),
        Scalar::Reference(_) => json!({ "type": "string", "minLength": 1 }),
        Scalar::Name => {
            json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]+$", "maxLength": LONGEST_NAME })
        }
        Scalar::Names { least, most: usize::MAX, .. } => {
            json!({ "type": "array", "items": { "type": "string" }, "minItems": least })
        }
        Scalar::Names { least, most, .. } => {
            json!({ "type": "array", "items": { "type": "string" }, "minItems": least, "maxItems": most })
        }
        Scalar::FlagOrCount { word, .. } => json!({ "anyOf": [
            { "type": "boolean" }, { "const": word }, { "type": "integer", "minimum": 1 },
        ] }),
        Scalar::Words(words) => {
            json!({ "type": "array", "items": { "enum": words }, "minItems": 1, "uniqueItems": true })
        }
        Scalar::Plain(kind) => plain(kind),
        Scalar::Limit { min, max } => {
            json!({ "anyOf": [{ "type": "integer", "minimum": min, "maximum": max }, { "const": UNLIMITED }] })
        }
        Scalar::Duration { .. } => quantity(TIMES, false),
        Scalar::Size { max, .. } => quantity(SIZES, max == Bytes::MAX),
        Scalar::Rate { max, .. } => quantity(RATES, max == BitsPerSecond(u64::MAX)),
        Scalar::Queue => limit(),
        Scalar::WordOrSize { words, .. } => json!({ "anyOf": [{ "enum": words }, quantity(SIZES, false)] }),
        Scalar::Seeds => json!({ "anyOf": [
            { "type": "integer", "minimum": 1, "maximum": MAX_SEEDS },
            { "type": "array", "items": { "type": "integer", "minimum": 0 }, "minItems": 1, "uniqueItems": true },
        ] }),
        Scalar::OneOf { words, .. } => json!({ "enum": words }),
    }
}

fn reference(section: &'static Section, vocabulary: &dyn Vocabulary, defs: &mut Map<String, Json>) -> Json {
    if !defs.contains_key(section.name) {
        let schema = object(section, vocabulary, defs);
        defs.insert(section.name.into(), schema);
    }
    json!({ "$ref": format!("#/$defs/{}", section.name) })
}

fn plain(kind: OptionKind) -> Json {
    match kind {
        OptionKind::Flag => json!({ "type": "boolean" }),
        OptionKind::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        OptionKind::Number { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
        OptionKind::Duration => quantity(TIMES, true),
        OptionKind::Size => quantity(SIZES, true),
        OptionKind::Rate => quantity(RATES, true),
        OptionKind::Probability => json!({ "anyOf": [
            { "type": "number", "minimum": 0, "maximum": 1 },
            { "type": "string", "pattern": r"^\s*\+?[0-9.]+([eE][+-]?[0-9]+)?\s*%?\s*$" },
        ] }),
        OptionKind::Choice(words) => json!({ "enum": words }),
        OptionKind::FlagOr(words) => json!({ "anyOf": [{ "type": "boolean" }, { "enum": words }] }),
        OptionKind::Limit => limit(),
        OptionKind::List(items) => {
            let item = match items {
                Items::Durations => quantity(TIMES, true),
                Items::Rates => quantity(RATES, true),
                Items::Numbers => json!({ "type": "number", "minimum": 0 }),
                Items::Integers => json!({ "type": "integer", "minimum": 1 }),
            };
            json!({ "type": "array", "items": item, "minItems": 1 })
        }
        OptionKind::File(_) | OptionKind::Text => json!({ "type": "string", "minLength": 1 }),
    }
}

/// The size of a queue.
fn limit() -> Json {
    let units: Vec<&str> = ["p", "BDP"].into_iter().chain(SIZES.iter().copied()).collect();
    quantity(&units, true)
}

/// A number with one of these units.
fn quantity(units: &[&str], unlimited: bool) -> Json {
    let word = if unlimited { format!("{UNLIMITED}|") } else { String::new() };
    json!({ "type": "string", "pattern": format!(r"^\s*({word}[0-9._]+\s*({}))\s*$", units.join("|")) })
}

/// A bare name where every option has a default, or a table; its `kind` may be inherited or the default.
fn choice(catalogue: Catalogue, vocabulary: &dyn Vocabulary, defs: &mut Map<String, Json>) -> Json {
    let name = catalogue.what.replace(' ', "-");
    if !defs.contains_key(&name) {
        let all = vocabulary.all(catalogue);
        let bare = all.iter().filter(|a| a.options.iter().all(|option| option.default.is_some()));
        let words: Vec<Json> = bare.map(|a| json!({ "const": a.name, "description": a.summary })).collect();
        let tables = all.iter().map(|a| {
            let mut properties = Map::new();
            properties.insert("kind".into(), json!({ "const": a.name }));
            for option in a.options {
                let mut property = plain(option.kind);
                if let Some(map) = property.as_object_mut() {
                    map.insert("description".into(), option.doc.into());
                    if let Some(text) = option.default {
                        map.insert("default".into(), default(Kind::Scalar(Scalar::Plain(option.kind)), text));
                    }
                }
                properties.insert(option.name.into(), property);
            }
            json!({
                "type": "object",
                "description": a.summary,
                "properties": properties,
                "additionalProperties": false,
            })
        });
        let any: Vec<Json> = words.iter().cloned().chain(tables).collect();
        defs.insert(name.clone(), json!({ "anyOf": any }));
    }
    json!({ "$ref": format!("#/$defs/{name}") })
}
