//! Growth of one tree, level by level: the samples of a node are clustered by their outputs, and each sample goes to
//! the child whose centroid in X is the nearest.

use super::centroids::{Centroids, Keep, Length, RowSum};
use super::clustering::{Clusters, Points};
use super::config::{CentroidForestConfig, Refinement};
use super::project::{Keys, Projector, Scratch};
use super::refine::{Clustered, Refiner};
use super::route::{Router, greatest};
use super::tree::share;
use super::vectors::Vectors;
use crate::control::Control;
use crate::data::train_y::TrainY;
use crate::data::weights::RowUnits;
use crate::error::{ErrorKind, Purpose, Result};
use crate::exact::reduce::Workers;
use crate::exact::{Shift, Total};
use crate::rng::{Key, Stream};
use crate::tree::growth::grow::Structure;

const PURPOSE: Purpose = Purpose("the nodes of a tree");

/// Number of times that a node is clustered, with different draws, when all its samples go to one child.
pub(super) const TRIES: u64 = 3;

/// Purposes of the keys of a node.
pub(super) const CLUSTERS: u64 = 1;
pub(super) const SAMPLE: u64 = 2;
pub(super) const REFINEMENT: u64 = 3;
/// Purpose of a key of the tree.
pub(super) const FEATURES: u64 = 4;
/// Keys of children and of repeated attempts come after the purposes.
pub(super) const CHILDREN: u64 = 1 << 8;
pub(super) const OTHER_TRIES: u64 = 1 << 40;

/// The number of bits of the total weight of the points of a node, before each of them is given at least one unit.
const WEIGHT_BITS: u32 = 31;

/// The samples on which one tree is grown, and their weights.
#[derive(Debug)]
pub(super) struct Sample<'a> {
    /// The samples of positive weight, in increasing order.
    pub(super) rows: &'a [u32],
    pub(super) units: RowUnits,
    /// The number of samples that each of them stands for; `None` if it is one.
    pub(super) counts: Option<Vec<u32>>,
    pub(super) key: Key,
    /// The position of the tree in the fit.
    pub(super) index: usize,
}

impl Sample<'_> {
    #[inline]
    pub(super) fn units(&self, row: u32) -> u64 {
        match &self.units {
            RowUnits::Narrow(units) => units[row as usize].into(),
            RowUnits::Wide(units) => units[row as usize],
        }
    }

    /// Writes the weights of `rows` in units; the last bits are dropped if the weights are too large.
    fn weigh(&self, rows: &[u32], weights: &mut Vec<u32>) -> Result<()> {
        let total = Total::of_all(rows.iter().map(|&row| self.units(row)), &Workers::One)?;
        let shift = Shift::to_bits(total.units(), WEIGHT_BITS);
        weights.clear();
        PURPOSE.extend(weights, rows.iter().map(|&row| shift.units(self.units(row)) as u32))
    }
}

/// The data from which all trees of a fit are grown.
#[derive(Debug)]
pub(super) struct Ground<'a> {
    pub(super) config: &'a CentroidForestConfig,
    pub(super) x: &'a Vectors,
    /// The y from which leaf values are computed.
    pub(super) y: &'a TrainY<'a>,
    pub(super) projector: &'a Projector<'a>,
    /// For classes and labels, a number for each sample that is the same for samples with the same y and unknown cells.
    pub(super) alike: Option<&'a Alike>,
}

/// Which samples have the same classes or labels, and know the same of them.
#[derive(Debug)]
pub(super) struct Alike {
    number_of: Vec<u32>,
    n_numbers: usize,
}

impl Alike {
    /// `of` returns y of a sample.
    pub(super) fn new<T: Ord>(of: impl Fn(u32) -> T, n_rows: usize) -> Result<Self> {
        let mut rows = PURPOSE.collected(0..n_rows as u32)?;
        rows.sort_unstable_by_key(|&row| of(row));
        let mut number_of = PURPOSE.filled(0, n_rows)?;
        let mut n_numbers = 0;
        for alike in rows.chunk_by(|&a, &b| of(a) == of(b)) {
            alike.iter().for_each(|&row| number_of[row as usize] = n_numbers);
            n_numbers += 1;
        }
        Ok(Alike { number_of, n_numbers: n_numbers as usize })
    }
}

/// A tree without leaf values.
#[derive(Debug)]
pub(super) struct Grown {
    pub(super) starts: Vec<u32>,
    pub(super) centroids: Centroids,
    pub(super) n_node_samples: Vec<u32>,
    /// The weight of each leaf, in units.
    pub(super) leaf_units: Vec<u64>,
    /// The samples of each leaf.
    pub(super) structure: Structure,
}

/// A node during the growth of the tree.
#[derive(Clone, Copy, Debug)]
struct Node {
    start: u32,
    end: u32,
    depth: usize,
    key: Key,
}

/// Grows a tree: a function of the ground, the sample and its key.
pub(super) fn grow(ground: &Ground<'_>, sample: &Sample<'_>, control: &Control) -> Result<Grown> {
    let mut growth = Growth::new(ground, sample)?;
    let mut starts = Vec::new();
    while starts.len() < growth.nodes.len() {
        control.check()?;
        let node = starts.len();
        let first = u32::try_from(growth.nodes.len());
        let limit = u32::MAX as usize;
        PURPOSE.push(&mut starts, first.map_err(|_| ErrorKind::TooMany { what: PURPOSE.0, limit })?)?;
        if growth.may_split(node)? {
            growth.split(node, control)?;
        }
    }
    PURPOSE.push(&mut starts, growth.nodes.len() as u32)?;
    growth.finish(starts)
}

/// The nodes so far, and the working memory to split the next one.
#[derive(Debug)]
struct Growth<'a, 'g> {
    ground: &'g Ground<'a>,
    sample: &'g Sample<'g>,
    nodes: Vec<Node>,
    centroids: Centroids,
    /// The samples of the tree: each node without children owns a range, which is increasing.
    order: Vec<u32>,
    sorted: Vec<u32>,
    projecting: Scratch,
    clusters: Clusters,
    row_sum: RowSum,
    refiner: Refiner,
    router: Router,
    /// Whether the tree may use each feature; `None` for all.
    features: Option<Vec<bool>>,
    /// The samples of the current node; their weights follow.
    rows: Vec<u32>,
    weights: Vec<u32>,
    /// One entry for each distinct y: its first sample; the total weight and the point follow.
    different: Vec<u32>,
    joint_weights: Vec<u32>,
    points: Vec<i16>,
    /// The index of each sample among the distinct y, and of each number of [`Alike`], plus one, zero between two
    /// nodes.
    place_of: Vec<u32>,
    place_of_number: Vec<u32>,
    /// The weights and points from which clusters are found, if these are not all points.
    some_weights: Vec<u32>,
    some_points: Vec<i16>,
    entries: Vec<(u32, f64)>,
    /// The centroids of the candidate children.
    tried: Centroids,
    child_of: Vec<u32>,
    ranges: Vec<(u32, u32)>,
}

impl<'a, 'g> Growth<'a, 'g> {
    fn new(ground: &'g Ground<'a>, sample: &'g Sample<'g>) -> Result<Self> {
        let n = sample.rows.len();
        let mut order = PURPOSE.with_capacity(n)?;
        order.extend_from_slice(sample.rows);
        let mut nodes = PURPOSE.with_capacity(1)?;
        nodes.push(Node { start: 0, end: n as u32, depth: 0, key: sample.key });
        let n_features = ground.x.n_features();
        let precision = ground.config.centroid_precision;
        let mut centroids = Centroids::new(precision);
        centroids.push_empty()?;
        Ok(Growth {
            ground,
            sample,
            nodes,
            centroids,
            order,
            sorted: PURPOSE.filled(0, n)?,
            projecting: ground.projector.scratch()?,
            clusters: Clusters::default(),
            row_sum: RowSum::new(n_features)?,
            refiner: Refiner::default(),
            router: Router::new(n_features)?,
            features: features_of(ground.config.max_features, n_features, sample.key)?,
            rows: PURPOSE.with_capacity(n)?,
            weights: PURPOSE.with_capacity(n)?,
            different: Vec::new(),
            joint_weights: Vec::new(),
            points: Vec::new(),
            place_of: Vec::new(),
            place_of_number: PURPOSE.filled(0, ground.alike.map_or(0, |alike| alike.n_numbers))?,
            some_weights: Vec::new(),
            some_points: Vec::new(),
            entries: Vec::new(),
            tried: Centroids::new(precision),
            child_of: PURPOSE.with_capacity(n)?,
            ranges: Vec::new(),
        })
    }

    fn rows_of(&self, node: &Node) -> &[u32] {
        &self.order[node.start as usize..node.end as usize]
    }

    fn may_split(&self, node: usize) -> Result<bool> {
        let node = self.nodes[node];
        let rows = self.rows_of(&node);
        let most = self.ground.config.max_leaf_samples as u64;
        let n_samples = self.n_samples(rows);
        let is_deep = self.ground.config.max_depth.is_some_and(|most| node.depth >= most);
        Ok(n_samples > most && !is_deep && rows.len() > 1 && !self.is_pure(rows)?)
    }

    /// Returns the number of samples that `rows` stand for.
    fn n_samples(&self, rows: &[u32]) -> u64 {
        match &self.sample.counts {
            None => rows.len() as u64,
            Some(counts) => rows.iter().map(|&row| u64::from(counts[row as usize])).sum(),
        }
    }

    /// Returns the maximum number of children of a node.
    fn most_children(&self, node: &Node) -> usize {
        let by_samples = self.n_samples(self.rows_of(node)) / self.ground.config.samples_per_child as u64;
        self.ground.config.n_children.min(usize::try_from(by_samples).unwrap_or(usize::MAX)).max(2)
    }

    /// Returns whether all samples have the same y, as far as it is known.
    fn is_pure(&self, rows: &[u32]) -> Result<bool> {
        let first = rows[0];
        Ok(match self.ground.y {
            TrainY::Slots(y) => rows.iter().all(|&row| y.of(row) == y.of(first)),
            TrainY::Real(y) => rows.iter().all(|&row| y.of(row) == y.of(first)),
            TrainY::SparseReal(y) => rows.iter().all(|&row| y.numbers().of(row) == y.numbers().of(first)),
            TrainY::MaskedSlots(y) => {
                // A class or label of some samples that another sample is known not to have is a difference.
                let mut found = Vec::new();
                rows.iter().try_for_each(|&row| PURPOSE.extend(&mut found, y.of(row).iter().copied()))?;
                found.sort_unstable();
                found.dedup();
                let agrees = |row: u32, slot: u32| {
                    y.of(row).binary_search(&slot).is_ok() || !y.known().is_known(row, y.output(slot))
                };
                rows.iter().all(|&row| found.iter().all(|&slot| agrees(row, slot)))
            }
            TrainY::MaskedReal(y) => y.are_equal(rows)?,
        })
    }

    /// Gives children to a node; it gets none if no attempt divides its samples.
    fn split(&mut self, node: usize, control: &Control) -> Result<()> {
        let node = self.nodes[node];
        for attempt in 0..TRIES {
            let key = if attempt == 0 { node.key } else { node.key.child(OTHER_TRIES + attempt) };
            self.take_rows(&node)?;
            if self.find_clusters(&node, key, control)? {
                self.find_centroids(key, control)?;
                if self.part(&node)? {
                    return self.push_children(&node);
                }
            }
        }
        Ok(())
    }

    /// Fills `rows` and `weights`.
    fn take_rows(&mut self, node: &Node) -> Result<()> {
        self.rows.clear();
        self.rows.extend_from_slice(&self.order[node.start as usize..node.end as usize]);
        self.sample.weigh(&self.rows, &mut self.weights)
    }

    /// Clusters `rows` and reorders them by cluster; `ranges` are then the ranges of the clusters, the heaviest first.
    /// Returns whether there are at least two clusters.
    fn find_clusters(&mut self, node: &Node, key: Key, control: &Control) -> Result<bool> {
        let Ground { config, projector, .. } = *self.ground;
        let keys = Keys { node: key, tree: self.sample.key, tree_index: self.sample.index };
        self.join_alike()?;
        let Growth { different, joint_weights, projecting, points, .. } = self;
        projector.project(&keys, different, joint_weights, projecting, points, control)?;
        let most = self.most_children(node);
        let n = self.different.len();
        let is_sampled = match config.sample_size.filter(|&size| size < n) {
            None => false,
            Some(size) => {
                self.draw_some(size, key.child(SAMPLE))?;
                true
            }
        };
        let stride = projector.stride();
        let all = Points { values: &self.points, weights: &self.joint_weights, stride };
        let some = Points { values: &self.some_points, weights: &self.some_weights, stride };
        let found_of = if is_sampled { some } else { all };
        let (rule, n_passes, key) = (config.clustering, config.n_passes, key.child(CLUSTERS));
        let n_centres = self.clusters.find(found_of, most, rule, n_passes, key, control)?;
        if is_sampled && n_centres > 1 {
            self.clusters.take_in(all, n_centres, control)?;
        }
        if n_centres < 2 {
            return Ok(false);
        }
        let ranks = self.clusters.rank(all, n_centres)?;
        self.ranges.clear();
        PURPOSE.resize(&mut self.ranges, ranks, (0, 0))?;
        let Growth { clusters, place_of, child_of, rows, sorted, ranges, .. } = self;
        child_of.clear();
        child_of.extend(place_of.iter().map(|&place| clusters.of_point[place as usize]));
        let n = rows.len();
        share(child_of, rows, &mut sorted[..n], ranges, 0);
        Ok(ranks > 1)
    }

    /// Makes samples with the same y one point: fills `different`, their total weights, and the index of each sample
    /// among them.
    fn join_alike(&mut self) -> Result<()> {
        let Growth { ground, rows, weights, different, joint_weights, place_of, place_of_number, .. } = self;
        different.clear();
        joint_weights.clear();
        place_of.clear();
        let Some(alike) = ground.alike else {
            PURPOSE.extend(different, rows.iter().copied())?;
            PURPOSE.extend(joint_weights, weights.iter().copied())?;
            return PURPOSE.extend(place_of, 0..rows.len() as u32);
        };
        for (&row, &weight) in rows.iter().zip(&*weights) {
            let place = &mut place_of_number[alike.number_of[row as usize] as usize];
            if *place == 0 {
                PURPOSE.push(different, row)?;
                PURPOSE.push(joint_weights, 0)?;
                *place = different.len() as u32;
            }
            joint_weights[*place as usize - 1] += weight;
            PURPOSE.push(place_of, *place - 1)?;
        }
        different.iter().for_each(|&row| place_of_number[alike.number_of[row as usize] as usize] = 0);
        Ok(())
    }

    /// Fills `some_weights` and `some_points` with those of some points, drawn without replacement and in their order.
    fn draw_some(&mut self, size: usize, key: Key) -> Result<()> {
        let n = self.different.len();
        let mut stream = Stream::new(key);
        let is_drawn = &mut self.child_of;
        is_drawn.clear();
        PURPOSE.resize(is_drawn, n, 0)?;
        // Floyd's algorithm: after each iteration, the positions drawn are a uniform subset of ..=last.
        for last in n - size..n {
            let drawn = stream.below(last as u64 + 1) as usize;
            let drawn = if is_drawn[drawn] == 0 { drawn } else { last };
            is_drawn[drawn] = 1;
        }
        self.some_weights.clear();
        self.some_points.clear();
        let stride = self.ground.projector.stride();
        for (at, _) in is_drawn.iter().enumerate().filter(|(_, drawn)| **drawn == 1) {
            PURPOSE.push(&mut self.some_weights, self.joint_weights[at])?;
            let point = self.points[at * stride..][..stride].iter().copied();
            PURPOSE.extend(&mut self.some_points, point)?;
        }
        Ok(())
    }

    /// Fills `tried` with the centroids of the clusters.
    fn find_centroids(&mut self, key: Key, control: &Control) -> Result<()> {
        let Ground { config, x, .. } = *self.ground;
        let scale = match config.refinement {
            Refinement::None => None,
            Refinement::Logistic { scale, .. } => Some(scale),
        };
        let least = if scale.is_some() { 0.0 } else { config.min_centroid_weight };
        let keep = Keep { features: self.features.as_deref(), most: config.max_centroid_features, least };
        self.tried.truncate(0);
        if scale.is_some() {
            self.router.lanes.begin(self.ranges.len())?;
        }
        let mut pulse = control.pulse();
        for (cluster, &(start, end)) in self.ranges.iter().enumerate() {
            for &row in &self.rows[start as usize..end as usize] {
                pulse.after(x.of(row).0.len())?;
                self.row_sum.add(x, row, self.sample.units(row) as f64)?;
            }
            let entries = self.row_sum.take(&keep)?;
            match scale {
                None => self.tried.push(entries, Length::One)?,
                Some(scale) => {
                    let length = entries.iter().map(|(_, sum)| sum * sum).sum::<f64>().sqrt();
                    let weight = |sum: f64| (sum / length) as f32 * scale;
                    entries
                        .iter()
                        .try_for_each(|&(feature, sum)| self.router.lanes.set(feature, cluster, weight(sum)))?;
                }
            }
        }
        match config.refinement {
            Refinement::None => Ok(()),
            Refinement::Logistic { rate, .. } => self.refine(rate, key.child(REFINEMENT), control),
        }
    }

    /// Refines the centroids that the router has laid out, and fills `tried` with them.
    fn refine(&mut self, rate: f32, key: Key, control: &Control) -> Result<()> {
        let Growth { ranges, rows, child_of, weights, refiner, router, tried, entries, .. } = self;
        let (n, k) = (rows.len(), ranges.len());
        child_of.clear();
        PURPOSE.resize(child_of, n, 0)?;
        for (cluster, &(start, end)) in (0..).zip(&*ranges) {
            child_of[start as usize..end as usize].fill(cluster);
        }
        // The weights of the samples in their current order, cluster after cluster.
        self.sample.weigh(rows, weights)?;
        let data = Clustered { x: self.ground.x, rows, cluster_of: child_of, weights };
        refiner.pass(&mut router.lanes, data, k, rate, key, control)?;
        let config = self.ground.config;
        let keep = Keep { features: None, most: config.max_centroid_features, least: config.min_centroid_weight };
        let lanes = &mut router.lanes;
        for child in 0..k {
            entries.clear();
            for (&feature, weights) in lanes.listed.iter().zip(lanes.weights.chunks_exact(lanes.stride).skip(1)) {
                let weight = f64::from(weights[child]);
                // Weights of samples that are not normalised may leave the range of float32.
                if weight != 0.0 && weight.is_finite() {
                    PURPOSE.push(entries, (feature, weight))?;
                }
            }
            keep.apply(entries);
            tried.push(entries, Length::AsItIs)?;
        }
        Ok(())
    }

    /// Sends the samples of the node to the candidate children; returns whether at least two of them have some.
    fn part(&mut self, node: &Node) -> Result<bool> {
        let own = node.start as usize..node.end as usize;
        let n_children = self.ranges.len();
        let Growth { child_of, router, order, tried, .. } = self;
        child_of.clear();
        router.route(self.ground.x, &order[own.clone()], tried, 0..n_children, |products| {
            child_of.push(greatest(products));
        })?;
        if child_of.iter().all(|child| *child == child_of[0]) {
            return Ok(false);
        }
        share(child_of, &mut order[own.clone()], &mut self.sorted[..own.len()], &mut self.ranges, node.start);
        Ok(true)
    }

    /// Appends the children that have samples.
    fn push_children(&mut self, node: &Node) -> Result<()> {
        for (child, &(start, end)) in self.ranges.iter().enumerate().filter(|(_, range)| range.0 < range.1) {
            let key = node.key.child(CHILDREN + child as u64);
            PURPOSE.push(&mut self.nodes, Node { start, end, depth: node.depth + 1, key })?;
            self.centroids.push_of(&self.tried, child)?;
        }
        Ok(())
    }

    fn finish(mut self, starts: Vec<u32>) -> Result<Grown> {
        let mut n_node_samples = PURPOSE.with_capacity(self.nodes.len())?;
        n_node_samples.extend(self.nodes.iter().map(|node| node.end - node.start));
        let (mut leaf_samples, mut leaf_units) = (Vec::new(), Vec::new());
        for (_, node) in self.nodes.iter().enumerate().filter(|(i, _)| starts[*i] == starts[i + 1]) {
            PURPOSE.push(&mut leaf_units, self.rows_of(node).iter().map(|&row| self.sample.units(row)).sum())?;
            PURPOSE.push(&mut leaf_samples, node.start..node.end)?;
        }
        self.centroids.shrink();
        let structure = Structure { order: self.order, leaf_samples, ..Structure::default() };
        Ok(Grown { starts, centroids: self.centroids, n_node_samples, leaf_units, structure })
    }
}

/// Returns whether a tree may use each feature, each with probability `share`; `None` for all.
fn features_of(share: f64, n_features: usize, tree: Key) -> Result<Option<Vec<bool>>> {
    if share >= 1.0 {
        return Ok(None);
    }
    let key = tree.child(FEATURES);
    PURPOSE.collected((0..n_features).map(|feature| key.uniform(feature as u64) < share)).map(Some)
}
