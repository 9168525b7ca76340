//! Random labels, and scores of labels with everything that is difficult to rank.

use ndarray::{Array2, Axis};
use proptest::prelude::*;

use crate::data::{CellWeights, Dataset, LabelView, Matrix};
use crate::model::{LabelScores, StoredScores};
use crate::rng::{Key, Stream};

/// Ties, zeros of both signs, neighbouring values, denormals, infinities and NaN.
const VALUES: [f64; 14] = [
    0.25,
    0.25,
    0.5,
    0.5 + f64::EPSILON,
    1.0,
    0.0,
    -0.0,
    -0.25,
    -0.25,
    -1e300,
    5e-324,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// Scores of samples, of which some are stored.
#[derive(Debug)]
pub(crate) struct Scores {
    of: Array2<Option<f64>>,
    dense: Array2<f64>,
    sparse: StoredScores<'static>,
    complete: StoredScores<'static>,
}

impl Scores {
    /// Returns scores of which none, few, most or all are stored for a sample, and few or many of the values above occur.
    pub(crate) fn hostile(seed: u64, n: usize, width: usize) -> Self {
        let mut random = Stream::new(Key::from_seed(seed));
        let (first, n_values) = (random.below(14) as usize, 1 + random.below(14));
        let mut of = Array2::from_elem((n, width), None);
        for mut row in of.rows_mut() {
            let stored = [0, 1, 8, 10][random.below(4) as usize];
            for score in &mut row {
                let value = VALUES[(first + random.below(n_values) as usize) % VALUES.len()];
                *score = (random.below(10) < stored).then_some(value);
            }
        }
        let dense = of.mapv(|score| score.unwrap_or(0.0));
        let sparse = stored(&mut random, &of);
        let complete = stored(&mut random, &dense.mapv(Some));
        Scores { of, dense, sparse, complete }
    }

    /// Returns the stored score of a label.
    pub(crate) fn of(&self, sample: usize, label: u32) -> Option<f64> {
        self.of[[sample, label as usize]]
    }

    /// Returns the same scores in all layouts, and the score that labels without a stored score have there, if any.
    pub(crate) fn layouts(&self) -> Vec<(LabelScores<'_>, Option<f64>)> {
        vec![
            (LabelScores::Dense(self.dense.view()), Some(0.0)),
            (LabelScores::Sparse(self.sparse.clone()), Some(0.0)),
            (LabelScores::Sparse(self.complete.clone()), Some(0.0)),
            (LabelScores::Listed(self.sparse.clone()), None),
        ]
    }
}

/// Stores the scores of each sample in random order.
fn stored(random: &mut Stream, scores: &Array2<Option<f64>>) -> StoredScores<'static> {
    let (mut ptr, mut labels, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in scores.rows() {
        let mut of_row: Vec<(u32, f64)> =
            (0..).zip(row).filter_map(|(label, score)| Some((label, (*score)?))).collect();
        of_row.sort_by_cached_key(|_| random.next_u64());
        labels.extend(of_row.iter().map(|(label, _)| *label));
        values.extend(of_row.iter().map(|(_, score)| *score));
        ptr.push(labels.len());
    }
    StoredScores::try_new(ptr, labels, values, scores.ncols()).unwrap()
}

/// Returns the labels of samples that are listed.
pub(crate) fn listed(rows: &[Vec<u32>], width: usize) -> LabelView<'static> {
    let ptr: Vec<usize> = (0..=rows.len()).map(|i| rows[..i].iter().map(Vec::len).sum()).collect();
    LabelView::try_new(ptr, rows.concat(), width).unwrap()
}

/// Returns the labels that samples have.
pub(crate) fn on((n, width): (usize, usize), has: impl Fn(usize, usize) -> bool) -> LabelView<'static> {
    let of = |i: usize| (0..width).filter(|&j| has(i, j)).map(|j| j as u32).collect();
    listed(&(0..n).map(of).collect::<Vec<_>>(), width)
}

/// Returns random labels: of each sample none, some or all.
pub(crate) fn some(seed: u64, n: usize, width: usize) -> LabelView<'static> {
    let mut random = Stream::new(Key::from_seed(seed));
    let mut of = || {
        let share = [0, 2, 8, 10][random.below(4) as usize];
        (0..width as u32).filter(|_| random.below(10) < share).collect()
    };
    listed(&(0..n).map(|_| of()).collect::<Vec<_>>(), width)
}

/// Returns whether a sample has a label.
pub(crate) fn has(labels: &LabelView<'_>, sample: usize, label: u32) -> bool {
    labels.indices()[labels.ptr()[sample]..labels.ptr()[sample + 1]].contains(&label)
}

/// Small hostile samples: duplicates, samples without features or labels, labels without samples or with the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Labelled {
    pub(crate) x: Array2<f32>,
    pub(crate) y: Array2<bool>,
    pub(crate) weights: Vec<f64>,
    pub(crate) unknown: Array2<bool>,
}

/// Returns samples of fewer than `most` labels. The first one has the weight 1 and nothing that is unknown.
pub(crate) fn labelled(
    most: usize,
    value: impl Strategy<Value = f32> + Clone,
    weight: impl Strategy<Value = f64> + Clone,
) -> impl Strategy<Value = Labelled> {
    (1usize..20, 1usize..6, 1..most).prop_flat_map(move |(n, p, d)| {
        (
            prop::collection::vec(value.clone(), n * p),
            prop::collection::vec(prop::bool::weighted(0.3), n * d),
            prop::collection::vec(weight.clone(), n),
            prop::collection::vec(prop::bool::weighted(0.1), n * d),
        )
            .prop_map(move |(x, y, mut weights, unknown)| {
                weights[0] = 1.0;
                let mut unknown = Array2::from_shape_vec((n, d), unknown).unwrap();
                unknown.row_mut(0).fill(false);
                let x = Array2::from_shape_vec((n, p), x).unwrap();
                Labelled { x, y: Array2::from_shape_vec((n, d), y).unwrap(), weights, unknown }
            })
    })
}

impl Labelled {
    /// Returns the samples with X in another layout.
    pub(crate) fn data<'d>(&'d self, x: &'d Matrix<'_>) -> Dataset<'d> {
        let data = Dataset::new(x, on(self.y.dim(), |i, j| self.y[[i, j]]));
        data.sample_weight(&self.weights[..]).y_weight(CellWeights::from(&self.unknown))
    }

    pub(crate) fn rows(&self, rows: &[usize]) -> Labelled {
        let select = |a: &Array2<bool>| a.select(Axis(0), rows);
        let weights = rows.iter().map(|&i| self.weights[i]).collect();
        Labelled { x: self.x.select(Axis(0), rows), y: select(&self.y), weights, unknown: select(&self.unknown) }
    }

    pub(crate) fn csr(&self) -> Matrix<'static> {
        let (mut ptr, mut features, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in self.x.rows() {
            let stored = || (0u32..).zip(row).filter(|(_, v)| **v != 0.0);
            features.extend(stored().map(|(j, _)| j));
            values.extend(stored().map(|(_, v)| *v));
            ptr.push(features.len());
        }
        Matrix::csr(ptr, features, values, self.x.ncols()).unwrap()
    }
}
