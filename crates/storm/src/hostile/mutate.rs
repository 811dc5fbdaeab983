//! Inputs made from others without knowledge of coverage: for tests, and for machines without libFuzzer.

use crate::dice::Dice;

/// Longest input.
const MOST: usize = 4096;

/// An input made from one or two of `inputs`, as the seed says. One in four is random from the first byte.
pub fn mutated(inputs: &[Vec<u8>], seed: u64) -> Vec<u8> {
    let mut dice = Dice::new(seed);
    let pick = |dice: &mut Dice| -> Vec<u8> {
        if inputs.is_empty() || dice.chance(0.25) {
            return (0..dice.below(600)).map(|_| dice.next() as u8).collect();
        }
        inputs[dice.below(inputs.len() as u64) as usize].clone()
    };
    let (mut bytes, other) = (pick(&mut dice), pick(&mut dice));
    for _ in 0..dice.between(1, 8) {
        change(&mut dice, &mut bytes, &other);
    }
    bytes.truncate(MOST);
    bytes
}

/// Part of some bytes.
fn part(dice: &mut Dice, bytes: &[u8]) -> Vec<u8> {
    let start = dice.below(bytes.len() as u64 + 1) as usize;
    let many = dice.log(1.0, 65.0) as usize;
    bytes[start..].iter().take(many).copied().collect()
}

/// One edit.
pub(super) fn change(dice: &mut Dice, bytes: &mut Vec<u8>, other: &[u8]) {
    let place = dice.below(bytes.len() as u64 + 1) as usize;
    let end = (place + dice.log(1.0, 65.0) as usize).min(bytes.len());
    match dice.below(6) {
        0 if place < bytes.len() => bytes[place] ^= 1 << dice.below(8),
        1 if place < bytes.len() => bytes[place] = dice.next() as u8,
        2 => drop(bytes.drain(place..end)),
        3 => drop(bytes.splice(place..place, part(dice, other))),
        4 => drop(bytes.splice(place..end, part(dice, other))),
        _ => {
            let again = part(dice, bytes);
            drop(bytes.splice(place..place, again));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_follow_from_the_seed() {
        let inputs = [b"one input".to_vec(), b"another".to_vec()];
        let made: Vec<_> = (0..100).map(|seed| mutated(&inputs, seed)).collect();
        assert_eq!(made[7], mutated(&inputs, 7));
        assert!(made.iter().all(|bytes| bytes.len() <= MOST));
        assert!(made.iter().filter(|bytes| inputs.contains(bytes)).count() < 10);
    }
}
