//! Compression of forests: a sparse linear model over the nodes of a forest, which is converted back to a smaller
//! forest.
//!
//! ```
//! use ndarray::{Array2, array};
//! use weald::compress::CompressConfig;
//! use weald::{Control, Criterion, ForestConfig, Matrix, Targets};
//!
//! let x = Array2::from_shape_fn((40, 2), |(i, j)| ((i * (3 + 4 * j)) % 40) as f32);
//! let y = Array2::from_shape_fn((40, 1), |(i, _)| f64::from(u8::from(x[[i, 0]] > 19.5)));
//! let (x, y, control) = (Matrix::from(x.view()), Targets::Real(y.view()), Control::default());
//! let forest = ForestConfig::extra_trees(Criterion::Variance).n_trees(20).fit((&x, &y))?;
//!
//! let path = CompressConfig::stagewise(0.01).path(&forest, (&x, &y, &control), None)?;
//! let small = path.at(1.5, &control)?;
//! let all: usize = forest.trees().iter().map(|tree| tree.n_nodes() / 2).sum();
//! assert!(small.n_test_nodes() * 4 < all);
//! assert!(path.train_loss()[path.step_of(1.5)?] < 0.1 * path.train_loss()[0]);
//! # Ok::<(), weald::Error>(())
//! ```
//!
//! Node j of a tree has an *indicator*, which is 1 for samples that pass it; roots are left out, as they are the
//! constant. Scores are f(x) = b + Σ β_j over the nodes that x passes, where β_j has one number for each score: the
//! coefficients of a node are zero or non-zero as a group. A *test node* is a node that splits. t is the sum of the
//! lengths of the moves, or of all β_j.
//!
//! | module | what |
//! |---|---|
//! | `config` | parameters |
//! | `indicators` | the samples in each node, and sums over the samples of nodes, without samples × nodes memory |
//! | `masked` | y with unknown cells |
//! | `mass` | weights of nodes, means and deviations of indicators |
//! | `rows` | targets, scores, losses and negative gradients of samples, including held-out ones |
//! | `engine`, `best` | the choice of the node along which the loss falls fastest, updated move by move |
//! | `stagewise` | monotone forward stagewise steps (Hastie et al. 2007; Joly 2012) |
//! | `lasso` | the exact path, by coordinate descent over groups |
//! | `grow` | globally induced forests: each step adds a node below the existing ones |
//! | `path` | all steps, which can be replayed to any of them |
//! | `rebuild` | conversion of coefficients to an ordinary forest |
//! | `model` | that forest, and the meaning of its scores |
//! | `cross_validate` | the paths of folds, each with its own forest |
//!
//! Labels may have different weights ([`CompressConfig::output_weights`]): the description above then applies to
//! columns that are multiplied by the roots of their weights, y and scores alike.
//!
//! Samples are sent down every tree, including those that a bootstrapped tree has not drawn; samples of weight zero are
//! left out. In addition to the forest, memory is needed for two numbers of 32 bits for each sample and tree, about a
//! dozen bytes for each node, `width` float64 for each sample (twice that for the logistic loss; none for stagewise
//! steps on the squared error of more than 16 labels, if all are known and indicators are not standardised) and, with
//! up to 16 scores, for each node.

mod best;
mod config;
mod cross_validate;
mod engine;
mod grow;
mod indicators;
mod lasso;
mod masked;
mod mass;
pub(crate) mod model;
mod path;
mod rebuild;
mod rows;
mod stagewise;
#[cfg(test)]
mod tests;

pub use config::{CompressConfig, CompressLoss, CompressMethod};
pub use cross_validate::CrossValidation;
pub use model::Compressed;
pub use path::{Coefficient, CompressionPath};

use crate::control::Control;
use crate::data::Targets;
use crate::data::dataset::Names;
use crate::data::targets::is_binary;
use crate::data::{Dataset, Outputs};
use crate::error::{Error, Purpose, Result};
use crate::forest::Forest;
use crate::loss::Link;
use engine::{Engine, Scoring};
use indicators::Indicators;
use masked::Unmasked;
use mass::NodeMass;
use path::Track;
use rows::FitRows;

/// What a path keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    /// Everything.
    All,
    /// Only losses and sizes; the loss of the forest before compression is computed as well.
    Records,
}

impl CompressConfig {
    /// Returns the whole path of `forest` on a [`Dataset`], or a pair of X, (n_samples, n_features), and y.
    ///
    /// `held_out` has a weight for each held-out sample, on which the model is tested after every step, and zero for
    /// training samples; held-out samples must have a sample weight of zero. Everything runs on one thread, except that
    /// X is sent down the trees in parallel.
    ///
    /// Unknown cells ([`Dataset::y_weight`]) have a residual or gradient of zero: gradients, steps, units, constants and
    /// losses are those of the known cells, and a sample without any has weight zero. This is only supported for
    /// stagewise steps: those of the lasso and of growth need the same curvature for all outputs.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] or [`crate::ErrorKind::Shape`] if parameters or data are not valid, and
    /// for a forest with other features or outputs; [`crate::ErrorKind::OutOfMemory`] or
    /// [`crate::ErrorKind::Interrupted`].
    pub fn path<'d>(
        &self,
        forest: &Forest,
        data: impl Into<Dataset<'d>>,
        held_out: Option<&[f64]>,
    ) -> Result<CompressionPath> {
        let data = data.into();
        let control = &data.under();
        Ok(self.run(forest, &data, held_out, Keep::All, control)?.0)
    }

    fn run(
        &self,
        forest: &Forest,
        data: &Dataset<'_>,
        held_out: Option<&[f64]>,
        keep: Keep,
        control: &Control,
    ) -> Result<(CompressionPath, f64)> {
        let outputs = data.outputs();
        self.check(&outputs)?;
        if forest.by_output {
            return Err(Error::invalid("forest", "trees of one output each", "have trees of all outputs"));
        }
        if forest.trees.is_empty() {
            return Err(Error::invalid("forest", "0 trees", "have at least one tree"));
        }
        let unmasked = if data.has_mask() { Unmasked::new(data, held_out, control)? } else { None };
        let (data, held_out) = match &unmasked {
            None => (data.view(), held_out),
            Some(unmasked) => (unmasked.of_training(data), unmasked.held_out()),
        };
        let restored = unmasked.as_ref().map(|_| data.restored(false)).transpose()?.flatten();
        let data = data.with_restored(restored.as_ref());
        data.check(&Names::TRAINING)?;
        if let Targets::SparseReal(_) = data.y() {
            return Err(Error::invalid("y", "sparse numerical outputs", "be dense, as residuals are"));
        }
        let (x, y, known, sample_weight) = (data.x(), data.y(), data.known(), data.weight_by_row()?);
        if known.is_some() {
            self.check_masked()?;
        }
        if forest.outputs != outputs {
            return Err(Error::invalid("forest", "a forest with other outputs", "have the outputs and classes of y"));
        }
        let fit = FitRows::new(self, y, sample_weight.as_deref(), held_out, known, control)?;
        let full = match keep {
            Keep::All => f64::NAN,
            Keep::Records => fit.loss_of_predictions(forest.predict((x, control))?.view())?,
        };
        let rows = fit.rows();
        let nodes = Indicators::new(forest, x, &rows.ids, control)?;
        let mass = NodeMass::new(&nodes, rows)?;
        let what = "the rows of a path";
        let (width, scale, start) =
            (rows.width, Purpose(what).copied(&rows.scale)?, Purpose(what).copied(&rows.start)?);
        let mut track = Track::new(&nodes, rows, self.max_test_nodes, keep == Keep::All)?;
        let (records, steps) = match self.method {
            CompressMethod::Stagewise { step_size, max_steps } => {
                let scoring = stagewise::scoring(self.standardize);
                let mut engine = Engine::new(&nodes, fit, &mass, scoring, control)?;
                let steps = stagewise::Stride {
                    size: step_size,
                    most: max_steps.unwrap_or(usize::MAX),
                    outputs: self.step_outputs,
                };
                stagewise::stagewise(&mut engine, &mut track, steps, control)?;
                track.into_steps()
            }
            CompressMethod::Grow { learning_rate, max_nodes, candidate_window } => {
                let growth = grow::Growth { learning_rate, max_nodes, window: candidate_window, seed: self.seed };
                let mut engine = Engine::new(&nodes, fit, &mass, Scoring::Gain, control)?;
                grow::grow(forest, &mut engine, &mut track, growth, control)?;
                track.into_steps()
            }
            CompressMethod::Lasso { n_alphas, eps, tol, max_iter } => {
                drop(track);
                let penalties = lasso::Penalties { n: n_alphas, eps, tol, max_iter };
                lasso::path(nodes, fit.kept(control)?, &mass, penalties, self, control)?
            }
        };
        let path = CompressionPath {
            forest: forest.clone(),
            link: self.link(&outputs),
            outputs,
            width,
            scale,
            start,
            // The lasso always works with indicators that are 0 and 1.
            mass: (self.standardize && matches!(steps, path::Steps::Moves { .. })).then_some(mass),
            records,
            steps,
        };
        Ok((path, full))
    }

    fn link(&self, outputs: &Outputs) -> Link {
        match (outputs, self.loss) {
            (Outputs::Real { .. }, _) => Link::Identity,
            (Outputs::Labels { .. } | Outputs::Classes { .. }, CompressLoss::SquaredError) => Link::Share,
            (Outputs::Classes { n_classes }, CompressLoss::LogLoss) if !is_binary(n_classes) => Link::Softmax,
            (Outputs::Labels { .. } | Outputs::Classes { .. }, CompressLoss::LogLoss) => Link::Logistic,
        }
    }
}
