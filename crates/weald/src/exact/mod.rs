//! Arithmetic whose results do not depend on the order of addition.
//!
//! Floats are rounded to a *grid*, the multiples of a *spacing* that is a power of two. The spacing is small enough to
//! represent the values well, and large enough that sums of all values do not need more bits than float64 has.
//! Alternatively, floats are converted to integers, as *fixed-point* numbers. Samples can then be added in any order,
//! by any number of threads or workers, with the same result.
//!
//! | module | what |
//! |---|---|
//! | `total` | totals of weights, which bound all exact sums |
//! | `power` | powers of two that neither overflow nor underflow, and the exponents of floats |
//! | `grid` | rounding to the multiples of a spacing |
//! | `weighted_grid` | the choice of spacings for sums of products of weights and terms |
//! | `fixed_point` | conversion of floats to integers, and back |
//! | `sums` | weighted sums in float64 |
//! | `rounded_once` | sums of any floats that are rounded once, at the end |
//! | `mean`, `deviation` | the weighted mean and standard deviation |
//! | `merge` | merging the sorted lists of several workers |
//! | `reduce` | sums and maxima over the samples of several workers |

mod deviation;
mod fixed_point;
mod grid;
mod mean;
pub(crate) mod merge;
mod power;
pub(crate) mod reduce;
mod rounded_once;
mod sums;
mod total;
mod weighted_grid;

pub(crate) use deviation::exact_deviation_of_all;
pub(crate) use fixed_point::FixedPoint;
pub(crate) use grid::{Grid, GridFloat};
pub(crate) use mean::{exact_mean, exact_mean_of_all, exact_mean_of_samples, exact_means_of_all};
pub(crate) use power::{PowerOfTwo, exponent_above, lowest_bit};
pub(crate) use rounded_once::RoundedOnce;
pub use rounded_once::exact_sums;
pub(crate) use sums::{weighted_sum, weighted_sum_of_all};
pub(crate) use total::{Shift, Total, debug_assert_exact};
pub(crate) use weighted_grid::{Rounding, WeightedGrid, WeightedGrids, WeightedPair};
