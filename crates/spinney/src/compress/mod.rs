//! Compression of forests: a sparse linear model over the nodes of a forest, and back to a smaller forest.
//!
//! ```
//! use ndarray::{Array2, array};
//! use spinney::compress::CompressConfig;
//! use spinney::{Control, Criterion, ForestConfig, Matrix, Targets};
//!
//! let x = Array2::from_shape_fn((40, 2), |(i, j)| ((i * (3 + 4 * j)) % 40) as f32);
//! let y = Array2::from_shape_fn((40, 1), |(i, _)| f64::from(u8::from(x[[i, 0]] > 19.5)));
//! let (x, y, control) = (Matrix::from(x.view()), Targets::Real(y.view()), Control::default());
//! let forest = ForestConfig::extra_trees(Criterion::Variance).n_trees(20).fit((&x, &y), &control)?;
//!
//! let path = CompressConfig::stagewise(0.01).path(&forest, (&x, &y), None, &control)?;
//! let small = path.at(1.5, &control)?;
//! let all: usize = forest.trees().iter().map(|tree| tree.n_nodes() / 2).sum();
//! assert!(small.n_test_nodes() * 4 < all);
//! assert!(path.train_loss()[path.step_of(1.5)?] < 0.1 * path.train_loss()[0]);
//! # Ok::<(), spinney::Error>(())
//! ```
//!
//! Vocabulary: node j of a tree has an *indicator*, 1 for rows that pass it; roots are left out, being the constant. Scores
//! are f(x) = b + Σ β_j over the nodes that x passes, β_j one number for each score: coefficients of a node come and go as a
//! group. A *test node* is one that splits. t is the sum of the lengths of what was added, or of all β_j.
//!
//! | module | what |
//! |---|---|
//! | `config` | parameters |
//! | `indicators` | which rows are in a node, and sums over the rows of nodes: never rows × nodes |
//! | `masked` | numbers of which some cells are not known |
//! | `mass` | weights of nodes, means and deviations of indicators |
//! | `rows` | targets, scores, losses and negative gradients of rows, those held out among them |
//! | `engine`, `best` | the node along which the loss falls fastest, kept up to date move by move |
//! | `stagewise` | monotone forward stagewise steps (Hastie et al. 2007; Joly 2012) |
//! | `lasso` | the exact path, by coordinate descent over groups |
//! | `grow` | globally induced forests: nodes below those that are there |
//! | `path` | all steps, replayed to any of them |
//! | `rebuild` | from coefficients to an ordinary forest |
//! | `model` | that forest, and what its scores mean |
//! | `cross_validate` | paths of folds, each on a forest of its own |
//!
//! Labels may count differently ([`CompressConfig::output_weights`]): all that is above is then said of columns that are
//! multiplied by the roots of their weights, y and scores alike.
//!
//! Rows go down every tree, also those that a bootstrapped tree has not drawn; rows of weight zero do not exist. Memory
//! beside the forest: two numbers of 32 bits for each row and tree, some dozen bytes for each node, `width` float64
//! for each row (twice for the logistic loss; none for stagewise steps on more than 16 labels) and, with up to 16 scores a
//! row, for each node.

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
pub use cross_validate::{CrossValidation, Fold};
pub use model::Compressed;
pub use path::{Coefficient, CompressionPath};

use crate::control::Control;
use crate::data::Targets;
use crate::data::dataset::Names;
use crate::data::targets::is_binary;
use crate::data::{Dataset, Outputs};
use crate::error::{Error, Result, try_copied};
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
    /// Losses and sizes alone; the loss of the forest before compression is computed.
    Records,
}

impl CompressConfig {
    /// The whole path of `forest` on a [`Dataset`] or a pair of X and y.
    ///
    /// `held_out` has a weight for each row that is no training row: rows to test on after every step; they must have a
    /// sample weight of zero. Runs on one thread but for the walk of X down the trees.
    ///
    /// Cells of numbers that are not known ([`Dataset::y_mask`]) have residual zero: gradients, steps, units, constants
    /// and losses are those of the known cells, and a row without any weighs nothing. For stagewise steps alone: those
    /// of the lasso and of growth ask for one curvature of all outputs.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] and [`crate::ErrorKind::Shape`] for bad parameters or data, and for a forest of other
    /// features or outputs; [`crate::ErrorKind::OutOfMemory`]; [`crate::ErrorKind::Interrupted`].
    pub fn path<'d>(
        &self,
        forest: &Forest,
        data: impl Into<Dataset<'d>>,
        held_out: Option<&[f64]>,
        control: &Control,
    ) -> Result<CompressionPath> {
        Ok(self.run(forest, &data.into(), held_out, Keep::All, control)?.0)
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
        if forest.trees.is_empty() {
            return Err(Error::invalid("forest", "0 trees", "have at least one tree"));
        }
        let unmasked = if data.has_mask() { Unmasked::new(data, held_out)? } else { None };
        let (data, held_out) = match &unmasked {
            None => (data.view(), held_out),
            Some(unmasked) => (unmasked.of_training(data), unmasked.held_out()),
        };
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
            Keep::Records => fit.loss_of_predictions(forest.predict(x, control)?.view())?,
        };
        let rows = fit.rows();
        let nodes = Indicators::new(forest, x, &rows.ids, control)?;
        let mass = NodeMass::new(&nodes, rows)?;
        let what = "the rows of a path";
        let (width, scale, start) = (rows.width, try_copied(what, &rows.scale)?, try_copied(what, &rows.start)?);
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
            // The lasso works on indicators that are 0 and 1 in any case.
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
