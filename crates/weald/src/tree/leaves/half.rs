//! float16, which the standard library does not have: conversions by means of the bits.

/// A finite float16 (IEEE 754 binary16), as its bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Half(u16);

/// The number of bits of the significand of a float64 that a float16 does not have.
const DROPPED: u32 = 52 - 10;
/// The difference of the biases of the exponents.
const BIAS: u64 = 1023 - 15;

impl Half {
    /// The largest finite float16.
    pub(crate) const LARGEST: f64 = 65504.0;
    /// The smallest float16 with all 11 significant bits: 2⁻¹⁴.
    pub(crate) const LEAST_NORMAL: f64 = 1.0 / 16384.0;

    /// Returns the float16 nearest to `x`, with ties to even. The magnitude of `x` must be at most [`Half::LARGEST`].
    pub(crate) fn nearest(x: f64) -> Self {
        let magnitude = x.abs();
        debug_assert!(magnitude <= Half::LARGEST);
        let bits = if magnitude < Half::LEAST_NORMAL {
            // These are multiples of 2⁻²⁴. The 1024th multiple is the smallest normal number, also in its bits.
            (magnitude * f64::from(1 << 24)).round_ties_even() as u64
        } else {
            let bits = magnitude.to_bits();
            let just_below_half = (1 << (DROPPED - 1)) - 1;
            // A carry out of the significand correctly increments the exponent.
            ((bits + just_below_half + (bits >> DROPPED & 1)) >> DROPPED) - (BIAS << 10)
        };
        Half(bits as u16 | u16::from(x.is_sign_negative()) << 15)
    }

    pub(crate) fn bits(self) -> u16 {
        self.0
    }

    /// Returns `None` for the bits of infinities and NaN.
    #[cfg(test)]
    fn from_bits(bits: u16) -> Option<Self> {
        (bits & 0x7C00 != 0x7C00).then_some(Half(bits))
    }

    /// Returns the value of bits as a model file has them: infinite or NaN if the exponent is the largest.
    pub(crate) fn decode(bits: u16) -> f64 {
        match (bits & 0x7C00, bits & 0x3FF) {
            (0x7C00, 0) if bits & 0x8000 == 0 => f64::INFINITY,
            (0x7C00, 0) => f64::NEG_INFINITY,
            (0x7C00, _) => f64::NAN,
            _ => Half(bits).into(),
        }
    }
}

impl From<Half> for f64 {
    fn from(half: Half) -> f64 {
        let magnitude = u64::from(half.0 & 0x7FFF) << DROPPED;
        let sign = u64::from(half.0 & 0x8000) << 48;
        // These are the bits of a float64 that is 2¹⁰⁰⁸ times too small, and that is denormal exactly if the float16
        // is.
        f64::from_bits(magnitude | sign) * f64::from_bits((BIAS + 1023) << 52)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all finite non-negative float16, by their definition.
    fn all() -> Vec<f64> {
        let of = |bits: u16| {
            let (exponent, significand) = (i32::from(bits >> 10), f64::from(bits & 0x3FF));
            if exponent == 0 { significand * 2f64.powi(-24) } else { (1024.0 + significand) * 2f64.powi(exponent - 25) }
        };
        (0..0x7C00).map(of).collect()
    }

    #[test]
    fn every_bit_pattern_has_its_value_and_is_restored_from_it() {
        let all = all();
        for bits in 0..=u16::MAX {
            let expected = all.get(usize::from(bits & 0x7FFF)).map(|v| if bits & 0x8000 == 0 { *v } else { -v });
            assert_eq!(Half::from_bits(bits).map(f64::from).map(f64::to_bits), expected.map(f64::to_bits));
            match expected {
                Some(value) => {
                    assert_eq!(Half::nearest(value).bits(), bits);
                    assert_eq!(Half::decode(bits).to_bits(), value.to_bits());
                }
                None => assert!(!Half::decode(bits).is_finite()),
            }
        }
        assert_eq!(all.last(), Some(&Half::LARGEST));
        assert_eq!(Half::decode(0x7C00), f64::INFINITY);
        assert_eq!(Half::decode(0xFC00), f64::NEG_INFINITY);
        assert!(Half::decode(0x7C01).is_nan());
    }

    #[test]
    fn between_two_neighbours_the_nearer_is_taken_and_of_equals_the_even_one() {
        let all = all();
        for (bits, pair) in (0u16..).zip(all.windows(2)) {
            let middle = (pair[0] + pair[1]) / 2.0;
            let (below, above) = (f64::from_bits(middle.to_bits() - 1), f64::from_bits(middle.to_bits() + 1));
            let even = if bits % 2 == 0 { bits } else { bits + 1 };
            for (x, expected) in [(below, bits), (middle, even), (above, bits + 1)] {
                assert_eq!(Half::nearest(x).bits(), expected, "{x:e}");
                assert_eq!(Half::nearest(-x).bits(), expected | 0x8000, "-{x:e}");
            }
        }
        assert_eq!(Half::nearest(5e-324).bits(), 0);
    }
}
