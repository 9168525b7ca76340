//! What the leaves predict, filled once after growth and stored in the smaller of two layouts.
//!
//! Frequencies are kept as exact amounts (units of weight) over the leaf's total, so a count takes one or two bytes and the
//! predicted value is the correctly rounded quotient. Means of numbers are kept as they are.

/// Column indices of a sparse table, as narrow as its width allows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Indices {
    U16(Vec<u16>),
    U32(Vec<u32>),
}

/// Stored amounts, as narrow as the largest allows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Amounts {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    F64(Vec<f64>),
}

/// Where the amounts of a leaf lie.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Layout {
    /// Leaf l owns amounts `l * width..(l + 1) * width`.
    Dense,
    /// Leaf l owns `ptr[l]..ptr[l + 1]`; columns rise strictly inside a leaf.
    Sparse { ptr: Vec<u32>, columns: Indices },
}

/// Values of all leaves of one tree: row l, column c holds `amount / total[l]` (or the amount itself without totals).
#[derive(Clone, Debug, PartialEq)]
pub struct LeafTable {
    pub(crate) n_leaves: usize,
    pub(crate) width: usize,
    pub(crate) layout: Layout,
    pub(crate) amounts: Amounts,
    /// Divisor of each leaf; `None` for means.
    pub(crate) totals: Option<Vec<f64>>,
}
