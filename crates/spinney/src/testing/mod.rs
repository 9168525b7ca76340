//! Naive twins and random data, for tests only.

pub(crate) mod grown;
pub(crate) mod models;
pub(crate) mod naive;
pub(crate) mod workers;
