//! Loops over many scores, compiled for the widest registers of the machine, and the float types of scores.
//!
//! | file | what |
//! |---|---|
//! | `vector` | loops over the scores of many samples |
//! | `exponentials` | exponentials of the scores of a sample and their sums |
//! | `float` | the two float types of scores, and the grids to which gradients are rounded |
//! | `off_sums` | sums for the search of steps of the logistic loss over leaves |

pub(crate) mod exponentials;
pub(crate) mod float;
pub(crate) mod off_sums;
pub(crate) mod vector;
