//! Reference implementations and random data, only for tests.

pub(crate) mod grown;
pub(crate) mod labels;
pub(crate) mod models;
pub(crate) mod naive;
pub(crate) mod workers;
