use std::collections::BTreeSet;

use ndarray::{Array2, Axis};
use proptest::prelude::*;

use super::clustering::cluster;
use super::points::Points;
use super::{LabelTree, LabelTreeConfig, LabelTreeModel};
use crate::control::Control;
use crate::data::{CellWeights, Dataset, LabelView, Matrix, Targets};
use crate::elementary::exp;
use crate::error::ErrorKind;
use crate::linear::{Features, LinearConfig};
use crate::model::{SparseScores, TopK};
use crate::rng::{Key, Stream};
use crate::testing::labels::{self, Labelled as Data};

fn label_view(y: &Array2<bool>) -> LabelView<'static> {
    labels::on(y.dim(), |i, j| y[[i, j]])
}

fn data() -> impl Strategy<Value = Data> {
    let value = prop_oneof![2 => Just(0.0f32), 3 => (1..4u8).prop_map(f32::from), 2 => -2.0f32..2.0];
    labels::labelled(14, value, (0..4u8).prop_map(f64::from))
}

fn configs() -> impl Strategy<Value = LabelTreeConfig> {
    (1usize..3, 2usize..6, 1usize..4, 1usize..4, 0u64..9).prop_map(|(n_trees, children, leaf, beam, seed)| {
        let config = LabelTreeConfig::default().min_weight(0.0).max_iter(9).features(Features::Given).c(1.0);
        config.n_trees(n_trees).max_children(children).max_leaf_labels(leaf).beam_width(beam).seed(seed)
    })
}

impl Data {
    fn trees_as(&self, config: &LabelTreeConfig, x: &Matrix<'_>, n_threads: usize) -> LabelTreeModel {
        config.fit(self.data(x).control(&Control::with_threads(n_threads))).unwrap()
    }

    fn trees(&self, config: &LabelTreeConfig) -> LabelTreeModel {
        self.trees_as(config, &Matrix::from(&self.x), 1)
    }

    fn has_label(&self, i: usize, label: u32) -> bool {
        self.weights[i] > 0.0 && self.y[[i, label as usize]] && !self.unknown[[i, label as usize]]
    }

    /// Whether no two samples that count have the same X. The order of those that have depends on their labels.
    fn x_differs(&self) -> bool {
        let there: Vec<usize> = (0..self.x.nrows()).filter(|&i| self.weights[i] > 0.0).collect();
        let bits = |i: usize| self.x.row(i).iter().map(|v| (v + 0.0).to_bits()).collect::<Vec<_>>();
        there.iter().map(|&i| bits(i)).collect::<BTreeSet<_>>().len() == there.len()
    }
}

/// The columns of a node: the labels below each of them.
fn columns(tree: &LabelTree, node: usize) -> Vec<Vec<u32>> {
    match (tree.children(node), tree.labels(node)) {
        (_, Some(labels)) => labels.iter().map(|&label| vec![label]).collect(),
        (Some(children), _) => children.iter().map(|&child| columns(tree, child as usize).concat()).collect(),
        (None, None) => unreachable!("a node has children or labels"),
    }
}

fn log_of(margin: f64) -> f64 {
    if margin < 1.0 { -(1.0 - margin).powi(3) } else { 0.0 }
}

/// The margins of a node, by a loop over all features and columns.
fn margins(tree: &LabelTree, node: usize, x: &[f32]) -> Vec<f64> {
    let mut margins: Vec<f64> = tree.intercepts(node).iter().map(|&b| f64::from(b)).collect();
    for (feature, &x) in (0u32..).zip(x) {
        let (columns, weights) = tree.weights_of(node, feature);
        columns.iter().zip(weights).for_each(|(&c, &w)| margins[c as usize] += f64::from(x) * f64::from(w));
    }
    margins
}

/// The nodes that a beam follows at each depth, in plain loops.
fn followed(tree: &LabelTree, x: &[f32], width: usize) -> Vec<Vec<(f64, usize)>> {
    let mut depths = vec![vec![(0.0, 0usize)]];
    while let Some(nodes) = depths.last().filter(|nodes| nodes.iter().any(|&(_, node)| tree.children(node).is_some())) {
        let mut next = Vec::new();
        for &(log, node) in nodes {
            match tree.children(node) {
                None => next.push((log, node)),
                Some(children) => {
                    let margins = margins(tree, node, x);
                    next.extend(children.iter().zip(margins).map(|(&c, m)| (log + log_of(m), c as usize)));
                }
            }
        }
        next.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap().then(a.1.cmp(&b.1)));
        next.truncate(width);
        depths.push(next);
    }
    depths
}

/// The labels that a beam finds in a tree, and the logarithms of what their margins count.
fn beam(tree: &LabelTree, x: &[f32], width: usize) -> Vec<(u32, f64)> {
    let of_leaf = |&(log, node): &(f64, usize)| {
        let labels = tree.labels(node).unwrap().to_vec();
        labels.into_iter().zip(margins(tree, node, x)).map(move |(label, m)| (label, 0.05 * log + log_of(m)))
    };
    followed(tree, x, width).last().unwrap().iter().flat_map(of_leaf).collect()
}

/// What the margins of each label count, mean over the trees; `None` for labels that no tree finds.
fn slow_scores(model: &LabelTreeModel, x: &[f32], width: usize) -> Vec<Option<f64>> {
    let mut logs = vec![Vec::new(); model.n_labels()];
    for tree in model.trees() {
        beam(tree, x, width).into_iter().for_each(|(label, log)| logs[label as usize].push(log));
    }
    let n_trees = model.trees().len() as f64;
    let mean = |logs: Vec<f64>| {
        let largest = logs.iter().copied().reduce(f64::max)?;
        Some(largest + (logs.iter().map(|log| (log - largest).exp()).sum::<f64>() / n_trees).ln())
    };
    logs.into_iter().map(mean).collect()
}

fn row(scores: &SparseScores, i: usize, n_labels: usize) -> Vec<Option<f64>> {
    let mut found = vec![None; n_labels];
    let range = scores.ptr[i]..scores.ptr[i + 1];
    assert!(scores.columns[range.clone()].is_sorted());
    range.for_each(|at| found[scores.columns[at] as usize] = Some(scores.values[at]));
    found
}

fn are_near(a: &[Option<f64>], b: &[Option<f64>]) -> bool {
    // Sums of a few exponentials in another order.
    let near = |(a, b): (&Option<f64>, &Option<f64>)| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * (1.0 + a.abs()),
        (a, b) => a == b,
    };
    a.iter().zip(b).all(near)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nodes_are_linear_models_of_the_samples_that_reach_them_or_have_their_labels(data in data(), config in configs()) {
        let linear = LinearConfig::default().min_weight(0.0).max_iter(9).features(Features::Given).c(config.c);
        let linear = linear.intercept_scaling(config.intercept_scaling).tol(config.tol).calibration(false).seed(config.seed);
        let model = data.trees(&config);
        prop_assume!(data.x_differs());
        for tree in model.trees() {
            // The searches of the fit are those of the fitted tree.
            let of_sample = |x: &[f32]| followed(tree, x, config.beam_width).concat();
            let nodes: Vec<_> = data.x.rows().into_iter().map(|x| of_sample(&x.to_vec())).collect();
            for node in 0..tree.n_nodes() {
                let columns = columns(tree, node);
                let has = |i: usize, labels: &[u32]| labels.iter().any(|&label| data.has_label(i, label));
                let rows = (0..data.x.nrows()).filter(|&i| data.weights[i] > 0.0);
                let reaches = |i: usize| nodes[i].iter().any(|&(_, reached)| reached == node);
                let rows: Vec<usize> = rows.filter(|&i| reaches(i) || has(i, &columns.concat())).collect();
                if columns.is_empty() {
                    continue;
                }
                let cells = |of: &dyn Fn(usize, &[u32]) -> bool| {
                    Array2::from_shape_fn((rows.len(), columns.len()), |(i, c)| of(rows[i], &columns[c]))
                };
                let may_have = |i: usize, labels: &[u32]| labels.iter().any(|&l| data.unknown[[i, l as usize]]);
                let own = Data {
                    y: cells(&has),
                    unknown: cells(&|i, labels| !has(i, labels) && may_have(i, labels)),
                    ..data.rows(&rows)
                };
                let given = Dataset::new(&own.x, label_view(&own.y));
                let given = given.sample_weight(&own.weights[..]).y_weight(CellWeights::from(&own.unknown));
                if own.unknown.rows().into_iter().all(|row| row.iter().all(|unknown| *unknown)) {
                    continue;
                }
                let expected = linear.fit(&given).unwrap();
                prop_assert_eq!(tree.intercepts(node), expected.intercepts());
                for feature in 0..data.x.ncols() {
                    let (columns, weights) = tree.weights_of(node, feature as u32);
                    let columns: Vec<u32> = columns.iter().map(|&c| c.into()).collect();
                    prop_assert_eq!((&columns[..], weights), expected.weights_of(feature));
                }
            }
        }
    }

    #[test]
    fn a_leaf_alone_is_the_linear_model(mut data in data(), seed in 0u64..9) {
        data.weights.iter_mut().for_each(|w| *w += 0.25);
        for features in [Features::Given, Features::Normalized, Features::TfIdf] {
            let LinearConfig { c, intercept_scaling, tol, min_weight, .. } = LinearConfig::default();
            let config = LabelTreeConfig::default().c(c).intercept_scaling(intercept_scaling).tol(tol);
            let model = data.trees(&config.min_weight(min_weight).features(features).seed(seed));
            let tree = &model.trees()[0];
            let linear = LinearConfig::default().features(features).seed(seed).calibration(false);
            let given = Dataset::new(&data.x, label_view(&data.y));
            let given = given.sample_weight(&data.weights[..]).y_weight(CellWeights::from(&data.unknown));
            let expected = linear.fit(&given).unwrap();
            prop_assert_eq!(model.idf(), expected.idf());
            prop_assert_eq!(tree.n_nodes(), 1);
            // A sample that knows none of the labels of the tree is not visited by it, but by the linear model, which also
            // has columns for labels without samples: the order of the others differs then.
            let labels = tree.labels(0).unwrap();
            let knows = |i: usize| labels.iter().any(|&label| !data.unknown[[i, label as usize]]);
            prop_assume!(labels.is_empty() || (0..data.x.nrows()).all(knows));
            for (at, &label) in tree.labels(0).unwrap().iter().enumerate() {
                prop_assert_eq!(tree.intercepts(0)[at], expected.intercepts()[label as usize]);
                for feature in 0..data.x.ncols() {
                    let of = |columns: &[u32], weights: &[f32], column: u32| {
                        columns.iter().position(|&c| c == column).map(|at| weights[at])
                    };
                    let (columns, weights) = tree.weights_of(0, feature as u32);
                    let columns: Vec<u32> = columns.iter().map(|&c| c.into()).collect();
                    let (all, of_all) = expected.weights_of(feature);
                    prop_assert_eq!(of(&columns, weights, at as u32), of(all, of_all, label));
                }
            }
        }
    }

    #[test]
    fn scores_are_those_of_plain_loops(data in data(), config in configs(), width in 1usize..5) {
        let model = data.trees(&config).with_beam_width(width).unwrap();
        let all = data.trees(&config).with_beam_width(1000).unwrap();
        let control = Control::with_threads(2);
        let (scores, of_all) = (model.predict_scores((&data.x, &control)), all.predict_scores((&data.x, &control)));
        let (scores, of_all) = (scores.unwrap(), of_all.unwrap());
        for floor in [0.0, 0.4] {
            let proba = all.predict_at_least((&data.x, &control), floor).unwrap();
            for i in 0..data.x.nrows() {
                let kept = |score: &f64| Some(exp(*score)).filter(|p| *p > 0.0 && *p >= floor);
                let expected: Vec<_> = row(&of_all, i, model.n_labels()).iter().map(|s| s.as_ref().and_then(kept)).collect();
                prop_assert!(expected.iter().flatten().all(|p| *p <= 1.0));
                prop_assert_eq!(row(&proba, i, model.n_labels()), expected);
            }
        }
        for (i, x) in data.x.rows().into_iter().enumerate() {
            let (d, x) = (model.n_labels(), x.to_vec());
            prop_assert!(are_near(&row(&scores, i, d), &slow_scores(&model, &x, width)));
            // A beam of all nodes is a search of all labels.
            let exhaustive = slow_scores(&all, &x, usize::MAX);
            prop_assert!(are_near(&row(&of_all, i, d), &exhaustive));
            let known = (0..d as u32).filter(|&l| (0..data.x.nrows()).any(|i| data.has_label(i, l))).count();
            prop_assert_eq!(exhaustive.iter().flatten().count(), known);
        }
    }

    #[test]
    fn the_best_labels_are_a_sort_of_all_scores(data in data(), config in configs(), excluded in 0u32..14) {
        let (d, control) = (data.y.ncols(), Control::with_threads(2));
        let model = data.trees(&config);
        let scores = model.predict_scores((&data.x, &control)).unwrap();
        let excluded = (excluded as usize) < d && excluded > 0;
        let excluded = excluded.then(|| LabelView::try_new(vec![0, 1], vec![d as u32 - 1], d).unwrap());
        let top = model.predict_topk_excluding((&data.x, &control), d, excluded.as_ref()).unwrap();
        for i in 0..data.x.nrows() {
            let row = row(&scores, i, d);
            let mut order: Vec<u32> = (0..d as u32).filter(|&l| excluded.is_none() || l as usize != d - 1).collect();
            let score = |label: u32| row[label as usize].unwrap_or(f64::NEG_INFINITY);
            // Labels that no sample has are in no leaf, and come last.
            let tree = &model.trees()[0];
            let is_empty = |label: u32| !(0..tree.n_nodes()).any(|node| tree.labels(node).is_some_and(|own| own.contains(&label)));
            let place = |a: u32, b: u32| is_empty(a).cmp(&is_empty(b)).then(a.cmp(&b));
            order.sort_by(|&a, &b| score(b).partial_cmp(&score(a)).unwrap().then(place(a, b)));
            order.resize(d, TopK::NONE);
            prop_assert_eq!(top.indices.row(i).to_vec(), order);
            for (&label, &found) in top.indices.row(i).iter().zip(top.scores.row(i)) {
                prop_assert_eq!(found, if label == TopK::NONE { f64::NEG_INFINITY } else { exp(score(label)) });
            }
        }
    }

    #[test]
    fn classes_are_labels_whose_probabilities_have_the_sum_one(data in data(), config in configs(), k in 1u32..5) {
        let codes = Array2::from_shape_fn((data.x.nrows(), 1), |(i, _)| (7 * i as u32 + 3) % k);
        let one = |a: &Array2<bool>| a.select(Axis(1), &[0]);
        let (control, unknown) = (Control::default(), one(&data.unknown));
        let classes = Targets::classes(codes.view(), vec![k]);
        let given = Dataset::new(&data.x, &classes).sample_weight(&data.weights[..]).y_weight(CellWeights::from(&unknown));
        let found = config.fit(&given).unwrap();
        let cell = |of: &dyn Fn(usize, usize) -> bool| Array2::from_shape_fn((data.x.nrows(), k as usize), |(i, j)| of(i, j));
        let as_labels = Data {
            y: cell(&|i, j| codes[[i, 0]] as usize == j),
            unknown: cell(&|i, _| unknown[[i, 0]]),
            ..data.clone()
        };
        let expected = as_labels.trees(&config);
        prop_assert_eq!(found.trees(), expected.trees());
        prop_assert_eq!(found.n_labels(), k as usize);
        let scores = expected.predict_scores((&data.x, &control)).unwrap();
        let proba = found.predict_at_least((&data.x, &control), 0.0).unwrap();
        for i in 0..data.x.nrows() {
            let (scores, proba) = (row(&scores, i, k as usize), row(&proba, i, k as usize));
            let of = |score: &Option<f64>| score.map_or(0.0, f64::exp);
            let sum: f64 = scores.iter().map(of).sum();
            // Exponentials and sums of a few numbers in another order; all of them may be too small for float64.
            prop_assume!(sum > 1e-300);
            let is_near = |(a, b): (&Option<f64>, &Option<f64>)| (of(a) / sum - b.unwrap_or(0.0)).abs() < 1e-9;
            prop_assert!(scores.iter().zip(&proba).all(is_near));
        }
    }

    #[test]
    fn nothing_depends_on_layouts_threads_order_or_how_often_a_sample_is_listed(data in data(), config in configs()) {
        for features in [Features::Given, Features::TfIdf] {
            let config = config.clone().features(features);
            let model = data.trees(&config);
            let csr = data.csr();
            prop_assert_eq!(&data.trees_as(&config, &csr, 3), &model);
            if let Matrix::Csr(rows) = &csr {
                prop_assert_eq!(&data.trees_as(&config, &Matrix::Csc(rows.transposed().unwrap()), 2), &model);
            }
            let reversed: Vec<usize> = (0..data.x.nrows()).rev().collect();
            prop_assert_eq!(&data.rows(&reversed).trees(&config), &model);
            let copies = |i: usize| std::iter::repeat_n(i, data.weights[i] as usize);
            let mut copied = data.rows(&(0..data.x.nrows()).flat_map(copies).collect::<Vec<_>>());
            copied.weights.fill(1.0);
            prop_assert_eq!(&copied.trees(&config), &model);
        }
    }

    #[test]
    fn labels_may_come_in_another_order(data in data(), config in configs()) {
        let d = data.y.ncols();
        let listed = |of: &Array2<bool>, j: usize| -> Vec<usize> {
            (0..data.x.nrows()).filter(|&i| data.weights[i] > 0.0 && of[[i, j]]).collect()
        };
        let differ = (0..d).map(|j| (listed(&data.y, j), listed(&data.unknown, j)));
        let known = (0..d).map(|j| (0..data.x.nrows()).filter(|&i| data.has_label(i, j as u32)).collect::<Vec<_>>());
        prop_assume!(data.x_differs() && differ.collect::<BTreeSet<_>>().len() == d);
        prop_assume!(known.collect::<BTreeSet<_>>().len() == d);
        let reversed: Vec<usize> = (0..d).rev().collect();
        let select = |a: &Array2<bool>| a.select(Axis(1), &reversed);
        let turned = Data { y: select(&data.y), unknown: select(&data.unknown), ..data.clone() };
        let scores = data.trees(&config).predict_scores(&data.x).unwrap();
        let turned = turned.trees(&config).predict_scores(&data.x).unwrap();
        for i in 0..data.x.nrows() {
            let mut other = row(&turned, i, d);
            other.reverse();
            prop_assert_eq!(row(&scores, i, d), other);
        }
    }

    #[test]
    fn each_label_that_samples_have_is_in_one_leaf(data in data(), config in configs()) {
        let expected: Vec<u32> =
            (0..data.y.ncols() as u32).filter(|&l| (0..data.x.nrows()).any(|i| data.has_label(i, l))).collect();
        for tree in data.trees(&config).trees() {
            let mut found: Vec<u32> = (0..tree.n_nodes()).flat_map(|node| tree.labels(node).unwrap_or(&[])).copied().collect();
            found.sort_unstable();
            prop_assert_eq!(&found, &expected);
            for node in 0..tree.n_nodes() {
                prop_assert!(tree.labels(node).unwrap_or(&[]).len() <= config.max_leaf_labels);
                let Some(children) = tree.children(node) else { continue };
                prop_assert!((2..=config.max_children).contains(&children.len()));
                let sizes: Vec<usize> = columns(tree, node).iter().map(Vec::len).collect();
                let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
                prop_assert!(config.max_children > 2 || most - least <= 1);
                prop_assert!(4 * most <= 3 * sizes.iter().sum::<usize>());
            }
        }
    }

    #[test]
    fn clusters_are_those_of_plain_loops(
        (n, p, values) in (1usize..30, 1usize..5).prop_flat_map(|(n, p)| {
            let value = prop_oneof![2 => Just(0.0f32), 1 => -1.0f32..1.0, 1 => (0..3u8).prop_map(f32::from)];
            (Just(n), Just(p), prop::collection::vec(value, n * p))
        }),
        k in 2usize..20,
        seed in 0u64..9,
    ) {
        let dense: Vec<&[f32]> = values.chunks(p).collect();
        let mut points = Points::empty(p).unwrap();
        dense.iter().for_each(|row| points.push((0u32..).zip(row.iter().copied())).unwrap());
        // Not all points, and in another order.
        let members: Vec<u32> = (0..n as u32).rev().filter(|member| member % 5 != 4).collect();
        let key = Key::from_seed(seed);
        let found = cluster(&points, &members, k.min(members.len()), key, &Control::with_threads(2)).unwrap();
        prop_assert_eq!(found, slow_clusters(&dense, &members, k.min(members.len()), key));
    }
}

fn slow_clusters(points: &[&[f32]], members: &[u32], k: usize, key: Key) -> Vec<u32> {
    let (p, n) = (points[0].len(), members.len());
    let (mut drawn, mut stream) = (members.to_vec(), Stream::new(key));
    for at in 0..k {
        let other = at + stream.below((n - at) as u64) as usize;
        drawn.swap(at, other);
    }
    let mut centres: Vec<Vec<f32>> = drawn[..k].iter().map(|&at| points[at as usize].to_vec()).collect();
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).fold(0.0f32, |sum, (a, b)| sum + a * b);
    let mut clusters = vec![u32::MAX; n];
    let mut last = f64::NEG_INFINITY;
    for _ in 0..20 {
        let similar: Vec<Vec<f32>> = members
            .iter()
            .map(|&at| centres.iter().map(|centre| product(points[at as usize], centre)).collect())
            .collect();
        let mut next = vec![0u32; n];
        if k == 2 {
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by(|&a, &b| {
                let more = |at: usize| similar[at][0] - similar[at][1];
                more(b).total_cmp(&more(a)).then(a.cmp(&b))
            });
            order[n.div_ceil(2)..].iter().for_each(|&at| next[at] = 1);
        } else {
            for (next, similar) in next.iter_mut().zip(&similar) {
                let best = similar.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                *next = similar.iter().position(|&s| s == best).unwrap() as u32;
            }
        }
        let total: f64 = next.iter().zip(&similar).map(|(&c, similar)| f64::from(similar[c as usize])).sum();
        let is_same = next == clusters;
        clusters = next;
        if is_same || (k == 2 && total - last < 1e-4 * n as f64) {
            break;
        }
        last = total;
        for (c, centre) in (0u32..).zip(&mut centres) {
            let own: Vec<u32> = (0..n).filter(|&at| clusters[at] == c).map(|at| members[at]).collect();
            if own.is_empty() {
                continue;
            }
            let mut sum = vec![0.0f64; p];
            own.iter().for_each(|&at| sum.iter_mut().zip(points[at as usize]).for_each(|(s, &v)| *s += f64::from(v)));
            let length = sum.iter().map(|s| s * s).sum::<f64>().sqrt();
            let length = if length > 0.0 { length } else { 1.0 };
            centre.iter_mut().zip(sum).for_each(|(to, s)| *to = (s / length) as f32);
        }
    }
    clusters
}

#[test]
fn labels_with_the_same_samples_are_divided_all_the_same() {
    let (x, y) = (ndarray::array![[1.0f32, 0.0], [0.0, 1.0]], Array2::from_elem((2, 50), true));
    for children in [2, 10] {
        let model = LabelTreeConfig::default().max_children(children).max_leaf_labels(3).beam_width(50);
        let model = model.fit((&x, label_view(&y))).unwrap();
        // Halves of 50 labels: 25, 13, 7, 4, 2.
        assert!(model.trees()[0].depth() <= 5);
        let top = model.predict_topk(&x, 50).unwrap();
        assert_eq!(top.scores.iter().filter(|score| **score > 0.0).count(), 100);
    }
}

#[test]
fn a_model_without_any_label_predicts_none() {
    let (x, y) = (ndarray::array![[1.0f32], [2.0]], Array2::from_elem((2, 3), false));
    let model = LabelTreeConfig::default().fit((&x, label_view(&y))).unwrap();
    assert_eq!(model.predict_scores(&x).unwrap().values.len(), 0);
    let top = model.predict_topk(&x, 3).unwrap();
    assert!(top.scores.iter().all(|score| *score == 0.0));
    assert_eq!(top.indices.row(0).to_vec(), [0, 1, 2]);
}

#[test]
fn margins_that_are_huge_have_finite_scores() {
    let x = ndarray::array![[1.0f32, 0.0], [0.0, 1.0], [1.0, 1.0]];
    let y = ndarray::array![[true, false, false], [false, true, false], [false, false, true]];
    let config = LabelTreeConfig::default().features(Features::Given).max_leaf_labels(1).c(10.0).n_trees(2);
    let model = config.fit((&x, label_view(&y))).unwrap();
    let far = ndarray::array![[f32::MAX, f32::MIN], [f32::MIN, f32::MIN]];
    let scores = model.predict_scores(&far).unwrap();
    assert!(scores.values.iter().all(|score| score.is_finite()));
}

#[test]
fn bad_input_is_an_error() {
    let (x, y) = (ndarray::array![[1.0f32], [2.0]], ndarray::array![[true], [false]]);
    let what = |config: LabelTreeConfig| match config.fit((&x, label_view(&y))).unwrap_err().kind() {
        ErrorKind::Invalid { what, .. } => *what,
        other => panic!("{other:?}"),
    };
    let config = LabelTreeConfig::default;
    assert_eq!(what(config().c(0.0)), "C");
    assert_eq!(what(config().features(Features::Standardized)), "features");
    assert_eq!(what(config().n_trees(0)), "n_trees");
    assert_eq!(what(config().max_children(1)), "max_children");
    assert_eq!(what(config().max_leaf_labels(0)), "max_leaf_labels");
    assert_eq!(what(config().max_leaf_labels(65537)), "max_leaf_labels");
    assert_eq!(what(config().beam_width(0)), "beam_width");
    assert_eq!(what(config().beam_width(1 << 32)), "beam_width");
    let codes = ndarray::array![[0u32, 1], [1, 0]];
    let classes = config().fit((&x, &Targets::classes(codes.view(), vec![2, 2]))).unwrap_err();
    assert!(matches!(classes.kind(), ErrorKind::Unsupported { what: "y", .. }));
    let numbers = config().fit((&x, &Targets::Real(ndarray::array![[1.0], [2.0]].view()))).unwrap_err();
    assert!(matches!(numbers.kind(), ErrorKind::Unsupported { what: "y", .. }));
    let model = config().fit((&x, label_view(&y))).unwrap();
    assert!(model.predict_at_least(&ndarray::array![[1.0f32, 2.0]], 0.0).is_err());
    assert!(model.predict_topk(&x, 2).is_err());
    assert!(model.with_beam_width(0).is_err());
}

#[test]
fn a_stopped_fit_or_prediction_is_interrupted() {
    let (x, y) = (ndarray::array![[1.0f32], [2.0]], ndarray::array![[true, false], [false, true]]);
    let control = Control::with_threads(2);
    let config = LabelTreeConfig::default().max_leaf_labels(1);
    let model = config.fit((&x, label_view(&y))).unwrap();
    control.stop();
    let stopped = config.fit((&x, label_view(&y), &control)).unwrap_err();
    assert_eq!(stopped.kind(), &ErrorKind::Interrupted);
    assert_eq!(model.predict_topk((&x, &control), 1).unwrap_err().kind(), &ErrorKind::Interrupted);
}
