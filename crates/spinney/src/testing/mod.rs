//! Naive twins and random data, for tests only.
