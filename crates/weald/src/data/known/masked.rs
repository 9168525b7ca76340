//! y with unknown cells, in the form that growth reads.

use super::Known;
use super::bits::KnownBits;
use super::cells::{ColumnCell, RowCells, TargetCells, weighted};
use crate::data::slots::Slots;
use crate::data::train_y::RealTargets;
use crate::error::{Purpose, Result};
use crate::exact::exact_mean;

const PURPOSE: Purpose = Purpose("the known cells of y");

/// Classes or labels with unknown cells.
#[derive(Debug)]
pub(crate) struct MaskedSlots<'a> {
    /// The slots. For labels, unknown cells have no slots.
    slots: Slots<'a>,
    /// For classes: the start of each sample, and the slots of its known cells.
    of_classes: Option<(Vec<usize>, Vec<u32>)>,
    known: &'a Known,
    bits: Option<KnownBits>,
    /// The output of each slot, for classes. For labels, slots are outputs.
    output_of: Option<Vec<u32>>,
    /// The frequency of each slot among the known cells of its output, over all samples of the fit.
    means: Vec<f64>,
}

impl<'a> MaskedSlots<'a> {
    /// For labels, `slots` must have none for unknown cells; for classes, those of unknown cells are ignored. `units`
    /// returns the weight of a sample. `n_classes` has the number of classes of each output, for classes.
    pub(in crate::data) fn new(
        slots: Slots<'a>,
        n_classes: Option<&[u32]>,
        known: &'a Known,
        units: impl Fn(u32) -> u64,
    ) -> Result<Self> {
        let n = known.n_rows() as u32;
        let (of_classes, output_of) = match n_classes {
            None => (None, None),
            Some(n_classes) => {
                let mut output_of = PURPOSE.with_capacity(slots.width)?;
                let n_outputs = n_classes.len();
                output_of.extend((0u32..).zip(n_classes).flat_map(|(output, &k)| (0..k).map(move |_| output)));
                let mut ptr = PURPOSE.with_capacity(n as usize + 1)?;
                ptr.push(0);
                let mut kept = PURPOSE.with_capacity(n as usize * n_outputs)?;
                for row in 0..n {
                    let cells = (0u32..).zip(slots.of(row)).filter(|(output, _)| known.is_known(row, *output));
                    kept.extend(cells.map(|(_, &slot)| slot));
                    ptr.push(kept.len());
                }
                (Some((ptr, kept)), Some(output_of))
            }
        };
        let bits = KnownBits::of(known)?;
        let mut masked = MaskedSlots { slots, of_classes, known, bits, output_of, means: Vec::new() };
        let mut sums = PURPOSE.filled(0u64, masked.slots.width)?;
        let mut weights = OutputWeights::new(known.n_outputs())?;
        for row in 0..n {
            let units = units(row);
            masked.of(row).iter().for_each(|&slot| sums[slot as usize] += units);
            weights.add(known.of(row), units as i64);
        }
        let mean = |(slot, &sum): (usize, &u64)| match sum {
            0 => 0.0,
            _ => sum as f64 / weights.of(masked.output(slot as u32)),
        };
        masked.means = PURPOSE.collected(sums.iter().enumerate().map(mean))?;
        Ok(masked)
    }

    /// Returns the number of slots.
    pub(crate) fn width(&self) -> usize {
        self.slots.width
    }

    pub(crate) fn n_class_outputs(&self) -> Option<usize> {
        self.slots.n_class_outputs
    }

    /// Returns the slots of the known cells of a sample.
    #[inline]
    pub(crate) fn of(&self, row: u32) -> &[u32] {
        match &self.of_classes {
            None => self.slots.of(row),
            Some((ptr, kept)) => &kept[ptr[row as usize]..ptr[row as usize + 1]],
        }
    }

    pub(crate) fn known(&self) -> &Known {
        self.known
    }

    /// Returns the known cells as bits, if samples list many outputs.
    pub(crate) fn bits(&self) -> Option<&KnownBits> {
        self.bits.as_ref()
    }

    #[cfg(test)]
    pub(crate) fn without_bits(self) -> Self {
        MaskedSlots { bits: None, ..self }
    }

    /// Returns the largest number of slots of a sample.
    pub(crate) fn most_in_a_row(&self) -> usize {
        self.slots.most_in_a_row()
    }

    /// Returns the output of a slot.
    #[inline]
    pub(crate) fn output(&self, slot: u32) -> u32 {
        self.output_of.as_ref().map_or(slot, |output_of| output_of[slot as usize])
    }

    pub(crate) fn means(&self) -> &[f64] {
        &self.means
    }

    /// Writes the sample as non-zero numbers, in the order of slots. An unknown cell has the frequencies of its output.
    /// `slots_of` has the slots of each output.
    pub(crate) fn fill_row(&self, row: u32, slots_of: &SlotsOfOutputs, entries: &mut Vec<(u32, f64)>) {
        entries.clear();
        let on = |&slot: &u32| (slot, 1.0);
        entries.extend(self.of(row).iter().map(on));
        self.known.each_masked(row, |output| {
            let means = slots_of.of(output).map(|slot| (slot, self.means[slot as usize]));
            entries.extend(means.filter(|(_, mean)| *mean != 0.0));
        });
        entries.sort_unstable_by_key(|entry| entry.0);
    }

    pub(crate) fn slots_of_outputs(&self) -> Result<SlotsOfOutputs> {
        let Some(output_of) = &self.output_of else { return Ok(SlotsOfOutputs(None)) };
        let mut by_output = PURPOSE.filled(Vec::new(), self.known.n_outputs())?;
        (0u32..).zip(output_of).for_each(|(slot, &output)| by_output[output as usize].push(slot));
        Ok(SlotsOfOutputs(Some(by_output)))
    }
}

/// The slots of each output of classes. For labels, the slot of an output is its number.
#[derive(Debug)]
pub(crate) struct SlotsOfOutputs(Option<Vec<Vec<u32>>>);

impl SlotsOfOutputs {
    fn of(&self, output: u32) -> impl Iterator<Item = u32> + '_ {
        let (listed, alone) = match &self.0 {
            Some(by_output) => (&by_output[output as usize][..], None),
            None => (&[][..], Some(output)),
        };
        listed.iter().copied().chain(alone)
    }
}

/// The units of the known cells of each output, over some samples.
#[derive(Debug)]
pub(crate) struct OutputWeights {
    /// The units of samples in which the majority of cells is known, and the difference to this for each output.
    mostly: i64,
    more: Vec<i64>,
}

impl OutputWeights {
    pub(crate) fn new(n_outputs: usize) -> Result<Self> {
        Ok(OutputWeights { mostly: 0, more: PURPOSE.filled(0, n_outputs)? })
    }

    /// Adds a sample; the first argument is the result of [`Known::of`].
    pub(crate) fn add(&mut self, (mostly, listed): (bool, &[u32]), units: i64) {
        self.mostly += if mostly { units } else { 0 };
        let more = if mostly { -units } else { units };
        listed.iter().for_each(|&output| self.more[output as usize] += more);
    }

    pub(crate) fn of(&self, output: u32) -> f64 {
        (self.mostly + self.more[output as usize]) as f64
    }
}

/// Numerical outputs with unknown cells, or labels as numbers.
#[derive(Debug)]
pub(crate) struct MaskedNumbers {
    cells: TargetCells,
    /// Whether the numbers are labels, 0 and 1: means are frequencies.
    are_labels: bool,
    /// The mean of the known cells of each output, over all samples of the fit.
    means: Vec<f64>,
    /// The factor of each output for the search of splits, which is finite and not negative.
    factors: Vec<f64>,
}

impl MaskedNumbers {
    /// `units` returns the weight of a sample.
    pub(crate) fn new(cells: TargetCells, are_labels: bool, units: impl Fn(u32) -> u64) -> Result<Self> {
        let rows = 0..cells.n_rows() as u32;
        let columns = cells.by_column(rows.map(|row| (row, row)), &cells.units(&units)?, units)?;
        let factors = Purpose("the factors of outputs").filled(1.0, cells.n_columns())?;
        let mut numbers = MaskedNumbers { cells, are_labels, means: Vec::new(), factors };
        let n_outputs = numbers.cells.n_columns();
        numbers.means = PURPOSE.collected((0..n_outputs).map(|output| numbers.mean(columns.of(output))))?;
        Ok(numbers)
    }

    /// Returns the mean of some cells of an output, which is zero if there are none.
    pub(crate) fn mean(&self, cells: &[ColumnCell]) -> f64 {
        if !self.are_labels {
            return exact_mean(weighted(cells));
        }
        let units =
            |is_on: bool| cells.iter().filter(|cell| (cell.value > 0.0) == is_on).map(|cell| cell.units).sum::<u64>();
        let (on, off) = (units(true), units(false));
        if on == 0 { 0.0 } else { on as f64 / (on + off) as f64 }
    }

    pub(crate) fn are_labels(&self) -> bool {
        self.are_labels
    }

    /// Returns the same numbers, with these factors of outputs for the search of splits.
    pub(in crate::data) fn times(self, factors: Vec<f64>) -> Self {
        MaskedNumbers { factors, ..self }
    }

    pub(crate) fn n_outputs(&self) -> usize {
        self.means.len()
    }

    pub(crate) fn cells(&self) -> &TargetCells {
        &self.cells
    }

    /// Returns the outputs and the values of the known cells of a sample, as the search of splits uses them.
    #[inline]
    pub(crate) fn searched(&self, row: u32) -> impl ExactSizeIterator<Item = (u32, f64)> + '_ {
        let RowCells { columns, values, .. } = self.cells.of_row(row);
        columns.iter().zip(values).map(|(&output, value)| (output, value * self.factors[output as usize]))
    }

    pub(crate) fn means(&self) -> &[f64] {
        &self.means
    }

    /// Returns whether all known cells of each output are equal in these samples.
    pub(crate) fn are_equal(&self, rows: &[u32]) -> Result<bool> {
        let mut found = Vec::new();
        for &row in rows {
            PURPOSE.reserve(&mut found, self.cells.range(row).len())?;
            self.cells.of_row(row).each(|output, value, _| found.push((output, value)));
        }
        found.sort_unstable_by_key(|cell| cell.0);
        Ok(found.windows(2).all(|pair| pair[0].0 != pair[1].0 || pair[0].1 == pair[1].1))
    }

    /// Returns a sample as the search of splits uses it, with the means of outputs for unknown cells.
    pub(crate) fn filled_row(&self, row: u32) -> impl Iterator<Item = f64> + '_ {
        let mut known = self.searched(row).peekable();
        (0u32..).zip(self.means.iter().zip(&self.factors)).map(move |(output, (mean, factor))| {
            known.next_if(|cell| cell.0 == output).map_or(mean * factor, |cell| cell.1)
        })
    }

    /// Returns all samples, filled in this way.
    pub(crate) fn filled(&self) -> Result<RealTargets<'static>> {
        let n = self.cells.n_rows();
        let mut values = PURPOSE.with_capacity(n.saturating_mul(self.n_outputs()))?;
        (0..n as u32).for_each(|row| values.extend(self.filled_row(row)));
        RealTargets::new(values, self.n_outputs())
    }
}
