//! Values that are stored once for the leaves below a node.
//!
//! The value of a column in a node is the mean of its known cells, or else that of the nearest node above that has
//! some. So the leaves below a node without known cells all have the value of a node above. A node with a child that
//! knows nothing of the column stores its value, and a leaf stores its own, unless it is that of the next node above
//! that stores one (zero, if there is none).

use super::{Columns, Nodes, PURPOSE};
use crate::error::{ErrorKind, Result};
use crate::tree::LeafTable;
use crate::tree::leaves::{Indices, Layout, Records};

/// The layout is decided by this many columns, or by this part of them if it is more.
const LEAST_COLUMNS: usize = 64;
const PART: usize = 8;
/// Values are shared if they take at most this part of the bytes that they take otherwise, as it costs more steps to
/// predict.
const SMALLER: usize = 2;

/// The values that nodes store, one column after the other.
#[derive(Debug)]
pub(super) struct Shared {
    width: usize,
    pub(super) columns: Columns,
    /// Of the current column, what the nodes below take from each node.
    passed: Vec<f64>,
    /// Whether a child of each node knows nothing of the current column.
    is_asked: Vec<bool>,
}

impl Shared {
    pub(super) fn new(nodes: &Nodes<'_>, width: usize) -> Result<Self> {
        let n_nodes = nodes.len();
        let (passed, is_asked) = (PURPOSE.filled(0.0, n_nodes)?, PURPOSE.filled(false, n_nodes)?);
        Ok(Shared { width, columns: Columns::new(width)?, passed, is_asked })
    }

    /// Adds the next column, given the values of the leaves and of the nodes of which they take values, and whether
    /// nodes have known cells.
    pub(super) fn push(
        &mut self,
        nodes: &Nodes<'_>,
        value: impl Fn(usize) -> f64,
        is_known: impl Fn(usize) -> bool,
    ) -> Result<()> {
        self.is_asked.fill(false);
        for (i, &parent) in nodes.parents.iter().enumerate().skip(1) {
            self.is_asked[parent as usize] |= !is_known(i);
        }
        for i in 0..nodes.len() {
            let above = if i == 0 { 0.0 } else { self.passed[nodes.parents[i] as usize] };
            self.passed[i] = above;
            if nodes.is_leaf(i) || self.is_asked[i] {
                let value = value(i);
                if value != above {
                    self.columns.push(i as u32, value)?;
                    self.passed[i] = value;
                }
            }
        }
        self.columns.end();
        Ok(())
    }

    pub(super) fn into_table(self, nodes: &Nodes<'_>) -> Result<LeafTable> {
        let (width, n_cells, limit) = (self.width, self.columns.cells.len(), u32::MAX as usize);
        if n_cells > limit {
            return Err(ErrorKind::TooMany { what: "values in the leaves of a tree", limit }.into());
        }
        let (n_nodes, n_leaves) = (nodes.len(), nodes.leaves.len());
        let (starts, by_node) = self.columns.by_row(n_nodes)?;
        let inner = || (0..n_nodes).filter(|&i| !nodes.is_leaf(i) && starts[i] < starts[i + 1]);
        // For each node, one plus the position of the next inner node with cells, itself or above; 0 if there is none.
        let mut next = PURPOSE.filled(0u32, n_nodes)?;
        let mut n_inner = 0;
        let mut above = PURPOSE.filled(0u32, n_leaves + inner().count())?;
        for i in 0..n_nodes {
            let of_parent = if i == 0 { 0 } else { next[nodes.parents[i] as usize] };
            next[i] = of_parent;
            if nodes.is_leaf(i) {
                above[nodes.row_of[i] as usize] = of_parent;
            } else if starts[i] < starts[i + 1] {
                above[n_leaves + n_inner] = of_parent;
                n_inner += 1;
                next[i] = n_inner as u32;
            }
        }
        let mut ptr = PURPOSE.with_capacity(above.len() + 1)?;
        let mut columns = Indices::for_width(width);
        columns.try_reserve(PURPOSE, n_cells)?;
        let mut amounts = PURPOSE.with_capacity(n_cells)?;
        ptr.push(0);
        for i in nodes.leaves.iter().map(|&leaf| leaf as usize).chain(inner()) {
            for &(column, value) in &by_node[starts[i]..starts[i + 1]] {
                columns.push(column)?;
                amounts.push(value);
            }
            ptr.push(amounts.len() as u32);
        }
        Ok(LeafTable::of_means(n_leaves, width, Layout::Inherited(Records { ptr, columns, above }), amounts))
    }
}

/// The values of leaves in both forms until it is decided which one is smaller, and in this one afterwards.
#[derive(Debug)]
pub(super) enum Leaves<T> {
    Both(Shared, T),
    Shared(Shared),
    Apart(T),
}

impl<T> Leaves<T> {
    pub(super) fn shared(&mut self) -> Option<&mut Shared> {
        match self {
            Leaves::Both(shared, _) | Leaves::Shared(shared) => Some(shared),
            Leaves::Apart(_) => None,
        }
    }

    pub(super) fn apart(&mut self) -> Option<&mut T> {
        match self {
            Leaves::Both(_, apart) | Leaves::Apart(apart) => Some(apart),
            Leaves::Shared(_) => None,
        }
    }

    /// Keeps one of the two after enough columns. `n_stored` returns the number of values of the leaves apart.
    pub(super) fn decided(self, nodes: &Nodes<'_>, n_stored: impl Fn(&T) -> usize) -> Self {
        let Leaves::Both(shared, apart) = self else { return self };
        let (width, n_seen) = (shared.width, shared.columns.ptr.len() - 1);
        if n_seen < width.min(LEAST_COLUMNS.max(width / PART)) {
            return Leaves::Both(shared, apart);
        }
        let of_cell = (size_of::<f64>() + Indices::for_width(width).item_bytes()) as u128;
        let of_dense = size_of::<f64>() as u128 * n_seen as u128 * nodes.leaves.len() as u128;
        let of_apart = of_dense.min(of_cell * n_stored(&apart) as u128);
        let of_records = (2 * size_of::<u32>() * nodes.len()) as u128 * n_seen as u128 / width as u128;
        let of_shared = of_cell * shared.columns.cells.len() as u128 + of_records;
        if SMALLER as u128 * of_shared <= of_apart { Leaves::Shared(shared) } else { Leaves::Apart(apart) }
    }
}
