//! Fits label trees: prepares the samples, clusters their labels, and solves the columns of all nodes.

use std::ops::Range;

use super::plan::{Part, Plan};
use super::points::Points;
use super::routes::Routes;
use super::tree::{Growing, LabelTree, NodeWeights};
use super::{LabelTreeConfig, LabelTreeModel};
use crate::control::Control;
use crate::data::{Dataset, Outputs};
use crate::error::{Error, Purpose, Result};
use crate::linear::{Block, Kept, LinearConfig, Lists, Samples, Source, Task, by_column, n_blocks};
use crate::pool;
use crate::rng::{GOLDEN, Key, mix};

const PURPOSE: Purpose = Purpose("the nodes of a label tree");

/// Purpose of the key of clusters.
const CLUSTERS: u64 = u64::from_be_bytes(*b"labels\0\0");

/// Stands for a label that is in no tree.
const NOWHERE: u32 = u32::MAX;

impl LabelTreeConfig {
    /// Fits the model, on the threads of the control.
    ///
    /// `data` is a [`Dataset`] or a pair of X, (n_samples, n_features), without NaN and categories, and y: labels, or one
    /// output of classes, each of which is then a label. Some cells of y may be unknown. A node is fitted to the samples whose
    /// search for labels comes there, and to those that have a label below it. A child counts as unknown for a sample if one
    /// of its labels is, and the sample has none of them. Labels that no sample has are in no tree. The model is the same with
    /// other threads, and in another order of the samples or of the labels; the exception are labels that samples with the
    /// same X have.
    ///
    /// Memory: X three times in sparse form, up to 1 024 entries for each label, the weights that are kept, and for each
    /// thread 64 bytes for each feature and each sample. Time: for each depth, a pass over the stored entries of X for each
    /// sixteen children of a node and each node that a sample reaches, some five times. For labels that samples are
    /// similar in, a sample reaches few nodes of a depth.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] or [`crate::ErrorKind::Shape`] if parameters or data are not valid,
    /// [`crate::ErrorKind::Unsupported`] if y has numbers or several outputs of classes, [`crate::ErrorKind::OutOfMemory`] when there is not
    /// enough memory, and [`crate::ErrorKind::Interrupted`] when its control is stopped.
    ///
    /// ```
    /// use weald::{LabelTreeConfig, LabelView, Matrix};
    ///
    /// // Four documents over five words (CSR), and their tags out of three (CSR without values).
    /// let x = Matrix::csr(vec![0, 2, 3, 5, 6], vec![0, 1, 0, 2, 4, 2], vec![2.0, 1.0, 1.0, 3.0, 1.0, 1.0], 5)?;
    /// let y = LabelView::try_new(vec![0, 1, 2, 3, 4], vec![0, 0, 2, 2], 3)?;
    /// let config = LabelTreeConfig::default().c(10.0).max_leaf_labels(1);
    /// let model = config.fit((&x, y))?;
    /// let best = model.predict_topk(&x, 1)?;
    /// assert_eq!(best.indices.column(0).to_vec(), [0, 0, 2, 2]);
    /// # Ok::<(), weald::Error>(())
    /// ```
    pub fn fit<'d>(&self, data: impl Into<Dataset<'d>>) -> Result<LabelTreeModel> {
        let data = data.into();
        let control = &data.under();
        let of_nodes = self.of_nodes()?;
        let (outputs, n_features) = (data.outputs(), data.n_features());
        check_outputs(&outputs)?;
        let n_labels = outputs.width();
        let (samples, learned) = Source::with(&data, control, |source| match source.y.n_columns == n_labels {
            true => of_nodes.samples(source, &source.y, |_| true, control),
            false => of_nodes.samples(source, &source.y.of_both_classes()?, |_| true, control),
        })?;
        let having = by_column(&samples.positives, n_labels)?;
        let key = Key::from_seed(self.seed).child(CLUSTERS);
        let labels = in_own_order(&samples, &having, n_labels, key, control)?;
        let points = Points::new(&samples, &labels, &having, control)?;
        let mut trees = PURPOSE.with_capacity(self.n_trees)?;
        for tree in 0..self.n_trees {
            let key = key.child(self.first_tree.wrapping_add(tree) as u64);
            let plan = Plan::new(self, &labels, &points, key, control)?;
            let n_blocks: usize = plan.parts.iter().map(|part| n_blocks(n_columns(part))).sum();
            control.expect(n_blocks.saturating_mul(self.n_trees - tree));
            let nodes = Nodes::new(&samples, &having, &plan, n_labels)?;
            trees.push(nodes.fit(&of_nodes, self.beam_width, control)?);
        }
        let (features, beam_width) = (self.features, self.beam_width);
        Ok(LabelTreeModel { n_features, outputs, features, idf: learned.idf, beam_width, trees })
    }
}

/// Checks that y is labels, or one output of classes.
fn check_outputs(outputs: &Outputs) -> Result<()> {
    match outputs {
        Outputs::Labels { .. } => Ok(()),
        Outputs::Classes { n_classes } if n_classes.len() == 1 => Ok(()),
        Outputs::Classes { .. } => {
            Err(Error::unsupported("y", "if it has several outputs of classes, by a label tree"))
        }
        Outputs::Real { .. } => Err(Error::unsupported("y", "if it is numerical, by a label tree")),
    }
}

/// Returns the labels that samples have, in an order that does not depend on their numbers: by a hash of the seed and of the
/// weight with each X that has them. Labels of which each X has the same weight come in their own order.
fn in_own_order(samples: &Samples, having: &Lists, n_labels: usize, key: Key, control: &Control) -> Result<Vec<u32>> {
    let mut hashes = PURPOSE.filled(GOLDEN, n_labels)?;
    let mut pulse = control.pulse();
    let (mut listed, mut sums) = (Vec::new(), Vec::<(u32, f64)>::new());
    for group in samples.groups() {
        let (key, is_one) = (key.child(group.start as u64), group.len() == 1);
        listed.clear();
        sums.clear();
        for row in group {
            let labels = samples.positives.of(row);
            pulse.after(labels.len())?;
            PURPOSE.extend(&mut listed, labels.iter().map(|&label| (label, samples.weights[row])))?;
        }
        listed.sort_unstable_by_key(|&(label, _)| label);
        for &(label, weight) in &listed {
            match sums.last_mut() {
                // Sums of weights, which are multiples of a unit, are exact.
                Some((last, sum)) if *last == label => *sum += weight,
                _ => PURPOSE.push(&mut sums, (label, weight))?,
            }
        }
        for &(label, weight) in &sums {
            let key = if is_one { key } else { key.child(weight.to_bits()) };
            hashes[label as usize] = hashes[label as usize].wrapping_add(mix(key.bits()));
        }
    }
    let mut labels = PURPOSE.with_capacity(n_labels)?;
    labels.extend((0..n_labels as u32).filter(|&label| !having.of(label as usize).is_empty()));
    labels.sort_by_key(|&label| (hashes[label as usize], label));
    Ok(labels)
}

/// The nodes of a tree, and the samples from which they are fitted.
#[derive(Debug)]
struct Nodes<'n> {
    samples: &'n Samples,
    /// The samples that have each label.
    having: &'n Lists,
    plan: &'n Plan,
    /// The place of each label among those of the plan.
    place: Vec<u32>,
}

impl<'n> Nodes<'n> {
    fn new(samples: &'n Samples, having: &'n Lists, plan: &'n Plan, n_labels: usize) -> Result<Self> {
        let mut place = PURPOSE.filled(NOWHERE, n_labels)?;
        (0u32..).zip(&plan.labels).for_each(|(at, &label)| place[label as usize] = at);
        Ok(Nodes { samples, having, plan, place })
    }

    /// Fits all nodes, depth by depth.
    fn fit(&self, config: &LinearConfig, beam_width: usize, control: &Control) -> Result<LabelTree> {
        let parts = &self.plan.parts;
        let mut growing = Growing::new(self.plan)?;
        let mut routes = Routes::new(self.samples, beam_width)?;
        let mut level = 0..1;
        while !level.is_empty() {
            self.fit_level(level.clone(), &routes.at(&level)?, &mut growing, config, control)?;
            let n_children = parts[level.clone()].iter().map(|part| part.n_children).sum::<usize>();
            level = level.end..level.end + n_children;
            if !level.is_empty() {
                routes.descend(growing.tree(), control)?;
            }
        }
        Ok(growing.finished())
    }

    /// Fits the nodes of a depth, which some samples reach: some nodes at a time, whose samples together have about as many
    /// entries as X.
    fn fit_level(
        &self,
        level: Range<usize>,
        reaching: &Lists,
        growing: &mut Growing,
        config: &LinearConfig,
        control: &Control,
    ) -> Result<()> {
        let n_threads = control.n_threads();
        let most = self.samples.n_entries();
        let mut first = level.start;
        while first < level.end {
            let (mut rows, mut n_stored) = (Vec::new(), 0);
            while first + rows.len() < level.end && (rows.is_empty() || n_stored < most) {
                control.check()?;
                let node = first + rows.len();
                let of_node = self.rows_of(&self.plan.parts[node], reaching.of(node - level.start))?;
                n_stored += self.samples.n_stored(&of_node);
                PURPOSE.push(&mut rows, of_node)?;
            }
            let parts = &self.plan.parts[first..first + rows.len()];
            let samples = pool::map(n_threads, parts.len(), |at| self.samples_of(&parts[at], &rows[at], control))?;
            let tasks = pool::map(n_threads, parts.len(), |at| Task::new(config, &samples[at], n_columns(&parts[at])))?;
            let mut jobs = Vec::new();
            for task in &tasks {
                PURPOSE.extend(&mut jobs, task.blocks().map(|columns| (task, columns)))?;
            }
            let mut kept = PURPOSE.with_capacity(jobs.len())?;
            kept.resize_with(jobs.len(), Kept::default);
            pool::for_each(
                n_threads,
                jobs.into_iter().zip(&mut kept),
                || Ok(Block::default()),
                |block, ((task, columns), kept)| {
                    *kept = task.solve(block, columns, control)?;
                    Ok(())
                },
            )?;
            let mut left = &kept[..];
            for (task, part) in tasks.iter().zip(parts) {
                let (own, others) = left.split_at(task.blocks().len());
                left = others;
                growing.push(NodeWeights::joined(own, n_columns(part))?)?;
            }
            first += parts.len();
        }
        Ok(())
    }

    /// Returns the samples that reach a node or have a label below it, in increasing order.
    fn rows_of(&self, part: &Part, reaching: &[u32]) -> Result<Vec<u32>> {
        let labels = &self.plan.labels[part.start..part.end];
        let mut rows = PURPOSE.collected(reaching.iter().copied())?;
        for &label in labels {
            PURPOSE.extend(&mut rows, self.having.of(label as usize).iter().copied())?;
        }
        rows.sort_unstable();
        rows.dedup();
        Ok(rows)
    }

    /// Returns some samples, with the columns of a node; without those that know none of them.
    fn samples_of(&self, part: &Part, rows: &[u32], control: &Control) -> Result<Samples> {
        let children = &self.plan.parts[part.first_child..part.first_child + part.n_children];
        let column = |label: &u32| -> Option<u32> {
            let place = self.place[*label as usize] as usize;
            (part.start..part.end).contains(&place).then(|| match part.is_leaf() {
                true => (place - part.start) as u32,
                false => children.partition_point(|child| child.end <= place) as u32,
            })
        };
        let (mut positives, mut unknown) = (Lists::new()?, Lists::new()?);
        let (mut known, mut has, mut may_have) = (Vec::new(), Vec::new(), Vec::new());
        let mut pulse = control.pulse();
        for &row in rows {
            let (of_row, unknown_of_row) =
                (self.samples.positives.of(row as usize), self.samples.unknown.of(row as usize));
            pulse.after(of_row.len() + unknown_of_row.len())?;
            list(&mut has, of_row.iter().filter_map(column))?;
            list(&mut may_have, unknown_of_row.iter().filter_map(column))?;
            may_have.retain(|column| has.binary_search(column).is_err());
            if may_have.len() < n_columns(part) {
                PURPOSE.push(&mut known, row)?;
                positives.push(has.iter().copied())?;
                unknown.push(may_have.iter().copied())?;
            }
        }
        self.samples.subset(&known, positives, unknown)
    }
}

/// Returns the number of columns of a node.
fn n_columns(part: &Part) -> usize {
    if part.is_leaf() { part.end - part.start } else { part.n_children }
}

/// Replaces a list by other items, in increasing order and each once.
fn list(to: &mut Vec<u32>, items: impl Iterator<Item = u32>) -> Result<()> {
    to.clear();
    for item in items {
        PURPOSE.push(to, item)?;
    }
    to.sort_unstable();
    to.dedup();
    Ok(())
}
