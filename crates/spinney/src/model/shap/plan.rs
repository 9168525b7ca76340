//! What is known before rows come, and what a block of rows adds up to.

use super::WHAT;
use crate::control::Control;
use crate::data::Matrix;
use crate::error::{Error, Result, try_extend, try_filled, try_push, try_with_capacity};
use crate::loss::vector::vectorised;
use crate::model::{Additive, Direction, SparseScores, Term};
use crate::pool;
use crate::tree::rows::{Rows, Scratch};
use crate::tree::shap::background::{LeafFeatures, Mixing, add_weights};
use crate::tree::shap::batch::Batch;
use crate::tree::shap::leaf_weights::{Interactions, LeafWeights, Weighing};
use crate::tree::shap::quadrature::Rule;
use crate::tree::shap::sums::{Subtrees, Sums};
use crate::tree::shap::walk::{Stack, walk};
use crate::tree::shap::{Eight, LANES, LeafColumns, NONE, Paths, Tested, chosen_places, no_sums};

/// Most outputs whose sums over subtrees are formed: of more, weights of leaves are, and their values added.
const FEW_OUTPUTS: usize = 4;
/// Sums of a block of rows, at most, unless one output has more: 64 MiB for each thread.
const BLOCK_SUMS: usize = 1 << 20;

/// All that does not depend on rows.
#[derive(Debug)]
pub(super) struct Plan<'m, 'a> {
    model: &'m Additive<'a>,
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
    places: Vec<u32>,
    /// Values of the leaves of each tree, where there are few outputs or leaves hold one number; else empty.
    tables: Vec<Vec<f64>>,
    background: Option<&'p Background>,
}

/// Rows of a background, by the features that are tested.
#[derive(Debug)]
pub(super) struct Background {
    values: Vec<f32>,
    n_rows: usize,
    leaves: Vec<LeafFeatures>,
}

/// Memory of one thread.
#[derive(Debug, Default)]
pub(super) struct Worker {
    memory: Memory,
    /// Of the last block, by feature tested and output.
    pub(super) found: Vec<Eight>,
    /// Interactions of the last block, by pairs of features tested, of which the second is the lower one.
    pub(super) pairs: Vec<Eight>,
    /// Of a tree whose number goes to several scores.
    numbers: Vec<Eight>,
    factors: Vec<f64>,
}

#[derive(Debug, Default)]
struct Memory {
    rows: Option<Scratch>,
    /// Values of a block of rows, by feature tested.
    x: Vec<[f32; LANES]>,
    n_rows: usize,
    stack: Stack,
    subtrees: Subtrees,
    weighing: Weighing,
    batch: Batch,
    mixing: Mixing,
    row: Vec<f32>,
}

/// Where the values of a tree go: of the place of a feature and of its output o to number place · `stride` + `first` + o.
struct To<'s> {
    sums: &'s mut [Eight],
    stride: usize,
    first: usize,
}

pub(super) fn check_background(background: &Matrix<'_>) -> Result<()> {
    if background.n_samples() > 0 {
        return Ok(());
    }
    Err(Error::invalid("background", "0 samples", "have at least one sample"))
}

impl<'m, 'a> Plan<'m, 'a> {
    pub(super) fn of(model: &'m Additive<'a>) -> Result<Self> {
        let tested = Tested::by(&model.trees, model.n_features)?;
        let mut met = try_filled(WHAT, 0, tested.len())?;
        let mut paths = try_with_capacity(WHAT, model.trees.len())?;
        let mut rules = Vec::new();
        for tree in &model.trees {
            let found = Paths::of(tree, &tested, &mut met)?;
            let m = found.n_quadrature;
            while rules.len() <= m {
                try_push(WHAT, &mut rules, None)?;
            }
            if rules[m].is_none() {
                rules[m] = Some(Rule::gauss_legendre(m)?);
            }
            paths.push(found);
        }
        Ok(Plan { model, tested, paths, rules })
    }

    fn rule(&self, tree: usize) -> &Rule {
        self.rules[self.paths[tree].n_quadrature].as_ref().expect("made for the paths of every tree")
    }

    /// Outputs whose sums of a block are held at once.
    pub(super) fn outputs_at_once(&self) -> usize {
        (BLOCK_SUMS / self.tested.len().max(1)).max(1)
    }

    pub(super) fn question<'p>(
        &self,
        columns: &'p [usize],
        background: Option<&'p Background>,
        control: &Control,
    ) -> Result<Question<'p>> {
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
        Ok(Question { columns, places, tables, background })
    }

    pub(super) fn background(&self, x: Matrix<'_>, control: &Control) -> Result<Background> {
        check_background(&x)?;
        let rows = self.model.rows(x, control).map_err(named_background)?;
        let (n_rows, u) = (rows.n_samples(), self.tested.len());
        let mut values = try_with_capacity("the background", n_rows.saturating_mul(u))?;
        let mut scratch = rows.scratch()?;
        let mut pulse = control.pulse();
        for at in 0..n_rows {
            rows.for_each(at..at + 1, &mut scratch, |row| {
                values.extend(self.tested.features.iter().map(|&feature| row[feature as usize]));
            });
            pulse.after(u)?;
        }
        let mut position_of = try_filled(WHAT, NONE, u)?;
        let mut leaves = try_with_capacity(WHAT, self.model.trees.len())?;
        for tree in &self.model.trees {
            control.check()?;
            leaves.push(LeafFeatures::of(tree, &self.tested, &mut position_of)?);
        }
        Ok(Background { values, n_rows, leaves })
    }

    /// Reads a block of rows, by the features that are tested.
    fn read(&self, rows: &Rows<'_>, block: usize, memory: &mut Memory) -> Result<()> {
        let range = block * LANES..((block + 1) * LANES).min(rows.n_samples());
        memory.n_rows = range.len();
        let mut scratch = match memory.rows.take() {
            Some(scratch) => scratch,
            None => rows.scratch()?,
        };
        if memory.x.len() != self.tested.len() {
            memory.x = try_filled(WHAT, [0.0; LANES], self.tested.len())?;
        }
        let mut lane = 0;
        rows.for_each(range, &mut scratch, |row| {
            for (x, &feature) in memory.x.iter_mut().zip(&self.tested.features) {
                x[lane] = row[feature as usize];
            }
            lane += 1;
        });
        memory.rows = Some(scratch);
        Ok(())
    }

    /// Leaves the Shapley values of a block of rows in `worker.found`, by feature tested and output; its number of rows.
    pub(super) fn explain(
        &self,
        rows: &Rows<'_>,
        block: usize,
        question: &Question<'_>,
        worker: &mut Worker,
        control: &Control,
    ) -> Result<usize> {
        let Worker { memory, found, numbers, factors, .. } = worker;
        self.read(rows, block, memory)?;
        let (u, width) = (self.tested.len(), question.columns.len());
        cleared(found, u.saturating_mul(width))?;
        for t in 0..self.model.trees.len() {
            control.check()?;
            match self.model.term(t) {
                Term::Leaf => self.add(t, question, memory, To { sums: found, stride: width, first: 0 }, control)?,
                Term::Column(column) => {
                    let first = question.places[column];
                    if first != NONE {
                        let to = To { sums: found, stride: width, first: first as usize };
                        self.add(t, question, memory, to, control)?;
                    }
                }
                Term::RankOne(direction) => {
                    if numbers.len() != u {
                        cleared(numbers, u)?;
                    }
                    self.add(t, question, memory, To { sums: numbers, stride: 1, first: 0 }, control)?;
                    factors_of(direction, question, factors)?;
                    for &place in &self.paths[t].places {
                        let number = std::mem::take(&mut numbers[place as usize]);
                        for (sum, factor) in found[place as usize * width..][..width].iter_mut().zip(&*factors) {
                            sum.0.iter_mut().zip(number.0).for_each(|(sum, number)| *sum += number * factor);
                        }
                    }
                }
            }
        }
        divide(found, self.model.divisor);
        Ok(memory.n_rows)
    }

    /// Adds what a tree tells of the block that was read.
    fn add(&self, t: usize, question: &Question<'_>, memory: &mut Memory, to: To<'_>, control: &Control) -> Result<()> {
        if let Some(background) = question.background {
            return self.add_mixed(t, question, background, memory, to, control);
        }
        let (tree, rule) = (self.model.trees[t], self.rule(t));
        let (table, depth) = (&question.tables[t][..], self.paths[t].depth);
        let Memory { stack, subtrees, weighing, batch, x, .. } = memory;
        stack.prepare(depth, rule.len(), self.tested.len())?;
        if table.is_empty() {
            weighing.prepare(depth, rule.len())?;
            batch.prepare(self.tested.len())?;
            let leaves = LeafColumns { tree, chosen: Some(&question.places) };
            let mut visit = LeafWeights { weighing, batch, leaves, found: to.sums, stride: to.stride };
            return vectorised(
                #[inline(always)]
                || {
                    walk(tree, &self.tested, rule, x, stack, &mut visit)?;
                    visit.batch.flush(visit.found, visit.stride)
                },
            );
        }
        let n_outputs = table.len() / tree.n_leaves();
        subtrees.prepare(depth, rule.len(), n_outputs)?;
        let mut visit = Sums { subtrees, table, n_outputs, found: to.sums, stride: to.stride, first: to.first };
        vectorised(
            #[inline(always)]
            || walk(tree, &self.tested, rule, x, stack, &mut visit),
        )
    }

    /// The same against a background.
    fn add_mixed(
        &self,
        t: usize,
        question: &Question<'_>,
        background: &Background,
        memory: &mut Memory,
        to: To<'_>,
        control: &Control,
    ) -> Result<()> {
        let (tree, features, u) = (self.model.trees[t], &background.leaves[t], self.tested.len());
        let table = &question.tables[t][..];
        let width = table.len() / tree.n_leaves();
        let leaves = LeafColumns { tree, chosen: Some(&question.places) };
        let Memory { x, n_rows, mixing, row, .. } = memory;
        for lane in 0..*n_rows {
            mixing.begin(features)?;
            row.clear();
            try_extend(WHAT, row, x.iter().map(|x| x[lane]))?;
            for at in 0..background.n_rows {
                control.check()?;
                add_weights(tree, &self.tested, features, row, &background.values[at * u..][..u], mixing)?;
            }
            for (leaf, weights, places) in mixing.weights(features) {
                let mut add = |column: usize, value: f64| {
                    for (weight, &place) in weights.iter().zip(places) {
                        let sum = &mut to.sums[place as usize * to.stride + to.first + column];
                        sum.0[lane] += weight / background.n_rows as f64 * value;
                    }
                };
                if table.is_empty() {
                    leaves.visit(leaf, |column, value| add(column as usize, value));
                } else {
                    let values = &table[leaf * width..][..width];
                    values.iter().enumerate().for_each(|(column, &value)| add(column, value));
                }
            }
        }
        Ok(())
    }

    /// Leaves the interactions of the block that was read in `worker.pairs`, of the one output of a question.
    pub(super) fn interact(&self, question: &Question<'_>, worker: &mut Worker, control: &Control) -> Result<()> {
        let Worker { memory, pairs, factors, .. } = worker;
        let stride = self.tested.len();
        cleared(pairs, stride.saturating_mul(stride))?;
        for (t, tree) in self.model.trees.iter().enumerate() {
            control.check()?;
            let factor = match self.model.term(t) {
                Term::Leaf => 1.0,
                Term::Column(column) if question.places[column] == NONE => continue,
                Term::Column(_) => 1.0,
                Term::RankOne(direction) => {
                    factors_of(direction, question, factors)?;
                    factors[0]
                }
            };
            let (rule, depth) = (self.rule(t), self.paths[t].depth);
            let Memory { stack, weighing, x, .. } = &mut *memory;
            stack.prepare(depth, rule.len(), self.tested.len())?;
            weighing.prepare(depth, rule.len())?;
            let mut visit = Interactions { weighing, table: &question.tables[t], factor, found: pairs, stride };
            vectorised(
                #[inline(always)]
                || walk(tree, &self.tested, rule, x, stack, &mut visit),
            )?;
        }
        divide(pairs, self.model.divisor);
        Ok(())
    }

    /// The values that `explain` found and that are not zero: of each output a row of each row.
    pub(super) fn sparse(&self, worker: &Worker, n_rows: usize, width: usize) -> Result<Vec<SparseScores>> {
        let mut all = SparseScores::empty_blocks(width)?;
        for (o, scores) in all.iter_mut().enumerate() {
            for lane in 0..n_rows {
                for (&feature, found) in self.tested.features.iter().zip(worker.found.chunks_exact(width)) {
                    let value = found[o].0[lane];
                    if value != 0.0 {
                        try_push(WHAT, &mut scores.columns, feature)?;
                        try_push(WHAT, &mut scores.values, value)?;
                    }
                }
                try_push(WHAT, &mut scores.ptr, scores.columns.len())?;
            }
        }
        Ok(all)
    }
}

/// Rows that do not fit are those of the background.
fn named_background(error: Error) -> Error {
    use crate::error::ErrorKind;
    match error.kind() {
        &ErrorKind::Shape { expected, got, .. } => Error::shape("each row of background", expected, got),
        _ => error,
    }
}

/// The factors of the outputs of a question.
fn factors_of(direction: Direction<'_>, question: &Question<'_>, factors: &mut Vec<f64>) -> Result<()> {
    factors.clear();
    let all = direction.factors();
    try_extend(WHAT, factors, question.columns.iter().map(|_| 0.0))?;
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

fn divide(sums: &mut [Eight], divisor: f64) {
    if divisor != 1.0 {
        sums.iter_mut().for_each(|sum| sum.0.iter_mut().for_each(|sum| *sum /= divisor));
    }
}
