//! Loops over rows of scores, compiled for the widest registers of the machine.
//!
//! Every loop has a fixed order of additions and no fused multiplications, so that its bits do not depend on the
//! machine.

use super::float::Float;
pub(crate) use crate::vectorised::vectorised;

/// The number of partial sums of a dot product.
pub(crate) const LANES: usize = 8;

/// Returns Σ r_j φ_j.
#[inline(always)]
pub(crate) fn dot<T: Float>(r: &[T], phi: &[f64]) -> f64 {
    let mut sums = Eight::default();
    let ((r, r_tail), (phi, phi_tail)) = (r.as_chunks::<LANES>(), phi.as_chunks::<LANES>());
    for (r, phi) in r.iter().zip(phi) {
        for ((sum, r), phi) in sums.0.iter_mut().zip(r).zip(phi) {
            *sum += r.to_f64() * phi;
        }
    }
    let tail: f64 = r_tail.iter().zip(phi_tail).map(|(r, phi)| r.to_f64() * phi).sum();
    sums.total() + tail
}

/// A cache line of eight numbers, which are factors or running sums.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Eight(pub(crate) [f64; LANES]);

impl Eight {
    /// Returns the sum of the lanes, added up in a fixed order.
    #[inline(always)]
    pub(crate) fn total(self) -> f64 {
        let [a, b, c, d, e, f, g, h] = self.0;
        ((a + b) + (c + d)) + ((e + f) + (g + h))
    }
}

/// The maximum number of rows of R for [`products`].
pub(crate) const TILE_ROWS: usize = 8;

/// Writes R Φᵀ for a few rows of R with `width` numbers each. The output has a row of products for each row of R.
///
/// Rows of Φ start at cache lines and are padded with zeros. Tiles of them stay in the innermost cache for all rows of
/// R. The additions of one product depend on each other, so that several products are computed at the same time.
#[inline(always)]
pub(crate) fn products<T: Float>(r: &[T], width: usize, phi: &[Eight], out: &mut [f64]) {
    const TILE: usize = 16;
    const PIECE: usize = 16;
    let stride = width.div_ceil(LANES);
    let q = phi.len() / stride;
    if q == 1 {
        return products_of_one(r, width, phi, out);
    }
    for (t, phi) in phi.chunks(TILE * stride).enumerate() {
        let mut sums = [[Eight::default(); TILE]; TILE_ROWS];
        for start in (0..stride).step_by(PIECE) {
            let end = (start + PIECE).min(stride);
            for (r, sums) in r.chunks_exact(width).zip(&mut sums) {
                let mut piece = Piece([0.0; PIECE * LANES]);
                let cells = &r[start * LANES..width.min(end * LANES)];
                piece.0.iter_mut().zip(cells).for_each(|(cell, r)| *cell = r.to_f64());
                for (phi, sum) in phi.chunks_exact(stride).zip(sums) {
                    for (r, phi) in piece.0.as_chunks::<LANES>().0.iter().zip(&phi[start..end]) {
                        for ((sum, r), phi) in sum.0.iter_mut().zip(r).zip(&phi.0) {
                            *sum += r * phi;
                        }
                    }
                }
            }
        }
        for (out, sums) in out.chunks_exact_mut(q).zip(&sums) {
            out[t * TILE..].iter_mut().zip(sums).for_each(|(out, sum)| *out = sum.total());
        }
    }
}

/// A part of a row, which starts at a cache line.
#[repr(align(64))]
struct Piece<const N: usize>([f64; N]);

/// Like [`products`], for a single row of Φ.
#[inline(always)]
fn products_of_one<T: Float>(r: &[T], width: usize, phi: &[Eight], out: &mut [f64]) {
    const AT_ONCE: usize = 4;
    let n_whole = width / LANES;
    let (phi, last_phi) = phi.split_at(n_whole);
    let finish = |mut sum: Eight, last: &[T]| {
        let last = last.iter().zip(last_phi.iter().flat_map(|phi| &phi.0));
        sum.0.iter_mut().zip(last).for_each(|(sum, (r, phi))| *sum += r.to_f64() * phi);
        sum.total()
    };
    let whole = |row: usize| r[row * width..(row + 1) * width].as_chunks::<LANES>();
    let (together, others) = out.as_chunks_mut::<AT_ONCE>();
    let n_together = AT_ONCE * together.len();
    for (row, out) in (0..).step_by(AT_ONCE).zip(together) {
        let [(a, last_a), (b, last_b), (c, last_c), (d, last_d)] = std::array::from_fn(|k| whole(row + k));
        let mut sums = [Eight::default(); AT_ONCE];
        for ((((a, b), c), d), phi) in a.iter().zip(b).zip(c).zip(d).zip(phi) {
            sums.iter_mut().zip([a, b, c, d]).for_each(|(sum, r)| add_products(sum, r, phi));
        }
        let lasts = sums.into_iter().zip([last_a, last_b, last_c, last_d]);
        out.iter_mut().zip(lasts).for_each(|(out, (sum, last))| *out = finish(sum, last));
    }
    for (row, out) in (n_together..).zip(others) {
        let (eights, last) = whole(row);
        let mut sum = Eight::default();
        eights.iter().zip(phi).for_each(|(r, phi)| add_products(&mut sum, r, phi));
        *out = finish(sum, last);
    }
}

#[inline(always)]
fn add_products<T: Float>(sum: &mut Eight, r: &[T; LANES], phi: &Eight) {
    for ((sum, r), phi) in sum.0.iter_mut().zip(r).zip(&phi.0) {
        *sum += r.to_f64() * phi;
    }
}

/// Adds a row to scores, in place.
#[inline(always)]
pub(crate) fn add<T: Float>(scores: &mut [T], row: &[T]) {
    scores.iter_mut().zip(row).for_each(|(score, &value)| *score += value);
}

/// Adds factor · direction to scores, in place.
#[inline(always)]
pub(crate) fn add_scaled<T: Float>(scores: &mut [T], factor: T, direction: &[T]) {
    scores.iter_mut().zip(direction).for_each(|(score, &value)| *score += factor * value);
}

/// Updates the largest magnitudes so far.
#[inline(always)]
pub(crate) fn take_largest<T: Float>(largest: &mut [T], values: &[T]) {
    for (largest, &value) in largest.iter_mut().zip(values) {
        let magnitude = value.abs();
        *largest = if magnitude > *largest { magnitude } else { *largest };
    }
}

/// Returns the largest of these numbers of values, or 0 if all are negative.
#[inline(always)]
pub(crate) fn largest(values: &[f64], of: impl Fn(f64) -> f64) -> f64 {
    let mut largest = [0.0; LANES];
    vectorised(
        #[inline(always)]
        || {
            for values in values.chunks(LANES) {
                for (largest, &value) in largest.iter_mut().zip(values) {
                    let number = of(value);
                    *largest = if number > *largest { number } else { *largest };
                }
            }
        },
    );
    largest.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::{Total, WeightedGrids};
    use proptest::prelude::*;

    /// Returns the results of every loop.
    #[inline(always)]
    fn loops<T: Float>(cells: &[(f64, f64)], factor: f64) -> (u64, Vec<u64>, Vec<u64>) {
        let r: Vec<T> = cells.iter().map(|c| T::from_f64(c.0)).collect();
        let phi: Vec<f64> = cells.iter().map(|c| c.1).collect();
        let other: Vec<T> = phi.iter().map(|&x| T::from_f64(x)).collect();
        let (mut scores, mut sums) = (r.clone(), phi.clone());
        add(&mut scores, &other);
        add_scaled(&mut scores, T::from_f64(factor), &r);
        take_largest(&mut scores, &other);
        for total in [10_000, Total::LIMIT - 1] {
            let total = Total::new(total).unwrap();
            WeightedGrids::for_sums(r.iter().map(|_| 1e3), total).unwrap().add(factor, &r, &mut sums);
        }
        let bits = |x: f64| x.to_bits();
        (bits(dot(&r, &phi)), scores.iter().map(|s| bits(s.to_f64())).collect(), sums.into_iter().map(bits).collect())
    }

    /// Returns the products of `n_rows` rows of R and q rows of Φ, all of which are multiples of one row.
    #[inline(always)]
    fn tiled<T: Float>(cells: &[(f64, f64)], n_rows: usize, q: usize) -> Vec<f64> {
        let mut out = vec![f64::NAN; n_rows * q];
        let r: Vec<T> = (0..n_rows).flat_map(|i| cells.iter().map(move |c| T::from_f64(c.0 * i as f64))).collect();
        let eight = |k: usize, cells: &[(f64, f64)]| {
            Eight(std::array::from_fn(|lane| cells.get(lane).map_or(0.0, |c| c.1 * k as f64)))
        };
        let phi: Vec<Eight> = (0..q).flat_map(|k| cells.chunks(LANES).map(move |cells| eight(k, cells))).collect();
        products(&r, cells.len(), &phi, &mut out);
        out
    }

    fn bits(values: &[f64]) -> Vec<u64> {
        values.iter().map(|x| x.to_bits()).collect()
    }

    proptest! {
        #[test]
        fn tiles_are_made_of_products(
            cells in prop::collection::vec((-1e3f64..1e3, -1e3f64..1e3), 1..300), n_rows in 1usize..=TILE_ROWS, q in 1usize..40,
        ) {
            let out = tiled::<f64>(&cells, n_rows, q);
            let product: f64 = cells.iter().map(|c| c.0 * c.1).sum();
            let size: f64 = cells.iter().map(|c| (c.0 * c.1).abs()).sum();
            for i in 0..n_rows {
                for k in 0..q {
                    let (factor, found) = ((i * k) as f64, out[i * q + k]);
                    // The sums of rounded products are computed in different orders.
                    prop_assert!((found - factor * product).abs() <= 1e-13 * factor * size, "{found} {}", factor * product);
                }
            }
            // A single row of Φ gives the same bits as among others: row 1 has the factor 1.
            if q > 1 {
                let r: Vec<f64> = (0..n_rows).flat_map(|i| cells.iter().map(move |c| c.0 * i as f64)).collect();
                let eight = |cells: &[(f64, f64)]| Eight(std::array::from_fn(|lane| cells.get(lane).map_or(0.0, |c| c.1)));
                let mut alone = vec![f64::NAN; n_rows];
                products(&r, cells.len(), &cells.chunks(LANES).map(eight).collect::<Vec<_>>(), &mut alone);
                let among: Vec<f64> = out.chunks_exact(q).map(|of_row| of_row[1]).collect();
                prop_assert_eq!(bits(&alone), bits(&among));
            }
            // The bits of a row do not depend on its place in a tile.
            let once: Vec<(f64, f64)> = cells.iter().map(|c| (c.0 * (n_rows - 1) as f64, c.1)).collect();
            let alone = tiled::<f64>(&once, 2, q);
            prop_assert_eq!(bits(&alone[q..]), bits(&out[(n_rows - 1) * q..]));
            let narrow = pulp::Arch::Scalar.dispatch(|| tiled::<f32>(&cells, n_rows, q));
            prop_assert_eq!(bits(&narrow), bits(&vectorised(#[inline(always)] || tiled::<f32>(&cells, n_rows, q))));
        }

        #[test]
        fn bits_are_the_same_on_any_registers(
            cells in prop::collection::vec((-1e3f64..1e3, -1e3f64..1e3), 0..600), factor in -3f64..3.0,
        ) {
            let narrow = pulp::Arch::Scalar;
            prop_assert_eq!(narrow.dispatch(|| loops::<f32>(&cells, factor)), vectorised(#[inline(always)] || loops::<f32>(&cells, factor)));
            prop_assert_eq!(narrow.dispatch(|| loops::<f64>(&cells, factor)), vectorised(#[inline(always)] || loops::<f64>(&cells, factor)));
        }
    }
}
