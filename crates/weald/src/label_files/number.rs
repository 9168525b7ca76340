//! Parsing of numbers.

/// The powers of ten that float64 represents exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Integers of at most this number of digits fit into u64.
const DIGITS: usize = 19;

/// Parses an integer of at most 19 decimal digits, without a sign.
#[inline]
pub(super) fn whole(text: &[u8]) -> Option<u64> {
    leading_whole(text).filter(|&(_, n_bytes)| n_bytes == text.len()).map(|(number, _)| number)
}

/// Parses the integer at the beginning of a text, and returns it with its number of digits.
#[inline]
pub(super) fn leading_whole(text: &[u8]) -> Option<(u64, usize)> {
    let (number, n_bytes) = digits(text, 0);
    (1..=DIGITS).contains(&n_bytes).then_some((number, n_bytes))
}

/// Appends the digits at the beginning of a text to those of a number, and returns their number. The value is
/// meaningless if it has more digits than fit.
#[inline]
fn digits(text: &[u8], number: u64) -> (u64, usize) {
    let (mut number, mut n_bytes) = (number, 0);
    while let Some(digit) = text.get(n_bytes).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit <= 9) {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        n_bytes += 1;
    }
    (number, n_bytes)
}

/// Returns the float32 nearest to a decimal number (ties to even), or NaN; `None` for other text, and if the result
/// would be infinite.
#[inline]
pub(super) fn decimal(text: &[u8]) -> Option<f32> {
    match leading_decimal(text) {
        Some((value, n_bytes)) if n_bytes == text.len() => Some(value),
        _ => any_decimal(text),
    }
}

/// Parses a number without an exponent at the beginning of a text, and also returns its number of bytes. Returns `None`
/// for some valid numbers: those with many digits, and those very close to the midpoint of two float32.
#[inline]
pub(super) fn leading_decimal(text: &[u8]) -> Option<(f32, usize)> {
    let n_sign = usize::from(text.first() == Some(&b'-'));
    let (mut mantissa, n_whole) = digits(&text[n_sign..], 0);
    let (mut n_bytes, mut n_fraction) = (n_sign + n_whole, 0);
    if text.get(n_bytes) == Some(&b'.') {
        (mantissa, n_fraction) = digits(&text[n_bytes + 1..], mantissa);
        n_bytes += 1 + n_fraction;
    }
    if !(1..=DIGITS).contains(&(n_whole + n_fraction)) || mantissa > 1 << 53 {
        return None;
    }
    // Both are exact in float64, so that the quotient is the float64 nearest to the number.
    let nearest = if n_fraction == 0 { mantissa as f64 } else { mantissa as f64 / POWERS[n_fraction] };
    // Rounded again, it is the nearest float32, unless it is the midpoint of two: the number may then be on either side
    // of it. The midpoints of normal float32 have exactly the highest of the 29 additional bits of float64 set, and a
    // number with so few digits is normal or zero.
    if nearest.to_bits() & 0x1fff_ffff == 0x1000_0000 {
        return None;
    }
    Some((if n_sign == 1 { -nearest as f32 } else { nearest as f32 }, n_bytes))
}

#[cold]
fn any_decimal(text: &[u8]) -> Option<f32> {
    let number: f32 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (!number.is_infinite()).then_some(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn short_numbers_are_those_of_the_standard_library(
            mantissa in prop_oneof![any::<u64>(), 0u64..1 << 54, 0u64..1 << 26],
            point in 0usize..22,
            negative: bool,
        ) {
            let mut text = mantissa.to_string();
            if point <= text.len() {
                text.insert(text.len() - point, '.');
            }
            if negative {
                text.insert(0, '-');
            }
            prop_assert_eq!(decimal(text.as_bytes()).unwrap().to_bits(), text.parse::<f32>().unwrap().to_bits());
        }

        /// Midpoints of neighbouring float32, and the nearest decimal numbers on both sides, for which rounding twice
        /// gives the wrong number.
        #[test]
        fn middles_between_two_neighbours_round_once(bits in 0x3000_0000u32..0x5000_0000, off in -2i64..=2) {
            let low = f64::from(f32::from_bits(bits));
            let high = f64::from(f32::from_bits(bits + 1));
            let middle = (low + high) / 2.0;
            let digits = format!("{:.0}", middle * 1e9);
            let Ok(whole) = digits.parse::<i64>() else { return Ok(()) };
            let text = format!("{}", whole.saturating_add(off));
            let cut = text.len().saturating_sub(9);
            let text = format!("{}.{}", &text[..cut], &text[cut..]);
            if let Ok(known) = text.parse::<f32>() {
                prop_assert_eq!(decimal(text.as_bytes()).unwrap().to_bits(), known.to_bits(), "{}", text);
            }
        }

        #[test]
        fn any_text_is_what_the_standard_library_says(text in "[-+.0-9eEinfaINFN ]{0,12}") {
            let known = text.parse::<f32>().ok().filter(|number| !number.is_infinite());
            let found = decimal(text.as_bytes());
            prop_assert_eq!(found.map(f32::is_nan), known.map(f32::is_nan), "{}", text);
            if !known.is_some_and(f32::is_nan) {
                prop_assert_eq!(found.map(f32::to_bits), known.map(f32::to_bits), "{}", text);
            }
        }

        #[test]
        fn whole_numbers_are_digits(text in "[-+0-9.]{0,21}") {
            let known = text.parse::<u64>().ok().filter(|_| !text.starts_with('+') && text.len() <= DIGITS);
            prop_assert_eq!(whole(text.as_bytes()), known);
        }

        #[test]
        fn what_is_written_is_read_again(bits: u32) {
            let number = f32::from_bits(bits);
            prop_assume!(!number.is_nan() && number.is_finite());
            for text in [format!("{number}"), format!("{number:e}")] {
                prop_assert_eq!(decimal(text.as_bytes()).map(f32::to_bits), Some(bits), "{}", text);
            }
        }
    }
}
