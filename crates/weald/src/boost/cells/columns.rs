//! The known cells of y by column, with their scores and the derivatives of their losses.

use std::ops::Range;

use ndarray::ArrayView2;

use crate::boost::config::BoostConfig;
use crate::boost::data::Losses;
use crate::control::Control;
use crate::data::known::cells::TargetCells;
use crate::data::train_y::RealTargets;
use crate::data::weights::Weights;
use crate::error::{Purpose, Result};
use crate::exact::reduce::Workers;
use crate::exact::{Total, WeightedGrid, exact_mean};
use crate::loss::LineProblem;
use crate::loss::column::{ColumnLoss, LeafRule, NumberColumn};
use crate::loss::outputs::ColumnLosses;
use crate::loss::rows::{ColumnTargets, RowLoss};
use crate::loss::steps::newton::LeafTotals;
use crate::pool;
use crate::tree::leaves::{LeafTable, LeafTableBuilder};

const CELLS: Purpose = Purpose("the known cells of y");
const LEAVES: Purpose = Purpose("the leaves of a stage");

/// The minimum number of cells for each job of a thread; it is set by hand.
const LEAST_IN_BLOCK: usize = if cfg!(test) { 1 } else { 1 << 12 };

/// The known cells of samples of positive weight, column after column, and in the order of the samples within a column.
#[derive(Debug)]
pub(super) struct CellColumns<'l> {
    losses: ColumnLosses<'l>,
    /// The kernel for columns of a loss whose curvatures follow from gradients.
    kernel: Option<Box<dyn RowLoss<f32>>>,
    ptr: Vec<usize>,
    pub(super) rows: Vec<u32>,
    y: Vec<f64>,
    scores: Vec<f64>,
    /// The negative gradients at the scores, and the curvatures of losses that have them; empty where they are not used.
    pub(super) gradients: Vec<f64>,
    pub(super) curvatures: Vec<f64>,
    /// The largest magnitudes of both in each column.
    pub(super) bounds: Vec<[f64; 2]>,
    /// The total weight of each column.
    totals: Vec<Total>,
    /// Consecutive columns with enough cells for a job.
    blocks: Vec<Range<usize>>,
}

/// The factors of the weights of cells.
#[derive(Debug)]
pub(super) struct Factors {
    /// The factors.
    pub(super) alone: Weights,
    /// The products of the factors and the weights of samples.
    products: Weights,
}

/// The weights of cells in a stage, in units.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellUnits<'w> {
    /// The weights of samples in the fit.
    pub(super) rows: &'w Weights,
    /// The weights of samples in the stage; `None` if these are those of the fit.
    pub(super) drawn: Option<&'w [u64]>,
    pub(super) factors: Option<&'w Factors>,
}

impl CellUnits<'_> {
    /// Returns the weight of a sample in the stage.
    pub(super) fn of_row(&self, row: usize) -> u64 {
        self.drawn.map_or_else(|| self.rows.units(row), |drawn| drawn[row])
    }

    fn of(&self, cell: usize, row: usize) -> u64 {
        let Some(factors) = self.factors else { return self.of_row(row) };
        let units = factors.products.units(cell);
        let Some(drawn) = self.drawn else { return units };
        // Whole weights count copies, of which some are drawn.
        (u128::from(units) * u128::from(drawn[row]) / u128::from(self.rows.units(row))) as u64
    }

    /// Returns the weights that units are multiples of.
    fn weights(&self) -> &Weights {
        self.factors.map_or(self.rows, |factors| &factors.products)
    }
}

/// What a stage adds to the scores of each column.
#[derive(Debug, Default)]
pub(super) struct ColumnMoves {
    /// The leaves that a column moves are `ptr[column]..ptr[column + 1]`.
    ptr: Vec<usize>,
    leaves: Vec<u32>,
    values: Vec<f64>,
}

impl ColumnMoves {
    /// Returns moves of nothing.
    pub(super) fn none(width: usize) -> Result<Self> {
        Ok(ColumnMoves { ptr: LEAVES.filled(0, width + 1)?, ..ColumnMoves::default() })
    }

    /// Returns what a table of leaves adds.
    pub(super) fn of_table(table: &LeafTable) -> Result<Self> {
        let mut ptr = LEAVES.filled(0usize, table.width() + 1)?;
        let cells = || (0..table.n_leaves()).flat_map(|leaf| table.cells(leaf).map(move |cell| (leaf, cell)));
        cells().for_each(|(_, (column, _))| ptr[column as usize + 1] += 1);
        (0..table.width()).for_each(|column| ptr[column + 1] += ptr[column]);
        let n = ptr[table.width()];
        let (mut leaves, mut values) = (LEAVES.filled(0u32, n)?, LEAVES.filled(0.0, n)?);
        let mut next = LEAVES.copied(&ptr)?;
        for (leaf, (column, value)) in cells() {
            let at = &mut next[column as usize];
            (leaves[*at], values[*at]) = (leaf as u32, value);
            *at += 1;
        }
        Ok(ColumnMoves { ptr, leaves, values })
    }

    /// Returns the table of leaves: row by row.
    pub(super) fn table(&self, n_leaves: usize) -> Result<LeafTable> {
        let width = self.ptr.len() - 1;
        let mut ptr = LEAVES.filled(0usize, n_leaves + 1)?;
        self.leaves.iter().for_each(|&leaf| ptr[leaf as usize + 1] += 1);
        (0..n_leaves).for_each(|leaf| ptr[leaf + 1] += ptr[leaf]);
        let mut cells = LEAVES.filled((0u32, 0.0), self.leaves.len())?;
        let mut next = LEAVES.copied(&ptr)?;
        for column in 0..width {
            for at in self.ptr[column]..self.ptr[column + 1] {
                let place = &mut next[self.leaves[at] as usize];
                cells[*place] = (column as u32, self.values[at]);
                *place += 1;
            }
        }
        let mut builder = LeafTableBuilder::of_means(width);
        ptr.windows(2).try_for_each(|range| builder.push_rounded(cells[range[0]..range[1]].iter().copied()))?;
        builder.finish()
    }

    /// Returns one for each column that moves, and zero for the others.
    pub(super) fn steps(&self) -> Result<Vec<f64>> {
        LEAVES.collected(self.ptr.windows(2).map(|range| if range[0] < range[1] { 1.0 } else { 0.0 }))
    }

    fn of(&self, column: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let range = self.ptr[column]..self.ptr[column + 1];
        self.leaves[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }
}

/// How the leaves of a stage are found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stage<'s> {
    pub(super) config: &'s BoostConfig,
    pub(super) units: CellUnits<'s>,
    /// The leaf of each sample.
    pub(super) leaf_of: &'s [u32],
    pub(super) n_leaves: usize,
    pub(super) control: &'s Control,
}

/// The cells of some columns, which one thread moves.
struct Block<'c> {
    columns: Range<usize>,
    /// The first of the cells.
    first: usize,
    scores: &'c mut [f64],
    gradients: &'c mut [f64],
    curvatures: &'c mut [f64],
    bounds: &'c mut [[f64; 2]],
    found: &'c mut Found,
}

/// What a block found: its moves, and the mean losses of its columns.
#[derive(Debug, Default)]
struct Found {
    moves: ColumnMoves,
    losses: Vec<Option<f64>>,
    outside: Vec<Option<f64>>,
}

/// Sums over the cells of a column in a leaf.
#[derive(Clone, Copy, Debug, Default)]
struct OfLeaf {
    gradient: f64,
    curvature: f64,
    weight: f64,
    on: f64,
    n: u32,
}

/// The memory of a thread.
#[derive(Debug, Default)]
struct Scratch {
    of_leaves: Vec<OfLeaf>,
    touched: Vec<u32>,
    /// What each leaf adds.
    moves: Vec<f64>,
    values: Vec<f64>,
    /// Scores and negative gradients for a kernel.
    narrow: [Vec<f32>; 2],
    lines: Lines,
}

impl<'l> CellColumns<'l> {
    /// Lists the cells of the samples of positive weight. An absent label has the value `off`, which is `None` for
    /// numbers. Returns the factors of weights, if there are any.
    pub(super) fn new(
        cells: &TargetCells,
        losses: ColumnLosses<'l>,
        off: Option<f64>,
        (of_rows, weight): (&Weights, Option<&[f64]>),
    ) -> Result<(Self, Option<Factors>)> {
        let width = cells.n_columns();
        let is_there = |row: &u32| of_rows.units(*row as usize) > 0;
        let mut ptr = CELLS.filled(0usize, width + 1)?;
        let rows = || (0..cells.n_rows() as u32).filter(is_there);
        for row in rows() {
            cells.of_row(row).columns.iter().for_each(|&column| ptr[column as usize + 1] += 1);
        }
        (0..width).for_each(|column| ptr[column + 1] += ptr[column]);
        let n = ptr[width];
        debug_assert!(n <= cells.len());
        let (mut row_of, mut y) = (CELLS.filled(0u32, n)?, CELLS.filled(0.0, n)?);
        let mut factors = CELLS.filled(1.0, if cells.has_factors() { n } else { 0 })?;
        let mut next = CELLS.copied(&ptr)?;
        for row in rows() {
            cells.of_row(row).each(|column, value, factor| {
                let at = &mut next[column as usize];
                (row_of[*at], y[*at]) = (row, off.filter(|_| value == 0.0).unwrap_or(value));
                if let Some(to) = factors.get_mut(*at) {
                    *to = factor;
                }
                *at += 1;
            });
        }
        let factors = if factors.iter().any(|&factor| factor != 1.0) {
            let of_row = |row: u32| weight.map_or(1.0, |weight| weight[row as usize]);
            let products = CELLS.collected(factors.iter().zip(&row_of).map(|(factor, &row)| factor * of_row(row)))?;
            Some(Factors {
                alone: Weights::of_rows(Some(&factors), n)?,
                products: Weights::of_rows(Some(&products), n)?,
            })
        } else {
            None
        };
        let mut blocks = Vec::new();
        let mut start = 0;
        for end in 1..=width {
            if ptr[end] - ptr[start] >= LEAST_IN_BLOCK || end == width {
                CELLS.push(&mut blocks, start..end)?;
                start = end;
            }
        }
        let loss = losses.first();
        let columns = CellColumns {
            losses,
            kernel: loss.rows_in_float32().filter(|_| loss.curvatures_at(&[], &mut [])),
            ptr,
            rows: row_of,
            y,
            scores: CELLS.filled(0.0, n)?,
            gradients: Vec::new(),
            curvatures: Vec::new(),
            bounds: Vec::new(),
            totals: Vec::new(),
            blocks,
        };
        Ok((columns, factors))
    }

    pub(super) fn width(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Returns the cells of a column.
    pub(super) fn of(&self, column: usize) -> Range<usize> {
        self.ptr[column]..self.ptr[column + 1]
    }

    /// Returns the constants with the smallest loss.
    pub(super) fn starts(&self, units: CellUnits<'_>, control: &Control) -> Result<Vec<f64>> {
        pool::map(control.n_threads(), self.width(), |column| {
            control.check()?;
            let cells = self.of(column);
            let y = RealTargets::new(&self.y[cells.clone()], 1)?;
            let of_cells = CELLS.collected(cells.clone().map(|cell| units.of(cell, self.rows[cell] as usize)))?;
            let rows = CELLS.collected(0..of_cells.len() as u32)?;
            let weights = units.weights().with_units(of_cells);
            let of_column = NumberColumn { y: &y, column: 0, rows: &rows, weights: &weights };
            if rows.is_empty() { Ok(0.0) } else { self.losses.of(column).start_of(&of_column, control) }
        })
    }

    /// Sets all scores to the constants of their columns, plus the margins of their samples.
    pub(super) fn set_scores(&mut self, start: &[f64], margins: Option<ArrayView2<'_, f64>>) {
        for (column, &start) in start.iter().enumerate() {
            for cell in self.of(column) {
                let margin = margins.as_ref().map_or(0.0, |margins| margins[[self.rows[cell] as usize, column]]);
                self.scores[cell] = start + margin;
            }
        }
    }

    /// Computes the derivatives of the losses from here on, at these scores and after each move.
    pub(super) fn derive(&mut self, units: CellUnits<'_>, control: &Control) -> Result<()> {
        let total =
            |column| Total::of_all(self.of(column).map(|cell| units.of(cell, self.rows[cell] as usize)), &Workers::One);
        self.totals = CELLS.results((0..self.width()).map(total))?;
        let has_curvature =
            self.losses.first().leaf_rule() != LeafRule::Residuals && self.losses.first().has_curvature();
        self.gradients = CELLS.filled(0.0, self.y.len())?;
        self.curvatures = CELLS.filled(0.0, if has_curvature { self.y.len() } else { 0 })?;
        self.bounds = CELLS.filled([0.0; 2], self.width())?;
        let (losses, kernel, ptr, y) = (self.losses, self.kernel.as_deref(), &self.ptr, &self.y);
        let mut found = CELLS.collected(self.blocks.iter().map(|_| Found::default()))?;
        let parts = (&mut self.scores[..], &mut self.gradients[..], &mut self.curvatures[..], &mut self.bounds[..]);
        let blocks = blocks_of(&self.blocks, ptr, parts, &mut found)?;
        pool::for_each(
            control.n_threads(),
            blocks.into_iter(),
            || Ok(Scratch::default()),
            |scratch, mut block| {
                control.check()?;
                for column in block.columns.clone() {
                    let cells = ptr[column]..ptr[column + 1];
                    block.evaluate((losses.of(column), kernel), column, &y[cells.clone()], cells, scratch)?;
                }
                Ok(())
            },
        )
    }

    /// Adds a stage to the scores, and returns the losses afterwards, with those of the weights `outside`. Derivatives are
    /// computed again if they were computed before.
    pub(super) fn advance(
        &mut self,
        moves: &Moves<'_>,
        (all, outside): (CellUnits<'_>, Option<CellUnits<'_>>),
        control: &Control,
    ) -> Result<(ColumnMoves, Losses)> {
        let CellColumns { losses, kernel, ptr, rows, y, scores, gradients, curvatures, bounds, totals, blocks, .. } =
            self;
        let (losses, kernel) = (*losses, kernel.as_deref());
        let (ptr, totals, rows, y) = (&*ptr, &*totals, &*rows, &*y);
        let mut found = CELLS.collected(blocks.iter().map(|_| Found::default()))?;
        let jobs = blocks_of(blocks, ptr, (scores, gradients, curvatures, bounds), &mut found)?;
        let scratch = || Ok(Scratch::default());
        pool::for_each(control.n_threads(), jobs.into_iter(), scratch, |scratch, mut block| {
            control.check()?;
            for column in block.columns.clone() {
                let cells = ptr[column]..ptr[column + 1];
                let of_column = Column { cells: cells.clone(), y: &y[cells.clone()], rows: &rows[cells.clone()] };
                let loss = losses.of(column);
                match moves {
                    Moves::None => {}
                    Moves::Given { leaf_of, n_leaves, of_leaves } => {
                        scratch.make_room(*n_leaves)?;
                        of_leaves.of(column).for_each(|(leaf, value)| scratch.moves[leaf as usize] = value);
                        block.move_scores(&of_column, leaf_of, &scratch.moves);
                        of_leaves.of(column).for_each(|(leaf, _)| scratch.moves[leaf as usize] = 0.0);
                    }
                    Moves::Fitted(stage) => block.fit(loss, column, totals[column], &of_column, stage, scratch)?,
                }
                block.evaluate((loss, kernel), column, of_column.y, cells.clone(), scratch)?;
                let mean = |units: CellUnits<'_>| {
                    let with_units = cells.clone().zip(of_column.rows).zip(&scratch.values);
                    let with_units = with_units.map(|((cell, &row), &value)| (value, units.of(cell, row as usize)));
                    let there = with_units.filter(|(_, units)| *units > 0);
                    there.clone().next().map(|_| exact_mean(there))
                };
                CELLS.push(&mut block.found.losses, mean(all))?;
                if let Some(outside) = outside {
                    CELLS.push(&mut block.found.outside, mean(outside))?;
                }
            }
            Ok(())
        })?;
        gathered(&found)
    }
}

/// What is added to the scores of cells.
#[derive(Debug)]
pub(super) enum Moves<'m> {
    None,
    /// What the leaves of a tree have.
    Given {
        leaf_of: &'m [u32],
        n_leaves: usize,
        of_leaves: &'m ColumnMoves,
    },
    /// What is best for the cells of the stage.
    Fitted(Stage<'m>),
}

/// The cells of one column.
struct Column<'c> {
    cells: Range<usize>,
    y: &'c [f64],
    rows: &'c [u32],
}

/// Returns the parts of these vectors for each block. Vectors without cells have empty parts.
fn blocks_of<'c>(
    blocks: &[Range<usize>],
    ptr: &[usize],
    (mut scores, mut gradients, mut curvatures, mut bounds): Parts<'c>,
    found: &'c mut [Found],
) -> Result<Vec<Block<'c>>> {
    fn first<'c, T>(rest: &mut &'c mut [T], n: usize) -> &'c mut [T] {
        let n = n.min(rest.len());
        let (first, others) = std::mem::take(rest).split_at_mut(n);
        *rest = others;
        first
    }
    let mut all = CELLS.with_capacity(blocks.len())?;
    for (columns, found) in blocks.iter().cloned().zip(found) {
        let n = ptr[columns.end] - ptr[columns.start];
        all.push(Block {
            first: ptr[columns.start],
            scores: first(&mut scores, n),
            gradients: first(&mut gradients, n),
            curvatures: first(&mut curvatures, n),
            bounds: first(&mut bounds, columns.len()),
            columns,
            found,
        });
    }
    Ok(all)
}

/// Scores, negative gradients, curvatures, and the bounds of columns.
type Parts<'c> = (&'c mut [f64], &'c mut [f64], &'c mut [f64], &'c mut [[f64; 2]]);

/// Returns the moves of all columns, and the means of their losses.
fn gathered(found: &[Found]) -> Result<(ColumnMoves, Losses)> {
    let mut moves = ColumnMoves::default();
    LEAVES.push(&mut moves.ptr, 0)?;
    for Found { moves: of_block, .. } in found {
        let before = moves.leaves.len();
        LEAVES.extend(&mut moves.ptr, of_block.ptr.iter().map(|end| before + end))?;
        LEAVES.extend(&mut moves.leaves, of_block.leaves.iter().copied())?;
        LEAVES.extend(&mut moves.values, of_block.values.iter().copied())?;
    }
    let mean = |losses: fn(&Found) -> &[Option<f64>]| {
        let known = found.iter().flat_map(losses).flatten();
        let (n, sum) = known.fold((0.0, 0.0), |(n, sum), loss| (n + 1.0, sum + loss));
        (n > 0.0).then(|| sum / n)
    };
    Ok((moves, Losses { all: mean(|found| &found.losses), out_of_bag: mean(|found| &found.outside) }))
}

impl Scratch {
    /// Makes room for the leaves of a stage, all of which are empty.
    fn make_room(&mut self, n_leaves: usize) -> Result<()> {
        let n_more = n_leaves.saturating_sub(self.moves.len());
        LEAVES.extend(&mut self.moves, std::iter::repeat_n(0.0, n_more))?;
        LEAVES.extend(&mut self.of_leaves, std::iter::repeat_n(OfLeaf::default(), n_more))
    }
}

impl Block<'_> {
    fn move_scores(&mut self, column: &Column<'_>, leaf_of: &[u32], moves: &[f64]) {
        let own = &mut self.scores[column.cells.start - self.first..column.cells.end - self.first];
        own.iter_mut().zip(column.rows).for_each(|(score, &row)| *score += moves[leaf_of[row as usize] as usize]);
    }

    /// Writes the losses of the cells of a column to `scratch`, and computes their derivatives if these are kept.
    fn evaluate(
        &mut self,
        (loss, kernel): (&dyn ColumnLoss, Option<&dyn RowLoss<f32>>),
        column: usize,
        y: &[f64],
        cells: Range<usize>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let own = cells.start - self.first..cells.end - self.first;
        let scores = &self.scores[own.clone()];
        let Scratch { values, narrow: [of_scores, of_gradients], .. } = scratch;
        values.clear();
        CELLS.extend(values, std::iter::repeat_n(0.0, y.len()))?;
        if let Some(kernel) = kernel {
            of_scores.clear();
            CELLS.extend(of_scores, scores.iter().map(|&score| score as f32))?;
            of_gradients.clear();
            CELLS.extend(of_gradients, std::iter::repeat_n(0.0, y.len()))?;
            kernel.column(ColumnTargets::Numbers(y), of_scores, of_gradients, values);
        } else {
            loss.values(y, scores, values);
        }
        let (false, Some(gradients)) = (self.bounds.is_empty(), self.gradients.get_mut(own.clone())) else {
            return Ok(());
        };
        let curvatures = self.curvatures.get_mut(own).unwrap_or(&mut []);
        if kernel.is_some() {
            gradients.iter_mut().zip(&*of_gradients).for_each(|(gradient, &found)| *gradient = f64::from(found));
            loss.curvatures_at(gradients, curvatures);
        } else if curvatures.is_empty() {
            let cells = gradients.iter_mut().zip(y.iter().zip(scores));
            cells.for_each(|(gradient, (&y, &score))| *gradient = loss.negative_gradient(y, score));
        } else {
            loss.derivatives(y, scores, gradients, curvatures);
        }
        let most = |of: &[f64]| of.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        self.bounds[column - self.columns.start] = [most(gradients), most(curvatures)];
        Ok(())
    }

    /// Finds the steps of a column in the leaves of a stage, and adds them to the scores.
    fn fit(
        &mut self,
        loss: &dyn ColumnLoss,
        column: usize,
        total: Total,
        of_column: &Column<'_>,
        stage: &Stage<'_>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Stage { config, units, leaf_of, n_leaves, control } = *stage;
        scratch.make_room(n_leaves)?;
        let own = of_column.cells.start - self.first..of_column.cells.end - self.first;
        let [gradients, curvatures] =
            [&self.gradients, &self.curvatures].map(|all| all.get(own.clone()).unwrap_or(&[]));
        let grids = self.bounds[column - self.columns.start].map(|bound| WeightedGrid::<f64>::for_sums(bound, total));
        let rule = loss.leaf_rule();
        let Scratch { of_leaves, touched, moves, lines, .. } = scratch;
        for (i, (cell, &row)) in of_column.cells.clone().zip(of_column.rows).enumerate() {
            let weight = units.of(cell, row as usize) as f64;
            if weight == 0.0 {
                continue;
            }
            let of_leaf = &mut of_leaves[leaf_of[row as usize] as usize];
            if of_leaf.n == 0 {
                LEAVES.push(touched, leaf_of[row as usize])?;
            }
            of_leaf.n += 1;
            of_leaf.weight += weight;
            of_leaf.gradient += grids[0].product(weight, gradients[i]);
            if let Some(&curvature) = curvatures.get(i) {
                of_leaf.curvature += grids[1].product(weight, curvature);
                of_leaf.on += if of_column.y[i] > 0.0 { weight } else { 0.0 };
            }
        }
        touched.sort_unstable();
        let weights = units.weights();
        let in_units = config.regularization().of_units(weights.unit, 1.0);
        lines.is_sorted = false;
        for &leaf in &*touched {
            let OfLeaf { gradient, curvature, weight, on, .. } = of_leaves[leaf as usize];
            let known = match rule {
                LeafRule::Residuals => Some(in_units.step(gradient, weight)),
                LeafRule::LeafSums => {
                    let step = in_units.bounded_step(gradient, curvature);
                    let totals = LeafTotals { weight, on: &[on], gradients: &[gradient], curvatures: &[curvature] };
                    Some(step).filter(|&step| loss.bounds_of_change(totals, step).rises() == Some(false))
                }
                LeafRule::Search => None,
            };
            let step = match known {
                Some(step) => step,
                None => {
                    lines.sort(of_column, &units, (leaf_of, touched, of_leaves))?;
                    lines.fill(leaf, of_column, &self.scores[own.clone()], &units)?;
                    let [y, scores, direction, line_weights] = &lines.of_leaf;
                    let problem = LineProblem { y, scores, direction, weights: line_weights, control };
                    let in_sums = config.regularization().of_units(weights.unit, weights.in_sums(1));
                    loss.leaf_value(&problem, in_sums)?
                }
            };
            moves[leaf as usize] = config.learning_rate * step;
        }
        self.move_scores(of_column, leaf_of, moves);
        let found = &mut self.found.moves;
        for leaf in touched.drain(..) {
            of_leaves[leaf as usize] = OfLeaf::default();
            let value = std::mem::take(&mut moves[leaf as usize]);
            if value != 0.0 {
                LEAVES.push(&mut found.leaves, leaf)?;
                LEAVES.push(&mut found.values, value)?;
            }
        }
        LEAVES.push(&mut found.ptr, found.leaves.len())
    }
}

/// The cells of a column by leaf, for losses that are searched.
#[derive(Debug, Default)]
struct Lines {
    /// Whether the cells of the column are in the order of its leaves.
    is_sorted: bool,
    /// Positions of cells in the column, leaf after leaf.
    order: Vec<u32>,
    /// Where the cells of each leaf begin and end.
    ranges: Vec<Range<usize>>,
    /// y, scores, directions and weights of one leaf.
    of_leaf: [Vec<f64>; 4],
}

impl Lines {
    fn sort(
        &mut self,
        column: &Column<'_>,
        units: &CellUnits<'_>,
        (leaf_of, touched, of_leaves): (&[u32], &[u32], &[OfLeaf]),
    ) -> Result<()> {
        if std::mem::replace(&mut self.is_sorted, true) {
            return Ok(());
        }
        let n_more = of_leaves.len().saturating_sub(self.ranges.len());
        LEAVES.extend(&mut self.ranges, std::iter::repeat_n(0..0, n_more))?;
        let mut end = 0;
        for &leaf in touched {
            self.ranges[leaf as usize] = end..end;
            end += of_leaves[leaf as usize].n as usize;
        }
        self.order.clear();
        LEAVES.extend(&mut self.order, std::iter::repeat_n(0, end))?;
        for (i, (cell, &row)) in (0u32..).zip(column.cells.clone().zip(column.rows)) {
            if units.of(cell, row as usize) > 0 {
                let range = &mut self.ranges[leaf_of[row as usize] as usize];
                self.order[range.end] = i;
                range.end += 1;
            }
        }
        Ok(())
    }

    /// Copies the cells of a leaf.
    fn fill(&mut self, leaf: u32, column: &Column<'_>, scores: &[f64], units: &CellUnits<'_>) -> Result<()> {
        let positions = &self.order[self.ranges[leaf as usize].clone()];
        self.of_leaf.iter_mut().for_each(Vec::clear);
        let [y, of_scores, direction, weights] = &mut self.of_leaf;
        for &i in positions {
            let i = i as usize;
            let of_cell = units.of(column.cells.start + i, column.rows[i] as usize);
            LEAVES.push(y, column.y[i])?;
            LEAVES.push(of_scores, scores[i])?;
            LEAVES.push(direction, 1.0)?;
            LEAVES.push(weights, units.weights().in_sums(of_cell))?;
        }
        Ok(())
    }
}
