//! The measurements of `benches/rust`: one visit of a node in each way; one tree, with or without carried columns or
//! with binned features; the projections of a forest; and rows of boosting.

use std::time::Instant;

use crate::control::Control;
use crate::data::sort::sort_by_value;
use crate::data::train_y::TrainY;
use crate::data::{Matrix, SparseColumns, SparseView, Targets};
use crate::error::Result;
use crate::exact::reduce::Workers;
use crate::exact::{Total, WeightedGrids};
use crate::forest::config::ForestConfig;
use crate::forest::grow::{seconds_of_projecting, seconds_of_tree};
use crate::loss::LogLoss;
use crate::loss::kernels::vector::vectorised;
use crate::loss::outputs::ColumnLosses;
use crate::loss::rows::log_loss_rows::LogLossRows;
use crate::loss::rows::{Cells, RowLoss, RowTargets};
use crate::partition::lottery::Lottery;
use crate::partition::sparse::{Forced, SparsePartitioner, Way};
use crate::partition::stored_column::Lookup;
use crate::partition::{Column, Partitioner, Span, Visitor};
use crate::rng::{Key, Stream};
use crate::tree::config::TreeConfig;
use crate::tree::growth::grower::{Grower, Sample, TreeTargets};

/// The way in which a node is visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// Every drawn column is traversed.
    Mapping,
    /// Every sample is searched in every drawn column.
    Bisection,
    /// Each drawn column is read in the cheaper of these two ways.
    Columns,
    /// The samples of the node are read, with the set of drawn features.
    RowsBySet,
    /// The samples of the node are read, with the positions of their features.
    RowsByPlace,
}

impl Visit {
    /// All ways of visiting a node.
    pub const ALL: [Visit; 5] =
        [Visit::Mapping, Visit::Columns, Visit::RowsBySet, Visit::RowsByPlace, Visit::Bisection];

    /// Columns are read as X stores them, because these nodes are not nested.
    fn forced(self) -> Forced {
        let (way, lookup) = match self {
            Visit::Mapping => (Way::Columns, Some(Lookup::Mapping)),
            Visit::Bisection => (Way::Columns, Some(Lookup::Bisection)),
            Visit::Columns => (Way::Columns, None),
            Visit::RowsBySet => (Way::RowsBySet, None),
            Visit::RowsByPlace => (Way::RowsByPlace, None),
        };
        Forced { way: Some(way), lookup, nests: Some(false) }
    }
}

/// Sorts each column, as the search of the best cut does.
struct Sorter(u64, Control);

impl Visitor for Sorter {
    fn column(&mut self, column: Column<'_>) {
        if !column.sorted {
            sort_by_value(column.entries, &self.1).expect("nobody stops it");
        }
        self.0 += u64::from(column.entries[0].row());
    }
}

/// Nodes of random samples: for every power of two, as many nodes of this size as possible, and the root.
#[derive(Debug)]
pub struct Nodes {
    x: SparseColumns<'static>,
    /// The positions of the samples in a random order.
    rank: Vec<u32>,
}

impl Nodes {
    /// Creates the nodes of a matrix in compressed rows.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn new(by_row: SparseView<'static>) -> Result<Self> {
        let mut rank: Vec<u32> = (0..by_row.n_major() as u32).collect();
        let mut stream = Stream::new(Key::from_seed(0));
        for i in (1..rank.len()).rev() {
            rank.swap(i, stream.below(i as u64 + 1) as usize);
        }
        Ok(Nodes { x: SparseColumns { by_column: by_row.transposed()?, by_row }, rank })
    }

    /// Returns the number of samples of the root.
    pub fn n_samples(&self) -> u32 {
        self.rank.len() as u32
    }

    /// Returns the way that the cost model chooses for a node of `n_node` samples.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn picked(&self, n_node: u32, n_drawn: u32) -> Result<Visit> {
        let lottery = Lottery::new(Key::from_seed(0), self.x.by_row.n_minor(), n_drawn)?;
        Ok(match SparsePartitioner::new(&self.x, &[], &Control::default())?.cheapest(n_node, &lottery, n_drawn) {
            Way::Columns => Visit::Columns,
            Way::RowsBySet => Visit::RowsBySet,
            Way::RowsByPlace => Visit::RowsByPlace,
        })
    }

    /// Returns the nanoseconds of each of `visits` for a node of `n_node` samples (a power of two, or all) that draws
    /// `n_drawn` features: medians of `repeats` measurements of up to `at_once` nodes. No column is known to be
    /// constant.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn nanoseconds(
        &self,
        visits: &[Visit],
        n_node: u32,
        n_drawn: u32,
        at_once: usize,
        repeats: usize,
    ) -> Result<Vec<f64>> {
        let rows: Vec<u32> = (0..self.n_samples()).collect();
        let mut columns = SparsePartitioner::new(&self.x, &rows, &Control::default())?;
        let spans = self.split(&mut columns, n_node);
        let spans = &spans[..spans.len().min(at_once)];
        let mut times = vec![Vec::with_capacity(repeats); visits.len()];
        let mut sorter = Sorter(0, Control::default());
        for repeat in 0..repeats as u64 {
            for ((times, visit), turn) in times.iter_mut().zip(visits).zip(0..) {
                // Each way draws other features, so that it does not find the columns of the previous one in the cache.
                let key = Key::from_seed(repeat).child(turn);
                columns.forced = visit.forced();
                columns.forget_constants()?;
                let start = Instant::now();
                for (node, span) in (0..).zip(spans) {
                    let lottery = Lottery::new(key.child(node), self.x.by_row.n_minor(), n_drawn)?;
                    columns.visit(span, &lottery, n_drawn, &mut sorter)?;
                }
                times.push(start.elapsed().as_nanos() as f64 / spans.len() as f64);
            }
        }
        std::hint::black_box(sorter.0);
        Ok(times.into_iter().map(median).collect())
    }

    /// Splits the root into nodes of `n_node` samples. The remaining samples are in larger nodes that are not used.
    fn split(&self, columns: &mut SparsePartitioner<'_>, n_node: u32) -> Vec<Span> {
        let mut done = vec![];
        let mut open = vec![columns.root()];
        while let Some(span) = open.pop() {
            let n = span.n_samples();
            if n == n_node {
                done.push(span);
            } else if n > n_node {
                // The sizes of halves are powers of two; the first cut is at the largest power of two below the size.
                let n_left = n.next_power_of_two() / 2;
                let mut ranks: Vec<u32> = columns.rows(&span).iter().map(|&row| self.rank[row as usize]).collect();
                let (_, &mut cut, _) = ranks.select_nth_unstable(n_left as usize);
                let mid = columns.split_rows(&span, |row| self.rank[row as usize] >= cut);
                open.extend(
                    [span.samples.start..mid, mid..span.samples.end].map(|samples| Span { samples, entries: 0..0 }),
                );
            }
        }
        done
    }
}

/// Returns the median, or the upper one of the two middle values.
pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Returns whether the cost model chooses carried columns.
///
/// # Errors
/// The errors of [`TreeConfig::fit`].
pub fn carries_columns(config: &TreeConfig, x: &Matrix<'_>) -> Result<bool> {
    let n_features = x.n_features();
    Ok(config.carries_columns(matches!(x, Matrix::Dense(_)), config.max_features.resolve(n_features)?, n_features))
}

/// Returns the seconds of one tree, [without carried columns, with carried columns]: medians of `repeats` measurements.
///
/// # Errors
/// The errors of [`TreeConfig::fit`].
pub fn seconds_of_trees(config: &TreeConfig, x: &Matrix<'_>, y: &Targets<'_>, repeats: usize) -> Result<[f64; 2]> {
    let mut times = [vec![], vec![]];
    for _ in 0..repeats {
        for (carry, times) in [false, true].into_iter().zip(&mut times) {
            times.push(seconds_of_tree(config, &(x, y).into(), carry)?);
        }
    }
    Ok(times.map(median))
}

/// Returns the milliseconds to prepare X for trees on all its samples, and those of one tree without its leaf values,
/// with features in `max_bins` bins or exact: medians of `repeats` measurements.
///
/// # Errors
/// The errors of [`TreeConfig::fit`].
pub fn milliseconds_of_trees(
    config: &TreeConfig,
    x: &Matrix<'_>,
    y: &Targets<'_>,
    max_bins: Option<usize>,
    repeats: usize,
    control: &Control,
) -> Result<[f64; 2]> {
    let y = TrainY::new(y)?;
    let rows: Vec<u32> = (0..x.n_samples() as u32).collect();
    let start = Instant::now();
    let grower = Grower::binned(config, x, x.n_features(), max_bins, None, |_| 1, control)?;
    let prepared = start.elapsed().as_secs_f64() * 1e3;
    let mut times = Vec::with_capacity(repeats);
    for repeat in 0..repeats as u64 {
        let start = Instant::now();
        let sample = Sample::new(&rows, rows.len(), |_| 1, (1.0, true), &y, &Workers::One, 1)?;
        let key = Key::from_seed(repeat);
        let targets = TreeTargets { y: &y, criterion: config.criterion, monotonic: None };
        std::hint::black_box(grower.structure(config, &targets, &sample, key, control)?);
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok([prepared, median(times)])
}

/// Returns the seconds to draw the projections of a forest and to apply them, and those of the whole fit on one thread.
///
/// # Errors
/// The errors of [`ForestConfig::fit`].
pub fn seconds_of_projection(config: &ForestConfig, x: &Matrix<'_>, y: &Targets<'_>) -> Result<[f64; 2]> {
    let data = (x, y).into();
    let projecting = seconds_of_projecting(config, &data)?;
    let start = Instant::now();
    std::hint::black_box(config.fit(&data)?);
    Ok([projecting, start.elapsed().as_secs_f64()])
}

/// The nanoseconds for each cell, for samples of the logistic loss with one label in 64.
#[derive(Clone, Copy, Debug)]
pub struct RowTimes {
    /// Gradients and loss.
    pub gradients: f64,
    /// The loss alone.
    pub loss: f64,
}

/// The work on a row: scores, gradients.
type Visiting<'a> = dyn FnMut(&[f32], &mut [f32]) + 'a;

/// Returns the times of the logistic loss, [cell by cell, in narrow registers, in the widest registers], and the time
/// of adding a rounded row.
pub fn nanoseconds_of_rows(width: usize, n_rows: usize, repeats: usize) -> ([RowTimes; 3], f64) {
    let mut stream = Stream::new(Key::from_seed(0));
    let scores: Vec<f32> = (0..width * n_rows).map(|_| (stream.below(8000) as f32 - 6000.0) * 1e-3).collect();
    let on: Vec<u32> = (0..width as u32).step_by(64).collect();
    let mut r = vec![0f32; width];
    let mut time = |each: &mut Visiting<'_>| {
        let times = (0..repeats).map(|_| {
            let start = Instant::now();
            scores.chunks(width).for_each(|row| each(row, &mut r));
            start.elapsed().as_nanos() as f64 / scores.len() as f64
        });
        median(times.collect())
    };
    let losses: [Box<dyn RowLoss<f32>>; 3] = [
        Box::new(Cells { losses: ColumnLosses::One(&LogLoss), shares: None }),
        Box::new(LogLossRows::narrow()),
        Box::new(LogLossRows::new()),
    ];
    let mut sum = 0.0;
    let times = losses.map(|loss| RowTimes {
        gradients: time(&mut |row, r| sum += loss.responses(RowTargets::On(&on), row, r)),
        loss: time(&mut |row, _| sum += loss.loss(RowTargets::On(&on), row)),
    });
    let total = Total::new(n_rows as u64).expect("few samples");
    let grids = WeightedGrids::for_sums((0..width).map(|_| 8.0), total).expect("enough memory");
    let mut sums = vec![0.0; width];
    let adding = time(&mut |row, _| vectorised(|| grids.add(2.0, row, &mut sums)));
    std::hint::black_box((sum, sums));
    (times, adding)
}
