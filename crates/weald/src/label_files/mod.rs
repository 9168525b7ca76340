//! Text files with multi-label data: reading X and sparse labels from bytes, and writing them.
//!
//! | file | format |
//! |---|---|
//! | `xmc` | the format of the Extreme Classification Repository: a header of three counts, a line for each sample |
//! | `svmlight` | the format of svmlight and libsvm, with labels separated by commas |
//! | `mulan` | the format of Mulan: an ARFF file in which some attributes are labels; the header and the tokens are in `arff` |
//!
//! The first two use `sample` (a line of labels and entries); all use `lines`, `number` and `rows`.
//!
//! The input is one slice of bytes that the caller has read. The results are CSR arrays, with strictly increasing
//! indices in each sample ([`SparseRows`], [`LabelRows`]). Reading takes one pass over the bytes on one thread. Memory
//! is proportional to the number of bytes, never to the counts that they state: a header of 10¹⁸ samples allocates
//! nothing.
//!
//! Values are the float32 nearest to the decimal number, or `nan` in upper or lower case. Infinity, and numbers that
//! float32 cannot represent, are errors, as in fits. Stored zeros are kept. Errors are [`crate::ErrorKind::Line`]: they
//! state the number of the line, counted from 1, what was found, and what was expected.
//!
//! This module does not read files, decompress them or parse XML; callers do that.

mod arff;
mod lines;
mod mulan;
mod number;
mod rows;
mod sample;
mod svmlight;
#[cfg(test)]
mod tests;
mod xmc;

pub use mulan::{Features, Mulan, read_mulan};
pub use rows::{LabelData, LabelRows, SparseRows};
pub use svmlight::{IndexBase, read_svmlight};
pub use xmc::{read_xmc, write_xmc};
