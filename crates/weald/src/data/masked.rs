//! y with unknown cells, in the form that growth reads.

use std::borrow::Cow;

use super::known::Known;
use super::known_bits::KnownBits;
use super::slots::Slots;
use super::train_y::RealTargets;
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
    pub(super) fn new(
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

/// Numerical outputs with unknown cells.
#[derive(Debug)]
pub(crate) struct MaskedNumbers {
    /// The values, with NaN for unknown cells.
    values: RealTargets<'static>,
    /// The mean of the known cells of each output, over all samples of the fit.
    means: Vec<f64>,
}

impl MaskedNumbers {
    /// `units` returns the weight of a sample.
    pub(super) fn new(y: RealTargets<'_>, known: &Known, units: impl Fn(u32) -> u64) -> Result<Self> {
        let (n_outputs, n) = (y.n_outputs, known.n_rows() as u32);
        let mut values = match y.values {
            Cow::Owned(values) => values,
            Cow::Borrowed(values) => PURPOSE.collected(values.iter().copied())?,
        };
        for (row, values) in (0..n).zip(values.chunks_exact_mut(n_outputs)) {
            known.each_masked(row, |output| values[output as usize] = f64::NAN);
        }
        MaskedNumbers::with_gaps(RealTargets::new(values, n_outputs)?, units)
    }

    /// The same for values of which unknown cells are NaN.
    pub(super) fn with_gaps(values: RealTargets<'static>, units: impl Fn(u32) -> u64) -> Result<Self> {
        let n = values.values.len().checked_div(values.n_outputs).unwrap_or(0) as u32;
        let mean = |output: usize| {
            let cell = |row: u32| (values.of(row)[output], units(row));
            exact_mean((0..n).map(cell).filter(|(y, units)| *units > 0 && !y.is_nan()))
        };
        let means = PURPOSE.collected((0..values.n_outputs).map(mean))?;
        Ok(MaskedNumbers { values, means })
    }

    /// Returns the same numbers, with these factors of outputs for the search of splits.
    pub(super) fn times(self, factors: Vec<f64>) -> Self {
        MaskedNumbers { values: self.values.times(factors), ..self }
    }

    pub(crate) fn n_outputs(&self) -> usize {
        self.values.n_outputs
    }

    /// Returns a sample, with NaN for unknown cells.
    #[inline]
    pub(crate) fn of(&self, row: u32) -> &[f64] {
        self.values.of(row)
    }

    /// Returns a sample as the search of splits uses it, with NaN for unknown cells.
    #[inline]
    pub(crate) fn searched(&self, row: u32) -> impl Iterator<Item = f64> + Clone + '_ {
        self.values.searched(row)
    }

    pub(crate) fn means(&self) -> &[f64] {
        &self.means
    }

    /// Returns a sample as the search of splits uses it, with the means of outputs for unknown cells.
    pub(crate) fn filled_row(&self, row: u32) -> impl Iterator<Item = f64> + '_ {
        let filled =
            self.of(row).iter().zip(&self.means).map(|(&value, &mean)| if value.is_nan() { mean } else { value });
        filled.zip(self.values.factors()).map(|(value, factor)| value * factor)
    }

    /// Returns all samples, filled in this way.
    pub(crate) fn filled(&self) -> Result<RealTargets<'static>> {
        let n_values = self.values.values.len();
        let mut values = PURPOSE.with_capacity(n_values)?;
        let n = n_values.checked_div(self.n_outputs()).unwrap_or(0) as u32;
        (0..n).for_each(|row| values.extend(self.filled_row(row)));
        RealTargets::new(values, self.n_outputs())
    }
}
