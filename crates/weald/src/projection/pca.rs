//! Principal directions of y for labels, classes and numerical outputs, without a dense copy of y.
//!
//! This is subspace iteration on the weighted covariance C of y, which is only applied to blocks of vectors, with two
//! products for each sample. A round filters the block with a Chebyshev polynomial that is small on the eigenvalues to
//! be damped (Zhou and Saad 2007), makes it orthonormal, and rotates it to the eigenvectors of C inside the block
//! (Rayleigh and Ritz), until C v = λ v to 10⁻¹⁰ of the largest eigenvalue. With few outputs the block is the whole
//! space, and the first round is exact.
//!
//! Sums over samples are sums of integers: contributions are fixed-point numbers that leave room for the total weight.
//! The result therefore does not depend on the order of the samples or on the number of threads, a sample of weight
//! zero has no effect, and a sample of integer weight w is the same as w samples.

use super::apply::{Summed, sum_columns};
use super::block::Block;
use super::eigen::symmetric_eigen;
use super::matrix::ProjectionMatrix;
use crate::control::Control;
use crate::data::Weights;
use crate::data::train_y::TrainY;
use crate::elementary::{Squared, acosh, ln};
use crate::error::{Error, Purpose, Result};
use crate::exact::reduce::Reduce;
use crate::exact::{FixedPoint, exact_mean_of_all, exponent_above};

pub(super) const PURPOSE: Purpose = Purpose("the principal directions of y");
/// Maximum number of outputs for which the block is the whole space.
const FEW_OUTPUTS: usize = 64;
/// Minimum number of vectors in the block beyond those that are wanted: they determine the convergence of the last
/// ones.
const OVERSAMPLING: usize = 16;
/// Error of C v = λ v, relative to the largest eigenvalue, at which the iteration ends.
const TOLERANCE: f64 = 1e-10;
/// Maximum number of rounds; only directions of almost equal variances need more than a dozen.
const MOST_ROUNDS: usize = 100;
/// Number of vectors whose sums are computed at once: the second-largest block of [`sum_columns`].
const SIDE_BY_SIDE: usize = 8;
/// Minimum number of samples for each thread.
const ROWS_PER_THREAD: usize = 256;
/// Maximum degree of the filter.
const MOST_DEGREES: usize = 8;
/// The filter may not amplify one vector over another by more than this: rounding errors would exceed the weaker one.
const MOST_GAIN: f64 = 1e7;

/// Returns the matrix of the `n_projections` principal directions of `rows` of y, which must have positive weights.
pub(super) fn directions(
    y: &TrainY<'_>,
    n_outputs: usize,
    weights: &Weights,
    rows: &[u32],
    n_projections: usize,
    control: &Control,
) -> Result<ProjectionMatrix> {
    // Deviations from the means of outputs are dense.
    let rows_of_y;
    let y = match y {
        TrainY::SparseReal(y) => {
            rows_of_y = TrainY::Real(y.rows()?);
            &rows_of_y
        }
        // An unknown number counts as the mean of its output.
        TrainY::MaskedReal(y) => {
            rows_of_y = TrainY::Real(y.filled()?);
            &rows_of_y
        }
        y => y,
    };
    let wide = n_projections + n_projections.max(OVERSAMPLING);
    let width = if n_outputs <= FEW_OUTPUTS { n_outputs } else { wide.min(n_outputs) };
    let vectors = Covariance::new(y, n_outputs, weights, rows, control)?.eigenvectors(n_projections, width)?;
    let signs = PURPOSE.collected((0..n_projections).map(|k| vectors.sign(k)))?;
    let entry = |k: usize, j: usize| vectors.row(j)[k] * signs[k];
    ProjectionMatrix::dense_by_rows(n_projections, n_outputs, control, |k| move |j| entry(k, j))
}

/// The weighted covariance of y, times the total weight and a power of 4.
struct Covariance<'a> {
    y: &'a TrainY<'a>,
    n_outputs: usize,
    weights: &'a Weights,
    rows: &'a [u32],
    mean: Vec<f64>,
    /// Scales the deviations of numerical outputs from their mean to below 1.
    below_one: FixedPoint,
    total_weight: f64,
    /// The power of two that makes contributions to sums integers, and its inverse.
    whole: f64,
    per_whole: f64,
    control: &'a Control,
}

/// Returns an error, as covariances of frequencies would need a dense y.
fn masked() -> Error {
    Error::invalid("output_projection", "Pca", "be another family if classes or labels have masked cells")
}

impl<'a> Covariance<'a> {
    fn new(
        y: &'a TrainY<'a>,
        n_outputs: usize,
        weights: &'a Weights,
        rows: &'a [u32],
        control: &'a Control,
    ) -> Result<Self> {
        let mut pulse = control.pulse();
        let workers = weights.workers();
        let total_weight = workers.sum_of(rows.iter().map(|&row| weights.units(row as usize)).sum::<u64>())? as f64;
        let mut mean = PURPOSE.filled(0.0, n_outputs)?;
        let mut below_one = FixedPoint::ONE;
        // An upper bound of the contribution of a sample of weight 1, for vectors of norm 1.
        let bound = match y {
            TrainY::SparseReal(_) | TrainY::MaskedSlots(_) | TrainY::MaskedReal(_) => return Err(masked()),
            TrainY::Slots(y) => {
                let mut counts = PURPOSE.filled(0u64, n_outputs)?;
                for &row in rows {
                    pulse.after(1 + y.of(row).len())?;
                    y.of(row).iter().for_each(|&slot| counts[slot as usize] += weights.units(row as usize));
                }
                workers.sum(&mut counts)?;
                mean.iter_mut().zip(counts).for_each(|(mean, count)| *mean = count as f64 / total_weight);
                let most = workers.max_of(rows.iter().map(|&row| y.of(row).len() as u64).max().unwrap_or(0))?;
                (most as f64).sqrt() + mean.iter().map(|m| m * m).sum::<f64>().sqrt()
            }
            TrainY::Real(y) => {
                for (j, mean) in mean.iter_mut().enumerate() {
                    pulse.after(rows.len())?;
                    let factor = y.factors()[j];
                    let own = rows.iter().map(|&row| (y.of(row)[j] * factor, weights.units(row as usize)));
                    *mean = exact_mean_of_all(own, workers)?;
                }
                let deviations = |row: u32| y.searched(row).zip(&mean).map(|(y, mean)| y - mean);
                let mut reach = 0.0f64;
                for &row in rows {
                    pulse.after(n_outputs)?;
                    reach = deviations(row).fold(reach, |m, z| m.max(z.abs()));
                }
                let reach = workers.max_of(reach)?;
                if reach > 0.0 {
                    below_one = FixedPoint::with_bits(reach, 0);
                }
                let square = |row: u32| deviations(row).map(|z| below_one.up(z).squared()).sum::<f64>();
                let mut largest = 0.0;
                for &row in rows {
                    pulse.after(n_outputs)?;
                    largest = f64::max(largest, square(row));
                }
                workers.max_of(largest)?
            }
        };
        // The margin covers the rounding of norms and products.
        let fixed = FixedPoint::with_bits(bound.max(f64::MIN_POSITIVE), 61 - exponent_above(total_weight));
        let (whole, per_whole) = FixedPoint::of_exponent(fixed.exponent().min(1000)).values();
        Ok(Covariance { y, n_outputs, weights, rows, mean, below_one, total_weight, whole, per_whole, control })
    }

    /// Returns C times a block.
    fn times(&self, block: &Block) -> Result<Block> {
        let l = block.width;
        // Vectors are scaled by powers of two to norms below 1. Groups of vectors that are summed side by side are
        // filled up with zeros.
        let below_one = |norm: f64| FixedPoint::with_bits(norm.max(f64::MIN_POSITIVE), 0).values();
        let factors = PURPOSE.collected(block.norms(self.control)?.into_iter().map(below_one))?;
        let stride = l.next_multiple_of(SIDE_BY_SIDE);
        let mut scaled = self.control.filled(PURPOSE, 0.0, self.n_outputs.saturating_mul(stride))?;
        for (to, row) in scaled.chunks_exact_mut(stride).zip(block.rows()) {
            to.iter_mut().zip(row).zip(&factors).for_each(|((to, x), (factor, _))| *to = x * factor);
        }
        // Sums of integers do not depend on how they are divided.
        let n_threads = self.control.n_threads();
        let n_rows = self.rows.len().div_ceil(n_threads.min(self.rows.len().div_ceil(ROWS_PER_THREAD)).max(1)).max(1);
        let parts: Vec<&[u32]> = self.rows.chunks(n_rows).collect();
        let mut sums =
            Sums { by_output: self.control.filled(PURPOSE, 0, scaled.len())?, of_rows: PURPOSE.filled(0, stride)? };
        for part in crate::pool::map(n_threads, parts.len(), |i| self.sums(parts[i], &scaled, stride))? {
            add(&mut sums.by_output, &part.by_output);
            add(&mut sums.of_rows, &part.of_rows);
        }
        self.weights.workers().sum(&mut sums.by_output)?;
        self.weights.workers().sum(&mut sums.of_rows)?;
        let scales = PURPOSE.collected(factors.iter().map(|(_, inverse)| inverse * self.per_whole))?;
        let mut values = self.control.filled(PURPOSE, 0.0, self.n_outputs.saturating_mul(l))?;
        let mut pulse = self.control.pulse();
        for (j, row) in values.chunks_exact_mut(l).enumerate() {
            pulse.after(l)?;
            for a in 0..l {
                // Numerical outputs are already centred: their sum over samples is zero and not computed.
                row[a] = (sums.by_output[j * stride + a] as f64 - self.mean[j] * sums.of_rows[a] as f64) * scales[a];
            }
        }
        Ok(Block { width: l, values })
    }

    /// Returns the contribution of `rows` to the product with `vectors`, whose row j is `vectors[j *
    /// stride..][..stride]`.
    fn sums(&self, rows: &[u32], vectors: &[f64], stride: usize) -> Result<Sums> {
        let mut by_output = self.control.filled(PURPOSE, 0i64, vectors.len())?;
        let mut of_rows = PURPOSE.filled(0i64, stride)?;
        let mut product = PURPOSE.filled(0.0, stride)?;
        let mut pulse = self.control.pulse();
        match self.y {
            TrainY::SparseReal(_) | TrainY::MaskedSlots(_) | TrainY::MaskedReal(_) => return Err(masked()),
            TrainY::Slots(y) => {
                let means = PURPOSE.collected(self.mean.iter().enumerate().map(|(j, &mean)| (j as u32, mean)))?;
                let mut center = PURPOSE.filled(0.0, stride)?;
                let mut steps = PURPOSE.filled(0i64, stride)?;
                sum_columns(vectors, &means, &mut center);
                for &row in rows {
                    let slots = y.of(row);
                    pulse.after(stride * (1 + slots.len()))?;
                    sum_columns(vectors, slots, &mut product);
                    product.iter_mut().zip(&center).for_each(|(x, c)| *x -= c);
                    let (before, after) = self.factors(row);
                    let factor = before * self.whole;
                    steps.iter_mut().zip(&product).for_each(|(step, x)| *step = (x * factor) as i64 * after);
                    add(&mut of_rows, &steps);
                    slots.iter().for_each(|slot| add(&mut by_output[slot.output() * stride..][..stride], &steps));
                }
            }
            TrainY::Real(y) => {
                let mut deviations: Vec<(u32, f64)> = PURPOSE.with_capacity(self.n_outputs)?;
                let mut parts = SignedParts::new(stride)?;
                for &row in rows {
                    let values = y.searched(row).zip(&self.mean).map(|(y, mean)| self.below_one.up(y - mean));
                    deviations.clear();
                    deviations.extend((0..).zip(values).filter(|(_, z)| *z != 0.0));
                    sum_columns(vectors, &deviations, &mut product);
                    let (before, after) = self.factors(row);
                    parts.split(&product);
                    for &(j, z) in &deviations {
                        pulse.after(stride)?;
                        parts.add_multiple(
                            before * z * self.whole,
                            after,
                            &mut by_output[j as usize * stride..][..stride],
                        );
                    }
                }
            }
        }
        Ok(Sums { by_output, of_rows })
    }

    /// Returns two factors whose product is the weight of a sample: one is applied before rounding, the other after it.
    fn factors(&self, row: u32) -> (f64, i64) {
        let units = self.weights.units(row as usize);
        // If products are rounded before they are weighted, a sample of weight 2 is exactly two samples.
        if self.weights.exact { (1.0, units as i64) } else { (units as f64, 1) }
    }

    /// Returns a block of `width` vectors, of which the first `wanted` are eigenvectors, with decreasing eigenvalues.
    fn eigenvectors(&self, wanted: usize, width: usize) -> Result<Block> {
        let control = self.control;
        let mut block = Block::start(self.n_outputs, width, control)?;
        block.make_orthonormal(control)?;
        // The part of the error that is due to the rounding of sums to the grid.
        let noise = 8.0 * (self.total_weight * self.n_outputs as f64).sqrt() * self.per_whole;
        for round in 0.. {
            control.check()?;
            let image = self.times(&block)?;
            let (values, rotation) = symmetric_eigen(block.gram(&image, control)?, width, control)?;
            block = block.rotated(&rotation, control)?;
            let image = image.rotated(&rotation, control)?;
            let error = (0..wanted).map(|k| block.residual(&image, k, values[k])).fold(0.0, f64::max);
            if error <= (TOLERANCE * values[0]).max(noise) || round == MOST_ROUNDS {
                break;
            }
            block = self.filtered(block, image, values[0], values[width - 1])?;
            block.make_orthonormal(control)?;
        }
        Ok(block)
    }

    /// Applies a polynomial of C that is small on [0, edge] to a block whose image is known.
    fn filtered(&self, block: Block, image: Block, largest: f64, edge: f64) -> Result<Block> {
        let x = 2.0 * largest / edge - 1.0;
        let degree = if edge > 0.0 && x > 1.0 { (ln(MOST_GAIN) / acosh(x)) as usize } else { 1 };
        if degree <= 1 {
            return Ok(image);
        }
        // Chebyshev: T₁(u) = u, Tₙ₊₁(u) = 2 u Tₙ(u) − Tₙ₋₁(u), u = 2 C / edge − 1.
        let shifted = |image: &Block, block: &Block, before: Option<&Block>| -> Result<Block> {
            let of = |at: usize| 2.0 * image.values[at] / edge - block.values[at];
            let next = |at: usize| before.map_or(of(at), |before| 2.0 * of(at) - before.values[at]);
            Ok(Block { width: block.width, values: PURPOSE.collected((0..block.values.len()).map(next))? })
        };
        let mut last = shifted(&image, &block, None)?;
        let mut before = block;
        for _ in 1..degree.min(MOST_DEGREES) {
            let next = shifted(&self.times(&last)?, &last, Some(&before))?;
            (before, last) = (last, next);
        }
        Ok(last)
    }
}

/// Sums of integers over some samples.
#[derive(Debug)]
struct Sums {
    by_output: Vec<i64>,
    of_rows: Vec<i64>,
}

/// Numbers as magnitudes and signs, so that multiples of them can be truncated by operations that processors do on two
/// numbers at a time; `as` is not one of these.
///
/// For floats of at least 2⁵², the last bit is the unit: a magnitude that is shifted there is rounded to a neighbouring
/// integer, which its bits then represent, at most one too large.
#[derive(Debug)]
struct SignedParts {
    magnitudes: Vec<f64>,
    largest: f64,
    /// −1 for negative numbers, otherwise 0: x ^ s − s is then −x or x.
    signs: Vec<i64>,
}

const SHIFT: f64 = (1u64 << 52) as f64;

impl SignedParts {
    fn new(len: usize) -> Result<Self> {
        Ok(SignedParts { magnitudes: PURPOSE.filled(0.0, len)?, largest: 0.0, signs: PURPOSE.filled(0, len)? })
    }

    fn split(&mut self, numbers: &[f64]) {
        self.magnitudes.iter_mut().zip(numbers).for_each(|(magnitude, x)| *magnitude = x.abs());
        self.largest = self.magnitudes.iter().copied().fold(0.0, f64::max);
        self.signs.iter_mut().zip(numbers).for_each(|(sign, x)| *sign = x.to_bits() as i64 >> 63);
    }

    /// Adds `(number * factor) as i64 * after` for each number.
    fn add_multiple(&self, factor: f64, after: i64, sums: &mut [i64]) {
        let size = factor.abs();
        let after = if factor < 0.0 { -after } else { after };
        let numbers = self.magnitudes.iter().zip(&self.signs);
        let sums = sums.iter_mut().zip(numbers);
        let steps = |magnitude: f64, sign: i64| {
            let x = magnitude * size;
            let shifted = x + SHIFT;
            let one_too_many = i64::from(shifted - SHIFT > x);
            ((shifted.to_bits() as i64 - one_too_many) ^ sign) - (SHIFT.to_bits() as i64 ^ sign)
        };
        match after {
            _ if self.largest * size >= SHIFT => {
                sums.for_each(|(sum, (x, sign))| *sum += (((x * size) as i64 ^ sign) - sign) * after);
            }
            1 => sums.for_each(|(sum, (x, sign))| *sum += steps(*x, *sign)),
            -1 => sums.for_each(|(sum, (x, sign))| *sum -= steps(*x, *sign)),
            _ => sums.for_each(|(sum, (x, sign))| *sum += steps(*x, *sign) * after),
        }
    }
}

fn add(sums: &mut [i64], steps: &[i64]) {
    sums.iter_mut().zip(steps).for_each(|(sum, step)| *sum += step);
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use proptest::prelude::*;

    use super::*;
    use crate::data::Targets;
    use crate::exact::reduce::Workers;
    use crate::exact::reduce::tests::by_two;
    use crate::projection::Projection;
    use crate::rng::{Key, Stream};

    /// Returns the weighted covariance, of shape d × d, computed from dense columns.
    fn covariance(y: &Array2<f64>, w: &[f64]) -> Array2<f64> {
        let w = ndarray::ArrayView1::from(w);
        let total = w.sum();
        let centered = y - &(w.dot(y) / total);
        centered.t().dot(&(&centered * &w.insert_axis(ndarray::Axis(1)))) / total
    }

    fn block(y: &Targets<'_>, d: usize, w: &[f64], wanted: usize, width: usize) -> Array2<f64> {
        let rows: Vec<u32> = (0..w.len() as u32).filter(|&row| w[row as usize] > 0.0).collect();
        let y = TrainY::new(y).unwrap();
        let weights = Weights::new(Some(w), w.len(), rows.len()).unwrap();
        let control = Control::default();
        let covariance = Covariance::new(&y, d, &weights, &rows, &control).unwrap();
        let block = covariance.eigenvectors(wanted, width).unwrap();
        Array2::from_shape_fn((d, wanted), |(j, k)| block.row(j)[k])
    }

    /// Checks that C v = λ v for orthonormal v, with λ in decreasing order and not below any of the remaining
    /// eigenvalues.
    fn assert_principal(vectors: &Array2<f64>, covariance: &Array2<f64>, tolerance: f64) {
        let d = covariance.nrows();
        let (values, _) = symmetric_eigen(covariance.iter().copied().collect(), d, &Control::default()).unwrap();
        let scale = values[0].max(f64::MIN_POSITIVE);
        let gram = vectors.t().dot(vectors);
        // Vectors are orthonormal up to the rounding of their products.
        assert!(gram.indexed_iter().all(|((i, j), v)| (v - if i == j { 1.0 } else { 0.0 }).abs() < 1e-12));
        let image = covariance.dot(vectors);
        for (k, v) in vectors.columns().into_iter().enumerate() {
            // The iteration ends at `TOLERANCE`. The tolerance of the callers also covers the rounding of the
            // covariances.
            let error = (&image.column(k) - &(&v * values[k])).mapv(f64::abs).sum();
            assert!(error <= tolerance * scale * d as f64, "{k}: {error:e} of {scale:e}");
        }
    }

    /// Returns numbers of rank `rank`, plus constant columns, whose eigenvalues decrease by the factor `ratio`.
    fn numbers(seed: u64, n: usize, d: usize, rank: usize, ratio: f64) -> Array2<f64> {
        let mut stream = Stream::new(Key::from_seed(seed));
        let mut normal = || stream.normal();
        let left = Array2::from_shape_simple_fn((n, rank), &mut normal);
        let right =
            Array2::from_shape_fn((rank, d), |(k, j)| if j % 7 == 3 { 0.0 } else { normal() * ratio.powi(k as i32) });
        left.dot(&right) + 5.0
    }

    fn labels(y: &Array2<f64>) -> (Targets<'_>, Array2<f64>) {
        let labels = crate::testing::labels::on(y.dim(), |i, j| y[[i, j]] > 6.0);
        (Targets::Labels(labels), y.mapv(|v| f64::from(u8::from(v > 6.0))))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]

        #[test]
        fn directions_are_those_of_the_dense_covariance(
            seed in any::<u64>(), n in 1usize..30, d in 1usize..60, rank in 1usize..8, ratio in 0.5f64..1.0, extra in 0usize..20,
        ) {
            let numbers = numbers(seed, n, d, rank, ratio);
            let w: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i > 0)) * 0.25 * (i % 5) as f64 + f64::from(u8::from(i == 0))).collect();
            let (labels, dense_labels) = labels(&numbers);
            let wanted = 1 + (seed as usize) % d;
            // As in growth, some more vectors than wanted are computed.
            let width = (wanted + OVERSAMPLING + extra).min(d);
            for (y, dense) in [(Targets::Real(numbers.view()), &numbers), (labels, &dense_labels)] {
                assert_principal(&block(&y, d, &w, wanted, width), &covariance(dense, &w), 1e-8);
            }
        }
    }

    #[test]
    fn wide_outputs_converge_in_a_narrow_block() {
        for (n, d, ratio) in [(60, 200, 1.0), (300, 120, 0.97), (40, 150, 0.3)] {
            let numbers = numbers(1, n, d, 100, ratio);
            let (labels, dense_labels) = labels(&numbers);
            let w = vec![1.0; n];
            for (y, dense) in [(Targets::Real(numbers.view()), &numbers), (labels, &dense_labels)] {
                assert_principal(&block(&y, d, &w, 7, 23), &covariance(dense, &w), 1e-9);
            }
        }
    }

    #[test]
    fn scales_of_targets_and_weights_do_not_matter() {
        let numbers = numbers(2, 20, 10, 4, 0.7);
        let w: Vec<f64> = (0..20).map(|i| 1.0 + f64::from(i % 3)).collect();
        let plain = block(&Targets::Real(numbers.view()), 10, &w, 3, 10);
        for (scale, weight_scale) in [(2f64.powi(480), 1.0), (2f64.powi(-900), 2f64.powi(-400)), (1.0, 2f64.powi(300))]
        {
            let w: Vec<f64> = w.iter().map(|w| w * weight_scale).collect();
            let scaled = block(&Targets::Real(numbers.mapv(|v| v * scale).view()), 10, &w, 3, 10);
            // Scales are powers of two. The remaining difference is due to the convergence of the iteration.
            assert!((&scaled - &plain).iter().all(|v| v.abs() < 1e-9), "{scale:e}");
        }
    }

    fn assert_multiples(numbers: &[f64], factor: f64, after: i64) {
        let mut parts = SignedParts::new(numbers.len()).unwrap();
        parts.split(numbers);
        let mut sums = vec![7; numbers.len()];
        parts.add_multiple(factor, after, &mut sums);
        let expected: Vec<i64> = numbers.iter().map(|x| 7 + (x * factor) as i64 * after).collect();
        assert_eq!(sums, expected, "{numbers:?} {factor:e} {after}");
    }

    proptest! {
        #[test]
        fn multiples_are_those_of_the_language(
            numbers in prop::collection::vec((-1.0f64..1.0, 0i32..70, any::<bool>()), 1..20),
            factor in -1.0f64..1.0, up in 0i32..61, after in 1i64..4,
        ) {
            let factor = factor * 2f64.powi(up);
            let number = |(x, down, whole): &(f64, i32, bool)| {
                let x = x * 2f64.powi(-down);
                if *whole { (x * factor).trunc() / factor } else { x }
            };
            assert_multiples(&numbers.iter().map(number).collect::<Vec<f64>>(), factor, after);
        }
    }

    #[test]
    fn multiples_of_halves_and_limits() {
        let near_one = [1.0 - f64::EPSILON / 2.0, 1.0, 1.0 + f64::EPSILON];
        for limit in [SHIFT, SHIFT - 0.5, SHIFT / 2.0 - 0.25, SHIFT / 2.0, SHIFT * 2.0, SHIFT * 256.0] {
            for x in [0.0, 0.5, 1.5, 2.5, 5e-324, limit].into_iter().chain(near_one) {
                for factor in [1.0, -1.0] {
                    assert_multiples(&[x, -x], factor, 1);
                    assert_multiples(&[x, -x, limit], factor, 3);
                }
            }
        }
    }

    #[test]
    fn workers_do_not_matter() {
        let (n, d) = (60, 9);
        let numbers = numbers(5, n, d, 4, 0.8);
        let w: Vec<f64> = (0..n).map(|i| f64::from(i as u32 % 4)).collect();
        let (labels, _) = labels(&numbers);
        for y in [Targets::Real(numbers.view()), labels] {
            let y = TrainY::new(&y).unwrap();
            // The samples of the other workers have weight zero.
            let found = |workers: &Workers, is_own: &dyn Fn(usize) -> bool| {
                let own: Vec<f64> = (0..n).map(|i| if is_own(i) { w[i] } else { 0.0 }).collect();
                let rows: Vec<u32> = (0..n as u32).filter(|&row| own[row as usize] > 0.0).collect();
                let weights = Weights::of_one_of(workers, Some(&own), n, rows.len()).unwrap();
                let control = Control::default();
                let covariance = Covariance::new(&y, d, &weights, &rows, &control).unwrap();
                covariance.eigenvectors(3, d).unwrap().values
            };
            let of_one = found(&Workers::One, &|_| true);
            for of_two in by_two(|worker, workers| found(workers, &|i| usize::from(i % 5 < 2) == worker)) {
                assert_eq!(of_two, of_one);
            }
        }
    }

    #[test]
    fn threads_do_not_matter() {
        let numbers = numbers(4, 700, 90, 12, 0.9);
        let w: Vec<f64> = (0..700).map(|i| f64::from(i % 4)).collect();
        let (labels, _) = labels(&numbers);
        for y in [Targets::Real(numbers.view()), labels] {
            let draw = |n| Projection::Pca.draw(90, 5, 0, Some(&y), Some(&w), &Control::with_threads(n)).unwrap();
            assert_eq!(draw(1), draw(3));
        }
    }

    #[test]
    fn signs_are_one_choice() {
        let numbers = numbers(3, 30, 12, 5, 0.6);
        let matrix = |y: &Array2<f64>| {
            let control = Control::default();
            let matrix = Projection::Pca.draw(12, 5, 0, Some(&Targets::Real(y.view())), None, &control).unwrap();
            matrix.to_dense(&control).unwrap()
        };
        let (plain, mirrored) = (matrix(&numbers), matrix(&numbers.mapv(|v| -v)));
        // Both are accurate to the convergence of the iteration, `TOLERANCE` of the largest variance.
        assert!((&plain - &mirrored).iter().all(|v| v.abs() < 1e-9));
        for row in plain.rows() {
            let largest = row.iter().fold(0.0f64, |m, v| if v.abs() > m.abs() { *v } else { m });
            assert!(largest > 0.0);
        }
    }
}
