//! The samples that each tree draws, as a function of the data, the seed and the index of the tree.

use std::ops::AddAssign;

use ndarray::ArrayView2;

use crate::control::Control;
use crate::data::known::Known;
use crate::data::sort::sort_by;
use crate::data::{Matrix, Targets};
use crate::error::{Error, Purpose, Result};
use crate::exact::merge::merge;
use crate::exact::reduce::{Reduce, Workers, other_sums};
use crate::folds::keys::{numbers_key, row_keys};
use crate::forest::config::Sampling;
use crate::rng::{Key, Stream};

/// Purpose of the random stream that draws samples.
const SAMPLING: u64 = u64::from_be_bytes(*b"sampling");

const PURPOSE: Purpose = Purpose("the rows that trees draw");
const OF_TREE: Purpose = Purpose("the rows that a tree draws");

/// Whole weights are treated as counts if their mean is at most this; beyond it, drawing copies one by one would cost
/// more than growing the tree.
const MOST_COPIES: f64 = 64.0;

/// Returns the key of tree `index` of a forest. Everything random about the tree is derived from it.
pub(crate) fn tree_key(seed: u64, index: usize) -> Key {
    Key::from_seed(seed).child(index as u64)
}

/// The samples of a fit, with everything in which two of them may differ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Population<'p, 'x, 'y> {
    pub(crate) x: &'p Matrix<'x>,
    /// If y is `None`, samples that are equal in X keep the order of their positions.
    pub(crate) y: Option<&'p Targets<'y>>,
    /// Which cells of y are known, if some are not. y must not depend on the values of the others.
    pub(crate) known: Option<&'p Known>,
    /// One finite, non-negative weight for each sample.
    pub(crate) sample_weight: Option<&'p [f64]>,
    /// The scores that boosting starts from.
    pub(crate) margins: Option<ArrayView2<'p, f64>>,
}

impl<'p, 'x, 'y> Population<'p, 'x, 'y> {
    pub(crate) fn new(
        x: &'p Matrix<'x>,
        y: Option<&'p Targets<'y>>,
        known: Option<&'p Known>,
        sample_weight: Option<&'p [f64]>,
    ) -> Self {
        Population { x, y, known, sample_weight, margins: None }
    }

    fn weight(&self, row: u32) -> f64 {
        self.sample_weight.map_or(1.0, |w| w[row as usize])
    }

    /// Returns what decides the order of samples that are equal in X: a hash of the known cells of y and of which cells
    /// these are, the weight, and a hash of the margins.
    fn order_of_equal(&self, y: &Targets<'_>, row: u32) -> [u64; 3] {
        let of_y = target_key(y, self.known, row as usize);
        let margins = self.margins.map_or(0, |margins| numbers_key(margins.row(row as usize).iter().copied()).bits());
        [of_y, self.weight(row).to_bits(), margins]
    }
}

/// The population that trees draw from: the samples of positive weight.
///
/// Samples are ordered by a hash of their values in X; samples with equal hashes are ordered by a hash of y and of its
/// unknown cells, by their weights, and by a hash of their margins. Two samples that are equal in all of this are the
/// same to the fit. The order does not depend on their positions: a forest does not change when samples are permuted,
/// when the layout of X changes, or when samples of weight zero are added. Whole weights are counts: a sample of weight
/// 3 is the same as three copies of it, wherever they are, and each draw of a copy has weight one. With other weights
/// each sample has one copy, and each draw has the weight of the sample.
#[derive(Debug)]
pub(crate) struct Urn {
    rows: Vec<u32>,
    /// The copies of `rows[i]` are `ends[i - 1]..ends[i]`; `None` if each sample has one copy.
    ends: Option<Vec<u64>>,
    /// If other workers have samples as well: the positions of these samples among all, or of their first copies,
    /// increasing, and the number of all.
    among: Option<(Vec<u64>, u64)>,
}

impl Urn {
    /// Copies are not drawn if all samples are taken.
    pub(crate) fn new(population: &Population<'_, '_, '_>, sampling: Sampling, control: &Control) -> Result<Self> {
        Urn::of_these(&Workers::One, population, sampling, control)
    }

    /// Creates the urn of the samples of one worker, without their positions among those of the others.
    fn of_these(
        workers: &Workers,
        population: &Population<'_, '_, '_>,
        sampling: Sampling,
        control: &Control,
    ) -> Result<Self> {
        let weight = |row: u32| population.weight(row);
        let rows = if sampling == Sampling::All {
            let mut rows = PURPOSE.with_capacity(population.x.n_samples())?;
            rows.extend((0..population.x.n_samples() as u32).filter(|&row| weight(row) > 0.0));
            return Ok(Urn { rows, ends: None, among: None });
        } else {
            rows_in_order(population, control)?
        };
        let (mut total, mut n_fractions) = (0.0, 0u64);
        for rows in control.pieces(&rows, 1) {
            for weight in rows?.iter().map(|&row| weight(row)) {
                total += weight;
                n_fractions += u64::from(weight.fract() != 0.0);
            }
        }
        // A total beyond the limit is as good as infinite.
        let [n_fractions, n_rows, total] =
            workers.sums_of([n_fractions, rows.len() as u64, total.min(MOST_COPIES * 4e9) as u64])?;
        let are_counts = n_fractions == 0 && total as f64 <= MOST_COPIES * n_rows as f64;
        let ends = (are_counts && total > n_rows).then(|| ends_of_copies(&rows, population, control)).transpose()?;
        Ok(Urn { rows, ends, among: None })
    }

    /// Creates an urn for one of several workers. Either all samples are taken, or some without replacement; each
    /// worker makes the draws of all workers.
    pub(crate) fn of_one_of(
        workers: &Workers,
        population: &Population<'_, '_, '_>,
        sampling: Sampling,
        control: &Control,
    ) -> Result<Self> {
        let mut urn = Urn::of_these(workers, population, sampling, control)?;
        if workers.has_all_rows() {
            return Ok(urn);
        }
        let n_copies = workers.sum_of(urn.n_copies())?;
        let mut places = Vec::new();
        if let (true, Some(y)) = (sampling != Sampling::All, population.y) {
            let keys = row_keys(population.x, control)?;
            let of_row = |&row: &u32| {
                control.check()?;
                // Workers have no margins.
                let [of_y, weight, _] = population.order_of_equal(y, row);
                Ok([keys[row as usize], of_y, weight])
            };
            // The samples are in this order.
            let items = PURPOSE.results(urn.rows.iter().map(of_row))?;
            places = control.filled(PURPOSE, 0, urn.rows.len())?;
            let mut next = 0;
            merge(&items, workers, |[.., weight], own| {
                control.check()?;
                if let Some(own) = own {
                    places[own] = next;
                }
                next += if urn.holds_copies() { f64::from_bits(weight) as u64 } else { 1 };
                Ok(())
            })?;
            if next != n_copies {
                return Err(other_sums());
            }
        }
        urn.among = Some((places, n_copies));
        Ok(urn)
    }

    /// Returns the number of samples of positive weight of all workers, or of their copies.
    fn n_of_all(&self) -> usize {
        self.among.as_ref().map_or(self.n_copies(), |(_, n_copies)| *n_copies) as usize
    }

    /// Returns each sample with the number of its copies, if weights are expressed as copies.
    pub(crate) fn copies(&self) -> Option<impl Iterator<Item = (u32, u64)>> {
        let ends = self.ends.as_ref()?;
        let starts = std::iter::once(0).chain(ends.iter().copied());
        Some(self.rows.iter().zip(starts.zip(ends)).map(|(&row, (start, end))| (row, end - start)))
    }

    /// Floyd's algorithm. After each iteration, the positions drawn are a uniform subset of those up to the last one.
    /// Each position, of a sample or of one of its copies, is drawn at most once.
    fn draw_places(&self, m: usize, mut stream: Stream, n_samples: usize, control: &Control) -> Result<Vec<u32>> {
        let n = self.n_of_all();
        debug_assert!(m <= n);
        let mut counts = control.filled(OF_TREE, 0u32, n_samples)?;
        let mut pulse = control.pulse();
        if let (None, None) = (&self.among, &self.ends) {
            for last in n - m..n {
                pulse.after(1)?;
                let drawn = self.rows[stream.below(last as u64 + 1) as usize] as usize;
                let drawn = if counts[drawn] == 0 { drawn } else { self.rows[last] as usize };
                counts[drawn] = 1;
            }
            return Ok(counts);
        }
        let mut is_drawn = control.filled(OF_TREE, 0u64, n.div_ceil(64))?;
        for last in n - m..n {
            pulse.after(1)?;
            let place = stream.below(last as u64 + 1) as usize;
            let place = if is_drawn[place / 64] >> (place % 64) & 1 == 0 { place } else { last };
            is_drawn[place / 64] |= 1 << (place % 64);
        }
        let is_drawn = |place: usize| (is_drawn[place / 64] >> (place % 64) & 1) as u32;
        let of_all = self.among.as_ref().map(|(places, _)| &places[..]);
        let mut end = 0;
        for (i, &row) in self.rows.iter().enumerate() {
            let start = of_all.map_or(end, |places| places[i] as usize);
            end = start + self.ends.as_ref().map_or(1, |ends| (ends[i] - if i > 0 { ends[i - 1] } else { 0 }) as usize);
            pulse.after(end - start)?;
            counts[row as usize] = (start..end).map(is_drawn).sum();
        }
        Ok(counts)
    }

    /// Returns the number of samples of positive weight.
    pub(crate) fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns the samples of positive weight in increasing order of index, the order of X.
    pub(crate) fn rows_rising(&self, control: &Control) -> Result<Vec<u32>> {
        let mut rows = PURPOSE.copied(&self.rows)?;
        sort_by(&mut rows, u32::cmp, control)?;
        Ok(rows)
    }

    /// Returns whether each draw has weight one because weights are expressed as copies; otherwise a draw has the
    /// weight of its sample.
    pub(crate) fn holds_copies(&self) -> bool {
        self.ends.is_some()
    }

    fn n_copies(&self) -> u64 {
        self.ends.as_ref().and_then(|ends| ends.last().copied()).unwrap_or(self.rows.len() as u64)
    }

    fn row(&self, copy: u64) -> usize {
        let at = self.ends.as_ref().map_or(copy as usize, |ends| ends.partition_point(|&end| end <= copy));
        self.rows[at] as usize
    }

    /// Returns the number of draws for one tree.
    pub(crate) fn n_draws(&self, sampling: Sampling) -> usize {
        match sampling {
            Sampling::Bootstrap(draws) => draws.unwrap_or(self.n_copies() as usize),
            Sampling::BootstrapShare(share) => ((share * self.n_copies() as f64) as usize).max(1),
            Sampling::WithoutReplacement(draws) => draws,
            Sampling::ShareWithoutReplacement(share) => ((share * self.n_of_all() as f64) as usize).max(1),
            Sampling::All => self.rows.len(),
        }
    }

    /// Returns an error if the number of draws is not possible.
    pub(crate) fn check(&self, sampling: Sampling) -> Result<()> {
        const PURPOSE: Purpose = Purpose("sampling");
        match sampling {
            Sampling::WithoutReplacement(m) if m == 0 || m > self.n_of_all() => Err(Error::invalid(
                PURPOSE.0,
                format!("{m} rows"),
                "be between 1 and the number of samples of positive weight",
            )),
            Sampling::Bootstrap(Some(0)) => Err(Error::invalid(PURPOSE.0, "0 draws", "be at least 1")),
            Sampling::ShareWithoutReplacement(share) if !(share > 0.0 && share <= 1.0) => {
                Err(Error::invalid(PURPOSE.0, format!("a share of {share}"), "be a fraction above 0, at most 1"))
            }
            Sampling::BootstrapShare(share) if !(share > 0.0 && share.is_finite()) => {
                Err(Error::invalid(PURPOSE.0, format!("a share of {share}"), "be a positive fraction"))
            }
            Sampling::WithoutReplacement(_)
            | Sampling::ShareWithoutReplacement(_)
            | Sampling::Bootstrap(_)
            | Sampling::BootstrapShare(_)
            | Sampling::All => {
                let n_draws = self.n_draws(sampling);
                // Counts of draws are stored in 32 bits.
                if n_draws > u32::MAX as usize {
                    return Err(Error::invalid(PURPOSE.0, format!("{n_draws} draws"), "be less than 2^32 draws"));
                }
                Ok(())
            }
        }
    }

    /// Returns how often the tree draws each of the `n_samples` samples; `None` if it takes all samples once.
    pub(crate) fn draw(
        &self,
        sampling: Sampling,
        n_samples: usize,
        tree: Key,
        control: &Control,
    ) -> Result<Option<Vec<u32>>> {
        if sampling == Sampling::All || self.n_of_all() == 0 {
            return Ok(None);
        }
        let mut stream = Stream::new(tree.child(SAMPLING));
        if let Sampling::WithoutReplacement(_) | Sampling::ShareWithoutReplacement(_) = sampling {
            return self.draw_places(self.n_draws(sampling), stream, n_samples, control).map(Some);
        }
        let mut counts = control.filled(OF_TREE, 0u32, n_samples)?;
        let mut pulse = control.pulse();
        for _ in 0..self.n_draws(sampling) {
            pulse.after(1)?;
            counts[self.row(stream.below(self.n_copies()))].add_assign(1);
        }
        Ok(Some(counts))
    }
}

/// Returns the samples of positive weight in the order of an [`Urn`].
fn rows_in_order(population: &Population<'_, '_, '_>, control: &Control) -> Result<Vec<u32>> {
    // Keys beside rows are sorted more than twice as fast as rows that point at their keys.
    let mut pulse = control.pulse();
    let keys = row_keys(population.x, control)?;
    let mut rows = PURPOSE.with_capacity(keys.len())?;
    for (row, key) in (0..).zip(keys) {
        pulse.after(1)?;
        if population.weight(row) > 0.0 {
            rows.push((key, row));
        }
    }
    sort_by(&mut rows, Ord::cmp, control)?;
    if let Some(y) = population.y {
        for equal in rows.chunk_by_mut(|(a, _), (b, _)| a == b) {
            pulse.after(1)?;
            if equal.len() == 1 {
                continue;
            }
            let of_row = |&(_, row): &(u64, u32)| {
                control.check()?;
                Ok((population.order_of_equal(y, row), row))
            };
            let mut ordered = PURPOSE.results(equal.iter().map(of_row))?;
            sort_by(&mut ordered, Ord::cmp, control)?;
            equal.iter_mut().zip(ordered).for_each(|((_, row), (.., ordered))| *row = ordered);
        }
    }
    PURPOSE.collected(rows.into_iter().map(|(_, row)| row))
}

/// Returns the ends of the copies of each sample; the weights of the samples must be counts.
fn ends_of_copies(rows: &[u32], population: &Population<'_, '_, '_>, control: &Control) -> Result<Vec<u64>> {
    let (mut end, mut pulse) = (0, control.pulse());
    PURPOSE.results(rows.iter().map(|&row| {
        pulse.after(1)?;
        end += population.weight(row) as u64;
        Ok(end)
    }))
}

/// Returns a hash of y of one sample, and of which of its cells are known.
fn target_key(y: &Targets<'_>, known: Option<&Known>, row: usize) -> u64 {
    let add = |key: Key, bits: u64| key.child(bits);
    let start = Key::from_seed(0);
    let key = match y {
        // Of numbers with unknown cells, dense or sparse, the known ones.
        Targets::Real(_) | Targets::SparseReal(_) if known.is_some() => {
            let mut key = start;
            known.iter().for_each(|known| {
                known.each_known(row as u32, |output, _| {
                    let value = y.number(row, output);
                    if value != 0.0 {
                        key = add(add(key, output.into()), value.to_bits());
                    }
                })
            });
            key
        }
        Targets::Real(y) => numbers_key(y.row(row).iter().copied()),
        Targets::SparseReal(y) => {
            let stored = y.entries(row as u32).filter(|(_, v)| *v != 0.0);
            stored.fold(start, |key, (output, v)| add(add(key, output.into()), v.to_bits()))
        }
        Targets::Classes { codes, .. } => codes.row(row).iter().fold(start, |key, &code| add(key, code.into())),
        Targets::Labels(y) => {
            y.indices()[y.ptr()[row]..y.ptr()[row + 1]].iter().fold(start, |key, &label| add(key, label.into()))
        }
    };
    let Some(known) = known else { return key.bits() };
    let (mostly, listed) = known.of(row as u32);
    // Each of the two lists has a hash of its own: together they would not tell where the first one ends.
    let of_mask = listed.iter().fold(Key::from_seed(mostly.into()), |key, &output| add(key, output.into()));
    add(key, of_mask.bits()).bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, SparseView};
    use crate::error::ErrorKind;
    use ndarray::{Array2, Axis, array};

    fn urn(x: &Array2<f32>, w: Option<&[f64]>, sampling: Sampling) -> Urn {
        Urn::new(&Population::new(&Matrix::Dense(x.view()), None, None, w), sampling, &Control::default()).unwrap()
    }

    #[test]
    fn samples_that_are_equal_in_x_are_distinguished_by_y() {
        // Three samples are equal in X. A second copy of the first one is either the last sample or expressed by its
        // weight.
        let (x, y) = (array![[5f32], [5.0], [5.0], [7.0]], array![[1f64], [2.0], [3.0], [4.0]]);
        let (more, y_more) = (array![[7f32], [5.0], [5.0], [5.0], [5.0]], array![[4f64], [3.0], [1.0], [2.0], [1.0]]);
        let drawn = |x: &Array2<f32>, y: &Array2<f64>, w: Option<&[f64]>, tree| {
            let sampling = Sampling::Bootstrap(None);
            let (of_x, of_y) = (Matrix::Dense(x.view()), Targets::Real(y.view()));
            let urn = Urn::new(&Population::new(&of_x, Some(&of_y), None, w), sampling, &Control::default()).unwrap();
            let counts = urn.draw(sampling, x.nrows(), tree_key(7, tree), &Control::default()).unwrap().unwrap();
            let of = |value: f64| y.column(0).iter().zip(&counts).filter(|(y, _)| **y == value).map(|(_, c)| c).sum();
            [1.0, 2.0, 3.0, 4.0].map(of)
        };
        for tree in 0..20 {
            let weighted: [u32; 4] = drawn(&x, &y, Some(&[2.0, 1.0, 1.0, 1.0]), tree);
            assert_eq!(weighted, drawn(&more, &y_more, None, tree));
        }
    }

    #[test]
    fn samples_that_are_equal_but_for_unknown_cells_or_margins_are_told_apart() {
        use crate::data::CellWeights;
        // All samples are equal in X and in the known cells of y.
        let (x, y) = (Array2::<f32>::zeros((6, 1)), Array2::<f64>::from_elem((6, 2), 5.0));
        let mask = Array2::from_shape_fn((6, 2), |(i, j)| [3, 0, 1, 3, 2, 1][i] >> j & 1 == 1 && i % 3 != 0);
        let margins = Array2::from_shape_fn((6, 1), |(i, _)| [4.0, 1.0, 2.0, 3.0, 5.0, 0.0][i]);
        let order = [3usize, 5, 0, 2, 4, 1];
        let drawn = |order: &[usize], masked: bool, tree| {
            let rows = |table: &Array2<f64>| table.select(Axis(0), order);
            let (x, y, margins) = (x.select(Axis(0), order), rows(&y), rows(&margins));
            let mask = mask.select(Axis(0), order);
            let data = Dataset::new(&x, &y).y_weight(masked.then(|| CellWeights::from(&mask)));
            let observed = data.observed().unwrap();
            let data = data.with_observed(observed.as_ref());
            let population = Population::new(data.x(), Some(data.y()), data.known(), None);
            let margins = (!masked).then(|| margins.view());
            let sampling = Sampling::Bootstrap(None);
            let urn = Urn::new(&Population { margins, ..population }, sampling, &Control::default()).unwrap();
            let counts = urn.draw(sampling, 6, tree_key(7, tree), &Control::default()).unwrap().unwrap();
            let mut of_sample = vec![0; 6];
            order.iter().zip(counts).for_each(|(&sample, count)| of_sample[sample] = count);
            of_sample
        };
        // Samples that are the same to the fit may be exchanged.
        let summed = |c: Vec<u32>| [c[0] + c[1] + c[3], c[2] + c[5], c[4]];
        for tree in 0..20 {
            let straight: Vec<usize> = (0..6).collect();
            assert_eq!(summed(drawn(&straight, true, tree)), summed(drawn(&order, true, tree)));
            assert_eq!(drawn(&straight, false, tree), drawn(&order, false, tree));
        }
    }

    #[test]
    fn every_y_and_every_mask_of_it_have_another_hash() {
        use crate::data::CellWeights;
        use std::collections::HashSet;
        // All labels that are known and on, or known and off, or unknown.
        let cells = |i: usize| [i % 3, i / 3 % 3, i / 9];
        let y = crate::testing::labels::on((27, 3), |i, j| cells(i)[j] == 1);
        let x = Array2::<f32>::zeros((27, 1));
        let mask = Array2::from_shape_fn((27, 3), |(i, j)| cells(i)[j] == 2);
        let data = Dataset::new(&x, Targets::Labels(y)).y_weight(CellWeights::from(&mask));
        let observed = data.observed().unwrap();
        let data = data.with_observed(observed.as_ref());
        let keys: HashSet<u64> = (0..27).map(|row| target_key(data.y(), data.known(), row)).collect();
        assert_eq!(keys.len(), 27);
    }

    /// Returns the number of draws of each distinct sample of a matrix with one column.
    fn drawn(x: &Array2<f32>, w: Option<&[f64]>, sampling: Sampling) -> Vec<(f32, u32)> {
        let counts =
            urn(x, w, sampling).draw(sampling, x.nrows(), tree_key(7, 3), &Control::default()).unwrap().unwrap();
        let mut all: Vec<(f32, u32)> = Vec::new();
        for (value, count) in x.column(0).iter().zip(counts) {
            match all.iter_mut().find(|(v, _)| v == value) {
                Some((_, total)) => *total += count,
                None => all.push((*value, count)),
            }
        }
        all.retain(|(_, count)| *count > 0);
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    }

    #[test]
    fn a_count_is_this_number_of_samples_wherever_they_are() {
        let x = array![[1f32], [2.0], [3.0], [4.0]];
        let w = [2.0, 0.0, 1.0, 3.0];
        let repeated = array![[4f32], [1.0], [4.0], [3.0], [1.0], [4.0]];
        for sampling in [Sampling::Bootstrap(None), Sampling::Bootstrap(Some(5)), Sampling::BootstrapShare(0.5)] {
            assert_eq!(drawn(&x, Some(&w), sampling), drawn(&repeated, None, sampling));
        }
    }

    #[test]
    fn weights_that_are_no_counts_do_not_change_the_draws() {
        let x = array![[1f32], [2.0], [3.0]];
        assert!(!urn(&x, Some(&[0.5, 1.0, 2.0]), Sampling::Bootstrap(None)).holds_copies());
        assert!(!urn(&x, Some(&[1e6, 1e6, 1e6]), Sampling::Bootstrap(None)).holds_copies());
        let plain = drawn(&x, None, Sampling::Bootstrap(None));
        assert_eq!(drawn(&x, Some(&[0.5, 1.0, 2.0]), Sampling::Bootstrap(None)), plain);
    }

    #[test]
    fn rows_without_replacement_are_distinct() {
        let x = Array2::from_shape_fn((9, 2), |(i, j)| (i * j) as f32);
        let sampling = Sampling::WithoutReplacement(4);
        let counts = urn(&x, None, sampling).draw(sampling, 9, tree_key(0, 0), &Control::default()).unwrap().unwrap();
        assert_eq!(counts.iter().sum::<u32>(), 4);
        assert!(counts.iter().all(|&count| count <= 1));
    }

    #[test]
    fn a_raised_flag_ends_the_ordering_and_the_draws() {
        let control = Control::default();
        let (x, y) = (Array2::<f32>::zeros((9, 2)), Array2::<f64>::zeros((9, 1)));
        let csr = SparseView::try_new(vec![0; 10], vec![], vec![], 2).unwrap();
        let weights = [2.0; 9];
        let y = Targets::Real(y.view());
        let sampling = Sampling::Bootstrap(None);
        let urn = urn(&x, Some(&weights), sampling);
        control.stop();
        let is_interrupted = |kind: &ErrorKind| assert_eq!(kind, &ErrorKind::Interrupted);
        for x in
            [Matrix::Dense(x.view()), Matrix::Dense(x.t()), Matrix::Csc(csr.transposed().unwrap()), Matrix::Csr(csr)]
        {
            is_interrupted(row_keys(&x, &control).unwrap_err().kind());
        }
        let x = Matrix::Dense(x.view());
        let population = Population::new(&x, Some(&y), None, Some(&weights));
        is_interrupted(Urn::new(&population, sampling, &control).unwrap_err().kind());
        is_interrupted(urn.rows_rising(&control).unwrap_err().kind());
        for sampling in [sampling, Sampling::WithoutReplacement(3)] {
            is_interrupted(urn.draw(sampling, 9, tree_key(0, 0), &control).unwrap_err().kind());
        }
    }

    /// Draws among `rows`, in their order.
    fn draw(sampling: Sampling, rows: &[u32], n_samples: usize, tree: Key) -> Option<Vec<u32>> {
        Urn { rows: rows.to_vec(), ends: None, among: None }
            .draw(sampling, n_samples, tree, &Control::default())
            .unwrap()
    }

    /// Returns the largest plausible χ²: the mean plus six standard deviations.
    fn chi_square_bound(degrees: f64) -> f64 {
        degrees + 6.0 * (2.0 * degrees).sqrt()
    }

    #[test]
    fn all_rows_need_no_draw() {
        assert_eq!(draw(Sampling::All, &[0, 1], 2, tree_key(0, 0)), None);
    }

    #[test]
    fn draws_add_up_and_touch_only_the_given_samples() {
        let rows: Vec<u32> = (0..200).filter(|i| i % 3 != 0).collect();
        for i in 0..50 {
            let sum = |sampling| {
                let counts = draw(sampling, &rows, 200, tree_key(7, i)).unwrap();
                assert!(counts.iter().step_by(3).all(|&c| c == 0));
                (counts.iter().sum::<u32>() as usize, counts.into_iter().max().unwrap())
            };
            assert_eq!(sum(Sampling::Bootstrap(None)).0, rows.len());
            assert_eq!(sum(Sampling::Bootstrap(Some(500))).0, 500);
            for m in [1, 17, rows.len()] {
                assert_eq!(sum(Sampling::WithoutReplacement(m)), (m, 1));
            }
        }
    }

    #[test]
    fn samples_of_weight_zero_are_as_if_removed() {
        let rows: Vec<u32> = (0..100).filter(|i| i % 4 != 1).collect();
        let renumbered: Vec<u32> = (0..rows.len() as u32).collect();
        for sampling in [Sampling::Bootstrap(None), Sampling::Bootstrap(Some(9)), Sampling::WithoutReplacement(40)] {
            let with = draw(sampling, &rows, 100, tree_key(3, 5)).unwrap();
            let without = draw(sampling, &renumbered, rows.len(), tree_key(3, 5)).unwrap();
            assert_eq!(rows.iter().map(|&i| with[i as usize]).collect::<Vec<_>>(), without);
        }
    }

    #[test]
    fn rows_are_drawn_uniformly() {
        let rows: Vec<u32> = (0..40).collect();
        for (sampling, draws, variance) in [
            (Sampling::Bootstrap(None), 40.0, 1.0 - 1.0 / 40.0),
            (Sampling::Bootstrap(Some(7)), 7.0, 1.0 - 1.0 / 40.0),
            (Sampling::WithoutReplacement(10), 10.0, 1.0 - 10.0 / 40.0),
        ] {
            let n_trees = 4000;
            let mut counts = [0.0; 40];
            for i in 0..n_trees {
                let drawn = draw(sampling, &rows, 40, tree_key(11, i)).unwrap();
                counts.iter_mut().zip(drawn).for_each(|(sum, c)| *sum += f64::from(c));
            }
            let mean = draws * n_trees as f64 / 40.0;
            let chi_square: f64 = counts.iter().map(|c| (c - mean).powi(2) / (mean * variance)).sum();
            assert!(chi_square < chi_square_bound(40.0), "{sampling:?}: {chi_square}");
        }
    }

    #[test]
    fn trees_and_seeds_draw_differently() {
        let rows: Vec<u32> = (0..50).collect();
        let drawn = |seed, i| draw(Sampling::Bootstrap(None), &rows, 50, tree_key(seed, i)).unwrap();
        assert_eq!(drawn(1, 2), drawn(1, 2));
        assert_ne!(drawn(1, 2), drawn(1, 3));
        assert_ne!(drawn(1, 2), drawn(2, 2));
    }
}
