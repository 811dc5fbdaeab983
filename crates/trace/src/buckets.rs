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

/// The first bucket up to which a share `q` of the weight lies; `None` without weight.
pub(crate) fn quantile(weights: &[u64], total: u64, q: f64) -> Option<usize> {
    let wanted = (q * total as f64).ceil().max(1.0) as u64;
    let mut seen = 0;
    weights.iter().position(|&weight| {
        seen += weight;
        seen >= wanted
    })
}

/// Adds `weight` to a bucket.
pub(crate) fn add(weights: &mut Vec<u64>, bucket: usize, weight: u64) {
    if bucket >= weights.len() {
        weights.resize(bucket + 1, 0);
    }
    weights[bucket] += weight;
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
