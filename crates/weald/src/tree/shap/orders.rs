//! Chances of what comes first in a random order of features, as whole numbers: sums of them are exact whatever the order.

use super::PURPOSE;
use crate::elementary::power_of_two;
use crate::error::Result;

/// Numbers of features whose chances are looked up: of more they are products.
const TABLED: usize = 32;
/// Sums of the chances of all rows of a background are below 2 to this power.
const BITS_OF_SUMS: u32 = 62;

/// ∫ tᵖ (1 − t)^q dt = p! q! / (p + q + 1)! from 0 to 1: the chance that of p + q + 1 features in random order a given one has
/// the p given ones before it, and the others behind. In units of 2 to some power, rounded.
#[derive(Clone, Debug)]
pub(crate) struct Chances {
    scale: f64,
    /// At p · [`TABLED`] + q.
    table: Vec<u64>,
}

impl Chances {
    /// Those of which `n_rows` can be added up.
    pub(crate) fn for_sums_of(n_rows: usize) -> Result<Chances> {
        let bits = n_rows.max(1).next_power_of_two().trailing_zeros();
        let scale = power_of_two((BITS_OF_SUMS - bits) as i32);
        let mut table = PURPOSE.filled(0, TABLED * TABLED)?;
        for p in 0..TABLED {
            for q in 0..TABLED {
                table[p * TABLED + q] = (chance(p, q) * scale).round() as u64;
            }
        }
        Ok(Chances { scale, table })
    }

    /// In units.
    #[inline(always)]
    pub(crate) fn of(&self, p: usize, q: usize) -> u64 {
        if p < TABLED && q < TABLED { self.table[p * TABLED + q] } else { self.computed(p, q) }
    }

    #[cold]
    fn computed(&self, p: usize, q: usize) -> u64 {
        (chance(p, q) * self.scale).round() as u64
    }

    /// One unit.
    pub(crate) fn unit(&self) -> f64 {
        1.0 / self.scale
    }
}

/// p! q! / (p + q + 1)!: one over p + q + 1 binomial coefficients, factor by factor until nothing of it is left in units.
fn chance(p: usize, q: usize) -> f64 {
    let (few, many) = (p.min(q), p.max(q));
    let mut chance = 1.0 / (p + q + 1) as f64;
    for i in 1..=few {
        chance *= i as f64 / (many + i) as f64;
        if chance < 1e-20 {
            return 0.0;
        }
    }
    chance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_those_of_orders() {
        let chances = Chances::for_sums_of(100).unwrap();
        for p in 0..40 {
            for q in 0..40 {
                let expected = (1..=q).fold(1.0 / (p + 1) as f64, |c, i| c * i as f64 / (p + 1 + i) as f64);
                // Half a unit, and the roundings of some dozen products of numbers up to 1.
                let error = (chances.of(p, q) as f64 * chances.unit() - expected).abs();
                assert!(error <= 0.5 * chances.unit() + 1e-14 * expected, "{p} {q}: {error:e}");
                assert_eq!(chances.of(p, q), chances.of(q, p));
            }
        }
        assert_eq!(chances.of(500, 500), 0);
    }

    #[test]
    fn as_many_as_there_are_samples_can_be_added() {
        for n_rows in [0, 1, 2, 3, 100, 1 << 20, (1 << 20) + 1] {
            let chances = Chances::for_sums_of(n_rows).unwrap();
            assert!(u128::from(chances.of(0, 0)) * n_rows as u128 <= 1 << BITS_OF_SUMS);
        }
    }
}
