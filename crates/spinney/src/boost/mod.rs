//! Gradient boosting for many outputs.
#![allow(dead_code)]

pub(crate) mod config;
mod fit;
pub(crate) mod line_search;
pub mod loss;
mod low_rank;
pub(crate) mod model;
mod predict;
pub(crate) mod problem;
mod projector;
mod start;
mod state;
mod steps;
#[cfg(test)]
mod tests;
mod vector;
mod weak;

pub use config::{BoostConfig, OutputStrategy};
pub use fit::Validation;
pub use line_search::LineSearch;
pub use loss::{LineProblem, Loss, LossKind};
pub use model::Boosted;
pub use predict::StagedScores;
pub use weak::{ValidationTargets, WeakLearner, WeakPredictions};
