//! Tests of random matrices, of their products and of trees with projections.

mod applied;
mod draws;
mod errors;
mod grown;
mod stopped;

use ndarray::Array2;

use super::{Projection, ProjectionMatrix, Sparsity};
use crate::control::Control;
use crate::data::Targets;
use crate::rng::{Key, Stream};

/// Returns the families that need no data.
fn random_families() -> Vec<Projection> {
    vec![
        Projection::Gaussian,
        Projection::Rademacher { sparsity: Sparsity::Factor(1.0) },
        Projection::Rademacher { sparsity: Sparsity::Factor(3.0) },
        Projection::Rademacher { sparsity: Sparsity::Sqrt },
        Projection::Subsample { replacement: false },
        Projection::Subsample { replacement: true },
        Projection::Hadamard,
    ]
}

/// Converts a matrix to other forms, in as much memory as needed.
trait Forms {
    fn dense(&self) -> Array2<f64>;
    fn csr(&self) -> (Vec<usize>, Vec<u32>, Vec<f64>);
}

impl Forms for ProjectionMatrix {
    fn dense(&self) -> Array2<f64> {
        self.to_dense(&Control::default()).unwrap()
    }

    fn csr(&self) -> (Vec<usize>, Vec<u32>, Vec<f64>) {
        self.to_csr(&Control::default()).unwrap()
    }
}

fn families() -> Vec<Projection> {
    let mut families = random_families();
    families.push(Projection::Pca);
    families
}

/// Targets of every kind, in owned form.
#[derive(Debug)]
struct SomeTargets {
    labels: Vec<Vec<u32>>,
    codes: Array2<u32>,
    n_classes: Vec<u32>,
    real: Array2<f64>,
}

impl SomeTargets {
    /// Draws samples of `d` labels or numbers, some without labels, with some labels that no sample has, and three
    /// outputs of classes.
    fn new(seed: u64, n: usize, d: usize) -> Self {
        let mut rng = Stream::new(Key::from_seed(seed));
        let mut row = |_| {
            let share = rng.below(4);
            (0..d as u32).filter(|j| j % 5 != 3 && rng.below(6) < share).collect()
        };
        let labels: Vec<Vec<u32>> = (0..n).map(&mut row).collect();
        let n_classes = vec![3, 1, 4];
        let codes = Array2::from_shape_fn((n, 3), |(_, o)| rng.below(n_classes[o].into()) as u32);
        let number = |(i, j): (usize, usize)| {
            if labels[i].contains(&(j as u32)) { rng.below(2001) as f64 / 8.0 - 125.0 } else { 0.0 }
        };
        let real = Array2::from_shape_fn((n, d), number);
        SomeTargets { labels, codes, n_classes, real }
    }

    fn labels(&self) -> Targets<'_> {
        Targets::Labels(crate::testing::labels::listed(&self.labels, self.real.ncols()))
    }

    fn classes(&self) -> Targets<'_> {
        Targets::Classes { codes: self.codes.view(), n_classes: self.n_classes.clone() }
    }

    fn real(&self) -> Targets<'_> {
        Targets::Real(self.real.view())
    }

    /// Returns each kind of targets with its dense columns.
    fn kinds(&self) -> Vec<(Targets<'_>, Array2<f64>)> {
        let n = self.real.nrows();
        let labels =
            Array2::from_shape_fn(self.real.dim(), |(i, j)| f64::from(u8::from(self.labels[i].contains(&(j as u32)))));
        let mut classes = Array2::zeros((n, 8));
        for ((i, o), &code) in self.codes.indexed_iter() {
            classes[[i, self.n_classes[..o].iter().sum::<u32>() as usize + code as usize]] = 1.0;
        }
        vec![(self.labels(), labels), (self.classes(), classes), (self.real(), self.real.clone())]
    }
}
