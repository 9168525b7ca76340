//! Naive twins and random data, for tests only.

pub(crate) mod models;
pub(crate) mod naive;
