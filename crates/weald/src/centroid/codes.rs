//! Weights of centroids in few bits.

use std::ops::Range;

use super::config::CentroidPrecision;
use crate::error::{Purpose, Result};
use crate::tree::leaves::Half;

const PURPOSE: Purpose = Purpose("the weights of centroids");

/// The weights of features, as they are stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Codes {
    /// Levels, times the factor of their node.
    Nibble(Nibbles),
    /// Integers, times the factor of their node.
    Byte(Vec<i8>),
    Half(Vec<Half>),
}

/// Values of four bits, two in a byte, the first in its lower half: a sign bit with value eight, and the number of a
/// level. The unused half of the last byte is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Nibbles {
    pub(crate) bytes: Vec<u8>,
    len: usize,
}

/// The levels: from the largest weight to a tenth of it in seven steps of equal ratio, 10^(-k/7).
const LEVELS: [f32; 8] = [1.0, 0.719_685_7, 0.517_947_5, 0.372_759_37, 0.268_269_57, 0.193_069_77, 0.138_949_54, 0.1];

/// The midpoint between each level and the next, and between the last and zero: smaller shares belong to later levels.
const BOUNDS: [f64; 8] = {
    let mut bounds = [0.0; 8];
    let mut k = 0;
    while k < 8 {
        let next = if k < 7 { LEVELS[k + 1] as f64 } else { 0.0 };
        bounds[k] = (LEVELS[k] as f64 + next) / 2.0;
        k += 1;
    }
    bounds
};

const SIGN: u8 = 8;

impl Nibbles {
    /// Builds the values from the bytes of a file; `None` if the unused half is not zero.
    #[cfg(feature = "model-files")]
    pub(crate) fn of_bytes(bytes: Vec<u8>, len: usize) -> Option<Self> {
        let is_zero = len.is_multiple_of(2) || bytes.last().is_none_or(|last| last >> 4 == 0);
        (bytes.len() == len.div_ceil(2) && is_zero).then_some(Nibbles { bytes, len })
    }

    /// Returns the code of a share of the largest weight, which is the nearest level; `None` if zero is nearer.
    fn code(share: f64) -> Option<u8> {
        let level = BOUNDS.iter().filter(|&&bound| share.abs() < bound).count();
        let sign = if share < 0.0 { SIGN } else { 0 };
        (level < LEVELS.len()).then_some(sign | level as u8)
    }

    #[inline(always)]
    fn value(code: u8) -> f32 {
        let level = LEVELS[usize::from(code & (SIGN - 1))];
        if code & SIGN == 0 { level } else { -level }
    }

    #[inline(always)]
    pub(super) fn of(&self, range: Range<usize>) -> impl Iterator<Item = f32> + '_ {
        range.map(|at| self.at(at))
    }

    #[inline(always)]
    pub(super) fn at(&self, at: usize) -> f32 {
        Nibbles::value(self.bytes[at / 2] >> (at % 2 * 4))
    }

    fn push(&mut self, code: u8) -> Result<()> {
        match self.bytes.last_mut() {
            Some(last) if self.len % 2 == 1 => *last |= code << 4,
            _ => PURPOSE.push(&mut self.bytes, code)?,
        }
        self.len += 1;
        Ok(())
    }

    fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        self.bytes.truncate(self.len.div_ceil(2));
        if let Some(last) = self.bytes.last_mut().filter(|_| self.len % 2 == 1) {
            *last &= 0xf;
        }
    }
}

impl Codes {
    pub(super) fn new(precision: CentroidPrecision) -> Self {
        match precision {
            CentroidPrecision::Nibble => Codes::Nibble(Nibbles::default()),
            CentroidPrecision::Byte => Codes::Byte(Vec::new()),
            CentroidPrecision::Half => Codes::Half(Vec::new()),
        }
    }

    pub(crate) fn precision(&self) -> CentroidPrecision {
        match self {
            Codes::Nibble(_) => CentroidPrecision::Nibble,
            Codes::Byte(_) => CentroidPrecision::Byte,
            Codes::Half(_) => CentroidPrecision::Half,
        }
    }

    pub(super) fn n_bytes(&self) -> usize {
        match self {
            Codes::Nibble(codes) => codes.bytes.len(),
            Codes::Byte(codes) => codes.len(),
            Codes::Half(codes) => 2 * codes.len(),
        }
    }

    /// Returns the code of the largest weight of a node, if nodes have factors.
    pub(super) fn of_largest(&self) -> Option<f64> {
        match self {
            Codes::Nibble(_) => Some(1.0),
            Codes::Byte(_) => Some(i8::MAX.into()),
            Codes::Half(_) => None,
        }
    }

    /// Returns what is stored for a weight, which is a share of the largest weight of its node if nodes have factors. A
    /// weight for which this is zero is not stored.
    pub(super) fn stored(&self, weight: f64) -> f64 {
        match self {
            Codes::Nibble(_) => Nibbles::code(weight).map_or(0.0, |code| Nibbles::value(code).into()),
            Codes::Byte(_) => (weight * f64::from(i8::MAX)).round_ties_even(),
            Codes::Half(_) => Half::nearest(weight.clamp(-Half::LARGEST, Half::LARGEST)).into(),
        }
    }

    /// Appends a weight in its stored form.
    pub(super) fn push(&mut self, stored: f64) -> Result<()> {
        match self {
            Codes::Nibble(codes) => Nibbles::code(stored).map_or(Ok(()), |code| codes.push(code)),
            Codes::Byte(codes) => PURPOSE.push(codes, stored as i8),
            Codes::Half(codes) => PURPOSE.push(codes, Half::nearest(stored)),
        }
    }

    /// Appends weights of `others`, which must have the same type.
    pub(super) fn push_of(&mut self, others: &Codes, range: Range<usize>) -> Result<()> {
        match (self, others) {
            (Codes::Nibble(to), Codes::Nibble(from)) => {
                range.map(|at| from.bytes[at / 2] >> (at % 2 * 4) & 0xf).try_for_each(|code| to.push(code))
            }
            (Codes::Byte(to), Codes::Byte(from)) => PURPOSE.extend(to, from[range].iter().copied()),
            (Codes::Half(to), Codes::Half(from)) => PURPOSE.extend(to, from[range].iter().copied()),
            (Codes::Nibble(_) | Codes::Byte(_) | Codes::Half(_), _) => {
                unreachable!("the codes of a tree are of one type")
            }
        }
    }

    pub(super) fn truncate(&mut self, n: usize) {
        match self {
            Codes::Nibble(codes) => codes.truncate(n),
            Codes::Byte(codes) => codes.truncate(n),
            Codes::Half(codes) => codes.truncate(n),
        }
    }

    /// Releases unused capacity.
    pub(super) fn shrink(&mut self) {
        match self {
            Codes::Nibble(codes) => codes.bytes.shrink_to_fit(),
            Codes::Byte(codes) => codes.shrink_to_fit(),
            Codes::Half(codes) => codes.shrink_to_fit(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_steps_of_one_ratio() {
        for (k, &level) in LEVELS.iter().enumerate() {
            assert_eq!(level, 10f64.powf(-(k as f64) / 7.0) as f32);
            for share in [f64::from(level), -f64::from(level)] {
                assert_eq!(f64::from(Nibbles::value(Nibbles::code(share).unwrap())), share);
            }
        }
        assert_eq!(Nibbles::code(0.049), None);
        assert_eq!(Nibbles::code(-0.0501), Some(SIGN | 7));
    }

    #[test]
    fn half_bytes_are_read_as_they_were_written() {
        let codes: Vec<u8> = (0..16).chain([3]).collect();
        let mut nibbles = Nibbles::default();
        codes.iter().for_each(|&code| nibbles.push(code).unwrap());
        let values: Vec<f32> = codes.iter().map(|&code| Nibbles::value(code)).collect();
        assert_eq!(nibbles.of(0..17).collect::<Vec<_>>(), values);
        assert_eq!(nibbles.of(5..8).collect::<Vec<_>>(), values[5..8]);
        let mut cut = nibbles.clone();
        cut.truncate(7);
        let mut again = Nibbles::default();
        codes[..7].iter().for_each(|&code| again.push(code).unwrap());
        assert_eq!(cut, again);
        codes[7..].iter().for_each(|&code| cut.push(code).unwrap());
        assert_eq!(cut, nibbles);
    }
}
