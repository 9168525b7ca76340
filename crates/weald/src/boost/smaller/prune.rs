//! Boosted models with fewer leaves: the weakest splits of all trees become leaves, and the leaves that are left are
//! fitted anew.
//!
//! The cost of a node is what a leaf in its place would change: the sum over the samples below of the squared
//! differences between what their leaves add to the scores and the mean of that, in the unit of each score. From these
//! costs follow the links of minimal cost-complexity pruning ([`crate::tree::prune`]), here of all trees together.
//! Trees that have become one leaf are left out.
//!
//! Fewer trees at the same rate would add less. Boosting is therefore done again for as many stages as before, but takes
//! the remaining trees in turn instead of growing others. What a leaf adds in all of its turns is its value. Steps that
//! are repeated shrink less than one step does: λ is therefore multiplied by the number of turns.

use std::sync::Arc;

use crate::boost::config::BoostConfig;
use crate::boost::model::{Boosted, Combine};
use crate::boost::step_sizes::StepSizes;
use crate::control::Control;
use crate::data::{Dataset, Outputs};
use crate::error::{Error, Purpose, Result};
use crate::tree::Tree;
use crate::tree::leaves::{LeafTable, LeafTableBuilder};
use crate::tree::prune::Links;

const PURPOSE: Purpose = Purpose("the pruned trees");

impl BoostConfig {
    /// Returns a model with at most `n_test_nodes` splits, at least one: the weakest splits of all trees become leaves,
    /// and boosting is done again on these data for `self.n_estimators` stages, which take the trees that are left in
    /// turn. [`Boosted::train_score`] has the losses of the last turn.
    ///
    /// The cost is that of [`BoostConfig::refit_leaves`] and O(nodes × scores). Source: Breiman, Friedman, Olshen and
    /// Stone (1984), ch. 3, for the links.
    ///
    /// # Errors
    /// The same as for [`BoostConfig::refit_leaves`], and [`crate::ErrorKind::Invalid`] for no splits.
    pub fn prune<'d>(&self, model: &Boosted, data: impl Into<Dataset<'d>>, n_test_nodes: usize) -> Result<Boosted> {
        let data = data.into();
        let control = &data.under();
        if n_test_nodes == 0 {
            return Err(Error::invalid("n_test_nodes", 0, "be at least 1"));
        }
        let pruned = model.collapsed(n_test_nodes, control)?;
        let in_turns = pruned.in_turns(self.n_estimators.max(pruned.n_stages()))?;
        let n_turns = in_turns.n_stages() as f64 / pruned.n_stages().max(1) as f64;
        let l2_regularization = self.l2_regularization * n_turns;
        let config = BoostConfig { n_estimators: in_turns.n_stages(), l2_regularization, ..self.clone() };
        config.refit_leaves(&in_turns, data)?.folded(pruned.n_stages(), control)
    }
}

impl Boosted {
    /// Returns the number of test nodes of all trees.
    pub fn n_test_nodes(&self) -> usize {
        self.trees.iter().map(|tree| tree.n_nodes() / 2).sum()
    }

    /// Returns the number of trees of a stage.
    fn n_of_stage(&self) -> usize {
        if self.combine == Combine::Columns { self.width } else { 1 }
    }

    /// Returns the model in which the weakest splits are leaves, so that at most `n_test_nodes` are left, without trees of
    /// one leaf.
    fn collapsed(&self, n_test_nodes: usize, control: &Control) -> Result<Boosted> {
        let links = self.links(control)?;
        let mut steps = Vec::new();
        for (tree, links) in links.iter().enumerate() {
            for (node, &alpha) in links.alpha.iter().enumerate().filter(|(_, alpha)| alpha.is_finite()) {
                PURPOSE.push(&mut steps, (alpha, tree, node))?;
            }
        }
        steps.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        // The last split stays, whatever it is worth.
        steps.pop();
        let mut left = self.n_test_nodes();
        let mut is_leaf: Vec<Vec<bool>> =
            PURPOSE.results(self.trees.iter().map(|tree| PURPOSE.filled(false, tree.n_nodes())))?;
        for (_, tree, node) in steps {
            if left <= n_test_nodes {
                break;
            }
            is_leaf[tree][node] = true;
            left -= links[tree].below[node].n_leaves as usize - 1;
        }
        let collapse = |(tree, is_leaf): (&Arc<Tree>, &Vec<bool>)| {
            if is_leaf.contains(&true) {
                tree.collapsed(|i| is_leaf[i], control).map(Arc::new)
            } else {
                Ok(tree.clone())
            }
        };
        let trees = PURPOSE.results(self.trees.iter().zip(&is_leaf).map(collapse))?;

        // Stages of one tree are left out if it is a leaf. Where each score has its own, its trees move up.
        let n_columns = self.n_of_stage();
        let has_splits = |&&stage: &&usize, column: usize| trees[stage * n_columns + column].n_leaves() > 1;
        let stages = PURPOSE.collected(0..self.n_stages())?;
        let mut orders: Vec<Vec<usize>> = PURPOSE.with_capacity(n_columns)?;
        for column in 0..n_columns {
            let (splits, leaves): (Vec<usize>, Vec<usize>) = stages.iter().partition(|stage| has_splits(stage, column));
            orders.push([splits, leaves].concat());
        }
        let n_split = |column: usize| stages.iter().filter(|stage| has_splits(stage, column)).count();
        let n_stages = (0..n_columns).map(n_split).max().unwrap_or(0);
        let tree_of = |i: usize| orders[i % n_columns][i / n_columns] * n_columns + i % n_columns;
        let step = |i: usize| {
            let (stage, score) = (i / self.width, i % self.width);
            let stage = orders[if n_columns > 1 { score } else { 0 }][stage];
            self.step_sizes.0[stage * self.width + score]
        };
        self.of_trees(
            PURPOSE.collected((0..n_stages * n_columns).map(|i| trees[tree_of(i)].clone()))?,
            PURPOSE.collected((0..n_stages * self.width).map(step))?,
        )
    }

    /// Returns the model with other stages, which have no losses yet.
    fn of_trees(&self, trees: Vec<Arc<Tree>>, step_sizes: Vec<f64>) -> Result<Boosted> {
        Ok(Boosted { trees, step_sizes: StepSizes(step_sizes), ..self.truncated(0)? })
    }

    /// Returns the links of the splits of each tree.
    fn links(&self, control: &Control) -> Result<Vec<Links>> {
        let units = self.units(control)?;
        let mut links = PURPOSE.with_capacity(self.trees.len())?;
        for (t, tree) in self.trees.iter().enumerate() {
            links.push(Links::of_costs(&tree.nodes, costs(tree, &self.units_of_tree(t, &units)?, control)?, control)?);
        }
        Ok(links)
    }

    /// Returns what the columns of the leaves of a tree are multiplied by, given the units of the scores.
    fn units_of_tree(&self, tree: usize, units: &[f64]) -> Result<Vec<f64>> {
        match self.combine {
            Combine::Columns => PURPOSE.filled(units[tree % self.width], 1),
            Combine::Leaves => PURPOSE.copied(units),
            Combine::RankOne | Combine::OtherRankOne | Combine::OtherEach => {
                let steps = self.step_sizes.of_stage(tree, self.width);
                let square: f64 = steps.zip(units).map(|(step, unit)| (step * unit) * (step * unit)).sum();
                PURPOSE.filled(square.sqrt(), 1)
            }
        }
    }

    /// Returns what each score is multiplied by, so that scores of numerical outputs can be compared: what all trees
    /// together add to them then has the same sum of squares.
    fn units(&self, control: &Control) -> Result<Vec<f64>> {
        let mut units = PURPOSE.filled(1.0, self.width)?;
        if !matches!(self.outputs, Outputs::Real { .. }) {
            return Ok(units);
        }
        let mut pulse = control.pulse();
        // First the largest values, of which the squares are in range, then the squares.
        for is_largest in [true, false] {
            let mut found = PURPOSE.filled(0.0f64, self.width)?;
            for (t, tree) in self.trees.iter().enumerate() {
                for (leaf, &weight) in leaves_of(tree).zip(&tree.weighted_n_node_samples) {
                    let Some(leaf) = leaf else { continue };
                    let mut see = |score: usize, value: f64| {
                        let value = (value * units[score]).abs();
                        found[score] =
                            if is_largest { found[score].max(value) } else { found[score] + weight * value * value };
                    };
                    for (column, value) in tree.leaves.cells(leaf as usize) {
                        match self.combine {
                            Combine::Columns => see(t % self.width, value),
                            Combine::Leaves => see(column as usize, value),
                            Combine::RankOne | Combine::OtherRankOne | Combine::OtherEach => {
                                let steps = self.step_sizes.of_stage(t, self.width);
                                steps.enumerate().for_each(|(score, step)| see(score, step * value));
                            }
                        }
                    }
                }
                pulse.after(tree.n_leaves() * self.width)?;
            }
            for (unit, found) in units.iter_mut().zip(found) {
                let by = if is_largest { found } else { found.sqrt() };
                *unit = if by > 0.0 && (*unit / by).is_finite() { *unit / by } else { *unit };
            }
        }
        Ok(units)
    }

    /// Returns a model of `n_stages` stages that takes the stages of this one in turn.
    fn in_turns(&self, n_stages: usize) -> Result<Boosted> {
        let n_columns = self.n_of_stage();
        // A leaf that no sample reaches keeps its value once.
        let again = |tree: &Arc<Tree>| match self.combine {
            Combine::Leaves | Combine::Columns => Ok(Arc::new(tree.with_leaves(no_leaves(tree)?)?)),
            Combine::RankOne | Combine::OtherRankOne | Combine::OtherEach => Ok(tree.clone()),
        };
        let again = PURPOSE.results(self.trees.iter().map(again))?;
        let n = self.trees.len().max(1);
        let tree = |i: usize| if i < n { self.trees[i].clone() } else { again[i % n].clone() };
        let steps = (0..n_stages * self.width).map(|i| self.step_sizes.0[i % self.step_sizes.len()]);
        let n_stages = if self.trees.is_empty() { 0 } else { n_stages };
        let steps = PURPOSE.collected(steps.take(n_stages * self.width))?;
        self.of_trees(PURPOSE.collected((0..n_stages * n_columns).map(tree))?, steps)
    }

    /// Returns the model of `n_stages` stages of which this one has the turns.
    fn folded(&self, n_stages: usize, control: &Control) -> Result<Boosted> {
        let n = n_stages * self.n_of_stage();
        let is_rank_one = self.combine == Combine::RankOne;
        let mut trees = PURPOSE.with_capacity(n)?;
        for (i, first) in self.trees.iter().take(n).enumerate() {
            control.check()?;
            let turns = || self.trees.iter().skip(i).step_by(n);
            trees.push(if is_rank_one { first.clone() } else { Arc::new(first.with_leaves(sum(turns())?)?) });
        }
        let mut steps = PURPOSE.copied(&self.step_sizes.0[..n_stages * self.width])?;
        for turn in self.step_sizes.0.chunks(steps.len().max(1)).skip(1) {
            // Leaves have what they add: their steps are 1, or 0 where nothing is added.
            let add = |step: f64, more: f64| if is_rank_one { step + more } else { step.max(more) };
            steps.iter_mut().zip(turn).for_each(|(step, more)| *step = add(*step, *more));
        }
        let train_score = PURPOSE.copied(&self.train_score[self.n_stages() - n_stages..])?;
        Ok(Boosted { train_score, ..self.of_trees(trees, steps)? })
    }
}

/// Returns the leaf of each node, if it is one.
fn leaves_of(tree: &Tree) -> impl ExactSizeIterator<Item = Option<u32>> + DoubleEndedIterator + '_ {
    tree.nodes.iter().map(|node| node.is_leaf().then(|| node.right()))
}

/// Returns leaves of zeros.
fn no_leaves(tree: &Tree) -> Result<LeafTable> {
    let mut builder = LeafTableBuilder::new(tree.leaves.width());
    let zeros = PURPOSE.filled(0.0, tree.leaves.width())?;
    (0..tree.n_leaves()).try_for_each(|_| builder.push_means(&zeros))?;
    builder.finish()
}

/// Returns the sums of the leaves of trees that have the same splits.
fn sum<'t>(trees: impl Iterator<Item = &'t Arc<Tree>> + Clone) -> Result<LeafTable> {
    let first = trees.clone().next().expect("a tree");
    let mut builder = LeafTableBuilder::new(first.leaves.width());
    let mut row = PURPOSE.filled(0.0, first.leaves.width())?;
    for leaf in 0..first.n_leaves() {
        row.fill(0.0);
        trees.clone().for_each(|tree| tree.leaves.add_to(leaf, &mut row));
        builder.push_means(&row)?;
    }
    builder.finish()
}

/// Returns the cost of each node: weight × squared distance, summed over the leaves below, from their mean.
fn costs(tree: &Tree, units: &[f64], control: &Control) -> Result<Vec<f64>> {
    let mut costs = PURPOSE.filled(0.0, tree.n_nodes())?;
    let mut pulse = control.pulse();
    // Weights and means of the subtrees whose parents are still to come.
    let mut below: Vec<(f64, Vec<f64>)> = Vec::new();
    for (i, leaf) in leaves_of(tree).enumerate().rev() {
        pulse.after(units.len())?;
        if let Some(leaf) = leaf {
            let mut mean = PURPOSE.filled(0.0, units.len())?;
            tree.leaves.add_to(leaf as usize, &mut mean);
            mean.iter_mut().zip(units).for_each(|(value, unit)| *value *= unit);
            PURPOSE.push(&mut below, (tree.weighted_n_node_samples[i], mean))?;
            continue;
        }
        let proof = "two subtrees below every split";
        let ((a, mut mean), (b, other)) = (below.pop().expect(proof), below.pop().expect(proof));
        let share = if a + b > 0.0 { b / (a + b) } else { 0.5 };
        let apart: f64 = mean.iter().zip(&other).map(|(x, y)| (x - y) * (x - y)).sum();
        mean.iter_mut().zip(other).for_each(|(x, y)| *x += share * (y - *x));
        costs[i] = costs[i + 1] + costs[tree.nodes[i].right() as usize] + a * share * apart;
        below.push((a + b, mean));
    }
    Ok(costs)
}
