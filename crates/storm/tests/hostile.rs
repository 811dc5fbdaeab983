//! The fuzz targets on their corpus, and on a few thousand random inputs made from it; `make fuzz` runs them with the
//! guidance of coverage.
#![allow(clippy::unwrap_used)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use storm::hostile;

type Target = fn(&[u8]);

/// Name and function of each target; `fuzz/fuzz_targets/NAME.rs` calls the same.
const TARGETS: [(&str, Target); 5] = [
    ("scenario", hostile::scenario),
    ("data", hostile::data),
    ("packets", hostile::packets),
    ("chunks", hostile::chunks),
    ("captures", hostile::captures),
];

/// The corpus of a target, in the order of the names of its files.
fn inputs(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn every_target_takes_its_corpus() {
    for (name, target) in TARGETS {
        let inputs = inputs(name);
        assert!(!inputs.is_empty(), "{name}");
        for bytes in inputs {
            target(&bytes);
        }
    }
}

/// ROPEWALK_FUZZ asks for more inputs than usual, ROPEWALK_SEED for others, ROPEWALK_TARGET for one target alone.
#[test]
fn every_target_takes_what_is_made_from_it() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (many, seed) = (number("ROPEWALK_FUZZ").unwrap_or(300), number("ROPEWALK_SEED").unwrap_or(1));
    let only = std::env::var("ROPEWALK_TARGET").ok();
    for (name, target) in
        TARGETS.into_iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name))
    {
        let inputs = inputs(name);
        // Most captures are files of their format, changed in fields of packets.
        let captures = (name == "captures").then(|| hostile::Corpus::of(&inputs));
        for n in 0..many {
            let bytes = match &captures {
                Some(corpus) if n % 8 > 0 => corpus.capture(seed + n),
                _ => hostile::mutated(&inputs, seed + n),
            };
            let fine = catch_unwind(AssertUnwindSafe(|| target(&bytes))).is_ok();
            if !fine {
                let file = std::env::temp_dir().join(format!("{name}-{}", seed + n));
                std::fs::write(&file, &bytes).unwrap();
                panic!("{name}: the input of seed {} fails; it is in {}", seed + n, file.display());
            }
        }
    }
}
