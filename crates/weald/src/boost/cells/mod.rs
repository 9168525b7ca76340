//! Boosting of outputs of which cells of y are unknown: scores, derivatives and losses are those of known cells.
//!
//! A stage pools the cells of each sample over a random combination of outputs (`pooled`), grows a tree on them as for
//! one output, finds the leaf of each sample (`routes`), and takes a Newton step for each pair of a leaf and an output
//! that has a cell there (`columns`). All other steps are zero, and are not stored. A stage costs the known cells and
//! the tree, and memory is that of known cells.
//!
//! The sums over cells are exact, so that models depend neither on the order of the samples nor on the number of
//! threads.

pub(super) mod column_weights;
mod columns;
mod pooled;
mod routes;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use ndarray::Array2;

use self::columns::{CellColumns, CellUnits, ColumnMoves, Factors, Moves};
use self::pooled::Pooled;
use self::routes::Routes;
use super::config::{BoostConfig, LeafEstimation, OutputStrategy};
use super::data::Losses;
use super::fit::Validation;
use super::leaves::RowsByLeaf;
use super::model::Boosted;
use super::observer::{StageObserver, StageReport};
use super::stage_projection::StageProjection;
use super::stages::{Drawn, Fitting, Rounds, Stage};
use super::trees::{FEATURES, GROWTH, Trees};
use crate::control::Control;
use crate::criterion::Criterion;
use crate::data::known::cells::TargetCells;
use crate::data::targets::n_scores;
use crate::data::train_y::{RealTargets, TrainY};
use crate::data::{Dataset, Matrix, Outputs, Weights, known};
use crate::error::{Purpose, Result};
use crate::exact::reduce::{Reduce, Workers};
use crate::forest::bootstrap::tree_key;
use crate::loss::column::LeafRule;
use crate::model::into_array;
use crate::projection::{MatrixSource, NProjections};
use crate::rounds::{Unobserved, rounds};
use crate::tree::Tree;
use crate::tree::growth::grower::{Sample, TreeTargets};

const STAGES: Purpose = Purpose("the stages of a model");
const LEAVES: Purpose = Purpose("the leaves of a stage");

/// The known cells of the training samples and of the held-out samples.
#[derive(Debug)]
pub(super) struct KnownY {
    pub(super) train: TargetCells,
    pub(super) held: Option<TargetCells>,
}

impl KnownY {
    pub(super) fn of(data: &Dataset<'_>, validation: Option<&Dataset<'_>>) -> Result<Self> {
        let cells = |data: &Dataset<'_>| match data.known() {
            Some(known) => TargetCells::of(data, known),
            None => TargetCells::of(data, &known::Known::of_all(data.n_samples(), data.outputs().n_outputs())?),
        };
        Ok(KnownY { train: cells(data)?, held: validation.map(cells).transpose()? })
    }
}

impl BoostConfig {
    /// Returns whether a fit to these data computes the scores of known cells alone: for trees on a combination of outputs
    /// whose leaves have a value for each output, if some cells are unknown, or cells of a sample have several weights.
    pub(super) fn takes_cells(&self, data: &Dataset<'_>, validation: Option<&Dataset<'_>>, workers: &Workers) -> bool {
        let outputs = data.outputs();
        let pools = match &self.strategy {
            OutputStrategy::Projected { projection, n_projections, relabel: true } => {
                let is_drawn = !matches!(projection.source(), MatrixSource::Principal);
                is_drawn && matches!(n_projections, NProjections::Count(1)) && n_scores(&outputs) > 1
            }
            OutputStrategy::Projected { .. } | OutputStrategy::Joint | OutputStrategy::SingleTarget => false,
        };
        let loss = self.loss.as_columns().first();
        let steps = self.leaf_estimation == LeafEstimation::Newton || loss.leaf_rule() == LeafRule::Residuals;
        let has_cells = matches!(outputs, Outputs::Real { .. } | Outputs::Labels { .. });
        let is_free = !self.tree.output_factors().are_given() && !loss.takes_blocks() && workers.has_all_rows();
        let some_unknown = data.known().is_some() || validation.is_some_and(|held| held.known().is_some());
        some_unknown && pools && steps && has_cells && is_free
    }
}

/// The scores of the cells of some samples.
struct Scored<'t, 'f> {
    cells: CellColumns<'t>,
    factors: Option<Factors>,
    weights: &'t Weights,
    routes: Routes<'f>,
}

impl<'t, 'f> Scored<'t, 'f> {
    fn new(
        y: &TargetCells,
        fitting: &'t Fitting<'_>,
        (weights, of_rows): (&'t Weights, Option<&[f64]>),
        x: &'f Matrix<'f>,
    ) -> Result<Self> {
        let losses = fitting.problem.loss.columns().expect("a loss of each column");
        let off = matches!(fitting.problem.outputs, Outputs::Labels { .. }).then(|| losses.first().domain().off());
        let (cells, factors) = CellColumns::new(y, losses, off, (weights, of_rows))?;
        Ok(Scored { cells, factors, weights, routes: Routes::new(x, fitting.control)? })
    }

    /// Adds moves to the scores, and returns the losses afterwards.
    fn advance(
        &mut self,
        moves: &Moves<'_>,
        outside: Option<&[u64]>,
        control: &Control,
    ) -> Result<(ColumnMoves, Losses)> {
        let Scored { cells, factors, weights, .. } = self;
        let units = |drawn| CellUnits { rows: weights, drawn, factors: factors.as_ref() };
        cells.advance(moves, (units(None), outside.map(|outside| units(Some(outside)))), control)
    }
}

/// A fit on known cells.
struct Growing<'t, 'f> {
    trees: &'t Trees<'f>,
    observer: &'t mut dyn StageObserver,
    projection: Box<dyn StageProjection + 't>,
    train: Scored<'t, 'f>,
    held: Option<Scored<'t, 'f>>,
    /// The scores of the held-out samples, for observers that ask for them.
    scores: Option<Array2<f64>>,
}

/// What a fit on known cells reads.
#[derive(Debug)]
pub(super) struct Known<'f> {
    pub(super) y: &'f KnownY,
    pub(super) x: &'f Matrix<'f>,
    pub(super) held_x: Option<&'f Matrix<'f>>,
    pub(super) sample_weight: Option<&'f [f64]>,
}

impl<'t, 'f> Growing<'t, 'f> {
    fn new(
        trees: &'t Trees<'f>,
        known: &Known<'f>,
        held_weights: Option<&'t Weights>,
        observer: &'t mut dyn StageObserver,
    ) -> Result<Self> {
        let fitting = trees.fitting;
        let train = Scored::new(&known.y.train, fitting, (&fitting.weights, known.sample_weight), known.x)?;
        let held = match (&known.y.held, known.held_x, held_weights, fitting.validation) {
            (Some(y), Some(x), Some(weights), Some(held)) => {
                Some(Scored::new(y, fitting, (weights, held.sample_weight), x)?)
            }
            _ => None,
        };
        let projection = fitting.config.stage_projection(fitting.problem.width)?;
        Ok(Growing { trees, observer, projection, train, held, scores: None })
    }

    /// Sets all scores to their constants, which are `start` or those of least loss.
    fn begin(&mut self, start: Option<&[f64]>) -> Result<Vec<f64>> {
        let Fitting { problem, control, margins, validation, .. } = self.trees.fitting;
        let units = CellUnits { rows: self.train.weights, drawn: None, factors: self.train.factors.as_ref() };
        let start = match (start, margins) {
            (Some(start), _) => LEAVES.copied(start)?,
            (None, None) => self.train.cells.starts(units, control)?,
            (None, Some(_)) => LEAVES.filled(0.0, problem.width)?,
        };
        self.train.cells.set_scores(&start, *margins);
        self.train.cells.derive(units, control)?;
        if let (Some(held), Some(validation)) = (&mut self.held, validation) {
            held.cells.set_scores(&start, validation.margins);
            if self.observer.wants_scores() {
                const PURPOSE: Purpose = Purpose("scores of the validation set");
                let (n, width) = (validation.y.n_samples(), problem.width);
                let mut scores = into_array(PURPOSE.zeros(n, width)?, n, width);
                scores
                    .rows_mut()
                    .into_iter()
                    .for_each(|mut row| row.iter_mut().zip(&start).for_each(|(to, from)| *to = *from));
                if let Some(margins) = validation.margins {
                    scores += &margins;
                }
                self.scores = Some(scores);
            }
        }
        Ok(start)
    }

    /// Returns the loss of the held-out samples, if there are any, after a tree is added if it is given.
    fn validate(&mut self, tree: Option<(&Tree, &ColumnMoves)>) -> Result<Option<f64>> {
        let control = self.trees.fitting.control;
        let Some(held) = &mut self.held else { return Ok(None) };
        let Some((tree, of_leaves)) = tree else { return Ok(held.advance(&Moves::None, None, control)?.1.all) };
        let leaf_of = held.routes.leaves(tree, control)?;
        if let Some(scores) = &mut self.scores {
            for (mut row, &leaf) in scores.rows_mut().into_iter().zip(&leaf_of) {
                tree.leaves.visit(leaf as usize, |column, value| row[column as usize] += value);
            }
        }
        let moves = Moves::Given { leaf_of: &leaf_of, n_leaves: tree.n_leaves(), of_leaves };
        Ok(held.advance(&moves, None, control)?.1.all)
    }

    /// Adds the stages of a model to the scores.
    fn replay(&mut self, model: &Boosted) -> Result<Boosted> {
        let control = self.trees.fitting.control;
        let mut grown = model.truncated(model.n_stages())?;
        grown.validation_score.clear();
        for tree in &model.trees {
            control.check()?;
            let (leaf_of, of_leaves) = (self.train.routes.leaves(tree, control)?, ColumnMoves::of_table(&tree.leaves)?);
            let moves = Moves::Given { leaf_of: &leaf_of, n_leaves: tree.n_leaves(), of_leaves: &of_leaves };
            self.train.advance(&moves, None, control)?;
            grown.validation_score.extend(self.validate(Some((tree, &of_leaves)))?);
        }
        Ok(grown)
    }

    /// Finds the leaves of a tree and adds them to the scores.
    fn add(
        &mut self,
        tree: &Tree,
        leaf_of: &[u32],
        drawn: Option<&[u64]>,
        outside: Option<&[u64]>,
    ) -> Result<(ColumnMoves, Losses)> {
        let Fitting { config, control, .. } = self.trees.fitting;
        let Scored { cells, factors, weights, .. } = &mut self.train;
        let units = |drawn| CellUnits { rows: weights, drawn, factors: factors.as_ref() };
        let stage = columns::Stage { config, units: units(drawn), leaf_of, n_leaves: tree.n_leaves(), control };
        cells.advance(&Moves::Fitted(stage), (units(None), outside.map(|outside| units(Some(outside)))), control)
    }
}

/// Returns the weights of the samples in a stage and outside it, in units; `None` if it is fitted to all samples.
fn parted(fitting: &Fitting<'_>, drawn: Drawn<'_>) -> Result<Option<[Vec<u64>; 2]>> {
    let n = fitting.n_samples;
    if let Some(others) = drawn.others {
        let units = |weights: &Weights| LEAVES.collected((0..n).map(|row| weights.units(row)));
        return Ok(Some([units(drawn.weights)?, units(others)?]));
    }
    let Some(in_bag) = fitting.in_bag(drawn.rows)? else { return Ok(None) };
    let units = |inside| {
        let rows = in_bag.iter().enumerate();
        LEAVES.collected(rows.map(|(row, &is_in)| if is_in == inside { fitting.weights.units(row) } else { 0 }))
    };
    Ok(Some([units(true)?, units(false)?]))
}

impl Rounds for Growing<'_, '_> {
    fn loss_outside(&mut self, drawn: Drawn<'_>) -> Result<Option<f64>> {
        let fitting = self.trees.fitting;
        let parted = parted(fitting, drawn)?;
        let outside = parted.as_ref().map(|[_, outside]| &outside[..]);
        Ok(self.train.advance(&Moves::None, outside, fitting.control)?.1.out_of_bag)
    }

    fn stages(&mut self, stage: usize, drawn: Drawn<'_>) -> Result<Vec<Stage>> {
        let trees = self.trees;
        let Fitting { config, control, n_samples, n_features, ref weights, .. } = *trees.fitting;
        let parted = parted(trees.fitting, drawn)?;
        let [inside, outside] = [0, 1].map(|at| parted.as_ref().map(|parted| &parted[at][..]));
        let projector = self.projection.draw(stage, None, control)?;
        let mut phi = LEAVES.filled(0.0, trees.fitting.problem.width)?;
        projector.write_row(0, &mut phi);

        // The targets of the tree, and the samples that have one.
        let units = CellUnits { rows: weights, drawn: inside, factors: self.train.factors.as_ref() };
        let mut pooled = Pooled::new(&self.train.cells, &phi, units, n_samples)?;
        if pooled.parts.iter().all(|&part| part == 0) {
            // No cell of these outputs is drawn: the tree is a leaf.
            drawn.rows.iter().for_each(|&row| pooled.parts[row as usize] = weights.units(row as usize));
        }
        let mut rows = LEAVES.with_capacity(drawn.rows.len())?;
        rows.extend(drawn.rows.iter().copied().filter(|&row| pooled.parts[row as usize] > 0));
        let y = TrainY::Real(RealTargets::new(&pooled.targets[..], 1)?);
        let parts = |row: usize| pooled.parts[row];
        let one = (pooled.of_one, pooled.exact);
        let sample = Sample::new(&rows, n_samples, parts, one, &y, weights.workers(), control.n_threads())?;
        let key = tree_key(config.seed, stage);
        let of_drawn = trees.grower.of_drawn(&trees.tree, trees.n_of_tree, key.child(FEATURES), control)?;
        let grower = of_drawn.as_ref().unwrap_or(&trees.grower);
        let targets = TreeTargets { y: &y, criterion: Criterion::OF_GRADIENTS, monotonic: None };
        let structure = grower.structure(&trees.tree, &targets, &sample, key.child(GROWTH), control)?;

        // A step for each pair of a leaf and an output with a cell in it.
        let outputs = Outputs::Real { n_outputs: phi.len() };
        let n_leaves = structure.leaf_samples.len();
        let none = ColumnMoves::none(phi.len())?.table(n_leaves)?;
        let mut tree = structure.into_tree(none, weights.unit, n_features, outputs, Criterion::OF_GRADIENTS);
        let leaf_of = self.train.routes.leaves(&tree, control)?;
        let (moves, losses) = self.add(&tree, &leaf_of, inside, outside)?;
        tree.leaves = moves.table(n_leaves)?;
        let validation_loss = self.validate(Some((&tree, &moves)))?;
        STAGES.collected([Stage { tree: Some(tree), steps: moves.steps()?, losses, validation_loss }].into_iter())
    }

    fn validation_scores(&self) -> Result<Option<Array2<f64>>> {
        let copied = |scores: &Array2<f64>| {
            const PURPOSE: Purpose = Purpose("scores of the validation set");
            Ok(into_array(PURPOSE.collected(scores.iter().copied())?, scores.nrows(), scores.ncols()))
        };
        self.scores.as_ref().map(copied).transpose()
    }

    fn after(&mut self, report: &StageReport<'_>) -> Result<ControlFlow<()>> {
        Ok(self.observer.after(report))
    }

    fn failed(&mut self, done: &Boosted) {
        self.observer.failed(done);
    }
}

/// Fits the model, starting from `model` if it is given.
pub(super) fn fit<'f>(
    trees: &Trees<'f>,
    known: &Known<'f>,
    model: Option<&Boosted>,
    observer: &mut dyn StageObserver,
) -> Result<Boosted> {
    let fitting = trees.fitting;
    if let Some(model) = model {
        fitting.check_rate(model)?;
    }
    let of_held = |held: &&Validation<'_>| Weights::of_rows(held.sample_weight, held.y.n_samples());
    let held_weights = fitting.validation.as_ref().map(of_held).transpose()?;
    let mut growing = Growing::new(trees, known, held_weights.as_ref(), observer)?;
    let start = growing.begin(model.map(|model| &model.start[..]))?;
    let at_start = if fitting.config.n_iter_no_change.is_some() { growing.validate(None)? } else { None };
    let mut grown = match model {
        Some(model) => growing.replay(model)?,
        None => fitting.empty(),
    };
    grown.start = start;
    fitting.run(grown, at_start, &mut growing)?.kept(fitting.config)
}

/// Returns the trees of `model` with leaves that are fitted to these data.
pub(super) fn refit<'f>(trees: &Trees<'f>, known: &Known<'f>, model: &Boosted) -> Result<Boosted> {
    let fitting = trees.fitting;
    let mut unobserved = Unobserved;
    let mut growing = Growing::new(trees, known, None, &mut unobserved)?;
    let mut refitted = fitting.empty();
    refitted.start = growing.begin(None)?;
    rounds(0..model.n_stages(), fitting.control, &mut Unobserved, |stage| {
        let tree = &model.trees[stage];
        let leaf_of = growing.train.routes.leaves(tree, fitting.control)?;
        let (moves, losses) = growing.add(tree, &leaf_of, None, None)?;
        let reached = RowsByLeaf::new(&fitting.rows, &leaf_of, tree.n_leaves())?;
        let leaves = reached.of_both(&moves.table(tree.n_leaves())?, &tree.leaves)?;
        let stage =
            Stage { tree: Some(tree.with_leaves(leaves)?), steps: moves.steps()?, losses, validation_loss: None };
        fitting.record(&mut refitted, STAGES.collected([stage].into_iter())?)?;
        Ok(ControlFlow::Continue(None))
    })?;
    Ok(refitted)
}
