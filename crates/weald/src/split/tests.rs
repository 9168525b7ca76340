//! Comparison of every partitioner and criterion with an exhaustive search in plain loops, on small hostile data.

mod any_criterion;

use any_criterion::for_each_criterion;
use ndarray::Array2;
use proptest::prelude::*;

use super::constraint::LeafSizes;
use super::cut::Gap;
use super::entries::Entries;
use super::expand::NodeSearch;
use super::*;
use crate::Control;
use crate::criterion::NodeCriterion;
use crate::data::weights::tests::weights_on_the_edge;
use crate::data::{DenseColumns, LabelView, SparseColumns, SparseView, Targets, Weights};
use crate::exact::reduce::Workers;
use crate::partition::Partitioner;
use crate::partition::decision::{Decision, Side, Test};
use crate::partition::lottery::Lottery;
use crate::partition::sorted_entries::{self, SortedEntries};
use crate::partition::sparse::{Forced, Way};
use crate::partition::stored_column::Lookup;
use crate::partition::{dense, sparse};
use crate::testing::models;
use crate::tree::growth::grow::{Structure, Values, grow};

/// Values that are difficult: ties, both signs, neighbouring floats, denormals, large ratios.
fn hostile_value() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => Just(0.0f32),
        4 => (-3i8..4).prop_map(f32::from),
        1 => prop::sample::select(vec![1.0f32.next_up(), 1.0f32.next_down(), -0.0, 1e-45, -1e-45, 3e38, -3e38, 1e-30]),
    ]
}

/// Such values, or missing ones.
fn value_or_missing() -> impl Strategy<Value = f32> {
    prop_oneof![3 => hostile_value(), 1 => prop::sample::select(vec![f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001)])]
}

#[derive(Clone, Debug)]
struct Problem {
    n: usize,
    p: usize,
    x: Vec<f32>,
    y: Y,
    /// The unknown cells of y.
    mask: Option<Array2<bool>>,
    weights: Option<Vec<f64>>,
    /// Whether each feature is categorical.
    categories: Vec<bool>,
    n_drawn: u32,
    min_samples_leaf: usize,
    splitter: Splitter,
    seed: u64,
}

#[derive(Clone, Debug)]
enum Y {
    Real(Vec<f64>, usize),
    Classes(Vec<u32>, Vec<u32>),
    Labels(Vec<bool>, usize),
}

fn problem() -> impl Strategy<Value = Problem> {
    (2usize..14, 1usize..6, 1usize..4).prop_flat_map(|(n, p, q)| {
        let y = prop_oneof![
            prop::collection::vec(prop_oneof![-4i8..4].prop_map(f64::from), n * q).prop_map(move |y| Y::Real(y, q)),
            prop::collection::vec(-1e3f64..1e3, n * q).prop_map(move |y| Y::Real(y, q)),
            prop::collection::vec(prop_oneof![0u8..4].prop_map(f64::from), n * q).prop_map(move |y| Y::Real(y, q)),
            prop::collection::vec(0.0..1e3, n * q).prop_map(move |y| Y::Real(y, q)),
            prop::collection::vec(0u32..3, n * q).prop_map(move |y| Y::Classes(y, vec![3; q])),
            prop::collection::vec(any::<bool>(), n * q).prop_map(move |y| Y::Labels(y, q)),
        ];
        let weight = prop_oneof![Just(0.0f64), Just(1.0), Just(2.0), Just(0.5), 0.1f64..3.0];
        let weights = prop_oneof![
            2 => Just(None),
            2 => prop::collection::vec(weight, n).prop_map(Some),
            // Over many decades, naive sums lose too many digits.
            1 => weights_on_the_edge(n).prop_map(Some),
        ];
        let some_cells = prop::collection::vec(prop::bool::weighted(0.4), n * q);
        let mask = prop_oneof![
            2 => Just(None),
            1 => some_cells.prop_map(move |mask| Some(Array2::from_shape_vec((n, q), mask).unwrap())),
        ];
        let splitter = prop_oneof![2 => Just(Splitter::Best), 1 => Just(Splitter::Random)];
        (
            prop_oneof![
                prop::collection::vec(hostile_value(), n * p),
                prop::collection::vec(value_or_missing(), n * p),
            ],
            (y, mask),
            weights.prop_filter("some weight", |w| w.as_ref().is_none_or(|w| w.iter().any(|&w| w > 0.0))),
            prop_oneof![Just(vec![false; p]), prop::collection::vec(any::<bool>(), p)],
            1..=p as u32,
            1usize..3,
            splitter,
            any::<u64>(),
        )
            .prop_map(move |(mut x, (y, mask), weights, categories, n_drawn, min_samples_leaf, splitter, seed)| {
                Problem {
                    x: {
                        let of_categories = x.iter_mut().enumerate().filter(|(i, v)| categories[i % p] && !v.is_nan());
                        of_categories.for_each(|(_, v)| *v = (v.abs() as u64 % 7) as f32);
                        x
                    },
                    n,
                    p,
                    y,
                    mask,
                    weights,
                    categories,
                    n_drawn,
                    min_samples_leaf,
                    splitter,
                    seed,
                }
            })
            .prop_filter("a known cell of each output", Problem::has_known_cells)
    })
}

/// Owns the data that the engine borrows.
struct Prepared<'a> {
    x: Array2<f32>,
    by_row: SparseView<'static>,
    by_column: SparseView<'static>,
    targets: Targets<'a>,
    mask: Option<&'a Array2<bool>>,
    rows: Vec<u32>,
    units: Vec<u64>,
    exact: bool,
    rules: Rules,
}

impl Problem {
    fn is_known(&self, row: usize, output: usize) -> bool {
        self.mask.as_ref().is_none_or(|mask| !mask[[row, output]])
    }

    fn n_outputs(&self) -> usize {
        match &self.y {
            Y::Real(_, q) | Y::Labels(_, q) => *q,
            Y::Classes(_, k) => k.len(),
        }
    }

    fn n_known(&self, row: usize) -> usize {
        (0..self.n_outputs()).filter(|&output| self.is_known(row, output)).count()
    }

    /// Returns the weights of samples. Samples without a known cell have the weight zero.
    fn weights(&self) -> Option<Vec<f64>> {
        let weight = |row: usize| self.weights.as_ref().map_or(1.0, |weights| weights[row]);
        let all_are_there = (0..self.n).all(|row| self.n_known(row) > 0);
        let known = (0..self.n).map(|row| if self.n_known(row) > 0 { weight(row) } else { 0.0 });
        if all_are_there { self.weights.clone() } else { Some(known.collect()) }
    }

    fn has_known_cells(&self) -> bool {
        let weights = self.weights();
        let is_there = |row: usize| weights.as_ref().is_none_or(|weights| weights[row] > 0.0);
        (0..self.n_outputs()).all(|output| (0..self.n).any(|row| is_there(row) && self.is_known(row, output)))
    }

    fn prepare(&self) -> Prepared<'_> {
        let x = Array2::from_shape_vec((self.n, self.p), self.x.clone()).unwrap();
        let by_row = models::with_stored_zeros(x.view());
        let targets = match &self.y {
            Y::Real(y, q) => Targets::Real(matrix(y, *q)),
            Y::Classes(y, k) => Targets::Classes { codes: matrix(y, k.len()), n_classes: k.clone() },
            Y::Labels(y, q) => {
                let rows: Vec<Vec<u32>> =
                    y.chunks(*q).map(|row| (0..*q as u32).filter(|&j| row[j as usize]).collect()).collect();
                let ptr: Vec<usize> =
                    std::iter::once(0).chain(rows.iter().scan(0, |n, r| Some((*n += r.len(), *n).1))).collect();
                Targets::Labels(LabelView::try_new(ptr, rows.concat(), *q).unwrap())
            }
        };
        let weights = Weights::new(self.weights().as_deref(), self.n, self.n).unwrap();
        let units: Vec<u64> = (0..self.n).map(|i| weights.units(i)).collect();
        Prepared {
            by_column: by_row.transposed().unwrap(),
            by_row,
            x,
            targets,
            mask: self.mask.as_ref(),
            rows: (0..self.n as u32).filter(|&i| units[i as usize] > 0).collect(),
            exact: weights.exact,
            rules: Rules {
                splitter: self.splitter,
                max_depth: usize::MAX,
                min_samples_split: 2,
                constraints: Constraints {
                    leaf_sizes: LeafSizes { min_samples: self.min_samples_leaf as u32, min_weight: 0.0 },
                    monotonic: None,
                    interactions: None,
                },
                min_impurity_decrease: 0.0,
                n_drawn: self.n_drawn,
                n_features: self.p,
                categories: self.categories.contains(&true).then(|| self.categories.clone().into()),
                is_alone: false,
                total: Total::of_all(units.iter().copied(), &Workers::One).unwrap(),
                largest_weight: units.iter().copied().max().unwrap() as f64,
                of_one: units.iter().copied().max().unwrap() as f64,
            },
            units,
        }
    }
}

fn matrix<T>(values: &[T], width: usize) -> ndarray::ArrayView2<'_, T> {
    ndarray::ArrayView2::from_shape((values.len() / width, width), values).unwrap()
}

fn structure(partitioner: impl Partitioner, criterion: impl NodeCriterion, rules: &Rules, seed: u64) -> Structure {
    let mut search = NodeSearch::new(Entries(partitioner), criterion, rules.clone(), Control::default()).unwrap();
    grow(&mut search, &Values, Key::from_seed(seed), None, &Control::default()).unwrap()
}

/// A search that searches the children of every expansion, even if this was not requested.
struct Eager<S>(S);

impl<S: SplitSearch> SplitSearch for Eager<S> {
    fn root(&mut self, key: Key) -> Result<Task> {
        self.0.root(key)
    }
    fn expand(&mut self, parent: &Task, split: &Split, _: bool) -> Result<[Task; 2]> {
        self.0.expand(parent, split, true)
    }
    fn rows(&self, span: &Span) -> &[u32] {
        self.0.rows(span)
    }
    fn listed(&self, split: &Split) -> &[Category] {
        self.0.listed(split)
    }

    fn hand_over(&mut self, task: &Task) -> Result<HandedOver> {
        self.0.hand_over(task)
    }

    fn resume(&mut self, node: HandedOver) -> Result<Task> {
        self.0.resume(node)
    }
}

pub(super) type Fingerprint = (Vec<(u32, u32, u32, Side, bool, Vec<Category>)>, Vec<u64>, Vec<u64>, Vec<u32>);

/// Returns everything that growth decides, with floats as bits.
pub(super) fn fingerprint(s: &Structure) -> Fingerprint {
    let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect();
    (
        s.nodes
            .iter()
            .map(|n| {
                let decision = n.decision(&s.sets);
                let listed = n.set().map_or(vec![], |set| s.sets.of(set).to_vec());
                let missing = (decision.missing(), decision.saw_missing());
                (n.feature(), n.threshold().to_bits(), n.right(), missing.0, missing.1, listed)
            })
            .collect(),
        bits(&s.impurity),
        bits(&s.weight),
        s.order.clone(),
    )
}

/// Returns the mean impurity over the known cells of some samples, in plain floats: the sum over outputs of impurity ×
/// weight of their known cells, divided by the mean number of known cells of samples at the root with the same total
/// weight.
fn naive_impurity(problem: &Problem, criterion: &str, rows: &[u32], weight: &[f64]) -> f64 {
    let weigh = |rows: &[u32], of_row: &dyn Fn(usize) -> f64| -> f64 {
        rows.iter().map(|&i| weight[i as usize] * of_row(i as usize)).sum()
    };
    let all: Vec<u32> = (0..problem.n as u32).collect();
    let cells = |i: usize| problem.n_known(i) as f64;
    let n_cells = weigh(rows, &|_| 1.0) * weigh(&all, &cells) / weigh(&all, &|_| 1.0);
    let of_output = |output: usize| {
        let known: Vec<u32> = rows.iter().copied().filter(|&i| problem.is_known(i as usize, output)).collect();
        let impurity = || naive_impurity_of_output(problem, criterion, &known, weight, output);
        if known.is_empty() { 0.0 } else { weigh(&known, &|_| 1.0) * impurity() }
    };
    (0..problem.n_outputs()).map(of_output).sum::<f64>() / n_cells
}

/// Returns the impurity of one output.
fn naive_impurity_of_output(problem: &Problem, criterion: &str, rows: &[u32], weight: &[f64], j: usize) -> f64 {
    let total: f64 = rows.iter().map(|&i| weight[i as usize]).sum();
    let share = |test: &dyn Fn(usize) -> bool| -> f64 {
        rows.iter().filter(|&&i| test(i as usize)).map(|&i| weight[i as usize]).sum::<f64>() / total
    };
    let of_shares = |shares: Vec<f64>| -> f64 {
        match criterion {
            "gini" => 1.0 - shares.iter().map(|p| p * p).sum::<f64>(),
            _ => shares.iter().filter(|&&p| p > 0.0).map(|p| -p * p.log2()).sum(),
        }
    };
    match &problem.y {
        Y::Real(y, q) => {
            let value = |i: u32| y[i as usize * q + j];
            let mean = rows.iter().map(|&i| weight[i as usize] * value(i)).sum::<f64>() / total;
            if criterion == "absolute-error" {
                // The median is one of the values.
                let from = |c: f64| rows.iter().map(|&i| weight[i as usize] * (value(i) - c).abs()).sum::<f64>();
                return rows.iter().map(|&i| from(value(i))).fold(f64::INFINITY, f64::min) / total;
            }
            let of_row = |y: f64| match criterion {
                "poisson" if y > 0.0 => y * (y / mean).ln() - y + mean,
                "poisson" => mean,
                _ => (y - mean).powi(2),
            };
            rows.iter().map(|&i| weight[i as usize] * of_row(value(i))).sum::<f64>() / total
        }
        Y::Classes(y, k) => of_shares((0..k[j]).map(|c| share(&|i| y[i * k.len() + j] == c)).collect()),
        Y::Labels(y, q) => {
            let p = share(&|i| y[i * q + j]);
            of_shares(vec![p, 1.0 - p])
        }
    }
}

/// Returns whether an output sums to zero on a side but not in the node.
fn refused_by_poisson(problem: &Problem, rows: &[u32], sides: [&[u32]; 2]) -> bool {
    let Y::Real(y, q) = &problem.y else { return false };
    let is_zero = |rows: &[u32], j: usize| rows.iter().all(|&i| y[i as usize * q + j] == 0.0);
    (0..*q).any(|j| !is_zero(rows, j) && sides.iter().any(|side| is_zero(side, j)))
}

/// A cut, and its decrease of the impurity.
#[derive(Debug)]
struct NaiveCut {
    feature: u32,
    asks: Asks,
    /// The decrease, less what sets of categories gain by chance: the bounds of what it may be.
    decrease: [f64; 2],
    /// Whether a search must offer this cut.
    is_offered: bool,
}

/// A decision that owns its categories.
#[derive(Clone, Debug, PartialEq)]
enum Asks {
    Threshold(f32, Side, bool),
    AnyOf(Vec<Category>, bool),
}

impl Asks {
    fn of(decision: Decision<'_>) -> Self {
        match decision.test() {
            Test::AtMost(threshold) => Asks::Threshold(threshold, decision.missing(), decision.saw_missing()),
            Test::AnyOf(listed) => Asks::AnyOf(listed.to_vec(), decision.saw_missing()),
        }
    }
}

/// Returns every set of the categories of some samples, to be separated from the others and from missing values. For
/// the absolute error, a search offers only sets that come first or last in the order of the means.
fn sets_of_categories(
    problem: &Problem,
    criterion: &str,
    rows: &[u32],
    weight: &[f64],
    j: u32,
) -> Vec<(Vec<Category>, bool)> {
    let x = |i: u32| problem.x[i as usize * problem.p + j as usize];
    let mut present: Vec<Category> =
        rows.iter().map(|&i| x(i)).filter(|v| !v.is_nan()).map(|v| v as Category).collect();
    let has_missing = present.len() < rows.len();
    present.sort_unstable();
    present.dedup();
    let value: Option<Box<dyn Fn(u32) -> f64>> = match &problem.y {
        Y::Real(y, 1) => Some(Box::new(|i| y[i as usize])),
        Y::Labels(y, 1) => Some(Box::new(|i| f64::from(u8::from(y[i as usize])))),
        Y::Real(..) | Y::Labels(..) | Y::Classes(..) => None,
    };
    // With masked cells, samples may be missing and means differ. Nothing is required of limited sides then.
    let has_mask = problem.mask.as_ref().is_some_and(|mask| mask.iter().any(|&is_masked| is_masked));
    let mean = |category: Category| -> f64 {
        let Some(value) = &value else { return 0.0 };
        let those = || rows.iter().filter(|&&i| x(i) == f32::from(category));
        let total: f64 = those().map(|&i| weight[i as usize]).sum();
        those().map(|&i| weight[i as usize] * value(i)).sum::<f64>() / total
    };
    let all = 1u32 << present.len();
    let subsets = 1..if has_missing { all } else { all - 1 };
    subsets
        .map(|set| {
            let is_in = |at: &usize| set >> at & 1 == 1;
            let (listed, others): (Vec<usize>, Vec<usize>) = (0..present.len()).partition(is_in);
            let means = |places: &[usize]| places.iter().map(|&at| mean(present[at])).collect::<Vec<f64>>();
            let (listed_means, other_means) = (means(&listed), means(&others));
            // If means are equal up to rounding, no cut between them must be offered.
            let apart =
                |low: &[f64], high: &[f64]| low.iter().all(|l| high.iter().all(|h| l + 1e-9 * (1.0 + h.abs()) < *h));
            let in_order = apart(&listed_means, &other_means) || apart(&other_means, &listed_means);
            let is_offered = criterion != "absolute-error" || value.is_none() || in_order && !has_mask;
            (listed.into_iter().map(|at| present[at]).collect(), is_offered)
        })
        .collect()
}

/// Returns bounds of the decrease by chance of the best set of categories. The share of the variation between means
/// that is along the order is between that of the category that contributes most and that of the leading eigenvector:
/// the search takes steps from the former towards the latter.
fn decreases_by_chance(problem: &Problem, rows: &[u32], weight: &[f64], impurity: f64, j: u32) -> [f64; 2] {
    let known = |i: u32, output: usize, q: usize| match &problem.mask {
        Some(mask) if mask[[i as usize, output]] => 0.0,
        _ => f64::from(u8::from(output < q)),
    };
    let middle = |y: &[f64], q: usize, output: usize| -> f64 {
        let known = rows.iter().filter(|&&i| known(i, output, q) > 0.0).map(|&i| y[i as usize * q + output]);
        let ends = known.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(y), high.max(y)));
        if ends.0 <= ends.1 { ends.0 / 2.0 + ends.1 / 2.0 } else { 0.0 }
    };
    let targets = |i: u32| -> Vec<f64> {
        let at = i as usize;
        match &problem.y {
            // Unknown numbers are in the middle of the range.
            Y::Real(y, q) => (0..*q).map(|o| known(i, o, *q) * (y[at * q + o] - middle(y, *q, o))).collect(),
            Y::Labels(y, q) => (0..*q).map(|o| known(i, o, *q) * f64::from(u8::from(y[at * q + o]))).collect(),
            Y::Classes(y, k) => (0..k.len())
                .flat_map(|o| (0..k[o]).map(move |class| (o, class)))
                .map(|(o, class)| known(i, o, k.len()) * f64::from(u8::from(y[at * k.len() + o] == class)))
                .collect(),
        }
    };
    let x = |i: u32| problem.x[i as usize * problem.p + j as usize];
    let present: Vec<u32> = rows.iter().copied().filter(|&i| !x(i).is_nan()).collect();
    let of = |rows: &[u32]| -> (f64, Vec<f64>) {
        let total: f64 = rows.iter().map(|&i| weight[i as usize]).sum();
        let mut mean = vec![0.0; targets(rows[0]).len()];
        for &i in rows {
            mean.iter_mut().zip(targets(i)).for_each(|(m, y)| *m += weight[i as usize] / total * y);
        }
        (total, mean)
    };
    let mut categories: Vec<u32> = present.iter().map(|&i| x(i) as u32).collect();
    categories.sort_unstable();
    categories.dedup();
    if categories.is_empty() {
        return [0.0; 2];
    }
    let (_, mean) = of(&present);
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let apart: Vec<(f64, Vec<f64>)> = categories
        .iter()
        .map(|&c| of(&present.iter().copied().filter(|&i| x(i) as u32 == c).collect::<Vec<_>>()))
        .map(|(w, m)| (w, m.iter().zip(&mean).map(|(a, b)| a - b).collect()))
        .collect();
    let variation: f64 = apart.iter().map(|(w, d)| w * dot(d, d)).sum();
    let share = |u: &[f64]| -> f64 {
        let along: f64 = apart.iter().map(|(w, d)| w * dot(u, d).powi(2)).sum();
        if variation > 0.0 && dot(u, u) > 0.0 { (along / dot(u, u) / variation).min(1.0) } else { 1.0 }
    };
    let most = apart.iter().map(|(w, d)| w * dot(d, d)).fold(0.0, f64::max);
    let contributes_most = |(w, d): &&(f64, Vec<f64>)| w * dot(d, d) >= (1.0 - 1e-9) * most;
    let least = apart.iter().filter(contributes_most).map(|(_, d)| share(d)).fold(1.0, f64::min);
    // The leading eigenvalue, from every category.
    let mut leading = least;
    for (_, start) in &apart {
        let mut u = start.clone();
        for _ in 0..300 {
            let mut next = vec![0.0; u.len()];
            apart.iter().for_each(|(w, d)| next.iter_mut().zip(d).for_each(|(n, v)| *n += w * dot(&u, d) * v));
            let length = dot(&next, &next).sqrt();
            if length <= f64::MIN_POSITIVE {
                break;
            }
            u = next.iter().map(|v| v / length).collect();
        }
        leading = leading.max(share(&u));
    }
    let n = rows.iter().map(|&i| weight[i as usize]).sum::<f64>() / weight.iter().copied().fold(0.0, f64::max);
    [least, leading]
        .map(|share| std::f64::consts::FRAC_2_PI * (categories.len() as f64 - 2.0).max(0.0) * share * impurity / n)
}

/// Returns every admissible cut of all `features`.
fn exhaustive(problem: &Problem, criterion: &str, rows: &[u32], weight: &[f64], features: &[u32]) -> Vec<NaiveCut> {
    let x = |i: u32, j: u32| problem.x[i as usize * problem.p + j as usize];
    let of = |rows: &[u32]| -> f64 {
        let w: f64 = rows.iter().map(|&i| weight[i as usize]).sum();
        w * naive_impurity(problem, criterion, rows, weight)
    };
    let total: f64 = rows.iter().map(|&i| weight[i as usize]).sum();
    let impurity = naive_impurity(problem, criterion, rows, weight);
    let mut cuts = vec![];
    for &j in features {
        let mut values: Vec<f32> = rows.iter().map(|&i| x(i, j)).filter(|v| !v.is_nan()).collect();
        let has_missing = values.len() < rows.len();
        values.sort_by(f32::total_cmp);
        values.dedup_by(|a, b| a == b);
        let mut asked: Vec<(Asks, bool)> = vec![];
        let mut by_chance = [0.0; 2];
        if problem.categories[j as usize] {
            by_chance = decreases_by_chance(problem, rows, weight, impurity, j);
            let sets = sets_of_categories(problem, criterion, rows, weight, j);
            asked.extend(sets.into_iter().map(|(listed, is_offered)| (Asks::AnyOf(listed, has_missing), is_offered)));
        } else {
            for pair in values.windows(2) {
                let threshold = Gap::between(pair[0], pair[1]).threshold();
                asked.push((Asks::Threshold(threshold, Side::Right, has_missing), true));
                if has_missing {
                    asked.push((Asks::Threshold(threshold, Side::Left, true), true));
                }
            }
            if has_missing && !values.is_empty() {
                asked.push((Asks::Threshold(f32::MAX, Side::Right, true), true));
            }
        }
        for (mut asks, is_offered) in asked {
            let goes_left = |&&i: &&u32| match &asks {
                Asks::Threshold(_, missing, _) if x(i, j).is_nan() => *missing == Side::Left,
                Asks::Threshold(threshold, ..) => x(i, j) <= *threshold,
                Asks::AnyOf(listed, _) => listed.iter().any(|&category| f32::from(category) == x(i, j)),
            };
            let (left, right): (Vec<u32>, Vec<u32>) = rows.iter().partition(goes_left);
            let is_refused = criterion == "poisson" && refused_by_poisson(problem, rows, [&left, &right]);
            if left.len().min(right.len()) >= problem.min_samples_leaf && !is_refused {
                let weight = |rows: &[u32]| rows.iter().map(|&i| weight[i as usize]).sum::<f64>();
                if let Asks::Threshold(_, missing, false) = &mut asks {
                    *missing = Side::heavier(weight(&left), weight(&right));
                }
                let decrease = (of(rows) - of(&left) - of(&right)) / total;
                // A small part of the decrease is always left.
                let left = by_chance.map(|lost| decrease - lost.min((1.0 - 1e-6) * decrease.max(0.0)));
                cuts.push(NaiveCut { feature: j, asks, decrease: [left[1], left[0]], is_offered });
            }
        }
    }
    cuts
}

/// Returns the features that a node must examine according to the lottery.
fn examined(problem: &Problem, rows: &[u32], lottery: &Lottery) -> Vec<u32> {
    let varies = |j: u32| {
        let x = |i: u32| problem.x[i as usize * problem.p + j as usize];
        rows.iter().any(|&i| x(i) != x(rows[0]) && !(x(i).is_nan() && x(rows[0]).is_nan()))
    };
    let mut drawn = vec![];
    for position in 0..lottery.n_positions() {
        if position >= problem.n_drawn && drawn.iter().any(|&j| varies(j)) {
            break;
        }
        drawn.extend(lottery.feature(position));
    }
    drawn
}

/// Walks down a grown structure from the root and compares every node with the exhaustive search.
fn check_against_exhaustive(
    problem: &Problem,
    data: &Prepared<'_>,
    criterion: &str,
    s: &Structure,
) -> Result<(), TestCaseError> {
    let weight: Vec<f64> = data.units.iter().map(|&u| u as f64).collect();
    let largest = match &problem.y {
        Y::Real(y, _) => y.iter().fold(0.0, |most: f64, y| most.max(y.abs())),
        _ => 1.0,
    };
    let mut stack = vec![(0usize, data.rows.clone(), Key::from_seed(problem.seed))];
    while let Some((node, rows, key)) = stack.pop() {
        prop_assert_eq!(s.n_node_samples[node] as usize, rows.len());
        prop_assert_eq!(s.weight[node], rows.iter().map(|&i| weight[i as usize]).sum::<f64>());
        let impurity = naive_impurity(problem, criterion, &rows, &weight);
        let scale = naive_impurity(problem, criterion, &data.rows, &weight).max(1e-9);
        // The mean of equal numbers in the naive impurity may differ from them in the last bit, and the Poisson
        // deviance by as much.
        let rounding = 4.0 * f64::EPSILON * largest;
        // The variance of entries is the mean square minus the square of the mean, about zero: each is rounded.
        let of_squares = if criterion == "variance-of-entries" { 4.0 * f64::EPSILON * largest * largest } else { 0.0 };
        // Naive sums are rounded at each sample and cancel, so that they are exact in terms of the impurity of all
        // samples.
        let tolerance = 1e-9 * scale + rounding + of_squares;
        prop_assert!((s.impurity[node] - impurity).abs() <= tolerance, "{} {impurity}", s.impurity[node]);
        let lottery = Lottery::new(key.child(LOTTERY), problem.p, problem.n_drawn).unwrap();
        let features = examined(problem, &rows, &lottery);
        let cuts = exhaustive(problem, criterion, &rows, &weight, &features);
        let pure = impurity <= 1e-12 * scale + rounding;
        let n = &s.nodes[node];
        if n.is_leaf() {
            // The sides of a random threshold may violate the constraints, although those of another threshold would
            // not.
            let may_be_refused = problem.min_samples_leaf > 1 || criterion == "poisson";
            let forced = problem.splitter == Splitter::Random && may_be_refused;
            let is_cut = cuts.iter().any(|cut| cut.is_offered);
            prop_assert!(pure || !is_cut || forced || rows.len() / 2 < problem.min_samples_leaf, "{cuts:?}");
            continue;
        }
        let x = |i: u32| problem.x[i as usize * problem.p + n.feature() as usize];
        let (left, right): (Vec<u32>, Vec<u32>) = rows.iter().partition(|&&i| n.decision(&s.sets).goes_left(x(i)));
        prop_assert!(left.len().min(right.len()) >= problem.min_samples_leaf);
        if problem.splitter == Splitter::Best {
            let asks = Asks::of(n.decision(&s.sets));
            let chosen = cuts.iter().find(|c| c.feature == n.feature() && c.asks == asks);
            let best = cuts.iter().filter(|c| c.is_offered).map(|c| c.decrease[0]).fold(f64::NEG_INFINITY, f64::max);
            // Decreases are differences of the rounded impurities above.
            prop_assert!(chosen.is_some_and(|c| c.decrease[1] >= best - 1e-9 * scale), "{chosen:?} {best}");
        } else {
            prop_assert!(features.contains(&n.feature()));
        }
        stack.push((node + 1, left, key.child(LEFT)));
        stack.push((n.right() as usize, right, key.child(RIGHT)));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn every_partitioner_grows_the_same_optimal_tree(problem in problem()) {
        let data = problem.prepare();
        let dense_x = DenseColumns::new(data.x.view(), &Control::default()).unwrap();
        let order = dense::SortedOrder::new(&dense_x, &crate::Control::default()).unwrap();
        let sparse_x = SparseColumns { by_column: data.by_column.clone(), by_row: data.by_row.clone() };
        let sparse_order = sorted_entries::SortedOrder::new(&data.by_column, &Control::default()).unwrap();
        let (rules, rows, seed) = (&data.rules, &data.rows[..], problem.seed);
        let mut outcome = Ok(());
        let mut narrow: Vec<(String, _)> = vec![];
        for_each_criterion(&data, |name, make| {
            let dense = structure(dense::DensePartitioner::new(&dense_x, rows, &Control::default()).unwrap(), make(), rules, seed);
            let mut others = vec![
                ("sorted columns", structure(dense::SortedColumns::new(&dense_x, &order, rows, &Control::default()).unwrap(), make(), rules, seed)),
                ("sorted entries", structure(SortedEntries::new(&sparse_x.by_column, &sparse_order, rows, &Control::default()).unwrap(), make(), rules, seed)),
            ];
            let by = |way, lookup| Forced { way, lookup, nests: None };
            for (way, forced) in [
                ("rows by set", by(Some(Way::RowsBySet), None)),
                ("rows by place", by(Some(Way::RowsByPlace), None)),
                ("mapping", by(Some(Way::Columns), Some(Lookup::Mapping))),
                ("bisection", by(Some(Way::Columns), Some(Lookup::Bisection))),
                ("chosen", Forced::default()),
            ] {
                for nests in [Some(true), Some(false), None] {
                    let mut partitioner = sparse::SparsePartitioner::new(&sparse_x, rows, &Control::default()).unwrap();
                    partitioner.forced = Forced { nests, ..forced };
                    others.push((way, structure(partitioner, make(), rules, seed)));
                }
            }
            for (way, other) in &others {
                assert_eq!(fingerprint(&dense), fingerprint(other), "{name}, {way}");
            }
            // Narrow and wide units, and one or many outputs, must give the same arithmetic.
            let print = fingerprint(&dense);
            let criterion = name.split(' ').next().unwrap();
            match narrow.iter().find(|(other, _)| other == criterion) {
                Some((_, other)) => assert_eq!(other, &print, "{name}: narrow and wide units"),
                None => narrow.push((criterion.to_string(), print)),
            }
            if outcome.is_ok() {
                outcome = check_against_exhaustive(&problem, &data, criterion, &dense);
            }
        });
        outcome?;
    }
}

/// Larger dense problems, in which nodes are copied, columns are sorted by digits, and samples are copied in blocks.
#[test]
fn copies_of_large_nodes_change_nothing() {
    use crate::criterion::counts::two_classes::GiniOfTwo;
    use crate::criterion::counts::{Gini, OneSlot};
    use crate::criterion::variance::{self, Variance};
    use crate::data::train_y::TrainY;
    use crate::rng::Stream;
    let mut n_themselves = 0;
    for seed in 0..36u64 {
        let mut stream = Stream::new(Key::from_seed(seed));
        let (n, p) = (if seed % 12 == 0 { 1500 } else { 400 }, 1 + seed as usize % 7);
        let mut draw = |below: u64| stream.below(below);
        let categories: Vec<bool> = (0..p).map(|j| seed % 9 == 1 && j % 5 == 2).collect();
        let mut value = |j: usize| match j % 4 {
            _ if categories[j] => draw(5) as f32,
            0 => draw(1 << 30) as f32 / (1 << 20) as f32 - 300.0,
            1 => (draw(1000) as f32 / 50.0 - 10.0).exp(),
            2 => draw(9) as f32 - 4.0,
            _ if seed % 4 == 0 && draw(5) == 0 => f32::NAN,
            _ => draw(100) as f32,
        };
        let x: Vec<f32> = (0..n * p).map(|i| value(i % p)).collect();
        let y = match seed % 3 {
            0 => Y::Real((0..n).map(|_| draw(1000) as f64 / 7.0).collect(), 1),
            1 => Y::Classes((0..n).map(|_| draw(2) as u32).collect(), vec![2]),
            _ => Y::Classes((0..n).map(|_| draw(4) as u32).collect(), vec![4]),
        };
        let weights = (seed % 2 == 0).then(|| (0..n).map(|_| draw(4) as f64).collect());
        let n_drawn = 1 + draw(p as u64) as u32;
        let splitter = if seed % 4 < 2 { Splitter::Random } else { Splitter::Best };
        let problem =
            Problem { n, p, x, y, mask: None, weights, categories, n_drawn, min_samples_leaf: 1, splitter, seed };
        let data = problem.prepare();
        let control = Control::default();
        let dense_x = DenseColumns::new(data.x.view(), &Control::default()).unwrap();
        let order = dense::SortedOrder::new(&dense_x, &control).unwrap();
        let sparse_order = sorted_entries::SortedOrder::new(&data.by_column, &control).unwrap();
        for_each_criterion(&data, |name, make| {
            let (rules, rows) = (&data.rules, &data.rows[..]);
            let carried = SortedEntries::new(&data.by_column, &sparse_order, rows, &control).unwrap();
            let carried = fingerprint(&structure(carried, make(), rules, seed));
            let sorted = dense::SortedColumns::new(&dense_x, &order, rows, &control).unwrap();
            assert_eq!(fingerprint(&structure(sorted, make(), rules, seed)), carried, "{name}, sorted, seed {seed}");
            let partitioner = || dense::DensePartitioner::new(&dense_x, rows, &control).unwrap();
            let found = structure(partitioner(), make(), rules, seed);
            assert!(found.nodes.len() > 20);
            assert_eq!(fingerprint(&found), carried, "{name}, seed {seed}");
            // Criteria themselves, which copy samples and leave out scores; the others are behind pointers.
            let (y, units) = (TrainY::new(&data.targets).unwrap(), &data.units[..]);
            let found = match (&y, name) {
                (TrainY::Slots(y), "gini of two") => {
                    structure(partitioner(), GiniOfTwo::new(y, units, &Workers::One).unwrap(), rules, seed)
                }
                (TrainY::Slots(y), "gini of one") => {
                    let criterion = Gini::new(OneSlot::new(y, units).unwrap(), y, &Workers::One).unwrap();
                    structure(partitioner(), criterion, rules, seed)
                }
                (TrainY::Real(y), "variance of one") => {
                    let criterion =
                        Variance::new(y, units, data.exact, variance::One, &control, &Workers::One).unwrap();
                    structure(partitioner(), criterion, rules, seed)
                }
                _ => return,
            };
            n_themselves += 1;
            assert_eq!(fingerprint(&found), carried, "{name} itself, seed {seed}");
        });
    }
    assert!(n_themselves > 30, "{n_themselves}");
}

/// Larger sparse problems, in which columns are skipped because they are too light. Dense partitioners skip none.
#[test]
fn passing_over_light_columns_changes_nothing() {
    use crate::rng::Stream;
    for seed in 0..12u64 {
        let mut stream = Stream::new(Key::from_seed(seed));
        let (n, p, q) = (400, 150, 1 + (seed as usize % 3));
        let mut draw = |below: u64| stream.below(below);
        // Some problems also have rare categories, in every fifth column.
        let categories: Vec<bool> = (0..p).map(|j| seed % 3 == 1 && j % 5 == 2).collect();
        let x = (0..n * p)
            .map(|i| {
                // Later features have fewer entries. A third of the entries has a random sign.
                let rare = 2 + (i % p) as u64 / 4;
                let sign = if i % 3 == 0 && !categories[i % p] && draw(2) == 0 { -1.0 } else { 1.0 };
                if draw(rare) == 0 { sign * (1 + draw(3)) as f32 } else { 0.0 }
            })
            .collect();
        let y = match seed % 4 {
            0 => Y::Real((0..n * q).map(|_| draw(1000) as f64 / 7.0).collect(), q),
            1 => Y::Classes((0..n).map(|_| draw(6) as u32).collect(), vec![6]),
            2 => Y::Classes((0..n * q).map(|_| draw(4) as u32).collect(), vec![4; q]),
            _ => Y::Labels((0..n * 20).map(|_| draw(7) == 0).collect(), 20),
        };
        let weights = (seed % 2 == 0).then(|| (0..n).map(|_| draw(4) as f64).collect());
        let mask = (seed % 3 == 1).then(|| {
            let n_outputs = match &y {
                Y::Real(_, q) | Y::Labels(_, q) => *q,
                Y::Classes(_, k) => k.len(),
            };
            Array2::from_shape_simple_fn((n, n_outputs), || draw(3) == 0)
        });
        let n_drawn = if seed % 5 == 0 { 12 } else { p as u32 };
        let splitter = if seed % 3 == 0 { Splitter::Random } else { Splitter::Best };
        let problem = Problem {
            n,
            p,
            x,
            y,
            mask,
            weights,
            categories,
            n_drawn,
            min_samples_leaf: 1 + seed as usize % 2,
            splitter,
            seed,
        };
        let data = problem.prepare();
        let dense_x = DenseColumns::new(data.x.view(), &Control::default()).unwrap();
        let sparse_x = SparseColumns { by_column: data.by_column.clone(), by_row: data.by_row.clone() };
        let sparse_order = sorted_entries::SortedOrder::new(&data.by_column, &Control::default()).unwrap();
        for_each_criterion(&data, |name, make| {
            let (rules, rows) = (&data.rules, &data.rows[..]);
            let dense = structure(
                dense::DensePartitioner::new(&dense_x, rows, &Control::default()).unwrap(),
                make(),
                rules,
                seed,
            );
            assert!(dense.nodes.len() > 20);
            let carried = SortedEntries::new(&sparse_x.by_column, &sparse_order, rows, &Control::default()).unwrap();
            let carried = structure(carried, make(), rules, seed);
            assert_eq!(fingerprint(&dense), fingerprint(&carried), "{name}, carried, seed {seed}");
            for way in [Some(Way::Columns), Some(Way::RowsBySet), Some(Way::RowsByPlace), None] {
                let mut found = sparse::SparsePartitioner::new(&sparse_x, rows, &Control::default()).unwrap();
                found.forced = Forced { way, ..Forced::default() };
                let found = structure(found, make(), rules, seed);
                assert_eq!(fingerprint(&dense), fingerprint(&found), "{name}, {way:?}, seed {seed}");
            }
        });
    }
}

proptest! {
    #[test]
    fn not_searching_the_last_children_changes_nothing(problem in problem(), max_leaves in 2usize..8) {
        let data = problem.prepare();
        let dense_x = DenseColumns::new(data.x.view(), &Control::default()).unwrap();
        let sparse_order = sorted_entries::SortedOrder::new(&data.by_column, &Control::default()).unwrap();
        let (key, control) = (Key::from_seed(problem.seed), Control::default());
        for_each_criterion(&data, |name, make| {
            let (rules, rows) = (&data.rules, &data.rows[..]);
            let grown = |search: &mut dyn SplitSearch| fingerprint(&grow(search, &Values, key, Some(max_leaves), &control).unwrap());
            let found = |c| {
                let columns = dense::DensePartitioner::new(&dense_x, rows, &Control::default()).unwrap();
                NodeSearch::new(Entries(columns), c, rules.clone(), Control::default()).unwrap()
            };
            let carried = |c| {
                let entries = SortedEntries::new(&data.by_column, &sparse_order, rows, &Control::default()).unwrap();
                NodeSearch::new(Entries(entries), c, rules.clone(), Control::default()).unwrap()
            };
            let eager = grown(&mut Eager(found(make())));
            assert_eq!(eager, grown(&mut found(make())), "{name}");
            assert_eq!(eager, grown(&mut carried(make())), "{name}, carried");
        });
    }
}

/// If two cuts separate the samples in the same way, or are equally good, the one that sends missing values right is
/// chosen.
#[test]
fn missing_values_go_right_where_both_sides_are_as_good() {
    for (x, y, threshold) in [
        // The values 1 and missing are separated from 2, or 2 and missing from 1. Both cuts are equally good.
        (vec![1.0, 1.0, 2.0, 2.0, f32::NAN, f32::NAN], vec![0.0, 0.0, 1.0, 1.0, 0.0, 1.0], 1.5),
        // Missing values are separated from all others.
        (vec![1.0, 2.0, 3.0, f32::NAN], vec![0.0, 0.0, 0.0, 1.0], f32::MAX),
        (vec![0.0, 0.0, 0.0, f32::NAN], vec![0.0, 0.0, 0.0, 1.0], f32::MAX),
    ] {
        let problem = Problem {
            n: x.len(),
            p: 1,
            x,
            y: Y::Real(y, 1),
            mask: None,
            weights: None,
            categories: vec![false],
            n_drawn: 1,
            min_samples_leaf: 1,
            splitter: Splitter::Best,
            seed: 0,
        };
        let data = problem.prepare();
        let dense_x = DenseColumns::new(data.x.view(), &Control::default()).unwrap();
        for_each_criterion(&data, |name, make| {
            if name.starts_with("poisson") {
                // Four zeros and two ones do not have the same deviance as the reverse.
                return;
            }
            let partitioner = dense::DensePartitioner::new(&dense_x, &data.rows, &Control::default()).unwrap();
            let root = structure(partitioner, make(), &data.rules, 0).nodes[0];
            assert_eq!(root.threshold_decision(), Decision::at_most(threshold).with_missing(Side::Right), "{name}");
        });
    }
}

/// An output that no sample of a tree knows affects neither the splits nor the impurities.
#[test]
fn an_output_that_no_row_knows_leaves_the_tree_of_the_others() {
    for (seed, kind) in (0..60u64).zip([0, 1, 2].into_iter().cycle()) {
        let mut stream = crate::rng::Stream::new(Key::from_seed(seed));
        let (n, p) = (30, 3);
        let x: Vec<f32> = (0..n * p).map(|_| stream.below(6) as f32).collect();
        let cells: Vec<[u32; 3]> = (0..n).map(|_| [0; 3].map(|_: u32| stream.below(2) as u32)).collect();
        let masked: Vec<[bool; 3]> = (0..n).map(|_| [0; 3].map(|_: u32| stream.below(3) == 0)).collect();
        let problem = |n_outputs: usize| {
            let of_row = |i: usize| cells[i][..n_outputs].iter().copied();
            let y: Vec<u32> = (0..n).flat_map(of_row).collect();
            // Every sample of the tree knows one of the first two outputs. The last sample knows all outputs, and no
            // other sample knows the third.
            let is_masked = |(i, j): (usize, usize)| i + 1 < n && (j == 2 || masked[i][j] && !(j == 0 && masked[i][1]));
            let y = match kind {
                0 => Y::Real(y.iter().map(|&y| f64::from(y) + 0.25).collect(), n_outputs),
                1 => Y::Classes(y, vec![2; n_outputs]),
                _ => Y::Labels(y.iter().map(|&y| y == 1).collect(), n_outputs),
            };
            let mask = Some(Array2::from_shape_fn((n, n_outputs), is_masked));
            let (n_drawn, splitter) = (2, if seed % 2 == 0 { Splitter::Best } else { Splitter::Random });
            Problem {
                n,
                p,
                x: x.clone(),
                y,
                mask,
                weights: None,
                categories: vec![false; p],
                n_drawn,
                min_samples_leaf: 1,
                splitter,
                seed,
            }
        };
        let grown = |n_outputs: usize| {
            let problem = problem(n_outputs);
            let mut data = problem.prepare();
            data.rows.pop();
            let dense_x = DenseColumns::new(data.x.view(), &Control::default()).unwrap();
            let mut all = Vec::new();
            for_each_criterion(&data, |name, make| {
                let partitioner = dense::DensePartitioner::new(&dense_x, &data.rows, &Control::default()).unwrap();
                all.push((name.to_string(), fingerprint(&structure(partitioner, make(), &data.rules, seed))));
            });
            assert!(!all.is_empty() && all[0].1.0.len() > 5);
            all
        };
        assert_eq!(grown(2), grown(3), "{seed}");
    }
}
