//! Files of label data as text: X and sparse labels from bytes, and back.
//!
//! | file | format |
//! |---|---|
//! | `xmc` | the Extreme Classification Repository's: a header of three counts, a line for each sample |
//! | `svmlight` | svmlight's and libsvm's, with labels parted by commas |
//! | `mulan` | Mulan's: an ARFF file of which some attributes are labels; `arff` has its header and its tokens |
//!
//! The first two share `sample` (a line of labels and entries), all share `lines`, `number` and `rows`.
//!
//! Text enters as one slice of bytes that the caller has read; what leaves are arrays of CSR, with strictly rising indices
//! in each row ([`SparseRows`], [`LabelRows`]). One pass over the bytes on one thread. Memory goes with the bytes that are
//! there, never with the numbers that they state: a header of 10¹⁸ samples allocates nothing.
//!
//! Values are the float32 nearest to the decimal number, and `nan` in any case of letters; infinity, and numbers that
//! float32 cannot hold, are refused, as fits refuse them. Stored zeros stay. Errors are [`crate::ErrorKind::Line`]: the
//! number of the line, counted from 1, what came, and what is expected there.
//!
//! Does not read files, decompress or look at XML: callers do.

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
