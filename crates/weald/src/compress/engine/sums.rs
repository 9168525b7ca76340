//! The keeper that stores c_k of every node, for few scores.

use super::scores::NodeScores;
use super::training::Training;
use super::{Gradients, Keeper, LossRows, PURPOSE, Step, Verdict, norm};
use crate::compress::best::NEVER;
use crate::compress::indicators::{Indicators, Scratch};
use crate::control::Control;
use crate::error::Result;

/// With one score, all nodes are updated if at least this number of samples moves for each sample and node of a tree.
const FEW: usize = 50;

#[derive(Debug)]
pub(super) struct Sums<R> {
    training: Training<R>,
    /// c_k of each node, `width` numbers for each.
    sums: Vec<f64>,
    /// With one score, the sign of each coefficient, 0 if there is none; otherwise empty.
    sign: Vec<f32>,
    scratch: Scratch,
}

impl<R: Gradients> Sums<R> {
    pub(super) fn new(rows: R, nodes: &Indicators, control: &Control) -> Result<Self> {
        let (n, width) = (nodes.n_nodes(), rows.rows().width);
        Ok(Sums {
            training: Training::new(rows)?,
            sums: control.filled(PURPOSE, 0.0, n * width)?,
            sign: PURPOSE.filled(0.0, if width == 1 { n } else { 0 })?,
            scratch: Scratch::default(),
        })
    }

    fn of(&self, node: usize) -> &[f64] {
        let width = self.training.width();
        &self.sums[node * width..(node + 1) * width]
    }

    /// Adds one number for each of some samples to the sums of all nodes that contain them, and computes the scores of
    /// all nodes. The samples of a node are a range, so that its sum is the difference of two prefix sums. Nodes
    /// without such samples do not change.
    fn add_in_ranges(&mut self, moved: &[u32], values: &[f64], scores: &mut NodeScores<'_>) -> Result<()> {
        let nodes = scores.nodes;
        let mut by_row = PURPOSE.filled(0.0, nodes.n_rows)?;
        moved.iter().zip(values).for_each(|(&i, v)| by_row[i as usize] = *v);
        let mut before = PURPOSE.filled(0.0, nodes.n_rows + 1)?;
        let all = if scores.is_centred() { self.training.overall[0] } else { 0.0 };
        for tree in 0..nodes.n_trees() {
            let (order, start, end) = nodes.ranges(tree);
            let mut sum = 0.0;
            for (&i, before) in order.iter().zip(&mut before[1..]) {
                sum += by_row[i as usize];
                *before = sum;
            }
            let range = nodes.nodes(tree);
            let NodeScores { mass, factor, is_open, best, .. } = &mut *scores;
            let of_tree = best.rewrite(range.clone());
            let sums = &mut self.sums[range.clone()];
            let (share, factor) = (&mass.share[range.clone()], &factor[range.clone()]);
            let (is_open, sign) = (&is_open[range.clone()], &self.sign[range]);
            for k in 0..of_tree.len() {
                sums[k] += before[end[k] as usize] - before[start[k] as usize];
                let c = sums[k] - share[k] * all;
                let may_move = is_open[k] && c * f64::from(sign[k]) >= 0.0;
                of_tree[k] = if may_move { (c.abs() * factor[k]) as f32 } else { NEVER };
            }
        }
        Ok(())
    }
}

/// Writes the score of a node from its sums and those over all samples.
fn score(node: usize, sums: &[f64], overall: &[f64], scores: &mut NodeScores<'_>) {
    scores.set(node, |scores| {
        let shift = scores.centring(node);
        let c = sums.iter().zip(overall).map(|(c, all)| c - shift * all);
        if scores.coefficients.may_move(node, c.clone()) { scores.of_length(node, norm(c)) } else { NEVER }
    });
}

impl<R: Gradients> Keeper for Sums<R> {
    fn rows(&self) -> &dyn LossRows {
        &self.training.rows
    }

    fn refresh(&mut self, scores: &mut NodeScores<'_>, control: &Control) -> Result<()> {
        self.training.refresh();
        let Sums { training, sums, scratch, .. } = self;
        let (nodes, width) = (scores.nodes, training.width());
        let mut values = PURPOSE.with_capacity(training.train.len() * width)?;
        for &i in &training.train {
            let w = training.rows.rows().weight[i as usize];
            values.extend(training.rows.gradient(i as usize).iter().map(|g| w * g));
        }
        for tree in 0..nodes.n_trees() {
            control.check()?;
            nodes.touched(tree, &training.train, &values, width, scratch, |k, c| {
                sums[k * width..(k + 1) * width].copy_from_slice(c);
            })?;
        }
        (0..nodes.n_nodes()).for_each(|k| self.score(k, scores));
        Ok(())
    }

    fn sum(&self, node: usize, scores: &NodeScores<'_>) -> Result<Vec<f64>> {
        Ok(self.training.standardized(node, PURPOSE.copied(self.of(node))?, scores))
    }

    fn score(&self, node: usize, scores: &mut NodeScores<'_>) {
        score(node, self.of(node), &self.training.overall, scores);
    }

    /// Scores are exact, and already reflect which nodes may not move.
    fn judge(&mut self, _: usize, _: &[f64], _: &mut NodeScores<'_>) -> Verdict {
        Verdict::Chosen
    }

    fn apply(&mut self, step: &Step<'_>, scores: &mut NodeScores<'_>, _: &Control) -> Result<f64> {
        scores.coefficients.add(step)?;
        let (nodes, width) = (scores.nodes, self.training.width());
        let n_moved = self.training.n_moved(step);
        let mut moved = PURPOSE.with_capacity(n_moved)?;
        let mut values = PURPOSE.with_capacity(n_moved * width)?;
        let mut overall = PURPOSE.filled(0.0, width)?;
        let rise = self.training.go(step, |i, w, change| {
            moved.push(i);
            overall.iter_mut().zip(change).for_each(|(s, g)| *s += w * g);
            values.extend(change.iter().map(|g| w * g));
        })?;
        self.training.overall.iter_mut().zip(&overall).for_each(|(all, s)| *all += s);
        if width == 1 {
            self.sign[step.node] = scores.coefficients.of(step.node)[0].signum() as f32;
            if moved.len() * FEW * nodes.n_trees() >= nodes.n_rows * nodes.n_trees() + nodes.n_nodes() {
                self.add_in_ranges(&moved, &values, scores)?;
                return Ok(rise);
            }
        }
        for tree in 0..nodes.n_trees() {
            let Sums { training, sums, scratch, .. } = &mut *self;
            nodes.touched(tree, &moved, &values, width, scratch, |k, added| {
                let sums = &mut sums[k * width..(k + 1) * width];
                sums.iter_mut().zip(added).for_each(|(c, s)| *c += s);
                score(k, sums, &training.overall, scores);
            })?;
        }
        Ok(rise)
    }
}
