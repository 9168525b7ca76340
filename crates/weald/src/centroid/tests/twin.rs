//! A reference implementation of the same forest on labels, by plain loops: dense samples, one node after the other,
//! and the same draws.

use crate::centroid::config::{CentroidForestConfig, CentroidPrecision, Clustering, DirectionScope, Refinement};
use crate::centroid::fit::GROWTH;
use crate::centroid::grow::{CHILDREN, CLUSTERS, FEATURES, OTHER_TRIES, REFINEMENT, SAMPLE, TRIES};
use crate::centroid::project::DIRECTIONS;
use crate::elementary::exp_of_negative;
use crate::forest::bootstrap::tree_key;
use crate::rng::{Key, Stream};

/// The labels of samples, and their weights: positive whole numbers.
#[derive(Clone, Debug)]
pub(super) struct Data {
    /// The samples of X, dense.
    pub(super) x: Vec<Vec<f32>>,
    pub(super) labels: Vec<Vec<u32>>,
    /// The labels that each sample does not know; for the reference, it has none of them.
    pub(super) unknown: Vec<Vec<u32>>,
    pub(super) weights: Vec<u32>,
}

/// A node with its samples, and the centroids of its children.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) rows: Vec<usize>,
    pub(super) children: Vec<(Vec<(u32, f32)>, Node)>,
}

/// Grows tree `index` of a forest.
pub(super) fn grow(config: &CentroidForestConfig, data: &Data, index: usize) -> Node {
    let idf = if config.idf { idf(data) } else { vec![1.0; data.x[0].len()] };
    let prepared = Data { x: data.x.iter().map(|row| prepared(row, &idf, config.normalize)).collect(), ..data.clone() };
    let tree = Tree { config, data: &prepared, key: tree_key(config.seed, index).child(GROWTH) };
    tree.node((0..data.x.len()).collect(), tree.key, 0)
}

fn idf(data: &Data) -> Vec<f32> {
    let n: u32 = data.weights.iter().sum();
    let with = |feature: usize| {
        let rows = data.x.iter().zip(&data.weights).filter(|(row, _)| row[feature] != 0.0);
        rows.map(|(_, weight)| weight).sum::<u32>()
    };
    let factor = |n_with: u32| (1.0 + ((1.0 + f64::from(n)) / (1.0 + f64::from(n_with))).ln()) as f32;
    (0..data.x[0].len()).map(|feature| factor(with(feature))).collect()
}

pub(super) fn prepared(row: &[f32], idf: &[f32], normalize: bool) -> Vec<f32> {
    let weighted: Vec<f64> = row.iter().zip(idf).map(|(&v, &factor)| f64::from(v) * f64::from(factor)).collect();
    let length = weighted.iter().map(|v| v * v).sum::<f64>().sqrt();
    let short =
        |v: f64| if v == 0.0 { 0.0 } else { (f64::from(v as f32) / length * 2f64.powi(24)).round_ties_even() as f32 };
    let value = |&v: &f64| if normalize { short(v) / (1u32 << 24) as f32 } else { v as f32 };
    weighted.iter().map(value).collect()
}

struct Tree<'a> {
    config: &'a CentroidForestConfig,
    data: &'a Data,
    key: Key,
}

impl Tree<'_> {
    fn weight(&self, rows: &[usize]) -> u32 {
        rows.iter().map(|&row| self.data.weights[row]).sum()
    }

    fn node(&self, rows: Vec<usize>, key: Key, depth: usize) -> Node {
        let leaf = |rows| Node { rows, children: Vec::new() };
        // Two samples differ in a label that one has and the other is known not to have.
        let has = |row: usize, label: &u32| self.data.labels[row].contains(label);
        let differ = |a: usize, b: usize| {
            self.data.labels[a].iter().any(|label| !has(b, label) && !self.data.unknown[b].contains(label))
        };
        let is_pure = rows.iter().all(|&a| rows.iter().all(|&b| !differ(a, b)));
        let is_deep = self.config.max_depth == Some(depth);
        if self.weight(&rows) as usize <= self.config.max_leaf_samples || is_deep || is_pure || rows.len() == 1 {
            return leaf(rows);
        }
        for attempt in 0..TRIES {
            let key_of_try = if attempt == 0 { key } else { key.child(OTHER_TRIES + attempt) };
            let clusters = self.clusters(&rows, key_of_try);
            if clusters.len() < 2 {
                continue;
            }
            let centroids = self.centroids(&clusters, key_of_try);
            let child_of = |row: usize| nearest(&self.data.x[row], &centroids);
            let parts = (0..centroids.len())
                .map(|child| rows.iter().copied().filter(|&row| child_of(row) == child).collect::<Vec<_>>());
            let parts: Vec<_> = parts.enumerate().filter(|(_, rows)| !rows.is_empty()).collect();
            if parts.len() > 1 {
                let children = parts.into_iter().map(|(child, rows)| {
                    (centroids[child].clone(), self.node(rows, key.child(CHILDREN + child as u64), depth + 1))
                });
                return Node { children: children.collect(), rows: rows.clone() };
            }
        }
        leaf(rows)
    }

    fn directions(&self, node: Key, label: u32) -> Vec<i32> {
        let key = match self.config.direction_scope {
            DirectionScope::Node => node.child(DIRECTIONS),
            DirectionScope::Tree => self.key.child(DIRECTIONS),
            DirectionScope::Forest => Key::from_seed(self.config.seed).child(DIRECTIONS),
        };
        let mut stream = Stream::new(key.child(label.into()));
        let n = self.config.n_projections;
        let words: Vec<u64> = (0..n.div_ceil(64)).map(|_| stream.next_u64()).collect();
        (0..n).map(|i| if words[i / 64] >> (i % 64) & 1 == 1 { -1 } else { 1 }).collect()
    }

    /// Returns the coordinates as whole numbers, in units of 2⁻¹⁴.
    fn points(&self, rows: &[usize], weights: &[u32], node: Key) -> Vec<Vec<i64>> {
        let n = self.config.n_projections;
        let mut sums: Vec<Vec<i64>> = Vec::new();
        for &row in rows {
            let mut sum = vec![0; n];
            for &label in &self.data.labels[row] {
                sum.iter_mut().zip(self.directions(node, label)).for_each(|(sum, sign)| *sum += i64::from(sign));
            }
            sums.push(sum);
        }
        if self.config.center {
            let total = f64::from(weights.iter().sum::<u32>());
            for i in 0..n {
                let sum: f64 = sums.iter().zip(weights).map(|(v, &weight)| v[i] as f64 * f64::from(weight)).sum();
                let mean = (sum / total).round_ties_even() as i64;
                sums.iter_mut().for_each(|v| v[i] -= mean);
            }
        }
        let length = |v: &Vec<i64>| (v.iter().map(|v| v * v).sum::<i64>() as f64).sqrt();
        let longest = sums.iter().map(length).fold(0.0, f64::max);
        let scaled = |v: &Vec<i64>| {
            let length = if self.config.clustering == Clustering::Spherical { length(v) } else { longest };
            let scale = if length > 0.0 { (16384.0 / length) as f32 } else { 0.0 };
            v.iter().map(|&v| (v as f32 * scale).round_ties_even() as i64).collect()
        };
        sums.iter().map(scaled).collect()
    }

    /// Returns the samples of the clusters, in decreasing order of weight.
    fn clusters(&self, rows: &[usize], key: Key) -> Vec<Vec<usize>> {
        // The first sample of each set of labels and unknown labels.
        let of = |row: usize| (&self.data.labels[row], &self.data.unknown[row]);
        let alike = |a: usize, b: usize| of(a) == of(b);
        let is_first = |at: &usize| rows[..*at].iter().all(|&before| !alike(before, rows[*at]));
        let different: Vec<usize> = (0..rows.len()).filter(is_first).map(|at| rows[at]).collect();
        let joint = |&row: &usize| rows.iter().filter(|&&r| alike(r, row)).map(|&r| self.data.weights[r]).sum();
        let weights: Vec<u32> = different.iter().map(joint).collect();
        let points = self.points(&different, &weights, key);
        let some: Vec<usize> = match self.config.sample_size.filter(|&size| size < different.len()) {
            None => (0..different.len()).collect(),
            Some(size) => drawn(size, different.len(), key.child(SAMPLE)),
        };
        let most = (self.weight(rows) as usize / self.config.samples_per_child).min(self.config.n_children).max(2);
        let key = key.child(CLUSTERS);
        let dot = |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<i64>();
        let is_round = self.config.clustering == Clustering::Spherical;
        let nearness = |p: &[i64], c: &[i64]| if is_round { 2 * dot(p, c) } else { 2 * dot(p, c) - dot(c, c) };
        let best = |p: &[i64], centres: &[Vec<i64>]| {
            let mut best = (i64::MIN, 0);
            for (cluster, centre) in centres.iter().enumerate() {
                if nearness(p, centre) > best.0 {
                    best = (nearness(p, centre), cluster);
                }
            }
            best.1
        };
        let apart = |p: &[i64], c: &[i64]| dot(p, p) + dot(c, c) - 2 * dot(p, c);
        let mut centres: Vec<Vec<i64>> = Vec::new();
        for cluster in 0..most {
            let part = |&at: &usize| {
                let weight = f64::from(weights[at]);
                if is_round && dot(&points[at], &points[at]) == 0 {
                    return 0.0;
                }
                if centres.is_empty() {
                    weight
                } else {
                    apart(&points[at], &centres[best(&points[at], &centres)]) as f64 * weight
                }
            };
            let parts: Vec<f64> = some.iter().map(part).collect();
            let share = key.uniform(cluster as u64) * parts.iter().sum::<f64>();
            let mut sum = 0.0;
            let found = parts.iter().position(|part| {
                sum += part;
                sum > share
            });
            let Some(at) = found else { break };
            centres.push(points[some[at]].clone());
        }
        if centres.len() < 2 {
            return Vec::new();
        }
        let mut cluster_of: Vec<usize> = some.iter().map(|&at| best(&points[at], &centres)).collect();
        for _ in 0..self.config.n_passes {
            for (cluster, centre) in centres.iter_mut().enumerate() {
                let own = some.iter().zip(&cluster_of).filter(|(_, of)| **of == cluster).map(|(at, _)| *at);
                let own: Vec<usize> = own.collect();
                if own.is_empty() {
                    continue;
                }
                let sum = |i: usize| own.iter().map(|&at| points[at][i] * i64::from(weights[at])).sum::<i64>() as f64;
                let sums: Vec<f64> = (0..self.config.n_projections).map(sum).collect();
                let length = sums.iter().map(|v| v * v).sum::<f64>().sqrt();
                let weight: u32 = own.iter().map(|&at| weights[at]).sum();
                let scale = match (is_round, length > 0.0) {
                    (true, true) => 16384.0 / length,
                    (true, false) => 0.0,
                    (false, _) => 1.0 / f64::from(weight),
                };
                *centre = sums.iter().map(|v| (v * scale).round_ties_even() as i64).collect();
            }
            let moved: Vec<usize> = some.iter().map(|&at| best(&points[at], &centres)).collect();
            if moved == cluster_of {
                break;
            }
            cluster_of = moved;
        }
        if some.len() < different.len() {
            cluster_of = points.iter().map(|point| best(point, &centres)).collect();
        }
        let cluster_of_row = |row: usize| {
            let place = different.iter().position(|&first| alike(first, row)).unwrap();
            cluster_of[place]
        };
        let of = |cluster| rows.iter().copied().filter(move |&row| cluster_of_row(row) == cluster);
        let mut clusters: Vec<Vec<usize>> = (0..centres.len()).map(|cluster| of(cluster).collect()).collect();
        clusters.retain(|rows| !rows.is_empty());
        // The sort is stable: of equal weights the first one remains first.
        clusters.sort_by_key(|rows| std::cmp::Reverse(self.weight(rows)));
        clusters
    }

    fn centroids(&self, clusters: &[Vec<usize>], key: Key) -> Vec<Vec<(u32, f32)>> {
        let share = self.config.max_features;
        let has = |feature: usize| share >= 1.0 || self.key.child(FEATURES).uniform(feature as u64) < share;
        let mean = |rows: &Vec<usize>| {
            let sum = |f: usize| {
                let of_row = |&row: &usize| f64::from(self.data.weights[row]) * f64::from(self.data.x[row][f]);
                rows.iter().map(of_row).sum::<f64>()
            };
            let entries = (0..self.data.x[0].len()).filter(|&f| has(f)).map(|f| (f as u32, sum(f)));
            self.most(entries.filter(|(_, sum)| *sum != 0.0).collect())
        };
        let means: Vec<Vec<(u32, f64)>> = clusters.iter().map(mean).collect();
        let cut = |mut entries: Vec<(u32, f64)>| {
            let largest = entries.iter().map(|e| e.1.abs()).fold(0.0, f64::max);
            entries.retain(|e| e.1.abs() >= self.config.min_centroid_weight * largest);
            entries
        };
        let precision = self.config.centroid_precision;
        match self.config.refinement {
            Refinement::None => means.into_iter().map(|mean| in_few_bits(&cut(mean), true, precision)).collect(),
            Refinement::Logistic { scale, rate } => {
                let most = |entries| self.most(entries);
                let learned = self.learned(clusters, &means, (scale, rate), key.child(REFINEMENT));
                learned.into_iter().map(|weights| in_few_bits(&cut(most(weights)), false, precision)).collect()
            }
        }
    }

    /// Returns the entries of largest magnitude, as many as a centroid keeps.
    fn most(&self, mut entries: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
        if let Some(most) = self.config.max_centroid_features {
            entries.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
            entries.truncate(most);
            entries.sort_by_key(|entry| entry.0);
        }
        entries
    }

    fn learned(
        &self,
        clusters: &[Vec<usize>],
        means: &[Vec<(u32, f64)>],
        (scale, rate): (f32, f32),
        key: Key,
    ) -> Vec<Vec<(u32, f64)>> {
        let p = self.data.x[0].len();
        let start = |mean: &Vec<(u32, f64)>| {
            let length = mean.iter().map(|e| e.1 * e.1).sum::<f64>().sqrt();
            let mut weights = vec![0f32; p];
            mean.iter().for_each(|e| weights[e.0 as usize] = (e.1 / length) as f32 * scale);
            weights
        };
        let mut weights: Vec<Vec<f32>> = means.iter().map(start).collect();
        // The features that some centroid has.
        let is_there: Vec<bool> = (0..p).map(|f| means.iter().flatten().any(|e| e.0 as usize == f)).collect();
        let rows: Vec<(usize, usize)> =
            clusters.iter().enumerate().flat_map(|(c, rows)| rows.iter().map(move |&row| (row, c))).collect();
        let mut order: Vec<usize> = (0..rows.len()).collect();
        let mut stream = Stream::new(key);
        for last in (1..rows.len()).rev() {
            order.swap(last, stream.below(last as u64 + 1) as usize);
        }
        let mean_weight = f64::from(rows.iter().map(|r| self.data.weights[r.0]).sum::<u32>()) / rows.len() as f64;
        for at in order {
            let (row, cluster) = rows[at];
            let x = &self.data.x[row];
            let products: Vec<f32> = weights.iter().map(|w| product(x, w)).collect();
            let most = products.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let shares: Vec<f64> = products.iter().map(|p| exp_of_negative(f64::from(p - most))).collect();
            let factor = (1.0 / shares.iter().sum::<f64>()) as f32;
            let step = rate * (f64::from(self.data.weights[row]) / mean_weight) as f32;
            for (c, weights) in weights.iter_mut().enumerate() {
                let error = shares[c] as f32 * factor - if c == cluster { 1.0 } else { 0.0 };
                for f in (0..p).filter(|&f| x[f] != 0.0 && is_there[f]) {
                    weights[f] -= step * x[f] * error;
                }
            }
        }
        let entries = |weights: Vec<f32>| weights.into_iter().enumerate().map(|(f, w)| (f as u32, f64::from(w)));
        weights.into_iter().map(|w| entries(w).filter(|e| e.1 != 0.0).collect()).collect()
    }
}

/// Returns positions drawn without replacement, in increasing order.
fn drawn(size: usize, n: usize, key: Key) -> Vec<usize> {
    let mut stream = Stream::new(key);
    let mut places = std::collections::BTreeSet::new();
    for last in n - size..n {
        let drawn = stream.below(last as u64 + 1) as usize;
        places.insert(if places.contains(&drawn) { last } else { drawn });
    }
    places.into_iter().collect()
}

/// Returns the number nearest to a share of the largest weight, among zero and 10^(-k/7) for k from 0 to 7.
fn nearest_level(share: f64) -> f64 {
    let levels = (0..8).map(|k| f64::from(10f64.powf(-f64::from(k) / 7.0) as f32)).chain([0.0]);
    let nearest = levels.min_by(|a, b| (share.abs() - a).abs().total_cmp(&(share.abs() - b).abs()));
    nearest.unwrap() * share.signum()
}

/// Returns the entries in few bits, multiplied by a factor.
fn in_few_bits(entries: &[(u32, f64)], at_length_one: bool, precision: CentroidPrecision) -> Vec<(u32, f32)> {
    let largest = entries.iter().map(|e| e.1.abs()).fold(0.0, f64::max);
    let (of_largest, code): (f64, fn(f64) -> f64) = match precision {
        CentroidPrecision::Nibble => (1.0, nearest_level),
        CentroidPrecision::Byte => (127.0, |share| (share * 127.0).round_ties_even()),
        CentroidPrecision::Half => unreachable!("no test asks for it"),
    };
    let codes = entries.iter().map(|e| (e.0, code(e.1 / largest)));
    let codes: Vec<(u32, f64)> = codes.filter(|e| e.1 != 0.0).collect();
    let squares: f64 = codes.iter().map(|e| e.1 * e.1).sum();
    let factor = if at_length_one { 1.0 / squares.sqrt() } else { largest / of_largest };
    codes.into_iter().map(|e| (e.0, e.1 as f32 * factor as f32)).collect()
}

fn product(x: &[f32], weights: &[f32]) -> f32 {
    x.iter().zip(weights).fold(0.0, |sum, (x, w)| sum + x * w)
}

/// Returns the position of the centroid with the largest product, the first of equals.
pub(super) fn nearest(x: &[f32], centroids: &[Vec<(u32, f32)>]) -> usize {
    let mut best = (f32::NEG_INFINITY, 0);
    for (child, centroid) in centroids.iter().enumerate() {
        let mut weights = vec![0.0; x.len()];
        centroid.iter().for_each(|e| weights[e.0 as usize] = e.1);
        if product(x, &weights) > best.0 {
            best = (product(x, &weights), child);
        }
    }
    best.1
}
