//! The clusters of the labels of a node: spherical k-means (Dhillon and Modha 2001), balanced if there are two.
//!
//! Points come in the order of the labels of a tree, which sums and ties follow. Sixteen centres are compared at a time,
//! with vector instructions.

use super::points::{Points, Sums};
use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::pool;
use crate::rng::{Key, Stream};

const PURPOSE: Purpose = Purpose("the clusters of labels");

/// Maximum number of passes over the points.
const N_PASSES: usize = 20;
/// Balanced clusters are found when a pass improves the mean similarity by less than this.
const LITTLE: f64 = 1e-4;
/// The number of centres that are compared at a time.
const LANES: usize = 16;
/// Points that a thread takes at a time.
const AT_ONCE: usize = 512;

type Lanes = [f32; LANES];

/// Returns the cluster, below `k`, of each point of `members`. Some clusters may be empty. Two clusters have the same number of
/// points, or the first has one more.
pub(super) fn cluster(points: &Points, members: &[u32], k: usize, key: Key, control: &Control) -> Result<Vec<u32>> {
    let mut search = Search::new(points, members, k, key)?;
    let mut clusters = PURPOSE.filled(u32::MAX, members.len())?;
    let mut last = f64::NEG_INFINITY;
    for _ in 0..N_PASSES {
        control.check()?;
        let (next, total) = if k == 2 { search.halves(control)? } else { search.nearest(control)? };
        let is_same = next == clusters;
        clusters = next;
        // Ties could make halves go back and forth.
        if is_same || (k == 2 && total - last < LITTLE * members.len() as f64) {
            break;
        }
        last = total;
        search.move_centres(&clusters)?;
    }
    Ok(clusters)
}

#[derive(Debug)]
struct Search<'s> {
    points: &'s Points,
    members: &'s [u32],
    /// The centres, as sparse vectors.
    centres: Points,
    /// Sixteen centres, by feature; zero between uses.
    table: Vec<Lanes>,
    sums: Sums,
}

impl<'s> Search<'s> {
    /// The first centres are different members, drawn at random.
    fn new(points: &'s Points, members: &'s [u32], k: usize, key: Key) -> Result<Self> {
        let n_features = points.n_features;
        let mut centres = Points::empty(n_features)?;
        let mut drawn = PURPOSE.copied(members)?;
        let mut stream = Stream::new(key);
        for at in 0..k.min(drawn.len()) {
            let other = at + stream.below((drawn.len() - at) as u64) as usize;
            drawn.swap(at, other);
            let (features, values) = points.of(drawn[at]);
            centres.push(features.iter().copied().zip(values.iter().copied()))?;
        }
        let table = PURPOSE.zeros(1, n_features)?;
        Ok(Search { points, members, centres, table, sums: Sums::new(n_features)? })
    }

    /// Calls `found` with each piece of `places`, which has one place for each member, and the similarities of its members
    /// to the centres, sixteen at a time: the number of the first one, how many there are, and a function of the member.
    fn compare<T: Send>(
        &mut self,
        places: &mut [T],
        found: impl Fn(&mut T, usize, &[f32]) + Sync,
        control: &Control,
    ) -> Result<()> {
        let (points, members, centres) = (self.points, self.members, &self.centres);
        for first in (0..centres.len()).step_by(LANES) {
            let lanes = LANES.min(centres.len() - first);
            for lane in 0..lanes {
                let (features, values) = centres.of((first + lane) as u32);
                features.iter().zip(values).for_each(|(&f, &value)| self.table[f as usize][lane] = value);
            }
            let table = &self.table;
            pool::for_each(
                control.n_threads(),
                places.chunks_mut(AT_ONCE).zip(members.chunks(AT_ONCE)),
                || Ok(()),
                |(), (places, members)| {
                    control.check()?;
                    for (place, &member) in places.iter_mut().zip(members) {
                        let mut similar = [0.0; LANES];
                        let (features, values) = points.of(member);
                        for (&feature, &value) in features.iter().zip(values) {
                            let centres = &table[feature as usize];
                            (0..LANES).for_each(|k| similar[k] += value * centres[k]);
                        }
                        found(place, first, &similar[..lanes]);
                    }
                    Ok(())
                },
            )?;
            for lane in 0..lanes {
                let (features, _) = centres.of((first + lane) as u32);
                features.iter().for_each(|&feature| self.table[feature as usize][lane] = 0.0);
            }
        }
        Ok(())
    }

    /// Returns the most similar centre of each member, of equal ones the first, and the sum of these similarities.
    fn nearest(&mut self, control: &Control) -> Result<(Vec<u32>, f64)> {
        let mut best = PURPOSE.filled((f32::NEG_INFINITY, 0u32), self.members.len())?;
        let take = |best: &mut (f32, u32), first: usize, similar: &[f32]| {
            for (centre, &similar) in (first as u32..).zip(similar) {
                if similar > best.0 {
                    *best = (similar, centre);
                }
            }
        };
        self.compare(&mut best, take, control)?;
        let total = best.iter().map(|(similar, _)| f64::from(*similar)).sum();
        Ok((PURPOSE.collected(best.iter().map(|(_, centre)| *centre))?, total))
    }

    /// Returns halves of the members: those that are more similar to the first of two centres than to the second, compared
    /// with other members, and the sum of the similarities to their centres.
    fn halves(&mut self, control: &Control) -> Result<(Vec<u32>, f64)> {
        let n = self.members.len();
        let mut both = PURPOSE.filled([0.0f32; 2], n)?;
        self.compare(&mut both, |both, _, similar| both.copy_from_slice(similar), control)?;
        let mut order = PURPOSE.collected(0..n as u32)?;
        let more = |at: u32| both[at as usize][0] - both[at as usize][1];
        order.sort_unstable_by(|&a, &b| more(b).total_cmp(&more(a)).then(a.cmp(&b)));
        let mut halves = PURPOSE.filled(0u32, n)?;
        order[n.div_ceil(2)..].iter().for_each(|&at| halves[at as usize] = 1);
        let total = halves.iter().zip(&both).map(|(&half, both)| f64::from(both[half as usize])).sum();
        Ok((halves, total))
    }

    /// Moves each centre to the mean direction of its members; without members, it stays.
    fn move_centres(&mut self, clusters: &[u32]) -> Result<()> {
        let Search { points, members, centres, sums, .. } = self;
        let mut order = PURPOSE.collected(0..members.len() as u32)?;
        order.sort_by_key(|&at| clusters[at as usize]);
        let mut moved = Points::empty(points.n_features)?;
        let mut left = &order[..];
        for centre in 0..centres.len() as u32 {
            let n = left.partition_point(|&at| clusters[at as usize] == centre);
            let (own, others) = left.split_at(n);
            left = others;
            if own.is_empty() {
                let (features, values) = centres.of(centre);
                moved.push(features.iter().copied().zip(values.iter().copied()))?;
                continue;
            }
            for &at in own {
                let (features, values) = points.of(members[at as usize]);
                sums.add(features, values, 1.0)?;
            }
            let length = sums.take_largest(usize::MAX)?;
            moved.push(sums.found.iter().map(|&(feature, value)| (feature, (value / length) as f32)))?;
        }
        *centres = moved;
        Ok(())
    }
}
