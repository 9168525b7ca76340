//! Histograms that are not in use.

use std::sync::{Mutex, MutexGuard};

use super::builder::Histogram;
use crate::error::{Purpose, Result};

/// The maximum number of bytes of the histograms of waiting nodes.
pub(super) const MOST_BYTES: usize = 256 << 20;

/// The purpose of memory, for error messages.
pub(super) const PURPOSE: Purpose = Purpose("the histograms of a tree");

/// Histograms that no tree uses at the moment, for the next tree. They are kept because the first write to new memory
/// takes longer than filling a histogram.
#[derive(Debug, Default)]
pub(crate) struct Spare(Mutex<Vec<Histogram>>);

impl Spare {
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Histogram>> {
        self.0.lock().expect("nothing panics while the lock is held: it guards moves only")
    }
}

/// The unused histograms of one tree, which are taken from those of all trees and returned to them.
#[derive(Debug)]
pub(super) struct Unused<'a> {
    shared: &'a Spare,
    own: Vec<Histogram>,
}

impl<'a> Unused<'a> {
    pub(super) fn new(shared: &'a Spare) -> Self {
        Unused { shared, own: Vec::new() }
    }

    /// Returns an unused histogram of any length.
    pub(super) fn take(&mut self) -> Option<Histogram> {
        self.own.pop().or_else(|| self.shared.lock().pop())
    }

    pub(super) fn give_back(&mut self, histogram: Histogram) -> Result<()> {
        PURPOSE.push(&mut self.own, histogram)
    }
}

impl Drop for Unused<'_> {
    fn drop(&mut self) {
        let mut shared = self.shared.lock();
        // They affect only speed, so they are dropped if there is not enough memory.
        if shared.try_reserve(self.own.len()).is_err() {
            return;
        }
        shared.append(&mut self.own);
        let bytes = shared.last().map_or(0, Histogram::bytes);
        shared.truncate(MOST_BYTES / bytes.max(1));
    }
}
