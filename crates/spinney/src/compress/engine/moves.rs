//! A move of coefficients, and what it changes of all that is kept.

use super::super::best::NEVER;
use super::super::rows::FitRows;
use super::{Engine, Keeper, NONE, Scoring, WHAT};
use crate::control::Control;
use crate::error::{Result, try_filled, try_grow, try_with_capacity};
use crate::pool;

/// Moves after which ‖c_k‖² is summed anew, against rounding.
const REFRESH: usize = if cfg!(test) { 7 } else { 2000 };
/// One score: rows that move, for each row and node of a tree, from which on all nodes are passed.
const FEW: usize = 50;

impl Engine<'_> {
    /// Adds `length · direction` to the coefficients of a node. Returns by how much the loss rises.
    pub(crate) fn apply(&mut self, node: usize, length: f64, direction: &[f64], control: &Control) -> Result<f64> {
        let width = self.rows.width;
        let nodes = self.nodes;
        let inside = nodes.rows(node);
        let of_labels = match &self.fitted {
            Some(fitted) => fitted.products(nodes, &self.rows, &self.coefficients, direction)?,
            None => Vec::new(),
        };
        if self.slot[node] == NONE {
            try_grow(WHAT, &mut self.coefficients, width)?;
            self.slot[node] = (self.coefficients.len() / width) as u32;
            self.coefficients.resize(self.coefficients.len() + width, 0.0);
            if let Some(fitted) = &mut self.fitted {
                fitted.push(nodes.place(node).0, node, self.slot[node])?;
            }
        }
        let slot = self.slot[node] as usize * width;
        let beta = &mut self.coefficients[slot..slot + width];
        beta.iter_mut().zip(direction).for_each(|(b, u)| *b += length * u);
        self.n_moves += 1;
        // What the score of a row moves by, in lengths: inside the node, and outside.
        let (within, without) = match self.scoring {
            Scoring::Standardized => {
                let deviation = self.mass.deviation(node);
                ((1.0 - self.mass.share[node]) / deviation, -self.mass.share[node] / deviation)
            }
            _ => (1.0, 0.0),
        };
        if self.fitted.is_some() {
            return self.apply_to_labels(inside, length, direction, &of_labels, control);
        }
        let squares = matches!(self.keeper, Keeper::Squares(_));
        let products = if squares { self.products(inside, within, without, direction)? } else { Vec::new() };
        let by_sum = matches!(self.keeper, Keeper::Sums(_));
        let n_moved = match squares {
            true => 0,
            false if without == 0.0 => inside.len(),
            false => self.rows.n_rows(),
        };
        let mut moved = try_with_capacity(WHAT, n_moved)?;
        let mut values = try_with_capacity(WHAT, n_moved * if by_sum { width } else { 1 })?;
        let (mut change, mut overall) = (try_filled(WHAT, 0.0, width)?, try_filled(WHAT, 0.0, width)?);
        let mut rise = 0.0;
        let mut shift = |rows: &mut FitRows, i: u32, by: f64| {
            let w = rows.weight[i as usize];
            let added = rows.shift(i as usize, length * by, direction, &mut change);
            if w > 0.0 {
                rise += w * added;
                if squares {
                    return;
                }
                moved.push(i);
                overall.iter_mut().zip(&change).for_each(|(s, g)| *s += w * g);
                if by_sum {
                    values.extend(change.iter().map(|g| w * g));
                } else {
                    values.push(w * change.iter().map(|g| g * g).sum::<f64>().sqrt());
                }
            }
        };
        if without == 0.0 {
            inside.iter().for_each(|&i| shift(&mut self.rows, i, within));
        } else {
            inside.iter().for_each(|&i| self.is_moved[i as usize] = true);
            for i in 0..self.rows.n_rows() as u32 {
                let by = if std::mem::take(&mut self.is_moved[i as usize]) { within } else { without };
                shift(&mut self.rows, i, by);
            }
        }
        self.overall.iter_mut().zip(&overall).for_each(|(all, s)| *all += s);
        let drift = overall.iter().map(|s| s * s).sum::<f64>().sqrt();
        if width == 1 {
            self.sign[node] = self.coefficients[slot].signum() as f32;
            if moved.len() * FEW * nodes.n_trees() >= nodes.n_rows * nodes.n_trees() + nodes.n_nodes() {
                self.add_in_ranges(&moved, &values)?;
                return Ok(rise);
            }
        }
        if squares {
            self.add_products(&products, length, direction, control)?;
            if self.n_moves.is_multiple_of(REFRESH) {
                self.refresh(control)?;
            }
            return Ok(rise);
        }
        let mut passed = std::mem::take(&mut self.passed);
        for tree in 0..nodes.n_trees() {
            let scratch = &mut self.scratch;
            let passed = &mut passed;
            match &mut self.keeper {
                Keeper::Sums(sums) => nodes.touched(tree, &moved, &values, width, scratch, |k, added| {
                    sums[k * width..(k + 1) * width].iter_mut().zip(added).for_each(|(c, s)| *c += s);
                    passed.push(k as u32);
                }),
                Keeper::Squares(_) => unreachable!("done above"),
                Keeper::Bounds(bounds, exact) => nodes.touched(tree, &moved, &values, 1, scratch, |k, added| {
                    bounds[k] += added[0];
                    if without != 0.0 {
                        bounds[k] += self.mass.share[k] * drift;
                    }
                    exact[k] = false;
                    passed.push(k as u32);
                }),
            }?;
            passed.drain(..).for_each(|k| self.score(k as usize));
        }
        self.passed = passed;
        Ok(rise)
    }

    /// The rest of a move where residuals are not kept: `products` are ⟨r_i, u⟩ of all rows before it.
    fn apply_to_labels(
        &mut self,
        inside: &[u32],
        length: f64,
        direction: &[f64],
        products: &[f64],
        control: &Control,
    ) -> Result<f64> {
        let mut weighted: Vec<[f64; 2]> = try_with_capacity(WHAT, products.len())?;
        weighted.extend(self.rows.weight.iter().zip(products).map(|(w, p)| [w * p, 0.0]));
        let norm = dot(direction, direction);
        let mut rise = 0.0;
        for &i in inside {
            let i = i as usize;
            let w = self.rows.weight[i];
            weighted[i][1] = w;
            rise += w * self.rows.add_squares(i, length * (length * norm - 2.0 * products[i]));
        }
        self.add_products(&weighted, length, direction, control)?;
        if self.n_moves.is_multiple_of(REFRESH) {
            self.refresh(control)?;
        }
        Ok(rise)
    }

    /// Adds one number for each of some rows to the sums of all nodes that hold them, and scores all nodes: a node's rows are
    /// a range, so its sum is the difference of two sums over all rows before. Nodes without such rows stay as they are.
    fn add_in_ranges(&mut self, moved: &[u32], values: &[f64]) -> Result<()> {
        let Keeper::Sums(sums) = &mut self.keeper else { unreachable!("one score is narrow") };
        let nodes = self.nodes;
        let mut by_row = try_filled(WHAT, 0.0, nodes.n_rows)?;
        moved.iter().zip(values).for_each(|(&i, v)| by_row[i as usize] = *v);
        let mut before = try_filled(WHAT, 0.0, nodes.n_rows + 1)?;
        let all = if self.scoring == Scoring::Standardized { self.overall[0] } else { 0.0 };
        for tree in 0..nodes.n_trees() {
            let (order, start, end) = nodes.ranges(tree);
            let mut sum = 0.0;
            for (&i, before) in order.iter().zip(&mut before[1..]) {
                sum += by_row[i as usize];
                *before = sum;
            }
            let range = nodes.nodes(tree);
            let scores = self.best.rewrite(range.clone());
            let sums = &mut sums[range.clone()];
            let (share, factor) = (&self.mass.share[range.clone()], &self.factor[range.clone()]);
            let (open, sign) = (&self.open[range.clone()], &self.sign[range]);
            for k in 0..scores.len() {
                sums[k] += before[end[k] as usize] - before[start[k] as usize];
                let c = sums[k] - share[k] * all;
                let may_move = open[k] && c * f64::from(sign[k]) >= 0.0;
                scores[k] = if may_move { (c.abs() * factor[k]) as f32 } else { NEVER };
            }
        }
        Ok(())
    }

    /// For each row, weight × ⟨gradient, u⟩ and weight × what its score moves by.
    fn products(&mut self, inside: &[u32], within: f64, without: f64, direction: &[f64]) -> Result<Vec<[f64; 2]>> {
        let mut products = try_filled(WHAT, [0.0; 2], self.rows.n_rows())?;
        inside.iter().for_each(|&i| self.is_moved[i as usize] = true);
        for &i in &self.train {
            let i = i as usize;
            let w = self.rows.weight[i];
            let by = if self.is_moved[i] { within } else { without };
            products[i] = [w * dot(self.rows.gradient(i), direction), w * by];
        }
        inside.iter().for_each(|&i| self.is_moved[i as usize] = false);
        Ok(products)
    }

    /// Adds to the squares of all nodes with rows that move; sums as in [`Engine::add_in_ranges`]. Trees on several threads.
    fn add_products(&mut self, products: &[[f64; 2]], length: f64, direction: &[f64], control: &Control) -> Result<()> {
        let Keeper::Squares(squares) = &mut self.keeper else { unreachable!("asked for squares") };
        let nodes = self.nodes;
        let norm = dot(direction, direction);
        let mut left = (self.best.rewrite(0..nodes.n_nodes()), &mut squares[..]);
        let mut jobs = try_with_capacity(WHAT, nodes.n_trees())?;
        for tree in 0..nodes.n_trees() {
            let n = nodes.nodes(tree).len();
            let (scores, squares) = (left.0.split_at_mut(n), left.1.split_at_mut(n));
            left = (scores.1, squares.1);
            jobs.push((tree, scores.0, squares.0));
        }
        let (open, factor, scoring) = (&self.open, &self.factor, self.scoring);
        let scratch = || try_filled(WHAT, [0.0; 2], nodes.n_rows + 1);
        pool::for_each(control.n_threads(), jobs.into_iter(), scratch, |before, (tree, scores, squares)| {
            let (order, start, end) = nodes.ranges(tree);
            let mut sums = [0.0; 2];
            for (&i, before) in order.iter().zip(&mut before[1..]) {
                let row = products[i as usize];
                sums = [sums[0] + row[0], sums[1] + row[1]];
                *before = sums;
            }
            let range = nodes.nodes(tree);
            let (open, factor) = (&open[range.clone()], &factor[range]);
            for k in 0..scores.len() {
                let (first, last) = (before[start[k] as usize], before[end[k] as usize]);
                let moved = length * (last[1] - first[1]);
                if moved != 0.0 {
                    squares[k] += moved * (moved * norm - 2.0 * (last[0] - first[0]));
                    let factor = if scoring == Scoring::Raw { 1.0 } else { factor[k] };
                    scores[k] = if open[k] { (squares[k].max(0.0).sqrt() * factor) as f32 } else { NEVER };
                }
            }
            Ok(())
        })
    }
}

/// Σ a b, in eight sums.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (x, y) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = x.remainder().iter().zip(y.remainder()).map(|(a, b)| a * b).sum();
    for (x, y) in x.zip(y) {
        (0..8).for_each(|l| lanes[l] += x[l] * y[l]);
    }
    lanes.into_iter().sum::<f64>() + rest
}
