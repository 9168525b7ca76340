//! Elementary functions whose results have the same bits on every machine.
//!
//! Those of the standard library are the system's: the C libraries of Linux, macOS and Windows round differently, and
//! some choose a variant by the instructions of the processor. The functions of this module only use additions,
//! subtractions, multiplications, divisions and square roots of float64, which IEEE 754 rounds in one way, in a fixed
//! order, without fused multiplication and addition. The rest of the crate uses no others, which `clippy.toml` enforces.
//!
//! Errors are in units in the last place (ulp) of the exact result; a correctly rounded result is off by at most ½.
//!
//! | function | error | source |
//! |---|---|---|
//! | [`exp`], [`ln`] | below 1 ulp | here |
//! | [`ln_1p`] | below 1 ulp | here for small arguments, bit for bit as `libm`, which has the others |
//! | `log2` | below 1.2 ulp | here |
//! | `exp_m1` | below 2 ulp | here |
//! | `exp_of_negative`, `ln_of_normal` | the same, for some arguments only; without branches, for loops over lanes | here |
//! | `log2_of_normals` | the same, for some arguments only; for pairs | here |
//! | `pow`, `cos`, `acosh`, `hypot` | below 1 ulp; `acosh` below 2 ulp | the crate `libm`, which is FreeBSD's in Rust |
//! | `squared`(Squared::squared), `power_of_two` | correctly rounded; exact | here |
//!
//! Exponentials below the smallest normal number are off by at most one more unit, as they are rounded twice.

mod exponentials;
mod logarithms;
mod powers;
mod tables;
#[cfg(test)]
mod tests;

pub use exponentials::exp;
pub(crate) use exponentials::{exp_m1, exp_of_negative};
pub(crate) use libm::{acosh, cos, hypot, pow};
pub(crate) use logarithms::ln_of_normal;
pub use logarithms::{ln, ln_1p};
pub(crate) use powers::{Squared, power_of_two};
pub(crate) use tables::{log2, log2_of_normals};

/// ln 2 in two parts. The products of the first part with integers below 2²⁰ are exact.
const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];
