//! Gradient boosting for many outputs (Joly 2016, ch. 6): single target, joint, on random projections of the negative
//! gradients, with or without relabelled leaves.
//!
//! ```
//! use ndarray::array;
//! use spinney::{BoostConfig, Control, LabelView, LossKind, OutputStrategy};
//!
//! // Six rows of one feature, three tags.
//! let x = array![[0.0f32], [1.0], [2.0], [3.0], [4.0], [5.0]];
//! let y = LabelView::try_new(vec![0, 1, 2, 4, 5, 6, 8], vec![0, 0, 0, 1, 1, 1, 1, 2], 3)?;
//! // So few that each may have a leaf of its own.
//! let few = BoostConfig::new(LossKind::LogLoss).min_weight_leaf(1.0).l2_regularization(0.1);
//! let config = few.strategy(OutputStrategy::Joint).n_estimators(20).learning_rate(0.5);
//! let control = Control::default();
//! let model = config.fit((&x, y), &control)?;
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
//! | single target | the negative gradients of one score | μ v to that score |
//! | joint | those of all scores | μ v, one for each score |
//! | projected, relabelled | q random combinations of them | the same |
//! | projected | one random combination | μ ρ g, g the leaf's mean of the combination: a number a leaf, a step a score |
//!
//! v are Newton steps of each leaf and score, Σ w r / (Σ w h + λ), which `newton` has; or ρ ⊙ g, g the leaf's mean negative
//! gradients and ρ a step for each score that is searched over all rows ([`LeafEstimation`]).
//!
//! | module | what |
//! |---|---|
//! | `leaf_search` | minimisation of the logistic loss from sums over leaves |
//! | `columns`, `tile` | leaves and steps of the logistic loss: searches of columns, and the sums that they ask for |
//! | `config` | parameters |
//! | `problem` | what loss, outputs and strategy make together |
//! | `state` | rows and their scores, the sweep over them, sums of gradients by leaf |
//! | `newton` | leaves and steps that are regularised Newton steps |
//! | `observer` | who is told of the stages |
//! | `low_rank` | residuals of the squared error of sparse labels, never written out |
//! | `stage_projection`, `projector` | what a stage is fitted to, and negative gradients made into the targets of its tree |
//! | `steps` | leaves and steps of one stage |
//! | `fit`, `stages`, `booster` | the call, the loop over stages with one stage in four steps, the scores that it changes |
//! | `weak` | the same with the caller's weak models |
//! | `model`, `predict` | the fitted model, and its readings by [`crate::model`] |
//! | `workers` | samples on several machines |
//! | `compact` | smaller leaves |
//!
//! # One stage
//!
//! 1. The sweep of the stage before has left the targets: for each row, Φ times its negative gradients, computed while the
//!    row was in the cache. Negative gradients are never stored, but for the joint strategy, whose targets they are.
//! 2. The tree is grown by the engine of forests ([`crate::tree`]), on rows drawn without replacement.
//! 3. Sums of negative gradients and curvatures over the rows of each leaf give its Newton steps; losses without such sums
//!    are taken leaf by leaf. With line searches, sums of negative gradients give the leaves, and slopes along them the
//!    steps: for the logistic loss columns are copied out of the rows, and searched with more sums, mostly one or two;
//!    column by column for the others. The squared error has closed forms of both.
//! 4. The next sweep adds the leaves to the scores of their rows, and leaves the targets of the next stage.
//!
//! Cost of a stage: the tree, the sweep, one pass of sums, and for line searches of the logistic loss a copy of the scores
//! and one to two passes more. Memory: the scores, float32 for labels and classes, what the tree needs, and a few columns of scores.
//!
//! # Why the loss cannot rise
//!
//! At learning rate 1 each step minimises a convex function from where the scores are (thesis, convergence theorem); at a
//! smaller one convexity does the rest. Newton steps are halved while they raise the loss. Searches hold this without looking at values (see `leaf_search` and
//! [`crate::loss`]). What rises is at most the rounding of scores.

mod booster;
mod columns;
mod compact;
pub(crate) mod config;
mod fit;
mod leaf_search;
mod low_rank;
pub(crate) mod model;
mod newton;
mod observer;
mod predict;
pub(crate) mod problem;
mod projector;
mod stage_projection;
mod stages;
mod state;
mod steps;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_workers;
mod tile;
mod weak;
mod workers;

pub(crate) use crate::model::step_sizes;
pub use crate::model::{StagedScores, StepDtype};
pub use config::{BoostConfig, LeafEstimation, OutputStrategy};
pub use model::Boosted;
pub use observer::{StageObserver, StageReport};
pub use weak::{ValidationTargets, WeakLearner, WeakPredictions};
