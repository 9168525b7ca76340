//! Gradient boosting for many outputs (Joly 2016, ch. 6): with a tree for each output (single target), with one tree
//! for all (joint), or on random projections of the negative gradients, with or without relabelled leaves.
//!
//! ```
//! use ndarray::array;
//! use weald::{BoostConfig, LabelView, LossKind, OutputStrategy};
//!
//! // Six rows of one feature, three tags.
//! let x = array![[0.0f32], [1.0], [2.0], [3.0], [4.0], [5.0]];
//! let y = LabelView::try_new(vec![0, 1, 2, 4, 5, 6, 8], vec![0, 0, 0, 1, 1, 1, 1, 2], 3)?;
//! // So few that each may have a leaf of its own.
//! let few = BoostConfig::new(LossKind::LogLoss).min_weight_leaf(1.0).l2_regularization(0.1);
//! let config = few.strategy(OutputStrategy::Joint).n_estimators(20).learning_rate(0.5);
//! let model = config.fit((&x, y))?;
//! let losses = model.train_score();
//! assert!(losses[19] < 0.2 * losses[0]);
//! let probabilities = model.predict(&x)?;
//! assert!(probabilities[[0, 0]] > 0.9 && probabilities[[5, 0]] < 0.1);
//! # Ok::<(), weald::Error>(())
//! ```
//!
//! The *scores* f of a sample are the arguments of the loss: one for each numerical output and label, one for two
//! classes, and otherwise one for each class. A *stage* fits one weak model g (for single targets, one for each score)
//! to the negative gradients at the current scores, finds *steps* ρ that minimise the loss of each score along g, and
//! adds μ ρ g, where μ is the learning rate. For the absolute error and quantiles, whose gradients only tell the side of a
//! target, the "negative gradients" that a tree of one score is grown on are × √|y − f|.
//!
//! | strategy | a stage's tree is grown on | and adds to the scores |
//! |---|---|---|
//! | single target | the negative gradients of one score | μ v to that score |
//! | joint | those of all scores | μ v, one for each score |
//! | projected, relabelled | q random combinations of them | the same |
//! | projected | one random combination | μ ρ g, where g is the leaf's mean of the combination: one value for each leaf, one step for each score |
//!
//! v are either Newton steps of each leaf and score, Σ w r / (Σ w h + λ), which are computed in `leaves::newton`; or ρ ⊙ g,
//! where g are the mean negative gradients of the leaf and ρ is a step for each score that is searched over all samples
//! ([`LeafEstimation`]).
//!
//! | module | what |
//! |---|---|
//! | `config`, `problem` | parameters, and the combination of loss, outputs and strategy |
//! | `fit` | the public functions, which check the data |
//! | `stages`, `stopping` | the loop over stages, when it ends, and which stages are kept |
//! | `search`, `auto` | the number of stages by folds, and fits of which the plan decides everything |
//! | `trees`, `weak` | the weak models of a stage, which the loop asks for: trees, and those of the caller |
//! | `data` | what a stage reads: y, weights and the loss of samples, and mean losses |
//! | `stage_projection`, `projector` | what a stage is fitted to, and the computation of the targets of its tree from negative gradients |
//! | `leaves` | the samples of a stage by leaf, with sums over them (`sums`) and second derivatives (`curvatures`) |
//! | `leaves::newton`, `leaves::steps` | leaves and steps of one stage: regularised Newton steps, and line searches |
//! | `leaves::columns`, `leaves::search` | line searches of the logistic loss, from sums over leaves |
//! | `scores` | the two kinds of leaves, and how scores move by them: `table`, with a value for each score, and `rank_one`, with one value |
//! | `scores::one` | the pass over samples with one score each, by columns |
//! | `scores::held`, `scores::low_rank` | scores that are stored, with the pass over them; and residuals of the squared error of sparse labels, never computed as a whole |
//! | `scores::booster` | scores that are boosted together, of training samples and of held-out samples |
//! | `cells` | boosting on the known cells of y alone |
//! | `observer`, `workers` | callbacks after each stage, and samples on several machines |
//! | `model`, `predict` | the fitted model, and its predictions by [`crate::model`] |
//! | `smaller` | models with leaves that need less memory (`compact`), and with fewer leaves, fitted anew (`prune`) |
//! | `evaluate` | the mean loss of any samples by their scores |
//!
//! # One stage
//!
//! 1. The sweep of the previous stage has written the targets: for each sample, Φ times its negative gradients,
//!    computed while the sample was in the cache. Negative gradients are not stored, except by the joint strategy,
//!    whose targets they are.
//! 2. The tree is grown as in forests ([`crate::tree`]), on samples drawn without replacement.
//! 3. Sums of negative gradients and curvatures over the samples of each leaf give its Newton steps; for losses without
//!    such sums, each leaf is processed separately. With line searches, sums of negative gradients give the leaves, and
//!    slopes along them give the steps: for the logistic loss, columns of scores are copied and searched with further
//!    sums, mostly one or two; for other losses, each column is searched separately. The squared error has closed forms
//!    of both.
//! 4. The next sweep adds the leaves to the scores of their samples, and writes the targets of the next stage.
//!
//! A stage costs the tree, the sweep, one pass of sums, and for line searches of the logistic loss a copy of the scores
//! and one to two more passes. Memory consists of the scores (float32 for labels and classes), of what the tree needs,
//! and of a few columns of scores.
//!
//! # Why the loss cannot rise
//!
//! At learning rate 1, each step minimises a convex function, starting from the current scores (thesis, convergence
//! theorem); at a smaller learning rate, the loss does not rise either, by convexity. Newton steps are halved while
//! they raise the loss. Line searches guarantee this without computing values of the loss (see `leaves::search` and
//! [`crate::loss`]). The loss can only rise by the rounding of scores.

#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod auto;
mod cells;
pub(crate) mod config;
mod data;
mod evaluate;
mod fit;
mod leaves;
pub(crate) mod model;
mod observer;
mod predict;
pub(crate) mod problem;
mod projector;
mod scores;
mod search;
mod smaller;
mod so_far;
mod stage_projection;
mod stages;
mod stopping;
#[cfg(test)]
mod tests;
mod trees;
mod weak;
mod workers;

pub use crate::model::StagedScores;
pub(crate) use crate::model::step_sizes;
pub use auto::AutoBoost;
pub use config::{BoostConfig, LeafEstimation, OutputStrategy};
pub use fit::BoostFit;
pub use model::Boosted;
pub use observer::{StageObserver, StageReport};
pub use search::{Search, SearchObserver, StageSearch, WeakFold};
pub use weak::{ValidationTargets, WeakLearner, WeakPredictions};
