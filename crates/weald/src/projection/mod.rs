//! Random projections of the outputs: trees whose structure is grown on a few random combinations of many outputs.
//!
//! A projection is a q × d matrix Φ. A projected tree is grown on Z = YΦᵀ, n × q, with the variance criterion. Its
//! leaves are then labelled from the original y, so that predictions are those of an ordinary tree and nothing is
//! decoded. The search for splits costs O(q) for each sample instead of O(d). When the squared distance of any two rows
//! of Z is within 1 ± ε of that of the rows of Y, the same holds for the variance of every node, since the variance of
//! a set is a mean over its pairs; by the lemma of Johnson and Lindenstrauss, some q of the order of ln n / ε² is
//! sufficient for this, whatever d is ([`johnson_lindenstrauss_dim`]). In the forests of the thesis a far smaller q was
//! as accurate, often that of [`NProjections::Log`].
//!
//! Source: A. Joly, *Exploiting random projections and sparsity with random forests and gradient boosting methods*,
//! PhD thesis, Liège, 2016, ch. 5; W. Johnson and J. Lindenstrauss, 1984.
//!
//! ```
//! use ndarray::Array2;
//! use weald::projection::{OutputProjection, Projection};
//! use weald::{Criterion, ForestConfig, Targets};
//!
//! // 40 rows of 3 features, and 60 numbers to predict for each, all of them functions of the features.
//! let x = Array2::from_shape_fn((40, 3), |(i, j)| ((i * (5 + 2 * j) + 3 * j) % 41) as f32);
//! let y = Array2::from_shape_fn((40, 60), |(i, j)| f64::from(x[[i, j % 3]]) * (1.0 + j as f64));
//!
//! let projection = OutputProjection::new(Projection::Gaussian); // 4 projections, as ln 60 = 4.09
//! let config = ForestConfig::extra_trees(Criterion::Variance).n_trees(10).seed(1).output_projection(projection);
//! let forest = config.fit((&x, &y))?;
//!
//! // Fully grown on other targets, but labelled with the original ones: the training rows come back.
//! let error = forest.predict(&x)? - &y;
//! assert!(error.iter().all(|e| e.abs() < 1e-9));
//! # Ok::<(), weald::Error>(())
//! ```
//!
//! # Which family, which q
//!
//! | family | Φ | when |
//! |---|---|---|
//! | [`Gaussian`](Projection::Gaussian) | dense | the first choice |
//! | [`Rademacher`](Projection::Rademacher) | dense signs, or sparse | cheaper for large q; [`Sparsity::Sqrt`] needs samples with many labels |
//! | [`Hadamard`](Projection::Hadamard) | not stored | very many outputs: needs no memory, rows are orthogonal |
//! | [`Subsample`](Projection::Subsample) | q of the outputs | redundant outputs; a baseline |
//! | [`Pca`](Projection::Pca) | computed from y, not random | a baseline; all trees share it, so that they are less diverse |
//! | [`Given`](Projection::Given) | given by the caller | |
//!
//! With a larger q, the structures of the trees are more like those of unprojected trees. Try [`NProjections::Log`],
//! then a few times as many. In the thesis, projections drawn for each [tree](ProjectionScope::Tree) were never worse
//! than a [shared](ProjectionScope::Forest) one: the errors of single trees cancel in the mean over them.
//!
//! | file | what |
//! |---|---|
//! | `matrix` | Φ, stored by output: dense, sparse, or as rows of a Hadamard matrix |
//! | `apply` | y of samples times Φᵀ |
//! | `gaussian`, `rademacher`, `subsample`, `hadamard` | draws of each family |
//! | `pca`, `block`, `eigen` | principal directions of y |
//! | `plan` | the projections of one fit |

mod apply;
mod block;
mod eigen;
mod gaussian;
mod hadamard;
mod matrix;
mod pca;
pub(crate) mod plan;
mod rademacher;
mod subsample;
#[cfg(test)]
mod tests;

pub use matrix::ProjectionMatrix;

use crate::control::Control;
use crate::data::train_y::TrainY;
use crate::data::{Outputs, Targets, Weights};
use crate::elementary::ln;
use crate::error::{Error, Purpose, Result};
use crate::rng::Key;
use crate::setters::setters;

/// Purpose of the key from which Φ is drawn.
pub(crate) const PROJECTION: u64 = u64::from_be_bytes(*b"outproj\0");

/// The argument that most errors of this module name.
pub(crate) const OUTPUT_PROJECTION: &str = "output_projection";
const PURPOSE: Purpose = Purpose(OUTPUT_PROJECTION);

/// How a q × d projection matrix Φ is obtained, where d is the number of columns of predictions
/// ([`crate::Outputs::width`]).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Projection {
    /// Entries are drawn from N(0, 1/q), so that E|Φy|² = |y|². Drawing costs O(q d).
    Gaussian,
    /// Entries are ±√(s/q) with probability 1/(2s) each, and otherwise 0; [`Sparsity`] determines s. E|Φy|² = |y|²
    /// (Achlioptas 2003; Li, Hastie and Church 2006). A row of zeros carries no information and is not drawn: rows
    /// follow the conditional distribution, which differs noticeably only when s is not far below d.
    Rademacher {
        /// The share of entries that are zero.
        sparsity: Sparsity,
    },
    /// Φ consists of q rows of the identity, which are not scaled: trees are grown on q of the outputs.
    Subsample {
        /// Whether an output may be drawn several times. If false, q must not exceed d.
        replacement: bool,
    },
    /// Φ consists of q distinct rows of Sylvester's Hadamard matrix whose order D is the smallest power of two ≥ d, cut
    /// to d columns and divided by √q: entries are ±1/√q. The rows are orthogonal when d = D. q must not exceed D. The
    /// matrix is not stored, and needs O(q) memory.
    Hadamard,
    /// Φ consists of the q principal directions of y with the largest variances, the largest first. The rows of Φ are
    /// orthonormal, and the largest entry of each is positive. q must not exceed d; if q exceeds the rank of y, the
    /// remaining directions are any orthonormal ones.
    ///
    /// The matrix is computed once for a fit, from all samples with their sample and class weights (but not those that
    /// are balanced for each tree), and is the same for all trees. An iteration costs O(stored entries of y × q),
    /// shared by the threads; each thread needs O(d q) memory.
    Pca,
    /// The given matrices: one for all trees, or one for each tree of the fit, in order. They determine the scope and
    /// the number of projections.
    Given(Vec<ProjectionMatrix>),
}

/// The expected share of non-zero entries of a Rademacher projection, which is one in s.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Sparsity {
    /// s is this number, finite and at least 1. With 1, all entries are signs and the matrix is stored densely; 3 is
    /// the choice of Achlioptas (2003).
    Factor(f64),
    /// s = √d, the choice of Li, Hastie and Church (2006).
    Sqrt,
}

/// The number of projections, q.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum NProjections {
    /// q = ⌊½ + ln d⌋, at least 1.
    Log,
    /// q is this number.
    Count(usize),
    /// q is this share of d, in (0, 1], rounded down, at least 1.
    Fraction(f64),
}

impl From<usize> for NProjections {
    fn from(count: usize) -> Self {
        NProjections::Count(count)
    }
}

impl NProjections {
    /// Returns q for d = `n_outputs`.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] for `n_projections` if it is a count of 0 or a share outside (0, 1].
    pub fn resolve(self, n_outputs: usize) -> Result<usize> {
        let d = n_outputs as f64;
        match self {
            NProjections::Log => Ok(((0.5 + ln(d)) as usize).max(1)),
            NProjections::Count(0) => Err(Error::invalid("n_projections", 0, "be at least 1")),
            NProjections::Count(q) => Ok(q),
            NProjections::Fraction(f) if f > 0.0 && f <= 1.0 => Ok(((f * d) as usize).max(1)),
            NProjections::Fraction(f) => Err(Error::invalid("n_projections", f, "be a fraction in (0, 1]")),
        }
    }
}

/// Which trees share a projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProjectionScope {
    /// No trees share one: a projection is drawn for each tree.
    Tree,
    /// All trees of a forest share one projection.
    Forest,
}

/// How the outputs of a tree or a forest are projected: [`crate::TreeConfig::output_projection`].
///
/// Numerical outputs and labels can be projected even if there is only one. A single output of classes is not
/// supported, as it is already one target.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OutputProjection {
    /// How Φ is obtained.
    pub family: Projection,
    /// The number of rows of Φ.
    pub n_projections: NProjections,
    /// Which trees share Φ. [`Projection::Pca`] is always shared by all.
    pub scope: ProjectionScope,
}

setters! { OutputProjection {
    n_projections: impl Into<NProjections>,
    scope: ProjectionScope,
} }

impl OutputProjection {
    /// Returns [`NProjections::Log`] projections, drawn separately for each tree.
    pub fn new(family: Projection) -> Self {
        OutputProjection { family, n_projections: NProjections::Log, scope: ProjectionScope::Tree }
    }
}

impl Projection {
    /// Returns the matrix Φ with d = `n_outputs` columns that a single tree with this seed is grown with, and that a
    /// forest with this seed uses if its trees share one.
    ///
    /// `y` and `sample_weight` are only read by [`Projection::Pca`]; `sample_weight` must have one weight for each
    /// sample of y.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] for `n_projections` when it is 0 or larger than the family allows, and for
    /// `output_projection` if the sparsity is not valid, for [`Projection::Pca`] without y, and for
    /// [`Projection::Given`] with several matrices; [`crate::ErrorKind::Shape`] if y or a given matrix has another
    /// width; [`crate::ErrorKind::OutOfMemory`]; and [`crate::ErrorKind::Interrupted`] when its control is stopped.
    pub fn draw(
        &self,
        n_outputs: usize,
        n_projections: impl Into<NProjections>,
        seed: u64,
        y: Option<&Targets<'_>>,
        sample_weight: Option<&[f64]>,
        control: &Control,
    ) -> Result<ProjectionMatrix> {
        if n_outputs == 0 {
            return Err(Error::invalid("n_outputs", 0, "be at least 1"));
        }
        let q = self.resolve(n_outputs, n_projections.into())?;
        match (self.source(), y) {
            (MatrixSource::Random(family), _) => {
                family.draw(n_outputs, q, Key::from_seed(seed).child(PROJECTION), control)
            }
            (MatrixSource::Given(matrices), _) => match matrices {
                [matrix] => matrix.try_clone(control),
                several => {
                    Err(Error::invalid(OUTPUT_PROJECTION, format!("{} matrices", several.len()), "be a single matrix"))
                }
            },
            (MatrixSource::Principal, None) => {
                Err(Error::unsupported(OUTPUT_PROJECTION, "without y, from which its directions come"))
            }
            (MatrixSource::Principal, Some(y)) => {
                let n_samples = y.n_samples();
                y.check(n_samples)?;
                if y.outputs().width() != n_outputs {
                    return Err(Error::shape("a row of y", n_outputs, y.outputs().width()));
                }
                if n_samples == 0 {
                    return Err(Error::invalid("y", "0 samples", "have at least one sample"));
                }
                Weights::check(sample_weight, n_samples)?;
                let is_there = |row: &u32| sample_weight.is_none_or(|w| w[*row as usize] > 0.0);
                let mut rows = Purpose("the rows of y").with_capacity(n_samples)?;
                rows.extend((0..n_samples as u32).filter(is_there));
                let y = TrainY::new(y)?;
                principal(&y, n_outputs, q, sample_weight, n_samples, &rows, control)
            }
        }
    }

    /// Returns the number of projections, after a check that the family allows it.
    pub(crate) fn resolve(&self, n_outputs: usize, n_projections: NProjections) -> Result<usize> {
        let q = n_projections.resolve(n_outputs)?;
        let at_most = |most: usize, must| {
            if q <= most { Ok(q) } else { Err(Error::invalid("n_projections", q, must)) }
        };
        match self {
            Projection::Gaussian => at_most(u32::MAX as usize, "be below 2^32"),
            Projection::Rademacher { sparsity: Sparsity::Factor(s) } if !(*s >= 1.0 && s.is_finite()) => {
                Err(Error::invalid("sparsity", s, "be finite and at least 1"))
            }
            Projection::Rademacher { .. } | Projection::Subsample { replacement: true } => {
                at_most(u32::MAX as usize, "be below 2^32")
            }
            Projection::Subsample { replacement: false } => {
                at_most(n_outputs, "be at most the number of outputs (without replacement)")
            }
            Projection::Hadamard => at_most(
                n_outputs.next_power_of_two(),
                "be at most the smallest power of two that is not below the number of outputs",
            ),
            Projection::Pca => at_most(n_outputs, "be at most the number of outputs"),
            Projection::Given(matrices) => {
                let first = matrices
                    .first()
                    .ok_or_else(|| Error::invalid(OUTPUT_PROJECTION, "no matrices", "have at least one matrix"))?;
                if let Some(bad) = matrices.iter().find(|m| m.n_outputs() != n_outputs) {
                    return Err(Error::shape("a row of output_projection", n_outputs, bad.n_outputs()));
                }
                match matrices.iter().find(|m| n_projections != NProjections::Log && m.n_projections() != q) {
                    Some(bad) => Err(Error::shape(OUTPUT_PROJECTION, q, bad.n_projections())),
                    None => Ok(first.n_projections()),
                }
            }
        }
    }

    /// Returns where the matrices come from.
    pub(crate) fn source(&self) -> MatrixSource<'_> {
        MatrixSource::Random(match self {
            Projection::Gaussian => RandomFamily::Gaussian,
            Projection::Rademacher { sparsity } => RandomFamily::Rademacher(*sparsity),
            Projection::Subsample { replacement } => RandomFamily::Subsample { replacement: *replacement },
            Projection::Hadamard => RandomFamily::Hadamard,
            Projection::Pca => return MatrixSource::Principal,
            Projection::Given(matrices) => return MatrixSource::Given(matrices),
        })
    }
}

/// Where the matrices of projections come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MatrixSource<'p> {
    Random(RandomFamily),
    /// They are computed from y: see [`principal`].
    Principal,
    Given(&'p [ProjectionMatrix]),
}

/// The families whose matrices are drawn from a key alone.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RandomFamily {
    Gaussian,
    Rademacher(Sparsity),
    Subsample { replacement: bool },
    Hadamard,
}

impl RandomFamily {
    /// Returns a matrix with q rows; q must be the result of `resolve`.
    pub(crate) fn draw(self, n_outputs: usize, q: usize, key: Key, control: &Control) -> Result<ProjectionMatrix> {
        match self {
            RandomFamily::Gaussian => gaussian::draw(q, n_outputs, key, control),
            RandomFamily::Rademacher(Sparsity::Factor(1.0)) => rademacher::draw_dense(q, n_outputs, key, control),
            RandomFamily::Rademacher(sparsity) => {
                let s = match sparsity {
                    Sparsity::Factor(s) => s,
                    Sparsity::Sqrt => (n_outputs as f64).sqrt(),
                };
                rademacher::draw_sparse(q, n_outputs, s, key, control)
            }
            RandomFamily::Subsample { replacement } => subsample::draw(q, n_outputs, replacement, key, control),
            RandomFamily::Hadamard => ProjectionMatrix::hadamard(q, n_outputs, key, control),
        }
    }
}

impl OutputProjection {
    /// Returns an error if the projection is not supported for these outputs.
    pub(crate) fn check(&self, outputs: &Outputs) -> Result<()> {
        if let Outputs::Classes { n_classes } = outputs
            && n_classes.len() == 1
        {
            return Err(Error::unsupported(OUTPUT_PROJECTION, "for a single output of classes"));
        }
        self.family.resolve(outputs.width(), self.n_projections).map(|_| ())
    }
}

/// Returns the q principal directions of `rows` of y.
pub(crate) fn principal(
    y: &TrainY<'_>,
    n_outputs: usize,
    q: usize,
    weights: Option<&[f64]>,
    n_samples: usize,
    rows: &[u32],
    control: &Control,
) -> Result<ProjectionMatrix> {
    let weights = Weights::new(weights, n_samples, rows.len())?;
    principal_of(y, n_outputs, q, &weights, rows, control)
}

/// Returns the principal directions of all samples, some of which may belong to other workers: those of `weights`.
pub(crate) fn principal_of(
    y: &TrainY<'_>,
    n_outputs: usize,
    q: usize,
    weights: &Weights,
    rows: &[u32],
    control: &Control,
) -> Result<ProjectionMatrix> {
    pca::directions(y, n_outputs, weights, rows, q, control)
}

/// Returns a number of dimensions that is sufficient, by the lemma of Johnson and Lindenstrauss, to map `n_samples`
/// points so that all squared distances are within 1 ± `eps` of the original ones: ⌈8 ln n / ε²⌉, at least 1.
///
/// It does not depend on the number of outputs. It is a bound for the worst points; forests need far fewer dimensions.
///
/// ```
/// assert_eq!(weald::projection::johnson_lindenstrauss_dim(1000, 0.5)?, 222);
/// # Ok::<(), weald::Error>(())
/// ```
///
/// # Errors
/// Returns [`crate::ErrorKind::Invalid`] if `n_samples` is 0 or `eps` is not in (0, 1).
pub fn johnson_lindenstrauss_dim(n_samples: usize, eps: f64) -> Result<usize> {
    if n_samples == 0 {
        return Err(Error::invalid("n_samples", 0, "be at least 1"));
    }
    if !(eps > 0.0 && eps < 1.0) {
        return Err(Error::invalid("eps", eps, "be in (0, 1)"));
    }
    Ok(((8.0 * ln(n_samples as f64) / (eps * eps)).ceil() as usize).max(1))
}
