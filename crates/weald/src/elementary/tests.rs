//! The functions against twins in twice the precision.

use proptest::prelude::*;

use super::*;

/// The unevaluated sum of two numbers, the second of which is at most half a unit in the last place of the first.
#[derive(Clone, Copy, Debug)]
struct Double(f64, f64);

impl From<f64> for Double {
    fn from(x: f64) -> Self {
        Double(x, 0.0)
    }
}

impl Double {
    const LN_2: Double = Double(std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);

    /// Returns a + b without error.
    fn sum(a: f64, b: f64) -> Self {
        let sum = a + b;
        let of_b = sum - a;
        Double(sum, (a - (sum - of_b)) + (b - of_b))
    }

    fn plus(self, other: impl Into<Double>) -> Self {
        let other = other.into();
        let Double(high, low) = Double::sum(self.0, other.0);
        Double::sum(high, low + (self.1 + other.1))
    }

    fn times(self, other: impl Into<Double>) -> Self {
        let other = other.into();
        let product = self.0 * other.0;
        let low = self.0.mul_add(other.0, -product) + (self.0 * other.1 + self.1 * other.0);
        Double::sum(product, low)
    }

    fn over(self, other: impl Into<Double>) -> Self {
        let other = other.into();
        let quotient = self.0 / other.0;
        let rest = self.plus(other.times(-quotient));
        Double::sum(quotient, rest.0 / other.0)
    }

    /// Returns e^x − 1 for |x| ≤ 0.4 by its series, as (1 + e^(x/2^k) − 1)^(2^k) − 1.
    fn small_exp_m1(self) -> Self {
        const HALVINGS: i32 = 6;
        let x = Double(self.0 * power_of_two(-HALVINGS), self.1 * power_of_two(-HALVINGS));
        let series = (1..=14).rev().fold(Double(0.0, 0.0), |sum, k| sum.plus(1.0).times(x).over(f64::from(k)));
        (0..HALVINGS).fold(series, |e, _| e.times(e.plus(2.0)))
    }

    /// Returns e^x as a number and the exponent of its factor 2^n.
    fn exp(self) -> (Self, i32) {
        let n = (self.0 / std::f64::consts::LN_2).round();
        (self.plus(Double::LN_2.times(-n)).small_exp_m1().plus(1.0), n as i32)
    }

    /// Returns ln x for normal x > 0, by two steps of Newton's method from the logarithm of the standard library.
    fn ln(x: f64) -> Self {
        let n = exponent(x);
        let m = x * power_of_two(-n / 2) * power_of_two(-n - -n / 2);
        let step = |y: Double| {
            let e = Double(-y.0, -y.1).small_exp_m1();
            // m e^(−y) − 1.
            let off = e.times(m).plus(Double::sum(m, -1.0));
            y.plus(off.plus(off.times(off).times(-0.5)))
        };
        step(step(m.ln().into())).plus(Double::LN_2.times(f64::from(n)))
    }
}

/// Returns n with √½ ≤ x / 2^n < √2, approximately.
fn exponent(x: f64) -> i32 {
    let n = (x.to_bits() >> 52) as i32 - 1023;
    if x * power_of_two(-n / 2) * power_of_two(-n - -n / 2) > std::f64::consts::SQRT_2 { n + 1 } else { n }
}

/// Returns the distance in units in the last place of the truth, which must be a normal number.
fn ulps(found: f64, truth: Double) -> f64 {
    let unit = power_of_two((truth.0.abs().to_bits() >> 52) as i32 - 1023 - 52);
    (found - truth.0 - truth.1).abs() / unit
}

/// Returns the distance of `found` from a number times 2^n.
fn ulps_of_scaled(found: f64, (truth, n): (Double, i32)) -> f64 {
    ulps(found * power_of_two(-n / 2) * power_of_two(-n - -n / 2), truth)
}

/// Arguments of exponentials whose results are normal numbers, of all sizes, and near multiples of ½ ln 2, where the
/// error is largest.
fn exponents() -> impl Strategy<Value = f64> {
    let small = (-60i32..10, -1f64..1.0).prop_map(|(e, m)| m * power_of_two(e));
    let between = (-2043i32..2046, -1e-3f64..1e-3).prop_map(|(k, d)| f64::from(k) * 0.5 * std::f64::consts::LN_2 + d);
    prop_oneof![-708f64..709.7, -1f64..1.0, small.prop_filter("in range", |x| x.abs() < 708.0), between]
        .prop_filter("in range", |x| (-708.3..709.7).contains(x))
}

/// Positive normal numbers of all sizes, near 1 and near powers of √2.
fn positive() -> impl Strategy<Value = f64> {
    let any = (f64::MIN_POSITIVE.to_bits()..f64::INFINITY.to_bits()).prop_map(f64::from_bits);
    let near_one = (-52i32..0, -1f64..1.0).prop_map(|(e, d)| 1.0 + d * power_of_two(e));
    let near_root = (-10i32..10, -1e-3f64..1e-3).prop_map(|(e, d)| std::f64::consts::SQRT_2 * power_of_two(e) + d);
    prop_oneof![any, 0.5f64..2.0, near_one.prop_filter("positive", |x| *x > 0.0), near_root]
        .prop_filter("normal", |x| *x >= f64::MIN_POSITIVE)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn exponentials_are_right_to_a_unit(x in exponents()) {
        let error = ulps_of_scaled(exp(x), Double::from(x).exp());
        prop_assert!(error < 1.0, "{x:e} {error}");
        if (-700.0..=0.0).contains(&x) {
            prop_assert_eq!(exp_of_negative(x).to_bits(), exp(x).to_bits());
        }
    }

    #[test]
    fn differences_from_one_are_right_to_two_units(x in exponents()) {
        let truth = if x.abs() < 0.4 {
            (Double::from(x).small_exp_m1(), 0)
        } else {
            let (e, n) = Double::from(x).exp();
            if n.abs() > 200 { (if n < 0 { Double(-1.0, 0.0) } else { e }, n.max(0)) } else {
                (e.times(power_of_two(n)).plus(-1.0), 0)
            }
        };
        let error = if x == 0.0 { 0.0 } else { ulps_of_scaled(exp_m1(x), truth) };
        prop_assert!(error < 2.0, "{x:e} {error}");
    }

    #[test]
    fn logarithms_are_right_to_a_unit(x in positive()) {
        let truth = Double::ln(x);
        let error = |found: f64, truth: Double| if x == 1.0 { found.abs() } else { ulps(found, truth) };
        prop_assert!(error(ln(x), truth) < 1.0, "{x:e} {}", error(ln(x), truth));
        prop_assert_eq!(ln_of_normal(x).to_bits(), ln(x).to_bits());
        let truth = truth.over(Double::LN_2);
        prop_assert!(error(log2(x), truth) < 1.2, "{x:e} {}", error(log2(x), truth));
        prop_assert_eq!(log2_of_normals([x, 3.0]).map(f64::to_bits), [log2(x), log2(3.0)].map(f64::to_bits));
    }

    // The sum of two numbers may have 2000 bits; here it has twice the precision.
    #[test]
    fn logarithms_of_sums_are_right_to_a_unit(x in (-60i32..10, 0f64..1.0).prop_map(|(e, m)| m * power_of_two(e)), down in any::<bool>()) {
        let x = if down { -x.min(0.9) } else { x };
        let Double(high, low) = Double::sum(1.0, x);
        // ln (a + b) = ln a + b/a − ½ (b/a)², up to b³.
        let share = Double::from(low).over(high);
        let truth = Double::ln(high).plus(share).plus(share.times(share).times(-0.5));
        if x.abs() > 1e-15 {
            prop_assert!(ulps(ln_1p(x), truth) < 1.0, "{x:e} {}", ulps(ln_1p(x), truth));
            prop_assert_eq!(ln_1p(x).to_bits(), libm::log1p(x).to_bits());
        } else {
            prop_assert!((ln_1p(x) - x).abs() <= x.abs() * 1e-15, "{x:e}");
        }
    }
}

#[test]
fn ends_of_the_range() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    assert_eq!([0.0, -0.0, inf, -inf].map(exp), [1.0, 1.0, inf, 0.0]);
    assert_eq!([709.782_712_893_384, 709.782_712_893_385].map(|x| exp(x).is_finite()), [true, false]);
    assert_eq!([710.5, 1e300, -746.0, -1e300].map(exp), [inf, inf, 0.0, 0.0]);
    // Denormal results are off by at most the smallest.
    for x in [-708.5, -720.25, -744.4] {
        assert!((exp(x) - x.exp()).abs() <= 5e-324, "{x}");
    }
    assert_eq!([inf, -inf, 1e300, -1e300, 1000.0, -41.0].map(exp_m1), [inf, -1.0, inf, -1.0, inf, -1.0]);
    for x in [0.0, -0.0, 5e-324, -5e-324, 1e-310, f64::MIN_POSITIVE] {
        assert_eq!(exp_m1(x).abs().to_bits(), x.abs().to_bits());
        assert_eq!(ln_1p(x).to_bits(), x.to_bits());
    }
    assert_eq!([exp_of_negative(-701.0), exp_of_negative(-inf)], [exp(-700.0); 2]);
    for log in [ln, log2] {
        assert_eq!([0.0, -0.0, inf, 1.0].map(log), [-inf, -inf, inf, 0.0]);
        assert!([-1.0, -5e-324, -inf, nan].iter().all(|&x| log(x).is_nan()));
    }
    assert_eq!([-1.0, inf].map(ln_1p), [-inf, inf]);
    assert!([-1.5, -inf].iter().all(|&x| ln_1p(x).is_nan()));
    for x in [1e17, 1e18, 2e18, 1e300, f64::MAX] {
        assert!((ln_1p(x) / x.ln() - 1.0).abs() <= 2.3e-16, "{x:e}");
    }
    assert!([exp, exp_m1, ln_1p].iter().all(|f| f(nan).is_nan()));
    for x in [5e-324, 1e-320, 1e-310, f64::MIN_POSITIVE, f64::MAX] {
        assert!((ln(x) - x.ln()).abs() <= 2.3e-13, "{x:e}");
        assert!((log2(x) - x.log2()).abs() <= 2.3e-13, "{x:e}");
    }
    for e in -1074..1024 {
        // The standard library inverts 2^(−e), which overflows.
        assert_eq!(power_of_two(e), 2f64.powi(e / 2) * 2f64.powi(e - e / 2));
        assert_eq!(log2(power_of_two(e)), f64::from(e));
    }
    assert_eq!([-1075, i32::MIN, 1024, i32::MAX].map(power_of_two), [0.0, 0.0, inf, inf]);
}

/// The bits of some results. A machine on which they differ fits other models.
#[test]
fn bits_are_those_of_every_machine() {
    let mut hash = 0u64;
    let mut add = |x: f64| hash = (hash ^ x.to_bits()).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    for k in 1..20_000 {
        let x = f64::from(k) / 256.0;
        [exp(x), exp(-x), exp_m1(x / 16.0), exp_m1(-x / 16.0), ln(x), log2(x), ln_1p(x)].into_iter().for_each(&mut add);
        [pow(x, 0.37), cos(x), acosh(1.0 + x), hypot(x, 3.0)].into_iter().for_each(&mut add);
    }
    assert_eq!(hash, 1_524_347_677_342_740_553);
}
