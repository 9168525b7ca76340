use ndarray::Array2;
use proptest::prelude::*;

use super::counts::{Gini, ManySlots, OneSlot};
use super::entropy::Entropy;
use super::poisson::Poisson;
use super::sparse_variance::SparseVariance;
use super::variance::{self, Variance};
use super::*;
use crate::control::Control;
use crate::data::sparse_targets::SparseNumbers;
use crate::data::train_y::TrainY;
use crate::data::{LabelView, SparseTargets, Targets, Weights};
use crate::exact::Total;
use crate::exact::reduce::Workers;
use crate::exact::reduce::tests::by_two;

/// The samples of one worker at the root, in a child, and in the rest.
struct Nodes {
    root: Vec<u32>,
    child: Vec<u32>,
    rest: Vec<u32>,
}

/// Returns the results of a criterion for the three nodes: statistics, the decrease for the score 1, and the smallest
/// moved weight for the score 10⁹.
fn said<C: NodeCriterion>(mut criterion: C, nodes: &Nodes) -> Vec<(NodeStats, u64, u64)> {
    let mut memory = C::Memory::default();
    let mut all = Vec::new();
    let mut say = |criterion: &C, stats: NodeStats| {
        all.push((stats, criterion.decrease(1.0).to_bits(), criterion.least_moved_weight(1e9).to_bits()));
    };
    let stats = criterion.enter(&nodes.root).unwrap();
    say(&criterion, stats);
    let is_remembered = criterion.remember(&mut memory).unwrap();
    let stats = criterion.enter(&nodes.child).unwrap();
    say(&criterion, stats);
    let rest = if is_remembered {
        criterion.enter_rest(&memory, &nodes.rest).unwrap()
    } else {
        criterion.enter(&nodes.rest).unwrap()
    };
    say(&criterion, rest);
    all
}

proptest! {
    #[test]
    fn statistics_of_two_workers_are_those_of_one(
        rows in prop::collection::vec((any::<bool>(), any::<bool>(), 1u32..4, 0u32..8, 0u32..3, -40i32..40), 2..40), huge in any::<bool>(),
    ) {
        let n = rows.len();
        // One worker may have no sample of a node; both nodes have some.
        let in_child = |row: usize| if row < 2 { row == 0 } else { rows[row].0 };
        let of_worker = |worker: Option<usize>| {
            let own = |row: &u32| worker.is_none_or(|worker| usize::from(rows[*row as usize].1) == worker);
            let root: Vec<u32> = (0..n as u32).filter(own).collect();
            let (child, rest) = root.iter().partition(|&&row| in_child(row as usize));
            Nodes { root, child, rest }
        };
        let nodes = [of_worker(None), of_worker(Some(0)), of_worker(Some(1))];
        let units: Vec<u32> = rows.iter().map(|row| row.2).collect();
        let total = Total::of_all(units.iter().map(|&u| u.into()), &Workers::One).unwrap();
        let on: Vec<Vec<u32>> = rows.iter().map(|row| (0..3).filter(|label| row.3 >> label & 1 == 1).collect()).collect();
        let ptr: Vec<usize> = (0..=n).map(|i| on[..i].iter().map(Vec::len).sum()).collect();
        let labels = Targets::Labels(LabelView::try_new(ptr, on.concat(), 3).unwrap());
        let codes = Array2::from_shape_fn((n, 1), |(i, _)| rows[i].4);
        let classes = Targets::Classes { codes: codes.view(), n_classes: vec![3] };
        let numbers = Array2::from_shape_fn((n, 2), |(i, j)| {
            let number = f64::from(rows[i].5) * [1.0, 1e-9][j];
            if huge { number.powi(9) } else { number }
        });
        let counts = numbers.mapv(f64::abs);
        let rows_of_numbers: Vec<_> = rows.iter().map(|row| row.5).collect();
        let rows_of_numbers = &rows_of_numbers;
        let (numbers, counts) = (Targets::Real(numbers.view()), Targets::Real(counts.view()));
        let [labels, classes, numbers, counts] =
            [&labels, &classes, &numbers, &counts].map(|y| TrainY::new(y).unwrap());
        macro_rules! assert_same {
            ($workers:ident, $criterion:expr) => {{
                let of_workers = |$workers: &Workers, nodes: &Nodes| said($criterion, nodes);
                let one = of_workers(&Workers::One, &nodes[0]);
                for found in by_two(|worker, workers| of_workers(workers, &nodes[1 + worker])) {
                    prop_assert_eq!(&found, &one);
                }
            }};
        }
        let TrainY::Slots(labels) = &labels else { panic!("labels are slots") };
        assert_same!(workers, Gini::new(ManySlots::new(labels, &units), labels, workers).unwrap());
        assert_same!(workers, Entropy::new(labels, &units, total, workers).unwrap());
        let TrainY::Slots(classes) = &classes else { panic!("classes are slots") };
        assert_same!(workers, Gini::new(OneSlot::new(classes, &units).unwrap(), classes, workers).unwrap());
        let TrainY::Real(numbers) = &numbers else { panic!("numbers are real") };
        for exact in [true, false] {
            let many = || variance::Many::new(2).unwrap();
            assert_same!(workers, Variance::new(numbers, &units, exact, many(), &Control::default(), workers).unwrap());
        }
        let on = |i: usize| (0u32..3).filter(move |j| i as u32 % 3 >= *j).map(move |j| (j, f64::from(rows_of_numbers[i]) * 0.3));
        let ptr: Vec<usize> = (0..=n).map(|end| (0..end).map(|i| on(i).count()).sum()).collect();
        let (outputs, values): (Vec<u32>, Vec<f64>) = (0..n).flat_map(on).unzip();
        let entries = &SparseNumbers::new(SparseTargets::try_new(ptr, outputs, values, 3).unwrap());
        for exact in [true, false] {
            assert_same!(workers, SparseVariance::new(entries, &units, exact, &Control::default(), workers).unwrap());
        }
        let TrainY::Real(counts) = &counts else { panic!("numbers are real") };
        assert_same!(workers, Poisson::new(counts, &units, total, workers).unwrap());
    }

    #[test]
    fn weights_of_two_workers_have_the_units_of_one(
        rows in prop::collection::vec((any::<bool>(), 0u32..9), 2..30), kind in 0usize..4,
    ) {
        let unit = [1.0, 0.25, 1024.0, 0.1][kind];
        let mut w: Vec<f64> = rows.iter().map(|row| f64::from(row.1) * unit).collect();
        let mut of: Vec<usize> = rows.iter().map(|row| usize::from(row.0)).collect();
        // Each worker has a sample of positive weight.
        (w[0], w[1], of[0], of[1]) = (unit, 3.0 * unit, 0, 1);
        let own = |worker: usize| (0..w.len()).filter(|&row| of[row] == worker).collect::<Vec<usize>>();
        let whole = Weights::new(Some(&w), w.len(), w.len()).unwrap();
        let found = by_two(|worker, workers| {
            let w: Vec<f64> = own(worker).into_iter().map(|row| w[row]).collect();
            let weights = Weights::of_one_of(workers, Some(&w), w.len(), w.len()).unwrap();
            (weights.unit, weights.exact, weights.in_sums(1), (0..w.len()).map(|row| weights.units(row)).collect::<Vec<u64>>())
        });
        for (worker, found) in found.into_iter().enumerate() {
            let units = own(worker).into_iter().map(|row| whole.units(row)).collect();
            prop_assert_eq!(found, (whole.unit, whole.exact, whole.in_sums(1), units));
        }
    }
}

#[test]
fn decreases_of_splits_are_those_of_the_impurities_of_their_nodes() {
    let x = Array2::from_shape_fn((40, 2), |(i, j)| ((i * 7 + j * 3) % 11) as f32);
    let counts = Array2::from_shape_fn((40, 2), |(i, j)| ((i * 7 % 11 + i * (j + 2)) % 6) as f64);
    let codes = counts.mapv(|count| count as u32 % 3);
    let weight: Vec<f64> = (0..40).map(|i| f64::from(1 + i % 3)).collect();
    for &criterion in Criterion::ALL {
        let targets = || match criterion {
            Criterion::Gini | Criterion::Entropy => Targets::Classes { codes: codes.view(), n_classes: vec![3, 3] },
            _ => Targets::Real(counts.view()),
        };
        let grown = |min_impurity_decrease: f64| {
            let config =
                crate::TreeConfig { max_depth: Some(1), min_impurity_decrease, ..crate::TreeConfig::new(criterion) };
            let data = crate::Dataset::new(&x, targets()).sample_weight(&weight[..]);
            config.fit(data).unwrap()
        };
        let stump = grown(0.0);
        assert_eq!(stump.n_nodes(), 3, "{criterion:?}");
        let parts: Vec<f64> =
            stump.impurity().iter().zip(stump.weighted_n_node_samples()).map(|(impurity, w)| impurity * w).collect();
        let decrease = (parts[0] - parts[1] - parts[2]) / stump.weighted_n_node_samples()[0];
        assert!(decrease > 1e-3, "{criterion:?} {decrease}");
        // The difference of impurities is rounded in its last digits.
        assert_eq!(grown(decrease * (1.0 - 1e-9)).n_nodes(), 3, "{criterion:?}");
        assert_eq!(grown(decrease * (1.0 + 1e-9)).n_nodes(), 1, "{criterion:?}");
    }
}
