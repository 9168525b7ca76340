//! What is known before rows come, and what a block of rows adds up to.

use super::PURPOSE;
use super::mixed::Background;
use crate::control::Control;
use crate::data::Matrix;
use crate::error::Result;
use crate::loss::kernels::vector::vectorised;
use crate::model::{Additive, Direction, SparseScores, Term};
use crate::pool;
use crate::tree::rows::{Rows, Scratch};
use crate::tree::shap::background::{ByPlace, Mixtures, walk_mixed};
use crate::tree::shap::batch::{Batch, LeafSums, To};
use crate::tree::shap::leaf_weights::{LeafWeights, Weighing};
use crate::tree::shap::mixed_leaf::{LeafWork, MixedWeights};
use crate::tree::shap::quadrature::Rule;
use crate::tree::shap::sums::{Subtrees, Sums};
use crate::tree::shap::walk::{Stack, walk};
use crate::tree::shap::{Eight, LANES, LeafColumns, NONE, Paths, Tested, chosen_places, no_sums};

/// Most outputs whose sums over subtrees are formed: of more, weights of leaves are, and their values added.
const FEW_OUTPUTS: usize = 4;
/// Sums of a block of rows, at most, unless eight rows of one output have more: 64 MiB for each thread.
const BLOCK_SUMS: usize = 1 << 20;

/// All that does not depend on rows.
#[derive(Debug)]
pub(super) struct Plan<'m, 'a, 'x> {
    model: &'m Additive<'a>,
    /// The rows that are explained, and those of the background, if there is one.
    pub(super) rows: Rows<'x>,
    background: Option<Background>,
    pub(super) tested: Tested,
    /// Of each tree.
    paths: Vec<Paths>,
    /// By number of nodes.
    rules: Vec<Option<Rule>>,
}

/// Some outputs of a model, which are explained at one time.
#[derive(Debug)]
pub(super) struct Question<'p> {
    columns: &'p [usize],
    /// Of each score its place among them, or [`NONE`].
    pub(super) places: Vec<u32>,
    /// Values of the leaves of each tree, where there are few outputs or leaves hold one number; else empty.
    pub(super) tables: Vec<Vec<f64>>,
    /// Groups of [`LANES`] rows of a block.
    n_groups: usize,
}

impl Question<'_> {
    /// Rows of a block.
    pub(super) fn block_rows(&self) -> usize {
        self.n_groups * LANES
    }
}

/// Memory of one thread.
#[derive(Debug, Default)]
pub(super) struct Worker {
    memory: Memory,
    /// Of the last block, by group of rows, feature tested and output.
    pub(super) found: Vec<Eight>,
    /// Interactions of the last block, by group and pairs of features tested, of which the second is the lower one.
    pub(super) pairs: Vec<Eight>,
    /// Of a tree whose number goes to several scores.
    numbers: Vec<Eight>,
    factors: Vec<f64>,
}

#[derive(Debug, Default)]
pub(super) struct Memory {
    rows: Option<Scratch>,
    /// Values of a block of rows, by feature tested and group.
    x: Vec<[f32; LANES]>,
    n_rows: usize,
    stack: Stack,
    subtrees: Subtrees,
    weighing: Weighing,
    batch: Batch,
    mixtures: Mixtures,
    leaf_work: LeafWork,
}

impl<'m, 'a, 'x> Plan<'m, 'a, 'x> {
    pub(super) fn new(
        model: &'m Additive<'a>,
        x: impl Into<Matrix<'x>>,
        background: Option<Matrix<'_>>,
        control: &Control,
    ) -> Result<Self> {
        let rows = model.rows(x, control)?;
        let tested = Tested::by(&model.trees, model.n_features)?;
        let mut met = PURPOSE.filled(0, tested.len())?;
        let mut paths = PURPOSE.with_capacity(model.trees.len())?;
        let mut rules = Vec::new();
        for tree in &model.trees {
            let found = Paths::of(tree, &tested, &mut met)?;
            let m = found.n_quadrature;
            while rules.len() <= m {
                PURPOSE.push(&mut rules, None)?;
            }
            if rules[m].is_none() {
                rules[m] = Some(Rule::gauss_legendre(m)?);
            }
            paths.push(found);
        }
        let background = background.map(|x| Background::new(model, &tested, x, control)).transpose()?;
        Ok(Plan { model, rows, background, tested, paths, rules })
    }

    fn rule(&self, tree: usize) -> &Rule {
        self.rules[self.paths[tree].n_quadrature].as_ref().expect("made for the paths of every tree")
    }

    /// Outputs whose sums of a block are held at once.
    pub(super) fn outputs_at_once(&self) -> usize {
        (BLOCK_SUMS / self.tested.len().max(1)).max(1)
    }

    /// What is asked of some outputs, in blocks of rows with `width` sums for each feature tested: of one group of
    /// [`LANES`] rows, but several against a background.
    pub(super) fn question<'p>(&self, columns: &'p [usize], width: usize, control: &Control) -> Result<Question<'p>> {
        let most = BLOCK_SUMS / self.tested.len().saturating_mul(width).max(1);
        let n_groups =
            self.background.as_ref().map_or(1, |background| background.n_groups(most, self.rows.n_samples(), control));
        let model = self.model;
        let places = chosen_places(columns, model.width)?;
        let tables = pool::map(control.n_threads(), model.trees.len(), |t| {
            control.check()?;
            let tree = model.trees[t];
            match model.term(t) {
                Term::Leaf if columns.len() <= FEW_OUTPUTS => {
                    LeafColumns { tree, chosen: Some(&places) }.table(columns.len())
                }
                Term::Leaf => Ok(Vec::new()),
                Term::Column(column) if places[column] == NONE => Ok(Vec::new()),
                Term::Column(_) | Term::RankOne(_) => LeafColumns { tree, chosen: None }.table(1),
            }
        })?;
        Ok(Question { columns, places, tables, n_groups })
    }

    /// Reads a block of rows, by the features that are tested.
    fn read(&self, block: usize, n_groups: usize, memory: &mut Memory) -> Result<()> {
        let (rows, n_rows) = (&self.rows, n_groups * LANES);
        let range = block * n_rows..((block + 1) * n_rows).min(rows.n_samples());
        memory.n_rows = range.len();
        let mut scratch = match memory.rows.take() {
            Some(scratch) => scratch,
            None => rows.scratch()?,
        };
        let len = self.tested.len().saturating_mul(n_groups);
        if memory.x.len() != len {
            memory.x = PURPOSE.filled([0.0; LANES], len)?;
        }
        let mut at = 0;
        rows.for_each(range, &mut scratch, |row| {
            for (groups, &feature) in memory.x.chunks_exact_mut(n_groups).zip(&self.tested.features) {
                groups[at / LANES][at % LANES] = row[feature as usize];
            }
            at += 1;
        });
        memory.rows = Some(scratch);
        Ok(())
    }

    /// Leaves the Shapley values of a block of rows in `worker.found`; its number of rows.
    pub(super) fn explain(
        &self,
        block: usize,
        question: &Question<'_>,
        worker: &mut Worker,
        control: &Control,
    ) -> Result<usize> {
        self.read(block, question.n_groups, &mut worker.memory)?;
        self.sum(question, false, worker, control)?;
        Ok(worker.memory.n_rows)
    }

    /// Leaves the Shapley values of the block that was read in `worker.found`, or interactions in `worker.pairs`.
    pub(super) fn sum(
        &self,
        question: &Question<'_>,
        of_pairs: bool,
        worker: &mut Worker,
        control: &Control,
    ) -> Result<()> {
        let Worker { memory, found, pairs, numbers, factors } = worker;
        let found = if of_pairs { pairs } else { found };
        let (u, width) = (self.tested.len(), question.columns.len());
        let n_cells = u.saturating_mul(question.n_groups).saturating_mul(if of_pairs { u } else { 1 });
        cleared(found, n_cells.saturating_mul(width))?;
        for t in 0..self.model.trees.len() {
            control.check()?;
            let first = match self.model.term(t) {
                Term::Leaf => 0,
                Term::Column(column) if question.places[column] == NONE => continue,
                Term::Column(column) => question.places[column] as usize,
                Term::RankOne(direction) => {
                    if numbers.len() != n_cells {
                        cleared(numbers, n_cells)?;
                    }
                    let to = To { sums: numbers, stride: 1, first: 0 };
                    self.add(t, question, of_pairs, memory, to, control)?;
                    factors_of(direction, question, factors)?;
                    let met = numbers.iter_mut().enumerate().filter(|(_, number)| number.0 != [0.0; LANES]);
                    for (cell, number) in met {
                        let number = std::mem::take(number);
                        for (sum, factor) in found[cell * width..][..width].iter_mut().zip(&*factors) {
                            sum.0.iter_mut().zip(number.0).for_each(|(sum, number)| *sum += number * factor);
                        }
                    }
                    continue;
                }
            };
            self.add(t, question, of_pairs, memory, To { sums: found, stride: width, first }, control)?;
        }
        if self.model.divisor != 1.0 {
            found.iter_mut().for_each(|sum| sum.0.iter_mut().for_each(|sum| *sum /= self.model.divisor));
        }
        Ok(())
    }

    /// Adds what a tree tells of the block that was read.
    fn add(
        &self,
        t: usize,
        question: &Question<'_>,
        of_pairs: bool,
        memory: &mut Memory,
        to: To<'_>,
        control: &Control,
    ) -> Result<()> {
        let (tree, table, tested) = (self.model.trees[t], &question.tables[t][..], &self.tested);
        let Memory { stack, subtrees, weighing, batch, x, n_rows, mixtures, leaf_work: work, .. } = memory;
        let n_places = tested.len();
        if table.is_empty() {
            batch.prepare(n_places * question.n_groups)?;
        } else if self.background.is_none() && !of_pairs {
            let (rule, depth, n_outputs) = (self.rule(t), self.paths[t].depth, table.len() / tree.n_leaves());
            stack.prepare(depth, rule.len(), n_places)?;
            subtrees.prepare(depth, rule.len(), n_outputs)?;
            let mut visit = Sums { subtrees, table, n_outputs, to };
            return vectorised(
                #[inline(always)]
                || walk(tree, tested, rule, x, stack, &mut visit),
            );
        }
        let leaves = LeafColumns { tree, chosen: Some(&question.places) };
        let sums = LeafSums { leaves, table, row: &[], batch, to };
        if let Some(background) = &self.background {
            let block =
                ByPlace { values: x.as_flattened(), stride: LANES * x.len() / n_places.max(1), n_rows: *n_rows };
            let (chances, other, pulse) = (&background.chances, background.by_place(), &mut control.pulse());
            let mut visit = MixedWeights { work, chances, sums, of_pairs, n_places };
            return vectorised(
                #[inline(always)]
                || {
                    walk_mixed(tree, tested, block, other, mixtures, pulse, &mut visit)?;
                    visit.sums.flush(true)
                },
            );
        }
        let (rule, depth) = (self.rule(t), self.paths[t].depth);
        stack.prepare(depth, rule.len(), n_places)?;
        weighing.prepare(depth, rule.len())?;
        let mut visit = LeafWeights { weighing, sums, of_pairs, n_places };
        vectorised(
            #[inline(always)]
            || {
                walk(tree, tested, rule, x, stack, &mut visit)?;
                visit.sums.flush(true)
            },
        )
    }

    /// The values that `explain` found and that are not zero: of each output a row of each row.
    pub(super) fn sparse(&self, worker: &Worker, n_rows: usize, width: usize) -> Result<Vec<SparseScores>> {
        let mut all = SparseScores::empty_blocks(width)?;
        for (o, scores) in all.iter_mut().enumerate() {
            for row in 0..n_rows {
                let group = &worker.found[row / LANES * self.tested.len() * width..];
                for (&feature, found) in self.tested.features.iter().zip(group.chunks_exact(width)) {
                    let value = found[o].0[row % LANES];
                    if value != 0.0 {
                        PURPOSE.push(&mut scores.columns, feature)?;
                        PURPOSE.push(&mut scores.values, value)?;
                    }
                }
                PURPOSE.push(&mut scores.ptr, scores.columns.len())?;
            }
        }
        Ok(all)
    }
}

/// The factors of the outputs of a question.
fn factors_of(direction: Direction<'_>, question: &Question<'_>, factors: &mut Vec<f64>) -> Result<()> {
    factors.clear();
    let all = direction.factors();
    PURPOSE.extend(factors, question.columns.iter().map(|_| 0.0))?;
    for (&place, factor) in question.places.iter().zip(all).filter(|(place, _)| **place != NONE) {
        factors[place as usize] = factor;
    }
    Ok(())
}

/// Makes `len` zeros of it.
fn cleared(sums: &mut Vec<Eight>, len: usize) -> Result<()> {
    if sums.len() == len {
        sums.fill(Eight::default());
    } else {
        *sums = no_sums(len)?;
    }
    Ok(())
}
