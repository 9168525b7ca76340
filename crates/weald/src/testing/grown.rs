//! Small difficult problems of every kind, and forests grown on them: ties, duplicate samples, constant columns,
//! missing values, samples of weight zero, single samples and single classes.

use ndarray::{Array2, ShapeBuilder};

use super::models::quarter;
use crate::control::Control;
use crate::criterion::Criterion;
use crate::data::{ClassWeight, Dataset, LabelView, Matrix, RowWeights, Targets};
use crate::forest::Forest;
use crate::forest::config::ForestConfig;
use crate::forest::config::Sampling;
use crate::rng::{Key, Stream};

#[derive(Clone, Debug)]
pub(crate) enum Y {
    Real(Array2<f64>),
    Classes(Array2<u32>, Vec<u32>),
    Labels(Vec<usize>, Vec<u32>, usize),
}

/// The data and the configuration of a forest.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) x: Array2<f32>,
    pub(crate) y: Y,
    pub(crate) sample_weight: Option<Vec<f64>>,
    pub(crate) class_weight: ClassWeight<'static>,
    pub(crate) config: ForestConfig,
}

impl Problem {
    /// Creates a problem whose numerical outputs are multiples of `scale`.
    pub(crate) fn new(seed: u64, scale: f64) -> Self {
        let mut rng = Stream::new(Key::from_seed(seed).child(7));
        let (n, p) = (1 + rng.below(40) as usize, 1 + rng.below(4) as usize);
        let mut x = Array2::from_shape_simple_fn((n, p).f(), || quarter(&mut rng));
        if rng.below(3) == 0 {
            x.column_mut(0).fill(1.0);
        }
        for i in 1..n {
            if rng.below(4) == 0 {
                let before = x.row(i - 1).to_owned();
                x.row_mut(i).assign(&before);
            }
        }
        if seed % 5 == 1 {
            let mut rng = Stream::new(Key::from_seed(seed).child(8));
            x.iter_mut().filter(|_| rng.below(6) == 0).for_each(|value| *value = f32::NAN);
        }
        let y = match seed % 6 {
            kind @ (0 | 1) => {
                let number = || (rng.below(41) as f64 - 20.0) / 3.0 * scale;
                Y::Real(Array2::from_shape_simple_fn((n, 1 + 4 * kind as usize), number))
            }
            2 => Y::Classes(Array2::from_shape_simple_fn((n, 1), || rng.below(3) as u32), vec![3]),
            3 => Y::Classes(Array2::from_shape_simple_fn((n, 2), || rng.below(2) as u32), vec![2, 4]),
            kind => {
                let n_labels = if kind == 4 { 3 } else { 300 };
                let (mut ptr, mut indices) = (vec![0], Vec::new());
                for _ in 0..n {
                    let mut label = 0;
                    // Steps are up to about a quarter of the number of labels, so that samples share some labels.
                    while let Some(next) = Some(label + rng.below(2 + n_labels / 4)).filter(|&l| l < n_labels) {
                        indices.push(next as u32);
                        label = next + 1;
                    }
                    ptr.push(indices.len());
                }
                Y::Labels(ptr, indices, n_labels as usize)
            }
        };
        let is_real = matches!(y, Y::Real(_));
        let sample_weight = match rng.below(4) {
            0 => None,
            1 => Some((0..n).map(|i| if i == 0 { 1.0 } else { rng.below(4) as f64 }).collect()),
            2 => Some((0..n).map(|i| if i == 0 { 0.1 } else { rng.below(7) as f64 / 10.0 }).collect()),
            _ => Some((0..n).map(|i| if i == 0 { 0.5 } else { rng.below(5) as f64 / 4.0 }).collect()),
        };
        let class_weight = match rng.below(3) {
            _ if is_real => ClassWeight::Equal,
            0 => ClassWeight::Equal,
            1 => ClassWeight::Balanced,
            _ => ClassWeight::BalancedSubsample,
        };
        let criterion = if is_real { Criterion::Variance } else { Criterion::Gini };
        let mut config = ForestConfig { n_trees: 3, seed, ..ForestConfig::random_forest(criterion) };
        config.sampling = match rng.below(4) {
            0 => Sampling::All,
            1 => Sampling::Bootstrap(None),
            2 => Sampling::Bootstrap(Some(7)),
            _ => Sampling::BootstrapShare(0.6),
        };
        config.tree.max_leaf_nodes = [None, Some(2), Some(5)][rng.below(3) as usize];
        Problem { x, y, sample_weight, class_weight, config }
    }

    pub(crate) fn targets(&self) -> Targets<'_> {
        match &self.y {
            Y::Real(y) => Targets::Real(y.view()),
            Y::Classes(codes, n_classes) => Targets::Classes { codes: codes.view(), n_classes: n_classes.clone() },
            Y::Labels(ptr, indices, n) => {
                Targets::Labels(LabelView::try_new(ptr.clone(), indices.clone(), *n).unwrap())
            }
        }
    }

    pub(crate) fn weights(&self) -> RowWeights<'_> {
        RowWeights { sample_weight: self.sample_weight.as_deref(), class_weight: self.class_weight }
    }

    pub(crate) fn fit(&self) -> Forest {
        let x = Matrix::from(self.x.view());
        let trees = 0..self.config.n_trees;
        self.config.fit_trees(trees, Dataset::new(&x, self.targets()).weights(self.weights())).unwrap()
    }

    /// Returns the forest with leaves that refer to the samples of this problem.
    pub(crate) fn with_rows(&self, forest: &Forest) -> crate::Result<Forest> {
        let x = Matrix::from(self.x.view());
        let control = Control::with_threads(2);
        let (sampling, seed) = (self.config.sampling, self.config.seed);
        forest.with_stored_rows(
            Dataset::new(&x, self.targets()).weights(self.weights()).control(&control),
            sampling,
            seed,
        )
    }
}
