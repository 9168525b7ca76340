//! Residuals of many labels, never written out.
//!
//! r_i = y_i − b − Σ β_k over the nodes k with coefficients that row i passes. y is sparse and the nodes are few, so what a
//! step asks for follows without rows × width numbers: ⟨r_i, u⟩ of all rows from the labels and the numbers ⟨β_k, u⟩, and
//! c_j from the labels of the rows of j and the weights of j ∩ k. Both take, for each tree with such nodes, one pass over
//! its rows: O(labels + rows × trees + nodes with coefficients × width), whatever the sizes of the nodes.

use super::super::indicators::Indicators;
use super::super::rows::FitRows;
use super::{WHAT, dot};
use crate::error::{Result, try_filled, try_push};

/// Nodes with coefficients, by tree.
#[derive(Debug)]
pub(super) struct Fitted {
    /// Node, and the place of its coefficients.
    of_tree: Vec<Vec<(u32, u32)>>,
}

impl Fitted {
    pub(super) fn new(n_trees: usize) -> Result<Self> {
        Ok(Fitted { of_tree: try_filled(WHAT, Vec::new(), n_trees)? })
    }

    /// A node of a tree that has coefficients from now on.
    pub(super) fn push(&mut self, tree: usize, node: usize, slot: u32) -> Result<()> {
        try_push(WHAT, &mut self.of_tree[tree], (node as u32, slot))
    }

    fn trees(&self) -> impl Iterator<Item = (usize, &[(u32, u32)])> {
        self.of_tree.iter().map(Vec::as_slice).enumerate().filter(|(_, fitted)| !fitted.is_empty())
    }

    /// ⟨r_i, u⟩ of all rows.
    pub(super) fn products(
        &self,
        nodes: &Indicators,
        rows: &FitRows,
        coefficients: &[f64],
        u: &[f64],
    ) -> Result<Vec<f64>> {
        let constant = dot(&rows.start, u);
        let mut products = try_filled(WHAT, 0.0, rows.n_rows())?;
        for (i, product) in products.iter_mut().enumerate() {
            *product = rows.on(i).iter().map(|&c| u[c as usize]).sum::<f64>() - constant;
        }
        // What begins and ends at each place of the order of a tree.
        let mut steps = try_filled(WHAT, 0.0, nodes.n_rows + 1)?;
        for (tree, fitted) in self.trees() {
            let (order, start, end) = nodes.ranges(tree);
            let first = nodes.offsets[tree];
            steps.fill(0.0);
            for &(node, slot) in fitted {
                let beta = &coefficients[slot as usize * rows.width..][..rows.width];
                let (by, at) = (dot(beta, u), node as usize - first);
                steps[start[at] as usize] += by;
                steps[end[at] as usize] -= by;
            }
            let mut sum = 0.0;
            for (&i, step) in order.iter().zip(&steps) {
                sum += step;
                products[i as usize] -= sum;
            }
        }
        Ok(products)
    }

    /// c_j: the sum of weight × residual over some rows, those of node j.
    pub(super) fn sum(
        &self,
        nodes: &Indicators,
        rows: &FitRows,
        coefficients: &[f64],
        inside: &[u32],
    ) -> Result<Vec<f64>> {
        let mut c = try_filled(WHAT, 0.0, rows.width)?;
        let mut weights = try_filled(WHAT, 0.0, nodes.n_rows)?;
        let mut total = 0.0;
        for &i in inside {
            let w = rows.weight[i as usize];
            weights[i as usize] = w;
            total += w;
            rows.on(i as usize).iter().for_each(|&column| c[column as usize] += w);
        }
        c.iter_mut().zip(&rows.start).for_each(|(c, b)| *c -= total * b);
        let mut before = try_filled(WHAT, 0.0, nodes.n_rows + 1)?;
        for (tree, fitted) in self.trees() {
            let (order, start, end) = nodes.ranges(tree);
            let first = nodes.offsets[tree];
            let mut sum = 0.0;
            for (&i, before) in order.iter().zip(&mut before[1..]) {
                sum += weights[i as usize];
                *before = sum;
            }
            for &(node, slot) in fitted {
                let at = node as usize - first;
                let shared = before[end[at] as usize] - before[start[at] as usize];
                if shared != 0.0 {
                    let beta = &coefficients[slot as usize * rows.width..][..rows.width];
                    c.iter_mut().zip(beta).for_each(|(c, b)| *c -= shared * b);
                }
            }
        }
        Ok(c)
    }

    /// All residuals, written out.
    pub(super) fn residuals(&self, nodes: &Indicators, rows: &FitRows, coefficients: &[f64]) -> Result<Vec<f64>> {
        let width = rows.width;
        let mut residuals = try_filled(WHAT, 0.0, rows.n_rows() * width)?;
        for (i, r) in residuals.chunks_exact_mut(width).enumerate() {
            r.iter_mut().zip(&rows.start).for_each(|(r, b)| *r = -b);
            rows.on(i).iter().for_each(|&c| r[c as usize] += 1.0);
        }
        for &(node, slot) in self.trees().flat_map(|(_, fitted)| fitted) {
            let beta = &coefficients[slot as usize * width..][..width];
            for &i in nodes.rows(node as usize) {
                let r = &mut residuals[i as usize * width..][..width];
                r.iter_mut().zip(beta).for_each(|(r, b)| *r -= b);
            }
        }
        Ok(residuals)
    }
}
