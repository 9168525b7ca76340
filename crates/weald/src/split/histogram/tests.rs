//! Comparison of histograms with the other searches on the same codes, and with the exact search, on small hostile
//! data.

use ndarray::Array2;
use proptest::prelude::*;

use super::*;
use crate::criterion::{NodeCriterion, variance};
use crate::data::Category;
use crate::data::bins::codes::CodeColumn;
use crate::data::bins::{bin_dense, bin_sparse};
use crate::data::train_y::RealTargets;
use crate::data::weights::tests::hostile_weights;
use crate::data::{Bins as Edges, DenseColumns, SparseColumns, SparseView, Weights};
use crate::exact::Total;
use crate::exact::reduce::Workers;
use crate::exact::reduce::tests::by_two;
use crate::partition::sorted_entries::{SortedEntries, SortedOrder};
use crate::partition::{dense, sparse};
use crate::rng::Key;
use crate::split::coded::{CodedNodes, value_of};
use crate::split::constraint::{Constraints, LeafSizes};
use crate::split::cut::Gap;
use crate::split::entries::Entries;
use crate::split::expand::NodeSearch;
use crate::split::tests::{Fingerprint, fingerprint};
use crate::split::{Split, SplitSearch, Splitter};
use crate::testing::models;
use crate::tree::growth::grow::{Decode, Structure, grow};

#[derive(Clone, Debug)]
struct Problem {
    x: Array2<f32>,
    y: Vec<f64>,
    q: usize,
    weights: Option<Vec<f64>>,
    /// Whether each feature is categorical.
    categories: Vec<bool>,
    max_bins: usize,
    n_drawn: u32,
    min_samples_leaf: usize,
    max_depth: usize,
    max_leaves: Option<usize>,
    seed: u64,
}

/// Values that are difficult: ties, both signs, neighbouring floats, denormals, large ratios.
fn hostile_value() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => Just(0.0f32),
        4 => (-3i8..4).prop_map(f32::from),
        2 => -50f32..50.0,
        1 => prop::sample::select(vec![1.0f32.next_up(), 1.0f32.next_down(), -0.0, 1e-45, -1e-45, 3e38, -3e38, 1e-30]),
    ]
}

fn problem() -> impl Strategy<Value = Problem> {
    (2usize..40, 1usize..6, 1usize..4).prop_flat_map(|(n, p, q)| {
        let y = prop_oneof![
            prop::collection::vec((-4i8..4).prop_map(f64::from), n * q),
            prop::collection::vec(-1e3f64..1e3, n * q),
            // There are outliers, so that nodes without them get their own frames.
            prop::collection::vec(prop_oneof![8 => -1.0..1.0, 1 => Just(1e15), 1 => Just(-1e9)], n * q),
        ];
        let weight = prop_oneof![Just(0.0f64), Just(1.0), Just(2.0), Just(0.5), 0.1f64..3.0];
        let weights = prop_oneof![
            Just(None),
            Just(Some(vec![0.3; n])),
            prop::collection::vec(weight, n).prop_map(Some),
            hostile_weights(n).prop_map(Some),
        ];
        (
            (
                prop_oneof![
                    prop::collection::vec(hostile_value(), n * p),
                    prop::collection::vec(prop_oneof![5 => hostile_value(), 1 => Just(f32::NAN)], n * p),
                ],
                prop::bool::weighted(0.3),
                prop_oneof![Just(vec![false; p]), prop::collection::vec(any::<bool>(), p)],
            ),
            y,
            weights.prop_filter("some weight", |w| w.as_ref().is_none_or(|w| w.iter().any(|&w| w > 0.0))),
            prop_oneof![2usize..8, Just(255)],
            prop_oneof![1..=p as u32, Just(p as u32)],
            prop_oneof![Just(1usize), 1usize..4],
            prop_oneof![Just(usize::MAX), 1usize..5],
            prop_oneof![Just(None), (2usize..9).prop_map(Some)],
            any::<u64>(),
        )
            .prop_map(
                move |(
                    (mut x, is_constant, categories),
                    y,
                    weights,
                    max_bins,
                    n_drawn,
                    leaf,
                    max_depth,
                    max_leaves,
                    seed,
                )| {
                    if is_constant {
                        x.chunks_mut(p).for_each(|row| row[0] = 7.5);
                    }
                    let mut x = Array2::from_shape_vec((n, p), x).unwrap();
                    for (mut column, _) in x.columns_mut().into_iter().zip(&categories).filter(|(_, is)| **is) {
                        column.iter_mut().filter(|v| !v.is_nan()).for_each(|v| *v = (v.abs() as u64 % 12) as f32);
                    }
                    let min_samples_leaf = leaf;
                    Problem {
                        x,
                        y,
                        q,
                        weights,
                        categories,
                        max_bins,
                        n_drawn,
                        min_samples_leaf,
                        max_depth,
                        max_leaves,
                        seed,
                    }
                },
            )
    })
}

/// The data that searches borrow.
struct Data {
    y: RealTargets<'static>,
    units: Vec<u64>,
    narrow: Vec<u32>,
    rows: Vec<u32>,
    exact: bool,
    csc: SparseView<'static>,
}

impl Problem {
    fn data(&self) -> Data {
        let n = self.x.nrows();
        let weights = Weights::new(self.weights.as_deref(), n, n).unwrap();
        let units: Vec<u64> = (0..n).map(|i| weights.units(i)).collect();
        Data {
            y: RealTargets::new(self.y.clone(), self.q).unwrap(),
            rows: (0..n as u32).filter(|&i| units[i as usize] > 0).collect(),
            narrow: units.iter().map(|&u| u as u32).collect(),
            units,
            exact: weights.exact,
            csc: models::with_stored_zeros(self.x.t()),
        }
    }

    fn kinds(&self) -> Option<&[bool]> {
        self.categories.contains(&true).then_some(&self.categories)
    }

    fn rules(&self, data: &Data) -> Rules {
        Rules {
            splitter: Splitter::Best,
            max_depth: self.max_depth,
            min_samples_split: 2,
            constraints: Constraints {
                leaf_sizes: LeafSizes { min_samples: self.min_samples_leaf as u32, min_weight: 0.0 },
                monotonic: None,
                interactions: None,
            },
            min_impurity_decrease: 0.0,
            n_drawn: self.n_drawn,
            n_features: self.x.ncols(),
            categories: self.kinds().map(Into::into),
            is_alone: false,
            total: Total::of_all(data.units.iter().copied(), &Workers::One).unwrap(),
            largest_weight: data.units.iter().copied().max().unwrap() as f64,
            of_one: data.units.iter().copied().max().unwrap() as f64,
        }
    }

    /// Returns the codes as values.
    fn codes(&self, codes: &Codes) -> Array2<f32> {
        Array2::from_shape_fn(self.x.dim(), |(i, j)| {
            value_of(codes.column(j as u32).of(i) as u16, codes.missing(j as u32))
        })
    }

    /// Grows a tree. Its thresholds are between values; those of codes are converted with `bins`.
    fn grown(&self, search: &mut dyn SplitSearch, bins: Option<&Edges>) -> Structure {
        struct Decoded<'a>(Option<&'a Edges>);
        impl Decode for Decoded<'_> {
            fn threshold(&self, split: &Split) -> f32 {
                split.cut.threshold(|gap| match self.0 {
                    None => gap,
                    Some(bins) => {
                        let (low, high) = bins.values_between(split.feature, gap.low, gap.high);
                        Gap { low, high }
                    }
                })
            }
            fn categories(&self, feature: u32, codes: &[Category], out: &mut Vec<Category>) -> Result<()> {
                match self.0 {
                    None => out.extend(codes),
                    Some(bins) => out.extend(codes.iter().map(|&code| bins.category(feature, code))),
                }
                Ok(())
            }
        }
        grow(search, &Decoded(bins), Key::from_seed(self.seed), self.max_leaves, &Control::default()).unwrap()
    }
}

/// Checks histograms with every setting that must not affect the result.
fn check_histograms<U: Units, M: BinnedSums>(
    problem: &Problem,
    (data, units): (&Data, &[U]),
    sums: impl Fn() -> M,
    (bins, codes): (&Edges, &Codes<'_>),
    expected: &Fingerprint,
) -> Result<(), TestCaseError> {
    let spare = Spare::default();
    for (few, limit, n_threads) in
        [(0, MOST_BYTES, 1), (5, MOST_BYTES, 3), (FEW_SAMPLES, 0, 1), (0, 0, 2), (2, 20_000, 2)]
    {
        let control = Control::with_threads(n_threads);
        let criterion = Variance::new(&data.y, units, data.exact, sums(), &control, &Workers::One)
            .unwrap()
            .with_blocks_of(n_threads);
        let rules = problem.rules(data);
        let store = Histograms::new(codes, &spare, &data.rows, &criterion, &rules, control.clone()).unwrap();
        let mut store = Histograms { few_samples: few, ..store.with_limit(limit) };
        (store.builder.many, store.builder.far) = (0, 0);
        store.samples.set_least_in_block(n_threads);
        let mut search = NodeSearch::new(store, criterion.without_distance(), rules, control).unwrap();
        let got = fingerprint(&problem.grown(&mut search, Some(bins)));
        prop_assert_eq!(expected, &got, "{} few, {} bytes, {} threads", few, limit, n_threads);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn every_search_on_codes_grows_the_same_tree(problem in problem()) {
        let data = problem.data();
        let (n, q) = (problem.x.nrows(), problem.q);
        let control = Control::default();
        let units = |row: usize| data.units[row];
        let raw = DenseColumns::new(problem.x.view(), &Control::default()).unwrap();
        let (bins, codes) = bin_dense(&raw, problem.max_bins, problem.kinds(), units, &control).unwrap();
        let variance = || Variance::new(&data.y, &data.units, data.exact, variance::Many::new(q).unwrap(), &Control::default(), &Workers::One).unwrap();
        let rules = problem.rules(&data);

        let values = problem.codes(&codes);
        let columns = DenseColumns::new(values.view(), &Control::default()).unwrap();
        let columns = dense::DensePartitioner::new(&columns, &data.rows, &Control::default()).unwrap();
        let mut search = NodeSearch::new(Entries(columns), variance(), rules.clone(), control.clone()).unwrap();
        let expected = fingerprint(&problem.grown(&mut search, Some(&bins)));

        check_histograms(&problem, (&data, &data.units), || variance::Many::new(q).unwrap(), (&bins, &codes), &expected)?;
        if data.units.iter().sum::<u64>() < 1 << 31 {
            check_histograms(&problem, (&data, &data.narrow), || variance::Many::new(q).unwrap(), (&bins, &codes), &expected)?;
        }
        if q == 1 {
            check_histograms(&problem, (&data, &data.units), || variance::One, (&bins, &codes), &expected)?;
            let by_row = bin_dense(&raw, problem.max_bins, problem.kinds(), units, &control).unwrap().1.with_rows(0, &control).unwrap();
            check_histograms(&problem, (&data, &data.units), || variance::One, (&bins, &by_row), &expected)?;
        }
        macro_rules! coded {
            ($sums:expr) => {{
                let criterion = Variance::new(&data.y, &data.units, data.exact, $sums, &control, &Workers::One).unwrap();
                let store = CodedNodes::new(&codes, &data.rows, &control).unwrap();
                let mut search = NodeSearch::new(store, criterion, rules.clone(), control.clone()).unwrap();
                fingerprint(&problem.grown(&mut search, Some(&bins)))
            }};
        }
        prop_assert_eq!(&expected, &coded!(variance::Many::new(q).unwrap()), "sorted codes");
        if q == 1 {
            prop_assert_eq!(&expected, &coded!(variance::One), "sums of bins");
        }

        let (sparse_bins, by_column) = bin_sparse(&data.csc, problem.max_bins, problem.kinds(), units, &control).unwrap();
        for (few, limit, n_threads) in
            [(0, MOST_BYTES, 1), (5, MOST_BYTES, 2), (u32::MAX, 0, 1), (0, 0, 2), (2, 20_000, 3)]
        {
            let Ok(cells) = SparseCells::where_worth(by_column.clone(), problem.min_samples_leaf, 0, &control).unwrap() else { unreachable!() };
            let spare = Spare::default();
            macro_rules! grown {
                ($units:expr, $sums:expr) => {{
                    let criterion = Variance::new(&data.y, $units, data.exact, $sums, &Control::default(), &Workers::One).unwrap();
                    let (rules, control) = (rules.clone(), Control::with_threads(n_threads));
                    let store =
                        SparseHistograms::new(&cells, &spare, &data.rows, &criterion, &rules, control.clone()).unwrap();
                    let mut store = store.with_limit(limit);
                    (store.few_samples, store.many) = (few, 0);
                    let mut search = NodeSearch::new(store, criterion.without_distance(), rules, control).unwrap();
                    fingerprint(&problem.grown(&mut search, Some(&sparse_bins)))
                }};
            }
            if problem.n_drawn as usize == problem.x.ncols() {
                prop_assert_eq!(&expected, &grown!(&data.units, variance::Many::new(q).unwrap()), "{} few, {} bytes", few, limit);
                if q == 1 {
                    prop_assert_eq!(&expected, &grown!(&data.units, variance::One), "{} few, {} bytes", few, limit);
                }
            }
        }

        let order = SortedOrder::new(&by_column, &control).unwrap();
        let carried = SortedEntries::new(&by_column, &order, &data.rows, &Control::default()).unwrap();
        let mut carried = NodeSearch::new(Entries(carried), variance(), rules.clone(), control.clone()).unwrap();
        prop_assert_eq!(&expected, &fingerprint(&problem.grown(&mut carried, Some(&sparse_bins))));
        drop(carried);
        let both = SparseColumns { by_row: by_column.transposed().unwrap(), by_column };
        let found = sparse::SparsePartitioner::new(&both, &data.rows, &Control::default()).unwrap();
        let mut found = NodeSearch::new(Entries(found), variance(), rules, control.clone()).unwrap();
        prop_assert_eq!(&expected, &fingerprint(&problem.grown(&mut found, Some(&sparse_bins))));

        let is_exact = (0..problem.x.ncols() as u32).all(|j| {
            let mut values: Vec<f32> = data.rows.iter().map(|&i| raw.column(j)[i as usize] + 0.0).collect();
            values.retain(|value| !value.is_nan());
            values.sort_by(f32::total_cmp);
            values.dedup();
            values.len() <= problem.max_bins
        });
        if is_exact {
            let rules = problem.rules(&data);
            let columns = dense::DensePartitioner::new(&raw, &data.rows, &Control::default()).unwrap();
            let mut exact = NodeSearch::new(Entries(columns), variance(), rules, control).unwrap();
            prop_assert_eq!(&expected, &fingerprint(&problem.grown(&mut exact, None)));
        }
        prop_assert!(n >= data.rows.len());
    }

    #[test]
    fn histograms_of_two_workers_are_those_of_one(problem in problem()) {
        let data = problem.data();
        let raw = DenseColumns::new(problem.x.view(), &Control::default()).unwrap();
        let (_, codes) = bin_dense(&raw, problem.max_bins, problem.kinds(), |row| data.units[row], &Control::default()).unwrap();
        let all = Lottery::new(Key::from_seed(0), problem.x.ncols(), problem.x.ncols() as u32).unwrap();
        fn found<M: BinnedSums>(
            (problem, data, codes): (&Problem, &Data, &Codes<'_>),
            (sums, all): (M, &Lottery),
            workers: &Workers,
            is_own: impl Fn(u32) -> bool,
        ) -> (Vec<f64>, Vec<u32>) {
            let rows: Vec<u32> = data.rows.iter().copied().filter(|&row| is_own(row)).collect();
            let mut criterion = Variance::new(&data.y, &data.units, data.exact, sums, &Control::default(), workers).unwrap();
            criterion.enter(&rows).unwrap();
            let (spare, rules, control) = (Spare::default(), problem.rules(data), Control::default());
            let mut store = Histograms::new(codes, &spare, &rows, &criterion, &rules, control.clone()).unwrap();
            if let Counting::OnDemand(_) = store.builder.counting {
                // One worker counts where it has to.
                store.builder.counting = Counting::InBins;
            }
            let mut histogram = store.empty(0, criterion.bounds()).unwrap();
            let node = 0..rows.len() as u32;
            store.draw(all, 0..all.n_examined(), &node, true).unwrap();
            store.builder.fill_whole(&criterion, &rows, &node, &store.drawn, &mut histogram, &control).unwrap();
            // The contents of bins without samples are not specified.
            let bins = histogram.sums.chunks_exact_mut(criterion.sample_len());
            bins.filter(|bin| bin[0] == 0.0).for_each(|bin| bin.fill(0.0));
            (histogram.sums, histogram.counts)
        }
        let problem = (&problem, &data, &codes);
        let many = || (variance::Many::new(problem.0.q).unwrap(), &all);
        let of_one = found(problem, many(), &Workers::One, |_| true);
        let is_of = |worker| move |row: u32| usize::from(row.is_multiple_of(3)) == worker;
        for of_two in by_two(|worker, workers| found(problem, many(), workers, is_of(worker))) {
            prop_assert_eq!(&of_two, &of_one);
        }
        if problem.0.q == 1 {
            for of_two in by_two(|worker, workers| found(problem, (variance::One, &all), workers, is_of(worker))) {
                prop_assert_eq!(&of_two, &of_one);
            }
        }
    }

    #[test]
    fn sums_of_nodes_are_within_their_bounds(problem in problem(), parts in 2u32..5) {
        let (data, q) = (problem.data(), problem.q);
        let many = variance::Many::new(q).unwrap();
        let mut criterion = Variance::new(&data.y, &data.units, data.exact, many, &Control::default(), &Workers::One).unwrap();
        // Samples of equal targets are not rounded.
        let check = |criterion: &Variance<'_, u64, variance::Many>, rows: &[u32], is_pure: bool| {
            let samples = || rows.iter().map(|&row| criterion.sums(criterion.samples(), row as usize)).filter(|_| !is_pure);
            let bounds = criterion.bounds();
            prop_assert_eq!(bounds.n_samples as usize, rows.len());
            prop_assert_eq!(bounds.weight, rows.iter().map(|&row| data.units[row as usize] as f64).sum::<f64>());
            for j in 1..=q {
                let target: f64 = samples().map(|sample| sample[j].abs()).sum();
                prop_assert!(target <= bounds.target, "{} {}", target, bounds.target);
            }
            Ok(())
        };
        let stats = criterion.enter(&data.rows).unwrap();
        check(&criterion, &data.rows, stats.pure)?;
        let (part, rest): (Vec<u32>, Vec<u32>) = data.rows.iter().partition(|row| row.is_multiple_of(parts));
        if !stats.pure && !part.is_empty() && !rest.is_empty() {
            let mut memory = variance::Memory::default();
            let is_remembered = criterion.remember(&mut memory).unwrap();
            let stats = criterion.enter(&part).unwrap();
            check(&criterion, &part, stats.pure)?;
            let stats = if is_remembered { criterion.enter_rest(&memory, &rest) } else { criterion.enter(&rest) };
            check(&criterion, &rest, stats.unwrap().pure)?;
        }
    }

    #[test]
    fn rows_end_in_the_leaves_that_growth_put_them_in(problem in problem()) {
        let data = problem.data();
        let units = |row: usize| data.units[row];
        let raw = DenseColumns::new(problem.x.view(), &Control::default()).unwrap();
        let (bins, codes) = bin_dense(&raw, problem.max_bins, problem.kinds(), units, &Control::default()).unwrap();
        let criterion = Variance::new(&data.y, &data.units, data.exact, variance::Many::new(problem.q).unwrap(), &Control::default(), &Workers::One).unwrap();
        let rules = problem.rules(&data);
        let spare = Spare::default();
        let control = Control::default();
        let store = Histograms::new(&codes, &spare, &data.rows, &criterion, &rules, control.clone()).unwrap();
        let mut search = NodeSearch::new(store, criterion.without_distance(), rules, control).unwrap();
        let s = problem.grown(&mut search, Some(&bins));
        let mut n_rows = 0;
        for leaf in 0..s.leaf_samples.len() {
            for &row in s.leaf_rows(leaf) {
                let mut at = 0;
                while !s.nodes[at].is_leaf() {
                    let value = problem.x[[row as usize, s.nodes[at].feature() as usize]];
                    let goes_left = s.nodes[at].decision(&s.sets).goes_left(value);
                    at = if goes_left { at + 1 } else { s.nodes[at].right() as usize };
                }
                prop_assert_eq!(s.nodes[at].right() as usize, leaf);
                n_rows += 1;
            }
        }
        prop_assert_eq!(n_rows, data.rows.len());
    }
}

/// Larger problems, in which histograms are subtracted and frames change.
#[test]
fn subtracting_and_new_frames_change_nothing() {
    let (mut n_frames, mut n_wide) = (0, 0);
    for seed in 0..24u64 {
        let mut stream = crate::rng::Stream::new(Key::from_seed(seed));
        let (n, p, q) = (600 + 100 * (seed as usize % 3), 12, [1, 2, 3, 1, 14][seed as usize % 5]);
        let mut draw = |below: u64| stream.below(below) as f64;
        let x = Array2::from_shape_simple_fn((n, p), || match draw(12) as u8 {
            0..4 => 0.0,
            // Every other problem of unlimited depth has missing values.
            4 if seed % 2 == 1 && seed % 7 != 0 => f32::NAN,
            _ => (draw(900) - 400.0) as f32,
        });
        let x = Array2::from_shape_fn(
            (n, p),
            |(i, j)| if seed % 4 == 2 && j % 3 == 0 { x[[i, j]].abs() } else { x[[i, j]] },
        );
        let outlier = |i: usize| if i.is_multiple_of(97) { 1e14 } else { 0.0 };
        let signal = |i: usize| {
            let signal = f64::from(x[[i / q, 3]] + x[[i / q, 5]].abs());
            if signal.is_nan() { 17.0 } else { signal }
        };
        let y = (0..n * q).map(|i| signal(i) + draw(1000) / 7.0 + outlier(i)).collect();
        let weights = match seed % 4 {
            0 => None,
            1 => Some((0..n).map(|_| draw(3)).collect()),
            2 => Some((0..n).map(|_| draw(1000) / 999.0).collect()),
            _ => Some(vec![2.0; n]),
        };
        let problem = Problem {
            x,
            y,
            q,
            weights,
            categories: (0..p).map(|j| seed % 4 == 2 && j % 3 == 0).collect(),
            max_bins: [255, 16, 100][seed as usize % 3],
            n_drawn: if seed % 5 == 0 { 5 } else { p as u32 },
            min_samples_leaf: 1 + 4 * (seed as usize % 2),
            max_depth: if seed % 7 == 0 { 6 } else { usize::MAX },
            max_leaves: (seed % 3 == 0).then_some(40),
            seed,
        };
        let data = problem.data();
        let raw = DenseColumns::new(problem.x.view(), &Control::default()).unwrap();
        let control = Control::default();
        let (bins, codes) =
            bin_dense(&raw, problem.max_bins, problem.kinds(), |row| data.units[row], &control).unwrap();
        n_wide += (0..p as u32).filter(|&j| matches!(codes.column(j), CodeColumn::Wide(_))).count();
        let values = problem.codes(&codes);
        let columns = DenseColumns::new(values.view(), &Control::default()).unwrap();
        let variance = || {
            Variance::new(
                &data.y,
                &data.units,
                data.exact,
                variance::Many::new(q).unwrap(),
                &Control::default(),
                &Workers::One,
            )
            .unwrap()
        };
        let rules = problem.rules(&data);
        let mut exact = NodeSearch::new(
            Entries(dense::DensePartitioner::new(&columns, &data.rows, &Control::default()).unwrap()),
            variance(),
            rules.clone(),
            control.clone(),
        )
        .unwrap();
        let exact = problem.grown(&mut exact, Some(&bins));
        assert!(exact.nodes.len() > 20, "seed {seed}: {} nodes", exact.nodes.len());
        let expected = fingerprint(&exact);
        check_histograms(
            &problem,
            (&data, &data.units),
            || variance::Many::new(q).unwrap(),
            (&bins, &codes),
            &expected,
        )
        .unwrap();
        if q == 1 {
            check_histograms(&problem, (&data, &data.units), || variance::One, (&bins, &codes), &expected).unwrap();
        }
        let spare = Spare::default();
        let store = Histograms::new(&codes, &spare, &data.rows, &variance(), &rules, control.clone()).unwrap();
        let store = Histograms { few_samples: FEW_SAMPLES, ..store };
        let mut search = NodeSearch::new(store, variance().without_distance(), rules, control).unwrap();
        problem.grown(&mut search, Some(&bins));
        n_frames += data.rows.iter().map(|&row| search.criterion.frame_of(row)).max().unwrap();
        // All histograms that were taken have been returned.
        assert!(search.n_kept() == 0 || problem.max_leaves.is_some());
        drop(search);
        assert!(!spare.lock().is_empty());
    }
    assert!(n_frames > 24, "{n_frames} frames in all");
    assert!(n_wide > 4, "{n_wide} columns of more than 255 categories");
}
