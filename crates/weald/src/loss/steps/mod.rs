//! Searches of steps.
//!
//! | file | what |
//! |---|---|
//! | `line_search` | one-dimensional minimisation: Newton, Brent, medians, kinks |
//! | `newton` | regularised Newton steps for leaves, halved while the loss increases |
//! | `softmax_step` | steps of the classes of one output together |

pub(crate) mod line_search;
pub(crate) mod newton;
pub(crate) mod softmax_step;
