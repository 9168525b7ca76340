use ndarray::{Array2, Axis};

use super::*;
use crate::data::known::cells::TargetCells;
use crate::data::{CellWeights, Dataset, Matrix, SparseTargets, SparseView};
use crate::rng::{Key, Stream};
use crate::tree::Tree;
use crate::tree::config::MaxFeatures;
use crate::{Criterion, TreeConfig};

/// Few different values in X and y, many unknown cells, and outputs of different scales.
#[derive(Clone)]
struct Problem {
    x: Array2<f32>,
    y: Array2<f64>,
    mask: Array2<bool>,
    weights: Vec<f64>,
    config: TreeConfig,
}

impl Problem {
    fn new(seed: u64) -> Self {
        let mut stream = Stream::new(Key::from_seed(seed));
        let (n, p, q) = (50, 4, [1, 3, 20][seed as usize % 3]);
        let unknown_of_ten = [2, 5, 9][seed as usize / 3 % 3];
        let x = Array2::from_shape_simple_fn((n, p), || stream.below(6).saturating_sub(2) as f32);
        // Each output is known somewhere.
        let mask = Array2::from_shape_fn((n, q), |(i, j)| i != j && stream.below(10) < unknown_of_ten);
        let scale = |j: usize| [1.0, 2f64.powi(-40), 2f64.powi(30)][j % 3];
        let y = Array2::from_shape_fn((n, q), |(_, j)| (stream.below(9) as f64 - 4.0) * scale(j));
        let config = TreeConfig {
            max_features: if seed.is_multiple_of(2) { MaxFeatures::Count(2) } else { MaxFeatures::All },
            max_leaf_nodes: seed.is_multiple_of(5).then_some(9),
            seed,
            ..TreeConfig::new(Criterion::Variance)
        };
        Problem { x, y, mask, weights: (0..n).map(|i| (u64::from(i < q) + stream.below(3)) as f64).collect(), config }
    }

    /// Returns the data set of these samples.
    fn of(&self, rows: &[usize]) -> Problem {
        let (x, y, mask) =
            (self.x.select(Axis(0), rows), self.y.select(Axis(0), rows), self.mask.select(Axis(0), rows));
        let weights = rows.iter().map(|&row| self.weights[row]).collect();
        Problem { x, y, mask, weights, config: self.config.clone() }
    }

    fn fit_on<'a>(&'a self, x: Matrix<'a>, n_threads: usize) -> Tree {
        let data = Dataset::new(x, &self.y).y_weight(CellWeights::from(&self.mask)).sample_weight(&self.weights[..]);
        self.config.fit((&data, &Control::with_threads(n_threads))).unwrap()
    }

    fn fit(&self) -> Tree {
        self.fit_on(self.x.view().into(), 1)
    }
}

fn csr(x: &Array2<f32>) -> SparseView<'static> {
    let stored = |row: usize| (0u32..).zip(x.row(row).to_vec()).filter(|(_, v)| *v != 0.0);
    let ptr: Vec<usize> = (0..=x.nrows()).map(|end| (0..end).map(|row| stored(row).count()).sum()).collect();
    let (indices, values): (Vec<u32>, Vec<f32>) = (0..x.nrows()).flat_map(stored).unzip();
    SparseView::try_new(ptr, indices, values, x.ncols()).unwrap()
}

#[test]
fn a_tree_depends_neither_on_the_order_of_samples_nor_on_layouts_or_threads() {
    let mut n_nodes = 0;
    for seed in 0..60 {
        let problem = Problem::new(seed);
        let tree = problem.fit();
        n_nodes += tree.n_nodes();
        let n = problem.x.nrows();
        let order: Vec<usize> = (0..n).map(|i| (7 * i + seed as usize) % n).collect();
        assert_eq!(problem.of(&order).fit(), tree, "{seed}");
        let by_row = csr(&problem.x);
        let by_column = by_row.transposed().unwrap();
        assert_eq!(problem.fit_on(Matrix::Csr(by_row), 1), tree, "{seed}");
        assert_eq!(problem.fit_on(Matrix::Csc(by_column), 1), tree, "{seed}");
        assert_eq!(problem.fit_on(problem.x.view().into(), 3), tree, "{seed}");
        let stored = |row: usize| (0u32..).zip(problem.y.row(row).to_vec()).filter(|(_, v)| *v != 0.0);
        let ptr: Vec<usize> = (0..=n).map(|end| (0..end).map(|row| stored(row).count()).sum()).collect();
        let (outputs, values): (Vec<u32>, Vec<f64>) = (0..n).flat_map(stored).unzip();
        let sparse = SparseTargets::try_new(ptr, outputs, values, problem.y.ncols()).unwrap();
        let data = Dataset::new(&problem.x, sparse).y_weight(CellWeights::from(&problem.mask));
        assert_eq!(problem.config.fit(data.sample_weight(&problem.weights[..])).unwrap(), tree, "{seed}");
    }
    assert!(n_nodes > 1000, "{n_nodes}");
}

#[test]
fn a_weight_of_k_is_k_samples_and_samples_without_known_cells_weigh_nothing() {
    for seed in 0..60 {
        let problem = Problem::new(seed);
        let tree = problem.fit();
        let known = |row: &usize| problem.mask.row(*row).iter().any(|masked| !masked);
        let times = |row: usize| vec![row; problem.weights[row] as usize];
        let mut copies = problem.of(&(0..problem.x.nrows()).filter(known).flat_map(times).collect::<Vec<_>>());
        copies.weights.fill(1.0);
        let other = copies.fit();
        assert_eq!(
            (&other.nodes, &other.impurity, &other.leaves),
            (&tree.nodes, &tree.impurity, &tree.leaves),
            "{seed}"
        );
    }
}

#[test]
fn a_constant_added_to_outputs_changes_no_split() {
    for seed in 0..60 {
        let mut problem = Problem::new(seed);
        let tree = problem.fit();
        // The sums are exact: values are multiples of 2⁻²⁰ after scaling.
        problem.y.columns_mut().into_iter().enumerate().for_each(|(j, mut y)| {
            let constant = [1e6, 2f64.powi(-20), -2f64.powi(50)][j % 3];
            y.mapv_inplace(|y| y + constant);
        });
        let shifted = problem.fit();
        assert_eq!((&shifted.nodes, &shifted.impurity), (&tree.nodes, &tree.impurity), "{seed}");
    }
}

#[test]
fn a_factor_of_k_is_k_cells() {
    let numbers = |cells: &[Vec<(u32, f64, f64)>]| {
        let weights: Vec<f64> = cells.iter().flatten().map(|cell| cell.2).collect();
        let cells = cells.iter().map(|row| row.iter().map(|&(output, y, _)| (output, y)).collect()).collect();
        MaskedNumbers::new(TargetCells::of_rows(cells, 4).with_factors(weights), false, |_| 1).unwrap()
    };
    for seed in 0..50 {
        let mut stream = Stream::new(Key::from_seed(seed));
        let unit = [1.0, 0.25, 0.0625][seed as usize % 3];
        let row = |stream: &mut Stream| -> Vec<(u32, f64, f64)> {
            let known: Vec<u32> = (0..4).filter(|_| stream.below(2) == 0).collect();
            known.iter().map(|&j| (j, stream.below(5) as f64, (1 + stream.below(3)) as f64 * unit)).collect()
        };
        let mut weighted: Vec<Vec<_>> = (0..12).map(|_| row(&mut stream)).collect();
        weighted[0] = (0..4).map(|j| (j, 1.0, 2.0 * unit)).collect();
        weighted[1] = (0..4).map(|j| (j, 2.0, unit)).collect();
        // Each sample has the cells of one copy, and further copies are in further samples.
        let part = |copy: usize| {
            let of_row = |row: &Vec<(u32, f64, f64)>| {
                row.iter().filter(|c| c.2 > copy as f64 * unit).map(|&(j, y, _)| (j, y, 1.0)).collect()
            };
            weighted.iter().map(of_row).collect::<Vec<Vec<_>>>()
        };
        let copied: Vec<Vec<_>> = (0..3).flat_map(part).collect();
        let (y, copies) = (numbers(&weighted), numbers(&copied));
        let (ones, more) = (vec![1u64; 12], vec![1u64; 36]);
        let mut of_one = CellsVariance::new(&y, &ones, true, &Control::default()).unwrap();
        let mut of_many = CellsVariance::new(&copies, &more, true, &Control::default()).unwrap();
        let stats = of_one.enter(&(0..12).collect::<Vec<_>>()).unwrap();
        let many = of_many.enter(&(0..36).collect::<Vec<_>>()).unwrap();
        assert_eq!((stats.impurity, stats.pure), (many.impurity, many.pure), "{seed}");
        let (mut moved, mut moved_many) = (of_one.reset(), of_many.reset());
        for row in 0..11u32 {
            of_one.move_sample(&mut moved, row);
            of_many.move_run(&mut moved_many, &[row, row + 12, row + 24], |row| row);
            let decreases = [of_one.decrease(of_one.score(&moved)), of_many.decrease(of_many.score(&moved_many))];
            assert_eq!(decreases[0], decreases[1], "{seed}");
        }
        // Adding up the gains of moves and computing them at once is the same.
        of_one.reset();
        let alone = of_one.move_one(1);
        let mut moved = of_one.reset();
        of_one.move_sample(&mut moved, 1);
        assert_eq!(of_one.score(&alone), of_one.score(&moved));
        for (a, b) in y.means().iter().zip(copies.means()) {
            assert_eq!(a, b, "{seed}");
        }
    }
}
