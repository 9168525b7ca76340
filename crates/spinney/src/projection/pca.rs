//! Principal directions of y, for labels, classes and numbers, without a dense copy of them.
//!
//! Subspace iteration on the weighted covariance C of y, which is only applied to blocks of vectors: two products with
//! each row. A round filters the block with a Chebyshev polynomial that is small on the eigenvalues to be damped (Zhou and Saad
//! 2007), makes it orthonormal, and rotates it to the eigenvectors of C inside the block (Rayleigh and Ritz), until C v = λ v to
//! 10⁻¹⁰ of the largest eigenvalue. With few outputs the block is the whole space and the first round is exact.
//!
//! Sums over rows are sums of integers: contributions are rounded to a grid that leaves room for the total weight, so
//! the order of rows cannot be seen, a row of weight zero is no row and one of whole weight w is w rows.

use rand_distr::{Distribution, StandardNormal};

use super::apply::{Entry, sum_columns};
use super::eigen::symmetric_eigen;
use super::matrix::ProjectionMatrix;
use crate::control::Control;
use crate::data::Weights;
use crate::data::weights::exponent_above;
use crate::error::{Result, try_filled};
use crate::rng::{Key, Stream};
use crate::split::dispatch::SplitY;
use crate::tree::fill::exact_mean;

const WHAT: &str = "the principal directions of y";
/// Up to so many outputs the block is the whole space.
const FEW_OUTPUTS: usize = 64;
/// Least number of vectors in the block beyond those asked for: they drive the convergence of the last ones.
const OVERSAMPLING: usize = 16;
/// Error of C v = λ v, relative to the largest eigenvalue, at which the iteration ends.
const TOLERANCE: f64 = 1e-10;
/// Rounds after which it ends anyway; only directions of almost equal variances need more than a dozen.
const MOST_ROUNDS: usize = 100;
/// Highest degree of the filter.
const MOST_DEGREES: usize = 8;
/// The filter may not favour a vector over another by more: rounding would drown the weaker one.
const MOST_GAIN: f64 = 1e7;
/// Purpose of the first block. It is the same for all seeds, as the result does not depend on it.
const START: u64 = u64::from_be_bytes(*b"pcastart");

/// Matrix of the n_projections principal directions of `rows` of y, which have positive weights.
pub(super) fn directions(
    y: &SplitY<'_>,
    n_outputs: usize,
    weights: &Weights,
    rows: &[u32],
    n_projections: usize,
    control: &Control,
) -> Result<ProjectionMatrix> {
    let wide = n_projections + n_projections.max(OVERSAMPLING);
    let width = if n_outputs <= FEW_OUTPUTS { n_outputs } else { wide.min(n_outputs) };
    let vectors = Covariance::new(y, n_outputs, weights, rows)?.eigenvectors(n_projections, width, control)?;
    let signs: Vec<f64> = (0..n_projections).map(|k| vectors.sign(k)).collect();
    ProjectionMatrix::dense_by_rows(n_projections, n_outputs, |k, row| {
        row.enumerate().for_each(|(j, entry)| *entry = vectors.row(j)[k] * signs[k]);
    })
}

/// d × l numbers: l vectors side by side.
#[derive(Clone, Debug)]
struct Block {
    width: usize,
    values: Vec<f64>,
}

/// The weighted covariance of y, times the total weight and a power of 4.
struct Covariance<'a> {
    y: &'a SplitY<'a>,
    n_outputs: usize,
    weights: &'a Weights,
    rows: &'a [u32],
    mean: Vec<f64>,
    /// Powers of two whose product brings the deviations of numbers from their mean below 1.
    down: (f64, f64),
    total_weight: f64,
    /// Size of the grid: 2^−s, and 2^s.
    grid: (f64, f64),
}

fn powers(exponent: i32) -> (f64, f64) {
    (2f64.powi(exponent / 2), 2f64.powi(exponent - exponent / 2))
}

impl<'a> Covariance<'a> {
    fn new(y: &'a SplitY<'a>, n_outputs: usize, weights: &'a Weights, rows: &'a [u32]) -> Result<Self> {
        let total: u64 = rows.iter().map(|&row| weights.units(row as usize)).sum();
        let total_weight = total as f64;
        let mut mean = try_filled(WHAT, 0.0, n_outputs)?;
        let mut down = (1.0, 1.0);
        // At least any contribution of a row of weight 1, for vectors of norm 1.
        let bound = match y {
            SplitY::Slots(y) => {
                let mut counts = try_filled(WHAT, 0u64, n_outputs)?;
                let add =
                    |row: u32| y.of(row).iter().for_each(|&slot| counts[slot as usize] += weights.units(row as usize));
                rows.iter().copied().for_each(add);
                mean.iter_mut().zip(counts).for_each(|(mean, count)| *mean = count as f64 / total_weight);
                let most = rows.iter().map(|&row| y.of(row).len()).max().unwrap_or(0);
                (most as f64).sqrt() + mean.iter().map(|m| m * m).sum::<f64>().sqrt()
            }
            SplitY::Real(y) => {
                for (j, mean) in mean.iter_mut().enumerate() {
                    *mean = exact_mean(rows.iter().map(|&row| (y.of(row)[j], weights.units(row as usize))));
                }
                let deviations = |row: u32| y.of(row).iter().zip(&mean).map(|(y, mean)| y - mean);
                let reach = rows.iter().flat_map(|&row| deviations(row)).fold(0.0f64, |m, z| m.max(z.abs()));
                if reach > 0.0 {
                    down = powers(-exponent_above(reach));
                }
                let square = |row: u32| deviations(row).map(|z| (z * down.0 * down.1).powi(2)).sum::<f64>();
                rows.iter().map(|&row| square(row)).fold(0.0, f64::max)
            }
        };
        // The margin covers the rounding of norms and products.
        let exponent = 61 - exponent_above(total_weight) - exponent_above(bound.max(f64::MIN_POSITIVE));
        let exponent = exponent.min(1000);
        let grid = (2f64.powi(-exponent), 2f64.powi(exponent));
        Ok(Covariance { y, n_outputs, weights, rows, mean, down, total_weight, grid })
    }

    /// C times a block.
    fn times(&self, block: &Block) -> Result<Block> {
        let l = block.width;
        // Vectors of norm below 1, by powers of two.
        let exponents: Vec<i32> = block.norms().into_iter().map(|x| exponent_above(x.max(f64::MIN_POSITIVE))).collect();
        let mut scaled = block.clone();
        for row in scaled.values.chunks_exact_mut(l) {
            row.iter_mut().zip(&exponents).for_each(|(x, e)| *x *= 2f64.powi(-e));
        }
        let mut sums = try_filled(WHAT, 0i64, self.n_outputs * l)?;
        let mut sum_of_rows = vec![0i64; l];
        let mut product = vec![0.0; l];
        let mut steps = vec![0i64; l];
        match self.y {
            SplitY::Slots(y) => {
                let means: Vec<(u32, f64)> = (0..).zip(self.mean.iter().copied()).collect();
                let mut center = vec![0.0; l];
                sum_columns(&scaled.values, &means, &mut center);
                for &row in self.rows {
                    let slots = y.of(row);
                    sum_columns(&scaled.values, slots, &mut product);
                    product.iter_mut().zip(&center).for_each(|(x, c)| *x -= c);
                    self.to_steps(row, 1.0, &product, &mut steps);
                    add(&mut sum_of_rows, &steps);
                    slots.iter().for_each(|slot| add(&mut sums[slot.output() * l..][..l], &steps));
                }
            }
            SplitY::Real(y) => {
                let mut deviations: Vec<(u32, f64)> = Vec::with_capacity(self.n_outputs);
                for &row in self.rows {
                    let values =
                        y.of(row).iter().zip(&self.mean).map(|(y, mean)| (y - mean) * self.down.0 * self.down.1);
                    deviations.clear();
                    deviations.extend((0..).zip(values).filter(|(_, z)| *z != 0.0));
                    sum_columns(&scaled.values, &deviations, &mut product);
                    for &(j, z) in &deviations {
                        self.to_steps(row, z, &product, &mut steps);
                        add(&mut sums[j as usize * l..][..l], &steps);
                    }
                }
            }
        }
        let scales: Vec<f64> = exponents.iter().map(|&e| 2f64.powi(e) * self.grid.0).collect();
        let mut values = try_filled(WHAT, 0.0, self.n_outputs * l)?;
        for (j, (row, sums)) in values.chunks_exact_mut(l).zip(sums.chunks_exact(l)).enumerate() {
            for a in 0..l {
                // Numbers are centred already: their sum over rows is not taken and zero.
                row[a] = (sums[a] as f64 - self.mean[j] * sum_of_rows[a] as f64) * scales[a];
            }
        }
        Ok(Block { width: l, values })
    }

    /// Weight × z × product in steps of the grid.
    fn to_steps(&self, row: u32, z: f64, product: &[f64], steps: &mut [i64]) {
        let units = self.weights.units(row as usize);
        // Rounded before it is weighted, a row of weight 2 is exactly two rows.
        let (before, after) = if self.weights.exact { (1.0, units as i64) } else { (units as f64, 1) };
        let factor = before * z * self.grid.1;
        steps.iter_mut().zip(product).for_each(|(step, x)| *step = (x * factor) as i64 * after);
    }

    /// The first `wanted` of a block of `width` vectors are eigenvectors, of falling eigenvalues.
    fn eigenvectors(&self, wanted: usize, width: usize, control: &Control) -> Result<Block> {
        let mut block = Block::start(self.n_outputs, width)?;
        block.make_orthonormal();
        // What the rounding of sums to the grid leaves of the error at any rate.
        let noise = 8.0 * (self.total_weight * self.n_outputs as f64).sqrt() * self.grid.0;
        for round in 0.. {
            control.check()?;
            let image = self.times(&block)?;
            let (values, rotation) = symmetric_eigen(block.gram(&image), width);
            block = block.rotated(&rotation)?;
            let image = image.rotated(&rotation)?;
            let error = (0..wanted).map(|k| block.residual(&image, k, values[k])).fold(0.0, f64::max);
            if error <= (TOLERANCE * values[0]).max(noise) || round == MOST_ROUNDS {
                break;
            }
            block = self.filtered(block, image, values[0], values[width - 1])?;
            block.make_orthonormal();
        }
        Ok(block)
    }

    /// A polynomial of C, small on [0, edge], applied to a block whose image is known.
    fn filtered(&self, block: Block, image: Block, largest: f64, edge: f64) -> Result<Block> {
        let x = 2.0 * largest / edge - 1.0;
        let degree = if edge > 0.0 && x > 1.0 { (MOST_GAIN.ln() / x.acosh()) as usize } else { 1 };
        if degree <= 1 {
            return Ok(image);
        }
        // Chebyshev: T₁(u) = u, Tₙ₊₁(u) = 2 u Tₙ(u) − Tₙ₋₁(u), u = 2 C / edge − 1.
        let shifted = |image: &Block, block: &Block, before: Option<&Block>| {
            let of = |at: usize| 2.0 * image.values[at] / edge - block.values[at];
            let next = |at: usize| before.map_or(of(at), |before| 2.0 * of(at) - before.values[at]);
            Block { width: block.width, values: (0..block.values.len()).map(next).collect() }
        };
        let mut last = shifted(&image, &block, None);
        let mut before = block;
        for _ in 1..degree.min(MOST_DEGREES) {
            let next = shifted(&self.times(&last)?, &last, Some(&before));
            (before, last) = (last, next);
        }
        Ok(last)
    }
}

fn add(sums: &mut [i64], steps: &[i64]) {
    sums.iter_mut().zip(steps).for_each(|(sum, step)| *sum += step);
}

impl Block {
    /// Random vectors, or the unit vectors when they are all there is.
    fn start(n_outputs: usize, width: usize) -> Result<Self> {
        let mut values = try_filled(WHAT, 0.0, n_outputs * width)?;
        if width == n_outputs {
            (0..width).for_each(|k| values[k * width + k] = 1.0);
        } else {
            let mut stream = Stream::new(Key::from_seed(START));
            values.iter_mut().for_each(|x| *x = StandardNormal.sample(&mut stream));
        }
        Ok(Block { width, values })
    }

    fn row(&self, output: usize) -> &[f64] {
        &self.values[output * self.width..][..self.width]
    }

    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.width)
    }

    fn norms(&self) -> Vec<f64> {
        // Scaled by the largest entry, so that squares neither overflow nor vanish.
        let mut largest = vec![0.0f64; self.width];
        self.rows().for_each(|row| largest.iter_mut().zip(row).for_each(|(m, x)| *m = m.max(x.abs())));
        let mut squares = vec![0.0; self.width];
        for row in self.rows() {
            for (k, x) in row.iter().enumerate().filter(|(k, _)| largest[*k] > 0.0) {
                squares[k] += (x / largest[k]).powi(2);
            }
        }
        largest.into_iter().zip(squares).map(|(m, s): (f64, f64)| m * s.sqrt()).collect()
    }

    /// Gram–Schmidt, each vector twice; one that lies in the span of those before gives way to a unit vector, so the
    /// vectors stay orthonormal when y has not as many dimensions.
    fn make_orthonormal(&mut self) {
        let norms = self.norms();
        for (k, norm) in norms.into_iter().enumerate() {
            if norm > 0.0 {
                self.scale(k, 1.0 / norm);
            }
            self.project_out(k);
            let left = self.norm(k);
            if norm == 0.0 || left < 1e-10 {
                self.replace_by_unit(k);
                self.project_out(k);
            }
            self.scale(k, 1.0 / self.norm(k));
            self.project_out(k);
            self.scale(k, 1.0 / self.norm(k));
        }
    }

    /// Takes the first k vectors, orthonormal, out of vector k.
    fn project_out(&mut self, k: usize) {
        let mut dots = vec![0.0; k];
        self.rows().for_each(|row| dots.iter_mut().zip(row).for_each(|(dot, x)| *dot += x * row[k]));
        for row in self.values.chunks_exact_mut(self.width) {
            let inside: f64 = dots.iter().zip(&*row).map(|(dot, x)| dot * x).sum();
            row[k] -= inside;
        }
    }

    /// The unit vector farthest from the span of the first k vectors.
    fn replace_by_unit(&mut self, k: usize) {
        let inside = |row: &[f64]| row[..k].iter().map(|x| x * x).sum::<f64>();
        let least = self.rows().map(inside).enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        let unit = least.map_or(0, |(j, _)| j);
        for (j, row) in self.values.chunks_exact_mut(self.width).enumerate() {
            row[k] = if j == unit { 1.0 } else { 0.0 };
        }
    }

    fn norm(&self, k: usize) -> f64 {
        self.rows().map(|row| row[k] * row[k]).sum::<f64>().sqrt()
    }

    fn scale(&mut self, k: usize, factor: f64) {
        self.values.chunks_exact_mut(self.width).for_each(|row| row[k] *= factor);
    }

    /// Vᵀ C V, made symmetric.
    fn gram(&self, image: &Block) -> Vec<f64> {
        let l = self.width;
        let mut gram = vec![0.0; l * l];
        for (v, c) in self.rows().zip(image.rows()) {
            for (row, x) in gram.chunks_exact_mut(l).zip(v) {
                row.iter_mut().zip(c).for_each(|(sum, c)| *sum += x * c);
            }
        }
        (0..l * l).map(|at| (gram[at] + gram[at % l * l + at / l]) / 2.0).collect()
    }

    /// The block times an l × l matrix.
    fn rotated(&self, rotation: &[f64]) -> Result<Block> {
        let l = self.width;
        let mut values = try_filled(WHAT, 0.0, self.values.len())?;
        for (to, row) in values.chunks_exact_mut(l).zip(self.rows()) {
            for (x, rotation) in row.iter().zip(rotation.chunks_exact(l)) {
                to.iter_mut().zip(rotation).for_each(|(sum, r)| *sum += x * r);
            }
        }
        Ok(Block { width: l, values })
    }

    /// |C v − λ v| of vector k.
    fn residual(&self, image: &Block, k: usize, value: f64) -> f64 {
        self.rows().zip(image.rows()).map(|(v, c)| (c[k] - value * v[k]).powi(2)).sum::<f64>().sqrt()
    }

    /// The sign of the largest entry of vector k, the first of equals.
    fn sign(&self, k: usize) -> f64 {
        let largest = self.rows().map(|row| row[k]).fold(0.0f64, |m, x| if x.abs() > m.abs() { x } else { m });
        if largest < 0.0 { -1.0 } else { 1.0 }
    }
}
