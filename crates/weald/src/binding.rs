//! What the binding to Python needs besides the public interface. It may change at any time.

pub use crate::data::sparse_targets::{FEW_OUTPUTS, ZEROS_TO_ONE};
pub use crate::elementary::{exp, ln, ln_1p};
pub use crate::loss::link::{BENT, LARGEST_LOG};
pub use crate::pool::has_room_for_a_thread;

/// See [`crate::StageSearch`].
pub const MOST_COPIED: usize = crate::StageSearch::MOST_COPIED;

/// The table of losses.
pub const LOSSES: &[crate::LossRow] = crate::LossKind::ALL;
