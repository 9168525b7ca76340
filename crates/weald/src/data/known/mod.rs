//! y with unknown cells: which cells are known, and the data set without the others.
//!
//! Samples without a known cell get the weight zero, and cells of samples of weight zero are ignored. If no other cells
//! are masked, the result is a data set without a mask, and every learner sees the same bits as if there had been no
//! mask. Values under the mask are replaced by the smallest known number of their output, by its first class, or by an
//! absent label, so that nothing can depend on them.

pub(crate) mod bits;
pub(crate) mod cells;
pub(crate) mod masked;
pub(crate) mod spread;

use std::borrow::Cow;

use ndarray::{Array2, ArrayView2};

pub(crate) use self::spread::Spread;
use crate::data::dataset::{CellWeights, Dataset};
use crate::data::sparse_targets::SparseTargets;
use crate::data::targets::{LabelView, Targets, starts};
use crate::data::weights::Weights;
use crate::error::{Error, Purpose, Result};

const PURPOSE: Purpose = Purpose("the mask of y");

/// The number of cells of which at most one is known, if known cells are few. It is set by hand.
const MANY_TO_ONE: u128 = 4;

/// Which cells of y are known. For each sample, the outputs that differ from the majority of its outputs are listed;
/// these are at most half of them.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    n_outputs: usize,
    /// For each sample, whether the cells that are not listed are known.
    mostly: Vec<bool>,
    ptr: Vec<usize>,
    /// The listed outputs of each sample, in increasing order.
    listed: Vec<u32>,
    /// `None` if all are one.
    factors: Option<Factors>,
}

/// The factors by which the known cells of each sample multiply its weight, in the order of outputs.
#[derive(Clone, Debug)]
struct Factors {
    ptr: Vec<usize>,
    values: Vec<f64>,
}

impl Factors {
    fn of(&self, row: u32) -> &[f64] {
        &self.values[self.ptr[row as usize]..self.ptr[row as usize + 1]]
    }
}

impl Known {
    /// The bytes of a sample without its listed outputs, and of a listed output.
    pub(crate) const BYTES: (usize, usize) = (size_of::<bool>() + size_of::<usize>(), size_of::<u32>());

    pub(in crate::data) fn new(mask: &CellWeights<'_>) -> Result<Self> {
        let (n, n_outputs) = mask.shape();
        let mut known = Known::without_rows(n_outputs)?;
        let mut factors = Factors { ptr: PURPOSE.with_capacity(n + 1)?, values: Vec::new() };
        factors.ptr.push(0);
        // One of the two, in increasing order.
        let (mut unknown, mut there) = (Vec::new(), Vec::new());
        for row in 0..n {
            unknown.clear();
            there.clear();
            let masked = match mask {
                CellWeights::Unknown(mask) => {
                    unknown
                        .extend((0u32..).zip(mask.row(row)).filter(|(_, masked)| **masked).map(|(output, _)| output));
                    true
                }
                CellWeights::UnknownOutputs(mask) => {
                    unknown.extend_from_slice(&mask.indices()[mask.ptr()[row]..mask.ptr()[row + 1]]);
                    true
                }
                CellWeights::Dense(weights) => {
                    let cells = (0u32..).zip(weights.row(row)).filter(|(_, weight)| **weight > 0.0);
                    for (output, &weight) in cells {
                        there.push(output);
                        PURPOSE.push(&mut factors.values, weight)?;
                    }
                    false
                }
                CellWeights::Stored(weights) => {
                    for (output, weight) in weights.entries(row as u32).filter(|(_, weight)| *weight > 0.0) {
                        there.push(output);
                        PURPOSE.push(&mut factors.values, weight)?;
                    }
                    false
                }
            };
            factors.ptr.push(factors.values.len());
            known.push(if masked { &unknown } else { &there }, masked)?;
        }
        known.factors = factors.values.iter().any(|&factor| factor != 1.0).then_some(factors);
        Ok(known)
    }

    fn without_rows(n_outputs: usize) -> Result<Self> {
        let ptr = PURPOSE.filled(0, 1)?;
        Ok(Known { n_outputs, mostly: Vec::new(), ptr, listed: Vec::new(), factors: None })
    }

    /// Adds a sample with these outputs unknown, or with these alone known.
    fn push(&mut self, outputs: &[u32], are_unknown: bool) -> Result<()> {
        let n_unknown = if are_unknown { outputs.len() } else { self.n_outputs - outputs.len() };
        let mostly = 2 * n_unknown <= self.n_outputs;
        if are_unknown == mostly {
            outputs.iter().try_for_each(|&output| PURPOSE.push(&mut self.listed, output))?;
        } else {
            let mut rest = outputs;
            for output in 0..self.n_outputs as u32 {
                match rest {
                    [first, after @ ..] if *first == output => rest = after,
                    _ => PURPOSE.push(&mut self.listed, output)?,
                }
            }
        }
        PURPOSE.push(&mut self.mostly, mostly)?;
        PURPOSE.push(&mut self.ptr, self.listed.len())
    }

    /// Returns that all cells are known.
    pub(crate) fn of_all(n_rows: usize, n_outputs: usize) -> Result<Self> {
        let ptr = PURPOSE.filled(0, n_rows + 1)?;
        Ok(Known { n_outputs, mostly: PURPOSE.filled(true, n_rows)?, ptr, listed: Vec::new(), factors: None })
    }

    /// Returns the number of samples.
    pub(crate) fn n_rows(&self) -> usize {
        self.mostly.len()
    }

    /// Returns the number of outputs.
    pub(crate) fn n_outputs(&self) -> usize {
        self.n_outputs
    }

    /// Returns whether the majority of the outputs of a sample is known, and the other outputs, in increasing order.
    #[inline]
    pub(crate) fn of(&self, row: u32) -> (bool, &[u32]) {
        let row = row as usize;
        (self.mostly[row], &self.listed[self.ptr[row]..self.ptr[row + 1]])
    }

    /// Returns whether a cell is known, in O(log outputs) time.
    pub(crate) fn is_known(&self, row: u32, output: u32) -> bool {
        let (mostly, listed) = self.of(row);
        mostly != listed.binary_search(&output).is_ok()
    }

    /// Returns the number of listed outputs of all samples.
    pub(crate) fn n_listed(&self) -> usize {
        self.listed.len()
    }

    pub(crate) fn n_known(&self, row: u32) -> usize {
        let (mostly, listed) = self.of(row);
        if mostly { self.n_outputs - listed.len() } else { listed.len() }
    }

    /// Returns the number of unknown cells.
    pub(crate) fn n_masked(&self) -> usize {
        (0..self.n_rows() as u32).map(|row| self.n_outputs - self.n_known(row)).sum()
    }

    /// Returns whether so few cells are known that a list of them is faster than tables of outputs. A sample of weight 2
    /// counts as two samples.
    pub(crate) fn are_few(&self, weights: &Weights) -> bool {
        let [known, all] = self.weighed(weights);
        MANY_TO_ONE * known <= all
    }

    /// Returns the weight of the known cells of samples with a known cell, and that of all their cells, in units.
    pub(crate) fn weighed(&self, weights: &Weights) -> [u128; 2] {
        let rows = (0..self.n_rows() as u32).filter(|&row| self.n_known(row) > 0);
        rows.fold([0; 2], |[known, all], row| {
            let units = u128::from(weights.units(row as usize));
            [known + units * self.n_known(row) as u128, all + units * self.n_outputs as u128]
        })
    }

    /// Visits the known outputs of a sample, in increasing order, with the factors by which their cells multiply the
    /// weight of the sample.
    pub(crate) fn each_known(&self, row: u32, mut visit: impl FnMut(u32, f64)) {
        let mut factors = self.factors.as_ref().map_or(&[][..], |factors| factors.of(row)).iter();
        let mut visit = |output: u32| visit(output, factors.next().copied().unwrap_or(1.0));
        let (mostly, mut listed) = self.of(row);
        if !mostly {
            return listed.iter().copied().for_each(visit);
        }
        for output in 0..self.n_outputs as u32 {
            match listed {
                [first, rest @ ..] if *first == output => listed = rest,
                _ => visit(output),
            }
        }
    }

    /// Returns whether cells have factors other than one.
    pub(crate) fn has_factors(&self) -> bool {
        self.factors.is_some()
    }

    /// Takes the factors of samples whose known cells all have the same one, if all samples are of this kind.
    fn take_common_factors(&mut self) -> Result<Option<Vec<f64>>> {
        let n = self.n_rows() as u32;
        let common = |factors: &Factors, row: u32| match factors.of(row) {
            [] => Some(1.0),
            [first, rest @ ..] => rest.iter().all(|factor| factor == first).then_some(*first),
        };
        let Some(factors) = self.factors.take_if(|factors| (0..n).all(|row| common(factors, row).is_some())) else {
            return Ok(None);
        };
        PURPOSE.collected((0..n).map(|row| common(&factors, row).unwrap_or(1.0))).map(Some)
    }

    /// Returns the known cells of numerical outputs, of which zeros are not stored.
    fn only(&self, y: &Targets<'_>) -> Result<SparseTargets<'static>> {
        let mut ptr = PURPOSE.with_capacity(self.n_rows() + 1)?;
        let (mut outputs, mut values) = (Vec::new(), Vec::new());
        ptr.push(0);
        for row in 0..self.n_rows() {
            let mut pushed = Ok(());
            self.each_known(row as u32, |output, _| {
                let value = y.number(row, output);
                if value != 0.0 && pushed.is_ok() {
                    pushed = PURPOSE.push(&mut outputs, output).and_then(|()| PURPOSE.push(&mut values, value));
                }
            });
            pushed?;
            ptr.push(values.len());
        }
        SparseTargets::try_new(ptr, outputs, values, self.n_outputs)
    }

    /// Replaces unknown numbers by the smallest known one of their output. `is_there` returns whether a sample has a
    /// positive weight.
    pub(in crate::data) fn hide(&self, values: &mut Array2<f64>, is_there: impl Fn(&u32) -> bool) -> Result<()> {
        let known_of = |output: usize| {
            let rows = (0u32..).zip(values.column(output)).filter(|(row, _)| is_there(row));
            let known = rows.filter(|(row, _)| self.is_known(*row, output as u32));
            let least = known.map(|(_, &y)| y).fold(f64::INFINITY, f64::min);
            if least.is_finite() { least } else { 1.0 }
        };
        let least = PURPOSE.collected((0..self.n_outputs).map(known_of))?;
        replace(values.as_slice_mut().expect("in rows"), self, |output| least[output]);
        Ok(())
    }

    /// Visits the unknown outputs of a sample, in increasing order.
    pub(crate) fn each_masked(&self, row: u32, mut visit: impl FnMut(u32)) {
        let (mostly, mut listed) = self.of(row);
        if mostly {
            return listed.iter().copied().for_each(visit);
        }
        for output in 0..self.n_outputs as u32 {
            match listed {
                [first, rest @ ..] if *first == output => listed = rest,
                _ => visit(output),
            }
        }
    }
}

/// y without the values under a mask.
#[derive(Debug)]
enum Values {
    Real(Array2<f64>),
    Classes(Array2<u32>, Vec<u32>),
    Labels(LabelView<'static>),
    SparseReal(SparseTargets<'static>),
}

impl Values {
    /// `is_there` returns whether a sample has a positive weight, and `some_masked` is whether some of these have unknown
    /// cells.
    fn new(y: &Targets<'_>, known: &Known, some_masked: bool, is_there: impl Fn(&u32) -> bool) -> Result<Self> {
        const PURPOSE: Purpose = Purpose("the known cells of y");
        Ok(match y {
            Targets::Real(y) if !some_masked || 2 * known.n_masked() < y.len() => {
                let values = PURPOSE.collected(y.iter().copied())?;
                let mut values = Array2::from_shape_vec(y.dim(), values).expect("as many as y has");
                known.hide(&mut values, is_there)?;
                Values::Real(values)
            }
            Targets::Real(_) | Targets::SparseReal(_) => Values::SparseReal(known.only(y)?),
            Targets::Classes { codes, n_classes } => {
                let mut values = PURPOSE.collected(codes.iter().copied())?;
                replace(&mut values, known, |_| 0);
                let codes = Array2::from_shape_vec(codes.dim(), values).expect("as many as y has");
                Values::Classes(codes, PURPOSE.copied(n_classes)?)
            }
            Targets::Labels(y) => {
                let n = y.n_samples();
                let mut ptr = PURPOSE.with_capacity(n + 1)?;
                ptr.push(0);
                let mut kept = PURPOSE.with_capacity(y.indices().len())?;
                for row in 0..n {
                    let on = y.indices()[y.ptr()[row]..y.ptr()[row + 1]].iter().copied();
                    kept.extend(on.filter(|&label| known.is_known(row as u32, label)));
                    ptr.push(kept.len());
                }
                Values::Labels(LabelView::try_new(ptr, kept, y.n_labels())?)
            }
        })
    }
}

/// Replaces the unknown cells of `values`, which are in row-major order, by one value for each output.
fn replace<T>(values: &mut [T], known: &Known, by: impl Fn(usize) -> T) {
    for (row, values) in (0..).zip(values.chunks_exact_mut(known.n_outputs)) {
        known.each_masked(row, |output| values[output as usize] = by(output as usize));
    }
}

/// What remains of a data set after its mask has been applied. See [`Dataset::observed`].
#[derive(Debug)]
pub(crate) struct Observed {
    values: Values,
    /// The weights of samples, if some samples have no known cell.
    sample_weight: Option<Vec<f64>>,
    /// Which cells are known, if samples of positive weight have masked cells.
    known: Option<Known>,
}

impl Observed {
    fn targets(&self) -> Targets<'_> {
        match &self.values {
            Values::Real(y) => Targets::Real(y.view()),
            Values::Classes(codes, n_classes) => Targets::Classes { codes: codes.view(), n_classes: n_classes.clone() },
            Values::Labels(y) => Targets::Labels(y.view()),
            Values::SparseReal(y) => Targets::SparseReal(y.view()),
        }
    }
}

impl Dataset<'_> {
    /// Returns which cells are known, with the factors that all known cells of a sample have in common, if some are not
    /// one. `None` if nothing is said of cells.
    fn cells_left(&self) -> Result<Option<(Known, Option<Vec<f64>>)>> {
        let Some(mask) = self.mask() else { return Ok(None) };
        self.check_shape_of_mask()?;
        if mask.is_empty() {
            return Ok(None);
        }
        Weights::check(self.row_weights().sample_weight, self.n_samples())?;
        let mut known = Known::new(mask)?;
        let common = known.take_common_factors()?;
        Ok(Some((known, common)))
    }

    /// Returns an error for a learner to which a cell is known or not, if known cells of a sample have several weights.
    pub(crate) fn check_without_factors(&self, learner: &'static str) -> Result<()> {
        if self.known().is_some_and(Known::has_factors) {
            return Err(Error::unsupported("y_weight with several weights in a sample", learner));
        }
        Ok(())
    }

    /// Returns the weight of the known cells of samples with a known cell, and that of all their cells, in units. `None`
    /// if nothing is said of cells.
    pub(crate) fn weight_known(&self) -> Result<Option<[u128; 2]>> {
        let Some((known, common)) = self.cells_left()? else { return Ok(None) };
        let mut weights = self.weight_by_row()?.map(Cow::into_owned);
        if let Some(mut common) = common {
            common.iter_mut().zip(weights.iter().flatten()).for_each(|(to, weight)| *to *= weight);
            weights = Some(common);
        }
        Ok(Some(known.weighed(&Weights::of_rows(weights.as_deref(), self.n_samples())?)))
    }

    /// Applies the mask. Returns `None` if there is no mask, or if it masks nothing. See [`Dataset::with_observed`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] if the mask does not have the shape of y, or if an output has no known cell among
    /// the samples of positive weight.
    pub(crate) fn observed(&self) -> Result<Option<Observed>> {
        self.observe(true)
    }

    /// Applies the mask of held-out samples, for which an output may have no known cell.
    pub(crate) fn observed_held_out(&self) -> Result<Option<Observed>> {
        self.observe(false)
    }

    fn observe(&self, wants_each_output: bool) -> Result<Option<Observed>> {
        let Some((known, common)) = self.cells_left()? else { return Ok(None) };
        let (n, row_weights) = (self.n_samples(), self.row_weights());
        let factor = |row: u32| common.as_ref().map_or(1.0, |common| common[row as usize]);
        let weight = |row: u32| factor(row) * row_weights.sample_weight.map_or(1.0, |weights| weights[row as usize]);
        let is_there = |row: &u32| weight(*row) > 0.0;
        let mut is_output_known = PURPOSE.filled(false, known.n_outputs)?;
        let (mut some_without, mut some_masked) = (false, false);
        for row in (0..n as u32).filter(is_there) {
            match known.n_known(row) {
                0 => some_without = true,
                n_known if n_known == known.n_outputs => {
                    is_output_known.fill(true);
                    some_masked |= known.has_factors();
                }
                _ => {
                    some_masked = true;
                    let (mostly, listed) = known.of(row);
                    if mostly {
                        // All outputs that are not listed are known.
                        let mut masked = listed;
                        for (output, is_known) in (0u32..).zip(&mut is_output_known) {
                            match masked {
                                [first, rest @ ..] if *first == output => masked = rest,
                                _ => *is_known = true,
                            }
                        }
                    } else {
                        listed.iter().for_each(|&output| is_output_known[output as usize] = true);
                    }
                }
            }
        }
        let unknown = is_output_known.iter().position(|is_known| !is_known);
        if let Some(output) = unknown.filter(|_| wants_each_output) {
            let got = format!("none of output {output}");
            return Err(Error::invalid(
                "y_weight",
                got,
                "leave at least one observed cell of each output among the samples of positive weight",
            ));
        }
        let sample_weight = if some_without || common.is_some() {
            let weights = (0..n as u32).map(|row| if known.n_known(row) == 0 { 0.0 } else { weight(row) });
            Some(PURPOSE.collected(weights)?)
        } else {
            None
        };
        let values = Values::new(self.y(), &known, some_masked, is_there)?;
        Ok(Some(Observed { values, sample_weight, known: some_masked.then_some(known) }))
    }

    /// Returns y as numbers, with NaN for unknown cells. A label is 1 if it is present, and `off` if it is absent, and so is
    /// each class of outputs of classes, which has a column of its own.
    pub(crate) fn numbers_with_gaps(&self, off: f64) -> Result<Array2<f64>> {
        if let Targets::Classes { codes, n_classes } = self.y() {
            return self.classes_with_gaps(codes, n_classes, off);
        }
        let (n, n_outputs) = (self.y().n_samples(), self.outputs().n_outputs());
        let mut values = Purpose("the known cells of y").filled(off, n * n_outputs)?;
        match self.y() {
            Targets::Real(y) => values.iter_mut().zip(y).for_each(|(to, &y)| *to = y),
            Targets::SparseReal(y) => values.iter_mut().zip(&y.to_dense()?).for_each(|(to, &y)| *to = y),
            Targets::Labels(y) => {
                for (row, values) in values.chunks_exact_mut(n_outputs).enumerate() {
                    let on = &y.indices()[y.ptr()[row]..y.ptr()[row + 1]];
                    on.iter().for_each(|&label| values[label as usize] = 1.0);
                }
            }
            Targets::Classes { .. } => unreachable!("classes have been returned"),
        }
        if let Some(known) = self.known() {
            replace(&mut values, known, |_| f64::NAN);
        }
        Ok(Array2::from_shape_vec((n, n_outputs), values).expect("as many as y has"))
    }

    fn classes_with_gaps(&self, codes: &ArrayView2<'_, u32>, n_classes: &[u32], off: f64) -> Result<Array2<f64>> {
        let (starts, width) = (starts(n_classes)?, self.outputs().width());
        let mut values = Purpose("the known cells of y").filled(off, codes.nrows() * width)?;
        for (row, values) in values.chunks_exact_mut(width).enumerate() {
            codes.row(row).iter().zip(&starts).for_each(|(&code, start)| values[start + code as usize] = 1.0);
            if let Some(known) = self.known() {
                known.each_masked(row as u32, |output| {
                    values[starts[output as usize]..starts[output as usize + 1]].fill(f64::NAN);
                });
            }
        }
        Ok(Array2::from_shape_vec((codes.nrows(), width), values).expect("a number for each class"))
    }

    /// Returns the data set after its mask has been applied, for learners that support unknown cells. If the mask masks
    /// nothing, there is none in the result.
    pub(crate) fn with_observed<'o>(&'o self, observed: Option<&'o Observed>) -> Dataset<'o> {
        let data = self.view();
        let Some(observed) = observed else { return data };
        let data = match &observed.sample_weight {
            Some(weights) => data.sample_weight(&weights[..]),
            None => data,
        };
        data.with_targets(observed.targets()).with_known(observed.known.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::cells::TargetCells;
    use super::*;
    use crate::error::ErrorKind;

    fn sparse(mask: &Array2<bool>) -> CellWeights<'static> {
        let rows: Vec<Vec<u32>> = mask
            .rows()
            .into_iter()
            .map(|row| (0..).zip(row).filter(|(_, masked)| **masked).map(|(output, _)| output).collect())
            .collect();
        let ptr: Vec<usize> = (0..=rows.len()).map(|i| rows[..i].iter().map(Vec::len).sum()).collect();
        CellWeights::UnknownOutputs(LabelView::try_new(ptr, rows.concat(), mask.ncols()).unwrap())
    }

    #[test]
    fn both_kinds_of_masks_give_the_same_known_cells() {
        for bits in 0..1u32 << 9 {
            let mask = Array2::from_shape_fn((3, 3), |(i, j)| bits >> (3 * i + j) & 1 == 1);
            for known in [Known::new(&CellWeights::from(&mask)).unwrap(), Known::new(&sparse(&mask)).unwrap()] {
                for i in 0..3 {
                    let masked: Vec<u32> = (0..3).filter(|&j| mask[[i, j as usize]]).collect();
                    let mut visited = Vec::new();
                    known.each_masked(i as u32, |output| visited.push(output));
                    assert_eq!(visited, masked);
                    assert_eq!(known.n_known(i as u32), 3 - masked.len());
                    (0..3).for_each(|j| assert_eq!(known.is_known(i as u32, j), !masked.contains(&j)));
                    assert!(2 * known.of(i as u32).1.len() <= 3);
                }
            }
        }
    }

    #[test]
    fn what_is_masked_is_not_read_and_samples_without_known_outputs_weigh_nothing() {
        let (x, y) = (array![[0f32], [1.0], [2.0]], array![[f64::NAN, 1.0], [2.0, 3.0], [4.0, 5.0]]);
        let mask = array![[true, false], [false, false], [true, true]];
        let data = Dataset::new(&x, &y).y_weight(CellWeights::from(&mask));
        let observed = data.observed().unwrap().unwrap();
        let left = data.with_observed(Some(&observed));
        // Few numbers are known: they are listed, and the others are filled in if rows are needed.
        assert!(matches!(left.y(), Targets::SparseReal(_)) && left.restored(true).unwrap().is_none());
        let rows = left.restored(false).unwrap();
        let rows = left.with_restored(rows.as_ref());
        let Targets::Real(values) = rows.y() else { panic!("numbers") };
        assert_eq!(values, array![[2.0, 1.0], [2.0, 3.0], [2.0, 1.0]]);
        assert_eq!(left.row_weights().sample_weight, Some(&[1.0, 1.0, 0.0][..]));
        let cells = TargetCells::of(&left, left.known().unwrap()).unwrap();
        assert_eq!((cells.n_columns(), cells.len()), (2, 3));
        let mut visited = Vec::new();
        (0..3)
            .for_each(|row| cells.of_row(row).each(|column, value, factor| visited.push((row, column, value, factor))));
        assert_eq!(visited, [(0, 1, 1.0, 1.0), (1, 0, 2.0, 1.0), (1, 1, 3.0, 1.0)]);
        // If the only partly masked sample has no weight, nothing is masked.
        let data = data.sample_weight(&[0.0, 2.0, 1.0][..]);
        let observed = data.observed().unwrap().unwrap();
        let left = data.with_observed(Some(&observed));
        assert_eq!(left.row_weights().sample_weight, Some(&[0.0, 2.0, 0.0][..]));
        assert!(left.known().is_none());
    }

    #[test]
    fn an_output_without_a_known_cell_is_named() {
        let (x, y) = (array![[0f32], [1.0]], array![[0.0, 1.0], [2.0, 3.0]]);
        for (mask, output) in [(array![[false, true], [false, true]], 1), (array![[true, true], [true, true]], 0)] {
            let data = Dataset::new(&x, &y).y_weight(CellWeights::from(&mask));
            let ErrorKind::Invalid { what: "y_weight", got, .. } = data.observed().unwrap_err().kind().clone() else {
                panic!("invalid")
            };
            assert_eq!(got, format!("none of output {output}"));
        }
        let mask = array![[false, false], [false, true]];
        let data = Dataset::new(&x, &y).y_weight(CellWeights::from(&mask)).sample_weight(&[0.0, 1.0][..]);
        assert!(data.observed().is_err());
    }
}
