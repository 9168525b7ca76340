//! The keeper that stores ‖c_k‖² of every node, for many labels, whose residuals are never stored.
//!
//! r_i = y_i − b − Σ β_k over the nodes k with coefficients that sample i passes, in units in which each label of y is
//! 0 or the root of its weight. y is sparse and these nodes are few, so that what a step needs can be computed without
//! rows × width numbers: ⟨r_i, u⟩ of all samples from the labels and the numbers ⟨β_k, u⟩, and c_j from the labels of
//! the samples of j and the weights of j ∩ k. Both take, for each tree with such nodes, one pass over its samples:
//! O(labels + rows × trees + nodes with coefficients × width), whatever the sizes of the nodes. Squares are updated as
//! in `squares`.

use super::coefficients::Coefficients;
use super::scores::NodeScores;
use super::squares::{NodeSquares, Products};
use super::{Keeper, LossRows, PURPOSE, Step, dot};
use crate::compress::indicators::Indicators;
use crate::compress::rows::LabelRows;
use crate::control::Control;
use crate::elementary::Squared;
use crate::error::Result;

/// The samples with their labels, the squares, and what determines residuals.
#[derive(Debug)]
pub(super) struct Labels {
    rows: LabelRows,
    of_nodes: NodeSquares,
    moved: MovedNodes,
}

/// The nodes with coefficients, by tree: the node, and the position of its coefficients.
#[derive(Debug)]
struct MovedNodes {
    of_tree: Vec<Vec<(u32, u32)>>,
}

impl MovedNodes {
    fn push(&mut self, tree: usize, node: usize, slot: u32) -> Result<()> {
        PURPOSE.push(&mut self.of_tree[tree], (node as u32, slot))
    }

    fn trees(&self) -> impl Iterator<Item = (usize, &[(u32, u32)])> {
        self.of_tree.iter().map(Vec::as_slice).enumerate().filter(|(_, moved)| !moved.is_empty())
    }

    fn is_empty(&self) -> bool {
        self.trees().next().is_none()
    }
}

impl Labels {
    pub(super) fn new(rows: LabelRows, nodes: &Indicators, control: &Control) -> Result<Self> {
        let moved = MovedNodes { of_tree: PURPOSE.filled(Vec::new(), nodes.n_trees())? };
        Ok(Labels { rows, of_nodes: NodeSquares::new(nodes, control)?, moved })
    }

    /// Returns ⟨r_i, u⟩ of all samples.
    fn products(&self, nodes: &Indicators, coefficients: &Coefficients, u: &[f64]) -> Result<Vec<f64>> {
        let rows = self.rows.rows();
        let constant = dot(self.rows.centre(), u);
        let of_on = PURPOSE.collected(rows.root.iter().zip(u).map(|(root, u)| root * u))?;
        let mut products = PURPOSE.filled(0.0, rows.n_rows())?;
        for (i, product) in products.iter_mut().enumerate() {
            *product = self.rows.on(i).iter().map(|&c| of_on[c as usize]).sum::<f64>() - constant;
        }
        // What begins and ends at each position in the order of a tree.
        let mut steps = PURPOSE.filled(0.0, nodes.n_rows + 1)?;
        for (tree, moved) in self.moved.trees() {
            let (order, start, end) = nodes.ranges(tree);
            let first = nodes.offsets[tree];
            steps.fill(0.0);
            for &(node, slot) in moved {
                let (by, at) = (dot(coefficients.at(slot), u), node as usize - first);
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

    /// Returns all residuals.
    fn residuals(&self, nodes: &Indicators, coefficients: &Coefficients) -> Result<Vec<f64>> {
        let width = self.rows.rows().width;
        let mut residuals = PURPOSE.filled(0.0, self.rows.rows().n_rows() * width)?;
        for (i, r) in residuals.chunks_exact_mut(width).enumerate() {
            self.rows.residuals_at_start(i, r);
        }
        for &(node, slot) in self.moved.trees().flat_map(|(_, moved)| moved) {
            let beta = coefficients.at(slot);
            for &i in nodes.rows(node as usize) {
                let r = &mut residuals[i as usize * width..][..width];
                r.iter_mut().zip(beta).for_each(|(r, b)| *r -= b);
            }
        }
        Ok(residuals)
    }

    /// Computes the squares before the first move, from y, and finally from the constant.
    fn squares_at_start(&mut self, scores: &NodeScores<'_>, control: &Control) -> Result<()> {
        let (nodes, rows, labels) = (scores.nodes, self.rows.rows(), &self.rows);
        let squares = &mut self.of_nodes.squares;
        let mut pulse = control.pulse();
        let add = |row: usize, sums: &mut [f64]| {
            let w = rows.weight[row];
            labels.on(row).iter().for_each(|&c| sums[c as usize] += w);
        };
        for tree in 0..nodes.n_trees() {
            nodes.all_sums(tree, rows.width, add, |k, c| {
                let w = scores.mass.weight[k];
                let units = rows.root.iter().zip(labels.centre());
                squares[k] = c.iter().zip(units).map(|(c, (root, b))| (root * c - w * b).squared()).sum();
                pulse.after(rows.width)
            })?;
        }
        Ok(())
    }

    /// Computes the squares from residuals, which are stored for this purpose.
    fn squares_from_residuals(
        &mut self,
        nodes: &Indicators,
        coefficients: &Coefficients,
        control: &Control,
    ) -> Result<()> {
        let all = self.residuals(nodes, coefficients)?;
        let rows = self.rows.rows();
        let (width, squares) = (rows.width, &mut self.of_nodes.squares);
        let mut pulse = control.pulse();
        let add = |row: usize, sums: &mut [f64]| {
            let w = rows.weight[row];
            if w > 0.0 {
                sums.iter_mut().zip(&all[row * width..(row + 1) * width]).for_each(|(s, g)| *s += w * g);
            }
        };
        for tree in 0..nodes.n_trees() {
            nodes.all_sums(tree, width, add, |k, c| {
                squares[k] = dot(c, c);
                pulse.after(width)
            })?;
        }
        Ok(())
    }
}

impl Keeper for Labels {
    fn rows(&self) -> &dyn LossRows {
        &self.rows
    }

    fn refresh(&mut self, scores: &mut NodeScores<'_>, control: &Control) -> Result<()> {
        if self.moved.is_empty() {
            self.squares_at_start(scores, control)?;
        } else {
            self.squares_from_residuals(scores.nodes, &scores.coefficients, control)?;
        }
        (0..scores.nodes.n_nodes()).for_each(|k| self.score(k, scores));
        Ok(())
    }

    /// Returns the sum of weight × residual over the samples of node j.
    fn sum(&self, node: usize, scores: &NodeScores<'_>) -> Result<Vec<f64>> {
        let (nodes, rows) = (scores.nodes, self.rows.rows());
        let mut c = PURPOSE.filled(0.0, rows.width)?;
        let mut weights = PURPOSE.filled(0.0, nodes.n_rows)?;
        let mut total = 0.0;
        for &i in nodes.rows(node) {
            let w = rows.weight[i as usize];
            weights[i as usize] = w;
            total += w;
            self.rows.on(i as usize).iter().for_each(|&column| c[column as usize] += w);
        }
        let units = rows.root.iter().zip(self.rows.centre());
        c.iter_mut().zip(units).for_each(|(c, (root, b))| *c = root * *c - total * b);
        let mut before = PURPOSE.filled(0.0, nodes.n_rows + 1)?;
        for (tree, moved) in self.moved.trees() {
            let (order, start, end) = nodes.ranges(tree);
            let first = nodes.offsets[tree];
            let mut sum = 0.0;
            for (&i, before) in order.iter().zip(&mut before[1..]) {
                sum += weights[i as usize];
                *before = sum;
            }
            for &(node, slot) in moved {
                let at = node as usize - first;
                let shared = before[end[at] as usize] - before[start[at] as usize];
                if shared != 0.0 {
                    c.iter_mut().zip(scores.coefficients.at(slot)).for_each(|(c, b)| *c -= shared * b);
                }
            }
        }
        Ok(c)
    }

    fn score(&self, node: usize, scores: &mut NodeScores<'_>) {
        self.of_nodes.score(node, scores);
    }

    /// Moves only the samples of the node, by the whole step: indicators are not standardised.
    fn apply(&mut self, step: &Step<'_>, scores: &mut NodeScores<'_>, control: &Control) -> Result<f64> {
        // These are the products with the residuals before the step.
        let products = self.products(scores.nodes, &scores.coefficients, step.direction)?;
        let is_new = scores.coefficients.slot(step.node).is_none();
        scores.coefficients.add(step)?;
        if let Some(slot) = scores.coefficients.slot(step.node).filter(|_| is_new) {
            self.moved.push(scores.nodes.place(step.node).0, step.node, slot)?;
        }
        let weight = &self.rows.rows().weight;
        let mut weighted: Vec<Products> = PURPOSE.with_capacity(products.len())?;
        weighted.extend(weight.iter().zip(&products).map(|(w, p)| [w * p, 0.0]));
        let (length, norm) = (step.length, dot(step.direction, step.direction));
        let mut rise = 0.0;
        for &i in step.inside {
            let i = i as usize;
            let w = self.rows.rows().weight[i];
            weighted[i][1] = w;
            rise += w * self.rows.add_squares(i, length * (length * norm - 2.0 * products[i]));
        }
        self.of_nodes.add(&weighted, step, scores, control)?;
        if self.of_nodes.is_worn() {
            self.refresh(scores, control)?;
        }
        Ok(rise)
    }
}
