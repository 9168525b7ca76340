//! Histograms in nobody's use.

use std::sync::{Mutex, MutexGuard};

use super::builder::Histogram;
use crate::error::{Result, try_push};

/// Bytes that the histograms of waiting nodes may take.
pub(super) const MOST_BYTES: usize = 256 << 20;

/// What memory is for.
pub(super) const WHAT: &str = "the histograms of a tree";

/// Histograms that no tree uses at the moment, for the next one: writing to memory for the first time takes longer than
/// filling them.
#[derive(Debug, Default)]
pub(crate) struct Spare(Mutex<Vec<Histogram>>);

impl Spare {
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Histogram>> {
        self.0.lock().expect("nothing panics while the lock is held: it guards moves only")
    }
}

/// Those of one tree, which come from all trees' and go back to them.
#[derive(Debug)]
pub(super) struct Unused<'a> {
    shared: &'a Spare,
    own: Vec<Histogram>,
}

impl<'a> Unused<'a> {
    pub(super) fn new(shared: &'a Spare) -> Self {
        Unused { shared, own: Vec::new() }
    }

    /// One of whatever lengths.
    pub(super) fn take(&mut self) -> Option<Histogram> {
        self.own.pop().or_else(|| self.shared.lock().pop())
    }

    pub(super) fn give_back(&mut self, histogram: Histogram) -> Result<()> {
        try_push(WHAT, &mut self.own, histogram)
    }
}

impl Drop for Unused<'_> {
    fn drop(&mut self) {
        let mut shared = self.shared.lock();
        // Only speed hangs on them: where memory is short they go.
        if shared.try_reserve(self.own.len()).is_err() {
            return;
        }
        shared.append(&mut self.own);
        let bytes = shared.last().map_or(0, Histogram::bytes);
        shared.truncate(MOST_BYTES / bytes.max(1));
    }
}
