//! Whole numbers of a few bits each, stored one after another without gaps, starting with the lowest bit. The last byte
//! is padded with zeros.

use safetensors::Dtype;

use super::read::Whole;
use super::tensor::{PURPOSE, Tensor};
use crate::error::{Error, Result};

/// Returns the number of bits, at least one, that the numbers below `n` need.
pub(super) fn width_below(n: usize) -> u32 {
    (usize::BITS - n.saturating_sub(1).leading_zeros()).max(1)
}

/// Returns a tensor of `values` with `width` bits each; `width` is at most 32.
pub(super) fn packed(name: &'static str, width: u32, mut values: impl Iterator<Item = u64>) -> Result<Tensor> {
    let (mut waiting, mut n_waiting) = (0u64, 0);
    let next = std::iter::from_fn(|| {
        while n_waiting < 8 {
            match values.next() {
                Some(value) => {
                    debug_assert!(value >> width == 0);
                    waiting |= value << n_waiting;
                    n_waiting += width;
                }
                None if n_waiting == 0 => return None,
                None => n_waiting = 8,
            }
        }
        let byte = waiting as u8;
        waiting >>= 8;
        n_waiting -= 8;
        Some(byte)
    });
    let mut bytes: Vec<u8> = Vec::new();
    for byte in next {
        if bytes.len() == bytes.capacity() {
            // The capacity is doubled, so that growing is cheap. Unlike a push, this reports if there is not enough
            // memory.
            let more = bytes.len().max(4096);
            bytes
                .try_reserve_exact(more)
                .map_err(|_| crate::ErrorKind::OutOfMemory { what: PURPOSE.0, bytes: more })?;
        }
        bytes.push(byte);
    }
    Ok(Tensor::new(name, Dtype::U8, bytes))
}

/// The rest of such a tensor, which has not been read yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits<'a> {
    name: &'static str,
    bytes: &'a [u8],
    /// The index of the next bit.
    at: usize,
}

impl<'a> Bits<'a> {
    pub(super) fn new(whole: &'a Whole<'_>) -> Result<Self> {
        let name = whole.name();
        let bytes = whole.bytes().ok_or_else(|| Error::corrupt(format!("`{name}` is not of type U8")))?;
        Ok(Bits { name, bytes, at: 0 })
    }

    /// Reads the next `n` numbers of `width` bits; `width` is at most 32.
    pub(super) fn take(&mut self, n: usize, width: u32) -> Result<impl ExactSizeIterator<Item = u32> + 'a> {
        let (start, bytes) = (self.at, self.bytes);
        let end = n.checked_mul(width as usize).and_then(|n_bits| start.checked_add(n_bits));
        self.at = end.filter(|end| end.div_ceil(8) <= bytes.len()).ok_or_else(|| self.too_short())?;
        Ok((0..n).map(move |i| {
            let bit = start + i * width as usize;
            // 32 bits that start within a byte extend over at most five bytes.
            let five = bytes[bit / 8..].iter().take(5).rev().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
            (five >> (bit % 8) & ((1 << width) - 1)) as u32
        }))
    }

    /// Reads zeros up to and including the next one, and returns their number.
    pub(super) fn zeros(&mut self) -> Result<u64> {
        let mut n_zeros = 0;
        loop {
            let byte = self.bytes.get(self.at / 8).ok_or_else(|| self.too_short())? >> (self.at % 8);
            let left = 8 - self.at % 8;
            let here = (byte.trailing_zeros() as usize).min(left);
            n_zeros += here as u64;
            self.at += here;
            if here < left {
                self.at += 1;
                return Ok(n_zeros);
            }
        }
    }

    /// Checks that everything has been read, except zeros that pad the last byte.
    pub(super) fn finish(mut self) -> Result<()> {
        let is_whole = self.at.div_ceil(8) == self.bytes.len();
        let left = self.bytes.len() * 8 - self.at;
        if is_whole && self.take(1, left as u32)?.all(|rest| rest == 0) {
            Ok(())
        } else {
            Err(Error::corrupt(format!("`{}` is too long", self.name)))
        }
    }

    fn too_short(&self) -> Error {
        Error::corrupt(format!("`{}` is too short", self.name))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cells(tensor: &Tensor) -> Vec<u8> {
        tensor.contents().to_vec()
    }

    fn all(bytes: &[u8]) -> Bits<'_> {
        Bits { name: "n", bytes, at: 0 }
    }

    proptest! {
        #[test]
        fn numbers_are_restored(width in 1u32..=32, values in prop::collection::vec(any::<u32>(), 0..50), split in 0usize..50) {
            let values: Vec<u32> = values.into_iter().map(|v| (u64::from(v) & ((1 << width) - 1)) as u32).collect();
            let tensor = packed("n", width, values.iter().map(|&v| v.into())).unwrap();
            let bytes = cells(&tensor);
            prop_assert_eq!(bytes.len(), (values.len() * width as usize).div_ceil(8));
            let mut bits = all(&bytes);
            let split = split.min(values.len());
            let mut found: Vec<u32> = bits.take(split, width).unwrap().collect();
            prop_assert!(bits.take(values.len() - split + 8, width).is_err());
            found.extend(bits.take(values.len() - split, width).unwrap());
            prop_assert_eq!(found, values);
            prop_assert!(bits.finish().is_ok());
        }

        #[test]
        fn runs_of_zeros_are_restored(runs in prop::collection::vec(0u64..30, 1..40)) {
            let stream = runs.iter().flat_map(|&n| (0..=n).map(move |i| u64::from(i == n)));
            let bytes = cells(&packed("n", 1, stream).unwrap());
            let mut bits = all(&bytes);
            for &n in &runs {
                prop_assert_eq!(bits.zeros().unwrap(), n);
            }
            prop_assert!(bits.finish().is_ok());
            prop_assert!(bits.zeros().is_err());
            let longer = [&bytes[..], &[0]].concat();
            let mut bits = all(&longer);
            runs.iter().for_each(|_| { bits.zeros().unwrap(); });
            prop_assert!(bits.finish().is_err());
        }
    }

    #[test]
    fn widths_hold_the_numbers_below() {
        assert_eq!([0, 1, 2, 3, 4, 5, 256, 257].map(width_below), [1, 1, 1, 2, 2, 3, 8, 9]);
    }
}
