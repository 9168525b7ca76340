//! A leaf that mixtures of rows and of a background reach: what the features of its path are worth to each row.
//!
//! Of a row and one of the background, let `a` features of the path be followed by the row alone and `c` by the other alone.
//! The leaf's value counts ∫ t^(a−1) (1 − t)^c dt for each of the first and − ∫ tᵃ (1 − t)^(c−1) dt for each of the others
//! ([`Chances`]), whatever the other features: the path-dependent integral with shares of 0 or 1. `c` depends on the row
//! alone, and `a` on the other one, and the features that a row does not follow all have the same weight.
//!
//! Weights of all pairs are added as whole numbers. So they may be added in two ways, whichever is less work, and nobody can
//! tell which: pair by pair, or once for all rows of the background that follow the same features of a path (A. Zern, K.
//! Broelemann and G. Kasneci, *Interventional SHAP Values and Interaction Values for Piecewise Linear Regression Trees*, AAAI
//! 2023; A. Nadel and R. Wettenstein 2025). For n features there are 2ⁿ sets; a row that does not follow the features Y
//! has pairs with the rows of the background that go astray on features outside of Y only, of which sums over all subsets
//! (F. Yates 1937) of the complement of Y tell.

use super::background::{Mixtures, VisitMixed, for_each_bit};
use super::batch::LeafSums;
use super::orders::Chances;
use super::{Eight, LANES, PURPOSE};
use crate::error::Result;

/// Most features of a path of which all sets are tabled.
const MOST_TABLED: usize = 10;

/// Memory for the weights of a leaf.
#[derive(Debug, Default)]
pub(crate) struct LeafWork {
    /// Of each feature of the path, or pair of such, those of a group of rows, in units.
    units: Vec<[u64; LANES]>,
    weights: Vec<Eight>,
    sets: Sets,
    /// Features of the path that a row of the background does not follow.
    astray: Vec<u32>,
    /// Weights that features which one follows alone have together with one that the other does.
    across: Vec<u64>,
}

/// Rows of a background by the set of features that they do not follow, and sums over subsets.
#[derive(Debug, Default)]
struct Sets {
    /// Of each row of the background its set, a bit for each feature of the path.
    of_rows: Vec<u32>,
    /// Number of rows of each set.
    counts: Vec<u64>,
    /// By number of features that a row goes astray on, then set: weights of features that it follows alone, and of the
    /// others.
    followed: Vec<u64>,
    others: Vec<u64>,
    is_summed: [bool; MOST_TABLED + 1],
}

impl Sets {
    #[inline(always)]
    fn begin(&mut self, mixtures: &Mixtures) -> Result<()> {
        let (background, n) = (&mixtures.background, mixtures.path.len());
        self.of_rows.clear();
        PURPOSE.resize(&mut self.of_rows, background.n_astray.len(), 0)?;
        for position in 0..n {
            for (rows, astray) in self.of_rows.chunks_mut(64).zip(background.astray(position)) {
                for (at, set) in rows.iter_mut().enumerate() {
                    *set |= ((astray >> at & 1) as u32) << position;
                }
            }
        }
        self.counts.clear();
        PURPOSE.resize(&mut self.counts, 1 << n, 0)?;
        self.of_rows.iter().for_each(|&set| self.counts[set as usize] += 1);
        if self.followed.len() < (n + 1) << n {
            PURPOSE.resize(&mut self.followed, (n + 1) << n, 0)?;
            PURPOSE.resize(&mut self.others, (n + 1) << n, 0)?;
        }
        self.is_summed = [false; MOST_TABLED + 1];
        Ok(())
    }

    /// Sums for rows that go astray on `c` of `n` features.
    #[inline(always)]
    fn sum(&mut self, n: usize, c: usize, chances: &Chances) {
        self.is_summed[c] = true;
        let range = c << n..(c + 1) << n;
        let (followed, others) = (&mut self.followed[range.clone()], &mut self.others[range]);
        for (set, ((followed, others), &count)) in followed.iter_mut().zip(&mut *others).zip(&self.counts).enumerate() {
            let a = set.count_ones() as usize;
            *followed = if a > 0 && count > 0 { count * chances.of(a - 1, c) } else { 0 };
            *others = if c > 0 && count > 0 { count * chances.of(a, c - 1) } else { 0 };
        }
        over_subsets(followed, n);
        if c > 0 {
            over_subsets(others, n);
        }
    }
}

/// Replaces the number of each set of `n` things by the sum over its subsets.
#[inline(always)]
fn over_subsets(sums: &mut [u64], n: usize) {
    for thing in 0..n {
        for pair in sums.chunks_exact_mut(2 << thing) {
            let (without, with) = pair.split_at_mut(1 << thing);
            with.iter_mut().zip(without).for_each(|(with, without)| *with += *without);
        }
    }
}

impl LeafWork {
    /// Calls `each` with the groups of rows that reach the leaf and their weights for each feature of the path, or half of
    /// those for each two of them, each rounded once; the steps that it took.
    #[inline(always)]
    fn weigh(
        &mut self,
        mixtures: &Mixtures,
        chances: &Chances,
        of_two: bool,
        mut each: impl FnMut(usize, &[Eight]) -> Result<()>,
    ) -> Result<usize> {
        let n = mixtures.path.len();
        let n_weights = if of_two { n * n } else { n };
        let unit = chances.unit() / mixtures.background.n_astray.len() as f64 * if of_two { 0.5 } else { 1.0 };
        self.units.clear();
        PURPOSE.resize(&mut self.units, n_weights, [0; LANES])?;
        PURPOSE.resize(&mut self.weights, n_weights, Eight::default())?;
        self.weights.truncate(n_weights);
        let (of_pairs, of_sets) = costs(mixtures);
        let by_sets = !of_two && of_sets < of_pairs;
        if by_sets {
            self.sets.begin(mixtures)?;
        }
        for (group, lanes) in mixtures.live_groups() {
            self.units.fill([0; LANES]);
            for lane in (0..LANES).filter(|lane| lanes >> lane & 1 == 1) {
                let row = group * LANES + lane;
                if of_two {
                    self.pairs_of_row(mixtures, chances, row, lane)?;
                } else if by_sets {
                    self.row_by_sets(mixtures, chances, row, lane);
                } else {
                    self.row_by_pairs(mixtures, chances, row, lane);
                }
            }
            for (weights, units) in self.weights.iter_mut().zip(&self.units) {
                for (weight, units) in weights.0.iter_mut().zip(units) {
                    *weight = *units as i64 as f64 * unit;
                }
            }
            each(group, &self.weights)?;
        }
        Ok(if of_two { of_pairs.saturating_mul(n) } else { of_pairs.min(of_sets) })
    }

    #[inline(always)]
    fn row_by_pairs(&mut self, mixtures: &Mixtures, chances: &Chances, row: usize, lane: usize) {
        let background = &mixtures.background;
        let (c, n_astray, partners) =
            (mixtures.rows.n_astray[row] as usize, &background.n_astray, mixtures.partners(row));
        let mut of_others = 0u64;
        if c > 0 {
            for_each_bit(
                partners.iter().copied(),
                #[inline(always)]
                |other| of_others += chances.of(n_astray[other] as usize, c - 1),
            );
        }
        for (position, units) in self.units.iter_mut().enumerate() {
            units[lane] = if mixtures.rows.row_follows(position, row) {
                let mut sum = 0;
                let alone = partners.iter().zip(background.follows(position)).map(
                    #[inline(always)]
                    |(partners, follow)| partners & !follow,
                );
                for_each_bit(
                    alone,
                    #[inline(always)]
                    |other| sum += chances.of(n_astray[other] as usize - 1, c),
                );
                sum
            } else {
                of_others.wrapping_neg()
            };
        }
    }

    #[inline(always)]
    fn row_by_sets(&mut self, mixtures: &Mixtures, chances: &Chances, row: usize, lane: usize) {
        let (n, c) = (mixtures.path.len(), mixtures.rows.n_astray[row] as usize);
        if !self.sets.is_summed[c] {
            self.sets.sum(n, c, chances);
        }
        let set =
            (0..n).fold(0, |set, position| set | usize::from(mixtures.rows.row_follows(position, row)) << position);
        let followed = &self.sets.followed[c << n..(c + 1) << n];
        let (all, of_others) = (followed[set], self.sets.others[(c << n) + set].wrapping_neg());
        for (position, units) in self.units.iter_mut().enumerate() {
            let is_followed = set >> position & 1 == 1;
            // Those of the rows of the background that do not follow it.
            units[lane] = if is_followed { all - followed[set & !(1 << position)] } else { of_others };
        }
    }
}

/// Rough steps of adding up pair by pair, and by sets.
#[inline(always)]
fn costs(mixtures: &Mixtures) -> (usize, usize) {
    let (n, n_background) = (mixtures.path.len(), mixtures.background.n_astray.len());
    let (mut n_rows, mut n_pairs) = (0, 0);
    for (group, lanes) in mixtures.live_groups() {
        for lane in (0..LANES).filter(|lane| lanes >> lane & 1 == 1) {
            n_rows += 1;
            for word in mixtures.partners(group * LANES + lane) {
                n_pairs += word.count_ones() as usize;
            }
        }
    }
    let of_pairs = n_pairs * (2 + n / 2) + n_rows * n * (1 + mixtures.background.n_words);
    let of_sets =
        if n > MOST_TABLED { usize::MAX } else { n_background * (2 + n / 4) + ((n * n) << n) / 4 + 3 * n_rows * n };
    (of_pairs, of_sets)
}

/// Adds the Shapley values of a block of rows, for each feature tested, or the interaction values, for each pair of them.
///
/// Those of two features that one of the rows follows alone have the integral with both left out, with sign + where one row
/// follows both, of which each of (i, j) and (j, i) has one half.
#[derive(Debug)]
pub(crate) struct MixedWeights<'a> {
    pub(crate) work: &'a mut LeafWork,
    pub(crate) chances: &'a Chances,
    /// A cell is group · `n_places` + place of a feature, or (group · `n_places` + i) · `n_places` + j of places i and j < i.
    pub(crate) sums: LeafSums<'a>,
    pub(crate) of_pairs: bool,
    pub(crate) n_places: usize,
}

impl VisitMixed for MixedWeights<'_> {
    #[inline(always)]
    fn leaf(&mut self, mixtures: &Mixtures, leaf: u32) -> Result<usize> {
        if !self.sums.read(leaf as usize)? {
            return Ok(0);
        }
        let MixedWeights { work, chances, sums, of_pairs, n_places } = self;
        let (path, n) = (&mixtures.path, mixtures.path.len());
        let steps = work.weigh(mixtures, chances, *of_pairs, |group, weights| {
            let first = group * *n_places;
            for (i, &place) in path.iter().enumerate() {
                if *of_pairs {
                    for (weight, &other) in weights[i * n..].iter().zip(&path[..i]) {
                        let (high, low) = (place.max(other) as usize, place.min(other) as usize);
                        sums.add((first + high) * *n_places + low, weight)?;
                    }
                } else {
                    sums.add(first + place as usize, &weights[i])?;
                }
            }
            Ok(())
        })?;
        sums.flush(false)?;
        Ok(steps)
    }
}

impl LeafWork {
    /// Adds the units of pairs of features of the path, of which the second comes first on it.
    #[inline(always)]
    fn pairs_of_row(&mut self, mixtures: &Mixtures, chances: &Chances, row: usize, lane: usize) -> Result<()> {
        let LeafWork { units, astray, across, .. } = self;
        let (n, background) = (mixtures.path.len(), &mixtures.background);
        let c = mixtures.rows.n_astray[row] as usize;
        across.clear();
        PURPOSE.resize(across, n, 0)?;
        PURPOSE.resize(astray, n, 0)?;
        let mut of_others = 0u64;
        for_each_bit(mixtures.partners(row).iter().copied(), |other| {
            let a = background.n_astray[other] as usize;
            if c >= 2 {
                of_others += chances.of(a, c - 2);
            }
            let mut n_astray = 0;
            for position in 0..n {
                astray[n_astray] = position as u32;
                n_astray += usize::from(!background.row_follows(position, other));
            }
            let astray = &astray[..n_astray];
            if c >= 1 && a >= 1 {
                let chance = chances.of(a - 1, c - 1);
                astray.iter().for_each(|&i| across[i as usize] += chance);
            }
            if a >= 2 {
                let chance = chances.of(a - 2, c);
                for (at, &i) in astray.iter().enumerate() {
                    astray[..at].iter().for_each(|&j| units[i as usize * n + j as usize][lane] += chance);
                }
            }
        });
        for i in 1..n {
            for j in 0..i {
                match (mixtures.rows.row_follows(i, row), mixtures.rows.row_follows(j, row)) {
                    (true, true) => {}
                    (true, false) => units[i * n + j][lane] = across[i].wrapping_neg(),
                    (false, true) => units[i * n + j][lane] = across[j].wrapping_neg(),
                    (false, false) => units[i * n + j][lane] = of_others,
                }
            }
        }
        Ok(())
    }
}
