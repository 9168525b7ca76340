use ndarray::{Array2, Axis};
use proptest::prelude::*;

use super::*;
use crate::boost::tests::kinds;
use crate::data::{CellWeights, LabelView, SparseTargets, Targets};
use crate::error::ErrorKind;
use crate::loss::LossKind;
use crate::projection::{Projection, Sparsity};
use crate::rng::{Key, Stream};
use crate::testing::models;
use crate::tree::config::MaxFeatures;
use crate::tree::rows::Rows;

/// Samples with few known cells, and ties in X and y.
struct Made {
    x: Array2<f32>,
    numbers: Array2<f64>,
    mask: Array2<bool>,
}

const D: usize = 7;

fn made(seed: u64, n: usize) -> Made {
    let mut stream = Stream::new(Key::from_seed(seed));
    let x = Array2::from_shape_fn((n, 5), |_| stream.below(6) as f32 - 2.0);
    let numbers = Array2::from_shape_fn((n, D), |(i, j)| f64::from(x[[i, j % 5]]) + stream.below(9) as f64 / 3.0);
    // Some samples know nothing, and each output has a known cell.
    let mut mask = Array2::from_shape_fn((n, D), |_| stream.below(10) < 7);
    (0..D).for_each(|j| mask[[j % n, j]] = false);
    mask.row_mut(n - 1).fill(true);
    Made { x, numbers, mask }
}

impl Made {
    fn take(&self, rows: &[usize]) -> Made {
        let Made { x, numbers, mask } = self;
        Made { x: x.select(Axis(0), rows), numbers: numbers.select(Axis(0), rows), mask: mask.select(Axis(0), rows) }
    }

    /// Labels are present where numbers are large.
    fn labels(&self) -> LabelView<'static> {
        let (mut ptr, mut on) = (vec![0], Vec::new());
        for row in self.numbers.rows() {
            on.extend((0..D as u32).filter(|&j| row[j as usize] > 1.0));
            ptr.push(on.len());
        }
        LabelView::try_new(ptr, on, D).unwrap()
    }

    /// Returns y as it suits a loss: in its domain, or labels.
    fn y(&self, kind: &LossKind) -> Owned {
        let domain = kind.as_loss().domain();
        if !domain.has_numbers() {
            return Owned::Labels(self.labels());
        }
        Owned::Numbers(self.numbers.mapv(|y| if domain.refuses(y).is_some() { 0.5 + y.abs() } else { y }))
    }
}

enum Owned {
    Numbers(Array2<f64>),
    Labels(LabelView<'static>),
}

impl Owned {
    fn targets(&self) -> Targets<'_> {
        match self {
            Owned::Numbers(y) => Targets::Real(y.view()),
            Owned::Labels(y) => Targets::Labels(y.view()),
        }
    }
}

fn config(kind: LossKind) -> BoostConfig {
    let projection = Projection::Rademacher { sparsity: Sparsity::Factor(2.0) };
    let strategy = OutputStrategy::Projected { projection, n_projections: NProjections::Count(1), relabel: true };
    let config = BoostConfig::new(kind).strategy(strategy).max_leaf_nodes(5).n_estimators(6).min_weight_leaf(1.0);
    config.min_sum_hessian_in_leaf(0.0)
}

fn fitted(config: &BoostConfig, made: &Made, weight: Option<&[f64]>, control: &Control) -> Boosted {
    let y = made.y(&config.loss);
    let data = Dataset::new(Matrix::Dense(made.x.view()), y.targets()).y_weight(CellWeights::from(&made.mask));
    let data = data.sample_weight(weight);
    let observed = data.observed().unwrap();
    assert!(config.takes_cells(&data.with_observed(observed.as_ref()), None, &Workers::One));
    config.fit((&data, control)).unwrap()
}

/// Returns the number that the loss has for a cell.
fn number(y: &Targets<'_>, kind: &LossKind, (i, j): (usize, usize)) -> f64 {
    match y {
        Targets::Real(y) => y[[i, j]],
        Targets::Labels(y) if y.indices()[y.ptr()[i]..y.ptr()[i + 1]].contains(&(j as u32)) => 1.0,
        _ => kind.as_loss().domain().off(),
    }
}

/// Each pair of a leaf and an output with a cell has its Newton step, other pairs none, and losses are means over known
/// cells: all of it by plain loops.
#[test]
fn leaves_and_losses_are_those_of_plain_loops() {
    for (seed, kind) in (0..).zip([LossKind::SquaredError, LossKind::LogLoss, LossKind::Exponential, LossKind::Poisson])
    {
        let made = made(seed, 60);
        let weight: Vec<f64> = (0..60).map(|i| (i % 4) as f64 / 2.0).collect();
        let config = config(kind.clone()).l2_regularization(0.7).learning_rate(0.3);
        let model = fitted(&config, &made, Some(&weight), &Control::default());
        let (owned, loss) = (made.y(&kind), kind.as_columns());
        let y = owned.targets();
        let cell = |i: usize, j: usize| (!made.mask[[i, j]] && weight[i] > 0.0).then(|| number(&y, &kind, (i, j)));
        let mut scores = Array2::from_shape_fn((60, D), |(_, j)| model.start()[j]);
        for (stage, tree) in model.trees.iter().enumerate() {
            let rows = Rows::new(made.x.view(), 5, &Control::default()).unwrap();
            let leaf_of = rows.leaves(tree, &Control::default()).unwrap();
            let mut mean = 0.0;
            for j in 0..D {
                let loss = loss.of(j);
                for leaf in 0..tree.n_leaves() {
                    let inside =
                        || (0..60).filter(|&i| leaf_of[i] as usize == leaf).filter_map(|i| Some((i, cell(i, j)?)));
                    let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
                        inside().map(|(i, y)| weight[i] * f(y, scores[[i, j]])).sum()
                    };
                    let (g, h) = (sum(&|y, f| loss.negative_gradient(y, f)), sum(&|y, f| loss.curvature(y, f)));
                    let value: f64 =
                        tree.leaves.cells(leaf).filter(|cell| cell.0 as usize == j).map(|cell| cell.1).sum();
                    let step = if inside().count() == 0 { 0.0 } else { 0.3 * g / (h + 0.7) };
                    // Gradients of the log loss are float32; others are rounded to 30 bits of their bound.
                    assert!((value - step).abs() < 2e-6 * (1.0 + step.abs()), "{stage} {leaf} {j}: {value} {step}");
                }
                for i in 0..60 {
                    let cells = tree.leaves.cells(leaf_of[i] as usize).filter(|cell| cell.0 as usize == j);
                    scores[[i, j]] += cells.map(|cell| cell.1).sum::<f64>();
                }
                let known = || (0..60).filter_map(|i| Some((weight[i], loss.value(cell(i, j)?, scores[[i, j]]))));
                let total: f64 = known().map(|one| one.0).sum();
                mean += known().map(|(w, value)| w * value).sum::<f64>() / total / D as f64;
            }
            // The log loss is that of scores in float32.
            assert!((mean - model.train_score()[stage]).abs() < 1e-6 * mean.abs().max(1.0));
        }
        assert!(model.trees.iter().any(|tree| tree.n_leaves() > 2));
    }
}

/// The targets are quotients of sums over the cells of the combination.
#[test]
fn targets_are_pooled_as_by_plain_loops() {
    for (kind, is_curved) in [(LossKind::SquaredError, false), (LossKind::LogLoss, true)] {
        let made = made(3, 40);
        let owned = made.y(&kind);
        let data = Dataset::new(Matrix::Dense(made.x.view()), owned.targets()).y_weight(CellWeights::from(&made.mask));
        let observed = data.observed().unwrap();
        let data = data.with_observed(observed.as_ref());
        let weights = Weights::of_rows(data.weight_by_row().unwrap().as_deref(), 40).unwrap();
        let y = KnownY::of(&data, None).unwrap().train;
        let off = is_curved.then_some(-1.0);
        let (mut cells, factors) = CellColumns::new(&y, kind.as_columns(), off, (&weights, None)).unwrap();
        assert!(factors.is_none());
        let units = CellUnits { rows: &weights, drawn: None, factors: None };
        let start: Vec<f64> = (0..D).map(|j| 0.3 * j as f64).collect();
        cells.set_scores(&start, None);
        cells.derive(units, &Control::default()).unwrap();
        let phi = [0.0, 2.0, 0.0, -1.0, 0.5, 0.0, 2.0];
        let pooled = Pooled::new(&cells, &phi, units, 40).unwrap();
        let loss = kind.as_loss();
        let of_columns = (0..D).map(|j| phi[j].abs() * loss.curvature(1.0, start[j]));
        let largest = of_columns.fold(0.0, f64::max);
        for i in 0..40 {
            let known = (0..D).filter(|&j| !made.mask[[i, j]]);
            let known: Vec<_> = known.map(|j| (phi[j], number(&owned.targets(), &kind, (i, j)), start[j])).collect();
            let above: f64 = known.iter().map(|&(phi, y, f)| phi * loss.negative_gradient(y, f)).sum();
            let below: f64 = known.iter().map(|&(phi, y, f)| phi.abs() * loss.curvature(y, f)).sum();
            assert_eq!(pooled.parts[i] > 0, below > 0.0);
            if below > 0.0 {
                // Each |φ| h is rounded down to a part of 4096 of the largest one.
                assert!((pooled.targets[i] - above / below).abs() < 2e-2 * (above / below).abs().max(0.1), "{i}");
                assert!((pooled.parts[i] as f64 / pooled.of_one - below / largest).abs() < 1e-2, "{i}");
            }
        }
    }
}

/// A fit depends neither on the order of the samples, nor on threads, nor on what unknown cells hold; samples that know
/// nothing have no effect, and a weight is a number of copies.
#[test]
fn laws_hold_for_all_losses() {
    for (seed, kind) in (10..).zip(kinds(D)) {
        let made = made(seed, 50);
        for subsample in [1.0, 0.6] {
            let config = config(kind.clone()).subsample(subsample).learning_rate(0.4).seed(seed);
            let plain = fitted(&config, &made, None, &Control::default());
            assert!(plain.trees.iter().any(|tree| tree.n_leaves() > 2), "{kind:?}");
            let same = |other: &Boosted, what: &str| assert_eq!(&plain, other, "{kind:?} {subsample} {what}");
            same(&fitted(&config, &made, None, &Control::with_threads(3)), "threads");
            let order: Vec<usize> = (0..50).rev().collect();
            same(&fitted(&config, &made.take(&order), None, &Control::default()), "order");
            let other = Made {
                numbers: Array2::from_shape_fn((50, D), |at| {
                    made.numbers[at] + 3.0 * f64::from(u8::from(made.mask[at]))
                }),
                ..made.take(&(0..50).collect::<Vec<_>>())
            };
            same(&fitted(&config, &other, None, &Control::default()), "unknown values");
            same(
                &fitted(&config, &made.take(&(0..49).collect::<Vec<_>>()), None, &Control::default()),
                "a sample that knows nothing",
            );
            let counts: Vec<usize> = (0..50).map(|i| if i < D { 1 } else { i % 3 }).collect();
            let copies: Vec<usize> = (0..50).flat_map(|i| std::iter::repeat_n(i, counts[i])).collect();
            let weight: Vec<f64> = counts.iter().map(|&n| n as f64).collect();
            let by_weight = fitted(&config, &made, Some(&weight), &Control::default());
            let by_copies = fitted(&config, &made.take(&copies), None, &Control::default());
            if subsample == 1.0 {
                assert_eq!(
                    by_weight.trees.iter().map(|t| &t.nodes).collect::<Vec<_>>(),
                    by_copies.trees.iter().map(|t| &t.nodes).collect::<Vec<_>>()
                );
                assert_eq!(by_weight.train_score(), by_copies.train_score(), "{kind:?}");
            }
        }
    }
}

/// At learning rate 1 without regularisation, too.
#[test]
fn the_training_loss_never_rises() {
    for (seed, kind) in (30..).zip(kinds(D)) {
        let config = config(kind.clone()).learning_rate(1.0).l2_regularization(0.0).n_estimators(12);
        let losses = fitted(&config, &made(seed, 50), None, &Control::default()).train_score().to_vec();
        // The log loss is that of scores in float32.
        assert!(losses.windows(2).all(|pair| pair[1] <= pair[0] + 1e-7 * losses[0].abs()), "{kind:?} {losses:?}");
        assert!(losses[11] < losses[0]);
    }
}

/// A factor of the weight of a cell is a number of copies of the cell, which may be in other samples with the same x, and
/// multiplies the weight of the sample.
#[test]
fn factors_of_all_cells_of_a_sample_are_its_weight() {
    for kind in [LossKind::SquaredError, LossKind::LogLoss] {
        let (n, mut stream) = (30, Stream::new(Key::from_seed(5)));
        let times: Vec<u64> = (0..n).map(|_| 1 + stream.below(3)).collect();
        let mut cell = |column: u32| (stream.below(3) == 0).then(|| (column, stream.below(2) as f64));
        let cells: Vec<Vec<(u32, f64)>> = (0..n).map(|_| (0..D as u32).filter_map(&mut cell).collect()).collect();
        let phi = [1.0, -1.0, 0.0, 1.0, 1.0, -1.0, 0.0];
        let of = |factor: &dyn Fn(usize) -> f64, weights: Option<&[f64]>| {
            let factors = cells.iter().enumerate().flat_map(|(i, of_row)| of_row.iter().map(move |_| factor(i)));
            let y = TargetCells::of_rows(cells.clone(), D).with_factors(factors.collect());
            let units = Weights::of_rows(weights, n).unwrap();
            let off = (kind.as_loss().domain().off() != 0.0).then_some(-1.0);
            let (mut cells, factors) = CellColumns::new(&y, kind.as_columns(), off, (&units, weights)).unwrap();
            let all = CellUnits { rows: &units, drawn: None, factors: factors.as_ref() };
            let start = cells.starts(all, &Control::default()).unwrap();
            cells.set_scores(&start, None);
            cells.derive(all, &Control::default()).unwrap();
            let pooled = Pooled::new(&cells, &phi, all, n).unwrap();
            let config = config(kind.clone()).l2_regularization(0.5);
            let leaf_of: Vec<u32> = (0..n as u32).map(|i| i % 3).collect();
            let control = &Control::default();
            let stage = columns::Stage { config: &config, units: all, leaf_of: &leaf_of, n_leaves: 3, control };
            let (moves, losses) = cells.advance(&Moves::Fitted(stage), (all, None), control).unwrap();
            (start, pooled.targets, pooled.parts, moves.table(3).unwrap(), losses.all)
        };
        let weights: Vec<f64> = times.iter().map(|&times| times as f64).collect();
        assert_eq!(of(&|i| weights[i], None), of(&|_| 1.0, Some(&weights)), "{kind:?}");
    }
}

#[test]
fn columns_tell_the_leaves_that_rows_reach() {
    for seed in 0..60 {
        let forest = models::some_forest(seed);
        let tree = forest.tree(0);
        let rows = models::rows_with_missing(seed, 40, tree.n_features());
        let expected = Rows::new(rows.c_order.view(), tree.n_features(), &Control::default()).unwrap();
        let expected = expected.leaves(tree, &Control::default()).unwrap();
        let layouts = rows.layouts();
        for x in &layouts {
            let routes = Routes::new(x, &Control::default()).unwrap();
            assert_eq!(routes.leaves(tree, &Control::default()).unwrap(), expected, "{seed}");
        }
    }
}

/// A fit goes on where it ended, replays the scores of held-out samples, and stops early; leaves that are fitted again to
/// the same samples stay the same.
#[test]
fn fits_go_on_stop_and_are_refitted() {
    for kind in [LossKind::SquaredError, LossKind::LogLoss, LossKind::huber(1.0)] {
        let (made, held) = (made(1, 60), made(2, 30));
        let (of_y, of_held) = (made.y(&kind), held.y(&kind));
        let data = Dataset::new(Matrix::Dense(made.x.view()), of_y.targets()).y_weight(CellWeights::from(&made.mask));
        let all_known = Dataset::new(Matrix::Dense(held.x.view()), of_held.targets());
        let some_known = all_known.view().y_weight(CellWeights::from(&held.mask));
        let (config, control) = (config(kind.clone()), Control::default());
        for held in [&all_known, &some_known] {
            let whole = config.fitting().validation(held.view()).fit((&data, &control)).unwrap();
            let part = config.clone().n_estimators(2).fitting().validation(held.view()).fit((&data, &control)).unwrap();
            assert_eq!(config.fitting().start_from(&part).validation(held).fit((&data, &control)).unwrap(), whole);
            assert_eq!(config.refit_leaves(&whole, (&data, &control)).unwrap().trees, whole.trees, "{kind:?}");
            let stopped = config.clone().n_estimators(100).n_iter_no_change(3);
            let stopped = stopped.fitting().validation(held.view()).fit((&data, &control)).unwrap();
            let losses = stopped.validation_score();
            assert!(losses.iter().all(|loss| Some(loss) >= losses.last()));
            // The loss of the held-out samples is that of the scores of the model.
            let scores = whole.predict_scores((held.x().view(), &control)).unwrap();
            let loss = held_loss(&scores, held, &kind);
            // The log loss is that of scores in float32.
            assert!((loss - whole.validation_score().last().unwrap()).abs() < 1e-6 * loss.abs().max(1.0));
        }
    }
}

/// Returns the mean over columns of the mean losses of known cells.
fn held_loss(scores: &Array2<f64>, held: &Dataset<'_>, kind: &LossKind) -> f64 {
    let is_known = |i: usize, j: usize| match held.mask() {
        Some(CellWeights::Unknown(mask)) => !mask[[i, j]],
        _ => true,
    };
    let means = (0..D).filter_map(|j| {
        let known = (0..scores.nrows()).filter(|&i| is_known(i, j));
        let losses: Vec<f64> =
            known.map(|i| kind.as_loss().value(number(held.y(), kind, (i, j)), scores[[i, j]])).collect();
        (!losses.is_empty()).then(|| losses.iter().sum::<f64>() / losses.len() as f64)
    });
    let means: Vec<f64> = means.collect();
    means.iter().sum::<f64>() / means.len() as f64
}

#[test]
fn features_of_a_tree_are_drawn_and_a_stopped_fit_ends() {
    let made = made(8, 60);
    let config = config(LossKind::SquaredError);
    let drawn = config.clone().max_features_by_tree(MaxFeatures::Count(1));
    let model = fitted(&drawn, &made, None, &Control::default());
    let features = |tree: &Tree| {
        let splits = tree.nodes.iter().filter(|node| !node.is_leaf());
        splits.map(crate::tree::Node::feature).collect::<std::collections::BTreeSet<_>>()
    };
    assert!(model.trees.iter().all(|tree| features(tree).len() <= 1));
    let control = Control::default();
    control.stop();
    let y = Targets::Real(made.numbers.view());
    let data = Dataset::new(Matrix::Dense(made.x.view()), y).y_weight(CellWeights::from(&made.mask));
    assert_eq!(config.fit((&data, &control)).unwrap_err().kind(), &ErrorKind::Interrupted);
}

proptest! {
    /// The moves of columns and the tables of leaves say the same.
    #[test]
    fn tables_of_leaves_are_turned_into_moves_and_back(values in prop::collection::vec(-2i8..3, 12)) {
        let mut builder = crate::tree::leaves::LeafTableBuilder::of_means(4);
        for row in values.chunks_exact(4) {
            let cells = (0u32..).zip(row).filter(|cell| *cell.1 != 0);
            builder.push_rounded(cells.map(|(column, &value)| (column, f64::from(value)))).unwrap();
        }
        let table = builder.finish().unwrap();
        let back = ColumnMoves::of_table(&table).unwrap().table(3).unwrap();
        for leaf in 0..3 {
            let cells = |table: &crate::tree::leaves::LeafTable| table.cells(leaf).collect::<Vec<_>>();
            prop_assert_eq!(cells(&back), cells(&table));
        }
    }
}

#[test]
fn sparse_numbers_are_those_of_a_table_and_only_known_ones_must_be_in_the_domain() {
    let made = made(11, 40);
    for kind in [LossKind::SquaredError, LossKind::Poisson, LossKind::Gamma] {
        // Unknown numbers are zeros, which the last loss refuses.
        let allows_zero = kind.as_loss().domain().refuses(0.0).is_none();
        let value = |at: (usize, usize), &y: &f64| match made.mask[at] {
            true => 0.0,
            false if allows_zero => y.abs().floor(),
            false => 1.0 + y.abs(),
        };
        let dense = Array2::from_shape_fn(made.numbers.dim(), |at| value(at, &made.numbers[at]));
        let sparse = SparseTargets::of_dense(&dense.view()).unwrap();
        fn fitted<'m>(made: &'m Made, kind: &LossKind, y: Targets<'m>) -> Result<Boosted> {
            let data = Dataset::new(Matrix::Dense(made.x.view()), y).y_weight(CellWeights::from(&made.mask));
            config(kind.clone()).fit(data)
        }
        let (of_table, of_entries) = (
            fitted(&made, &kind, Targets::Real(dense.view())),
            fitted(&made, &kind, Targets::SparseReal(sparse.view())),
        );
        assert_eq!(of_table.unwrap().train_score, of_entries.unwrap().train_score, "{kind:?}");
        if !allows_zero {
            let mut zero = dense.clone();
            zero[[0, 0]] = 0.0;
            let sparse = SparseTargets::of_dense(&zero.view()).unwrap();
            assert!(!made.mask[[0, 0]]);
            let error = fitted(&made, &kind, Targets::SparseReal(sparse.view())).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Invalid { what: "y", .. }), "{error}");
        }
    }
}
