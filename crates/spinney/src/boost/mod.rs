//! Gradient boosting for many outputs (Joly 2016, ch. 6): single target, joint, on random projections of the negative
//! gradients, with or without relabelled leaves.
//!
//! ```
//! use ndarray::array;
//! use spinney::{BoostConfig, Control, LabelView, LossKind, Matrix, OutputStrategy, Targets};
//!
//! // Six rows of one feature, three tags.
//! let x = array![[0.0f32], [1.0], [2.0], [3.0], [4.0], [5.0]];
//! let y = LabelView::try_new(vec![0, 1, 2, 4, 5, 6, 8], vec![0, 0, 0, 1, 1, 1, 1, 2], 3)?;
//! let config = BoostConfig {
//!     strategy: OutputStrategy::Joint,
//!     n_estimators: 20,
//!     learning_rate: 0.5,
//!     ..BoostConfig::new(LossKind::LogLoss)
//! };
//! let (x, y, control) = (Matrix::from(x.view()), Targets::Labels(y), Control::default());
//! let model = config.fit(&x, &y, None, None, &control)?;
//! let losses = model.train_score();
//! assert!(losses[19] < 0.2 * losses[0]);
//! let probabilities = model.predict(&x, &control)?;
//! assert!(probabilities[[0, 0]] > 0.9 && probabilities[[5, 0]] < 0.1);
//! # Ok::<(), spinney::Error>(())
//! ```
//!
//! Vocabulary: the *scores* f of a row are what losses see, one for each number and label, one for two classes, else one
//! for each class. A *stage* fits one weak model g (of single targets, one for each score) to negative gradients at the
//! scores so far, finds *steps* ρ that minimise the loss of each score along g, and adds μ ρ g, μ the learning rate.
//!
//! | strategy | a stage's tree is grown on | and adds to the scores |
//! |---|---|---|
//! | single target | the negative gradients of one score | μ ρ g to that score |
//! | joint | those of all scores | μ ρ ⊙ g, g the leaf's mean negative gradients |
//! | projected, relabelled | q random combinations of them | the same |
//! | projected | one random combination | μ ρ g, g the leaf's mean of the combination: a number a leaf, a step a score |
//!
//! | module | what |
//! |---|---|
//! | [`loss`] | a loss of one score: value, gradient, curvature, start, step; rows of scores; one file a loss |
//! | `line_search` | one-dimensional minimisation: Newton, Brent, medians, kinks |
//! | `leaf_search` | minimisation of the logistic loss from sums over leaves |
//! | `columns`, `tile` | leaves and steps of the logistic loss: searches of columns, and the sums that they ask for |
//! | `config` | parameters |
//! | `problem` | what loss, outputs and strategy make together; what the columns of scores stand for |
//! | `state` | scores of all rows, the sweep over them, sums of gradients by leaf |
//! | `low_rank` | residuals of the squared error of sparse labels, never written out |
//! | `projector` | negative gradients to the targets of a tree |
//! | `steps` | leaves and steps of one stage |
//! | `step_sizes` | steps as a model keeps them, in eight bytes or in one |
//! | `fit`, `stages`, `track` | the call, the stage loop, and the scores that a stage changes |
//! | `weak` | the same with the caller's weak models |
//! | `model`, `predict` | the fitted model, its scores stage by stage |
//!
//! # One stage
//!
//! 1. The sweep of the stage before has left the targets: for each row, Φ times its negative gradients, computed while the
//!    row was in the cache. Negative gradients are never stored, but for the joint strategy, whose targets they are.
//! 2. The tree is grown by the engine of forests ([`crate::tree`]), on rows drawn without replacement.
//! 3. Sums of negative gradients over the rows of each leaf give the leaves, and slopes along them the steps: closed for the
//!    squared error; for the logistic loss columns are copied out of the rows, and searched with more sums, mostly one or
//!    two; column by column for the others.
//! 4. The next sweep adds the leaves to the scores of their rows, and leaves the targets of the next stage.
//!
//! Cost of a stage: the tree, the sweep, one pass of sums, and for the logistic loss a copy of the scores and one to two
//! passes more. Memory: the scores, float32 for labels and classes, what the tree needs, and a few columns of scores.
//!
//! # Why the loss cannot rise
//!
//! At learning rate 1 each step minimises a convex function from where the scores are (thesis, convergence theorem); at a
//! smaller one convexity does the rest. Searches hold this without looking at values (see `leaf_search` and
//! `line_search`). What rises is at most the rounding of scores.

mod columns;
pub(crate) mod config;
mod fit;
mod leaf_search;
pub(crate) mod line_search;
pub mod loss;
mod low_rank;
pub(crate) mod model;
mod predict;
pub(crate) mod problem;
mod projector;
mod stages;
mod start;
mod state;
pub(crate) mod step_sizes;
mod steps;
#[cfg(test)]
mod tests;
mod tile;
mod track;
pub(crate) mod vector;
mod weak;

pub use config::{BoostConfig, OutputStrategy};
pub use fit::Validation;
pub use line_search::LineSearch;
pub use loss::{LineProblem, Loss, LossKind};
pub use model::Boosted;
pub use predict::StagedScores;
pub use step_sizes::StepDtype;
pub use weak::{ValidationTargets, WeakLearner, WeakPredictions};
