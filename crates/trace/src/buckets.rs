//! Buckets that grow with the value: below `STEPS` each value has its own, above it `STEPS` per factor of two.

/// Buckets per factor of two.
pub(crate) const STEPS: u64 = 128;

/// The bucket of `value`.
pub(crate) fn bucket_of(value: u64) -> usize {
    if value < STEPS {
        return value as usize;
    }
    let octave = u64::from(value.ilog2()) - u64::from(STEPS.ilog2());
    let step = (value >> octave) - STEPS;
    (STEPS + octave * STEPS + step) as usize
}

/// The first value of a bucket, and how many values it has.
pub(crate) fn values_of(bucket: usize) -> (u64, u64) {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return (bucket, 1);
    }
    let (octave, step) = ((bucket - STEPS) / STEPS, (bucket - STEPS) % STEPS);
    ((STEPS + step) << octave, 1 << octave)
}

/// Buckets that are kept together.
const BLOCK: usize = 64;

/// Weights by bucket. A block of them exists once something is in it: what one flow measures lies close together, and
/// there are thousands of flows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Buckets {
    blocks: Vec<Option<Box<[u64; BLOCK]>>>,
}

impl Buckets {
    /// Adds `weight` to a bucket.
    pub(crate) fn add(&mut self, bucket: usize, weight: u64) {
        let (block, place) = (bucket / BLOCK, bucket % BLOCK);
        if let Some(Some(weights)) = self.blocks.get_mut(block) {
            weights[place] += weight;
        } else {
            self.add_to_new(block, place, weight);
        }
    }

    #[cold]
    fn add_to_new(&mut self, block: usize, place: usize, weight: u64) {
        if block >= self.blocks.len() {
            self.blocks.resize(block + 1, None);
        }
        let mut weights = Box::new([0; BLOCK]);
        weights[place] = weight;
        self.blocks[block] = Some(weights);
    }

    /// Buckets with weight, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, u64)> {
        let blocks = self.blocks.iter().enumerate().filter_map(|(n, block)| Some((n, block.as_deref()?)));
        let all =
            blocks.flat_map(|(n, weights)| weights.iter().enumerate().map(move |(i, w)| (n * BLOCK + i, *w)));
        all.filter(|(_, weight)| *weight > 0)
    }

    /// The first bucket up to which a share `q` of the weight lies; `None` without weight.
    pub(crate) fn quantile(&self, total: u64, q: f64) -> Option<usize> {
        let wanted = (q * total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let reached = |(_, weight): &(usize, u64)| {
            seen += weight;
            seen >= wanted
        };
        self.iter().find(reached).map(|(bucket, _)| bucket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_its_bucket() {
        for value in (0..1_000u64).chain((0..63).map(|bit| (1 << bit) + 12_345)) {
            let (first, count) = values_of(bucket_of(value));
            assert!((first..first + count).contains(&value), "{value}: {first}, {count}");
            assert!(count == 1 || count * STEPS <= value, "{value}: {count} wide");
        }
    }
}
