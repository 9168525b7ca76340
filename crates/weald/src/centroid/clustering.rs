//! Clustering of the points of a node: k-means++ (Arthur and Vassilvitskii 2007) and some passes of Lloyd's algorithm;
//! for spherical clusters, the algorithm of Dhillon and Modha (2001).
//!
//! Points are fixed-point numbers, so that products and sums are exact, and a point of weight two is the same as two
//! points. Ties go to the lowest cluster. A centre that loses all its points stays where it is and may regain some; a
//! cluster that is empty at the end is dropped.

use super::config::Clustering;
use super::project::{LANES, ONE};
use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::loss::kernels::vector::vectorised;
use crate::rng::Key;

const PURPOSE: Purpose = Purpose("the clusters of a node");

/// The points of a node, and their weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct Points<'a> {
    pub(super) values: &'a [i16],
    /// The weights; their sum is at most 2³¹.
    pub(super) weights: &'a [u32],
    /// The number of coordinates of a point, a multiple of [`LANES`].
    pub(super) stride: usize,
}

impl<'a> Points<'a> {
    fn len(&self) -> usize {
        self.weights.len()
    }

    fn of(&self, at: usize) -> &'a [i16] {
        &self.values[at * self.stride..][..self.stride]
    }
}

/// The centres and the assignment of points, for one node after the other.
#[derive(Debug, Default)]
pub(super) struct Clusters {
    centres: Vec<i16>,
    /// The squared length of each centre for Euclidean clustering, otherwise zero: it is subtracted from twice the
    /// product.
    squares: Vec<i32>,
    /// The cluster of each point.
    pub(super) of_point: Vec<u32>,
    /// For each point, while centres are drawn: its nearness to its centre, its squared length, and its squared
    /// distance from its centre times its weight.
    nearness: Vec<i32>,
    own: Vec<i32>,
    distance: Vec<f64>,
    sums: Sums,
    /// The weights of clusters, the heaviest first, and the indices of these clusters.
    ranks: Vec<(u64, u32)>,
    rank_of: Vec<u32>,
}

/// Sums of points by cluster, which are exact: in 32 bits as long as weights are small, then in 64 bits.
#[derive(Debug, Default)]
struct Sums {
    narrow: Vec<i32>,
    /// The weight of the points whose sum is in `narrow`.
    pending: Vec<u32>,
    wide: Vec<i64>,
    weights: Vec<u64>,
}

/// The total weight of points with coordinates up to 2¹⁴ whose sums fit into 32 bits.
const NARROW: u32 = 1 << 16;

impl Clusters {
    /// Finds at most `k` clusters, fewer if there are fewer distinct points; returns the number of centres.
    pub(super) fn find(
        &mut self,
        points: Points<'_>,
        k: usize,
        rule: Clustering,
        n_passes: usize,
        key: Key,
        control: &Control,
    ) -> Result<usize> {
        let n_centres = self.draw_centres(points, k, rule, key, control)?;
        if n_centres < 2 {
            // There are no centres if no point has a direction.
            return Ok(n_centres);
        }
        for _ in 0..n_passes {
            control.check()?;
            self.move_centres(points, rule, n_centres)?;
            if !self.assign(points, n_centres, control)? {
                break;
            }
        }
        Ok(n_centres)
    }

    /// Assigns other points, which replace those from which clusters were found, to the nearest cluster.
    pub(super) fn take_in(&mut self, points: Points<'_>, n_centres: usize, control: &Control) -> Result<()> {
        self.of_point.clear();
        PURPOSE.resize(&mut self.of_point, points.len(), 0)?;
        self.assign(points, n_centres, control).map(|_| ())
    }

    /// Renumbers the clusters that have points, in order of decreasing weight and, for equal weights, in their previous
    /// order; returns their number.
    pub(super) fn rank(&mut self, points: Points<'_>, n_centres: usize) -> Result<usize> {
        let Clusters { of_point, ranks, rank_of, .. } = self;
        ranks.clear();
        PURPOSE.extend(ranks, (0..n_centres as u32).map(|cluster| (0u64, cluster)))?;
        of_point.iter().zip(points.weights).for_each(|(&c, &weight)| ranks[c as usize].0 += u64::from(weight));
        ranks.sort_unstable_by_key(|&(weight, cluster)| (std::cmp::Reverse(weight), cluster));
        PURPOSE.resize(rank_of, n_centres, 0)?;
        ranks.iter().zip(0..).for_each(|(&(_, cluster), rank)| rank_of[cluster as usize] = rank);
        of_point.iter_mut().for_each(|cluster| *cluster = rank_of[*cluster as usize]);
        Ok(ranks.iter().filter(|(weight, _)| *weight > 0).count())
    }

    /// k-means++: the first centre is a point drawn by weight, the others are drawn by weight times squared distance to
    /// the nearest centre so far. Points without direction are not centres of spherical clusters. Afterwards, every
    /// point is assigned to the nearest cluster.
    fn draw_centres(
        &mut self,
        points: Points<'_>,
        k: usize,
        rule: Clustering,
        key: Key,
        control: &Control,
    ) -> Result<usize> {
        let n = points.len();
        let Clusters { centres, squares, of_point, nearness, own, distance, .. } = self;
        centres.clear();
        squares.clear();
        of_point.clear();
        nearness.clear();
        PURPOSE.resize(of_point, n, 0)?;
        PURPOSE.resize(nearness, n, i32::MIN)?;
        own.clear();
        PURPOSE.extend(own, (0..n).map(|at| product(points.of(at), points.of(at))))?;
        distance.clear();
        let may_be_drawn = |own: i32| rule == Clustering::Euclidean || own > 0;
        let of_one = |(&own, &weight): (&i32, &u32)| if may_be_drawn(own) { f64::from(weight) } else { 0.0 };
        PURPOSE.extend(distance, own.iter().zip(points.weights).map(of_one))?;
        for cluster in 0..k {
            control.check()?;
            let Some(drawn) = draw(distance, key.uniform(cluster as u64)) else { return Ok(cluster) };
            PURPOSE.extend(centres, points.of(drawn).iter().copied())?;
            let square = own[drawn];
            PURPOSE.push(squares, if rule == Clustering::Euclidean { square } else { 0 })?;
            let (centre, taken) = (&centres[cluster * points.stride..], squares[cluster]);
            vectorised(
                #[inline(always)]
                || {
                    for at in 0..n {
                        let twice = 2 * product(points.of(at), centre);
                        if twice - taken > nearness[at] {
                            nearness[at] = twice - taken;
                            of_point[at] = cluster as u32;
                            let apart = if may_be_drawn(own[at]) { own[at] + square - twice } else { 0 };
                            distance[at] = f64::from(apart) * f64::from(points.weights[at]);
                        }
                    }
                },
            );
        }
        Ok(k)
    }

    /// Moves each centre to the mean of its points; for spherical clusters, it is normalised to length one.
    fn move_centres(&mut self, points: Points<'_>, rule: Clustering, n_centres: usize) -> Result<()> {
        let stride = points.stride;
        self.sums.begin(n_centres, stride)?;
        for (at, &cluster) in self.of_point.iter().enumerate() {
            self.sums.add(cluster as usize, points.of(at), points.weights[at]);
        }
        for cluster in 0..n_centres {
            let Some((sum, weight)) = self.sums.of(cluster, stride) else { continue };
            let scale = match rule {
                Clustering::Euclidean => 1.0 / weight as f64,
                Clustering::Spherical => {
                    let length = sum.iter().map(|&v| v as f64 * v as f64).sum::<f64>().sqrt();
                    if length > 0.0 { f64::from(ONE) / length } else { 0.0 }
                }
            };
            let centre = &mut self.centres[cluster * stride..][..stride];
            centre.iter_mut().zip(sum).for_each(|(to, &v)| *to = (v as f64 * scale).round_ties_even() as i16);
            if rule == Clustering::Euclidean {
                self.squares[cluster] = product(centre, centre);
            }
        }
        Ok(())
    }

    /// Assigns each point to the nearest centre; returns whether a point has changed its cluster.
    fn assign(&mut self, points: Points<'_>, n_centres: usize, control: &Control) -> Result<bool> {
        let Clusters { centres, squares, of_point, .. } = self;
        let mut changed = false;
        let mut pulse = control.pulse();
        for (at, of_point) in of_point.iter_mut().enumerate() {
            pulse.after(n_centres * points.stride / LANES)?;
            let nearest = vectorised(
                #[inline(always)]
                || nearest(points.of(at), centres, squares),
            );
            changed |= nearest != *of_point;
            *of_point = nearest;
        }
        Ok(changed)
    }
}

/// Returns the index at which the running sum of `parts` exceeds this share of the total; `None` if all are zero.
fn draw(parts: &[f64], share: f64) -> Option<usize> {
    let total: f64 = parts.iter().sum();
    let mut sum = 0.0;
    let passes = |part: &f64| {
        sum += part;
        sum > share * total
    };
    // By rounding, the last running sum may be equal to a share that is just below one.
    parts.iter().position(passes).or_else(|| parts.iter().rposition(|part| *part > 0.0))
}

/// Returns the centre with the largest product minus half its square; of equal ones, the first.
#[inline(always)]
fn nearest(point: &[i16], centres: &[i16], squares: &[i32]) -> u32 {
    let mut best = (i32::MIN, 0);
    for ((centre, square), cluster) in centres.chunks_exact(point.len()).zip(squares).zip(0..) {
        let near = 2 * product(point, centre) - square;
        if near > best.0 {
            best = (near, cluster);
        }
    }
    best.1
}

/// Returns Σ a b, which is below 2²⁹ or so for points of length one.
#[inline(always)]
fn product(a: &[i16], b: &[i16]) -> i32 {
    let mut lanes = [0i32; LANES];
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        for ((sum, &a), &b) in lanes.iter_mut().zip(a).zip(b) {
            *sum += i32::from(a) * i32::from(b);
        }
    }
    lanes.iter().sum()
}

impl Sums {
    fn begin(&mut self, n_clusters: usize, stride: usize) -> Result<()> {
        self.narrow.clear();
        self.wide.clear();
        self.pending.clear();
        self.weights.clear();
        PURPOSE.resize(&mut self.narrow, n_clusters * stride, 0)?;
        PURPOSE.resize(&mut self.wide, n_clusters * stride, 0)?;
        PURPOSE.resize(&mut self.pending, n_clusters, 0)?;
        PURPOSE.resize(&mut self.weights, n_clusters, 0)
    }

    fn add(&mut self, cluster: usize, point: &[i16], weight: u32) {
        let range = cluster * point.len()..(cluster + 1) * point.len();
        self.weights[cluster] += u64::from(weight);
        if weight > NARROW {
            let sums = self.wide[range].iter_mut();
            return sums.zip(point).for_each(|(sum, &v)| *sum += i64::from(v) * i64::from(weight));
        }
        if self.pending[cluster] + weight > NARROW {
            self.flush(cluster, point.len());
        }
        self.pending[cluster] += weight;
        let (sums, weight) = (&mut self.narrow[range], weight as i32);
        vectorised(
            #[inline(always)]
            || {
                if weight == 1 {
                    sums.iter_mut().zip(point).for_each(|(sum, &v)| *sum += i32::from(v));
                } else {
                    sums.iter_mut().zip(point).for_each(|(sum, &v)| *sum += i32::from(v) * weight);
                }
            },
        );
    }

    fn flush(&mut self, cluster: usize, stride: usize) {
        let range = cluster * stride..(cluster + 1) * stride;
        for (wide, narrow) in self.wide[range.clone()].iter_mut().zip(&mut self.narrow[range]) {
            *wide += i64::from(std::mem::take(narrow));
        }
        self.pending[cluster] = 0;
    }

    /// Returns the sum of a cluster and its weight; `None` if it has no points.
    fn of(&mut self, cluster: usize, stride: usize) -> Option<(&[i64], u64)> {
        self.flush(cluster, stride);
        let weight = self.weights[cluster];
        (weight > 0).then(|| (&self.wide[cluster * stride..][..stride], weight))
    }
}
