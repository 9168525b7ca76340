//! Gradient boosting: losses and the searches along one line.
//!
//! | module | what |
//! |---|---|
//! | [`loss`] | a loss of one score: value, gradient, curvature, start, step; one file each |
//! | `line_search` | one-dimensional minimisation: Newton, Brent, medians, kinks |

// The stages of boosting read what is internal here.
#![allow(dead_code)]

pub(crate) mod line_search;
pub mod loss;

pub use line_search::LineSearch;
pub use loss::{LineProblem, Loss, LossKind};
