//! Nodes that wait to be split, with their histograms; histograms in nobody's use.

use std::sync::{Mutex, MutexGuard};

use super::builder::Histogram;
use crate::criterion::variance::Memory;
use crate::error::{Result, try_push};
use crate::split::Task;

/// Bytes that the histograms of waiting nodes may take.
pub(super) const MOST_BYTES: usize = 256 << 20;

/// What memory is for.
pub(super) const WHAT: &str = "the histograms of a tree";
pub(super) const WAITING: &str = "the waiting nodes of a tree";

/// Histograms that no tree uses at the moment, for the next one: writing to memory for the first time takes longer than
/// filling them.
#[derive(Debug, Default)]
pub(crate) struct Spare(Mutex<Vec<Histogram>>);

impl Spare {
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Histogram>> {
        self.0.lock().expect("nothing panics while the lock is held: it guards moves only")
    }
}

/// What is kept of a node that waits to be split.
#[derive(Debug, Default)]
struct Waiting {
    /// Whether the next one tells anything.
    is_remembered: bool,
    memory: Memory,
    histogram: Option<Histogram>,
}

/// The waiting nodes and the histograms of one tree.
#[derive(Debug)]
pub(super) struct Store<'a> {
    /// Of all trees.
    shared: &'a Spare,
    /// Not in use.
    spare: Vec<Histogram>,
    waiting: Vec<Waiting>,
    /// Places in `waiting` that are free.
    free: Vec<usize>,
    /// So many more histograms may be kept.
    pub(super) n_places: usize,
}

impl<'a> Store<'a> {
    /// With no room for histograms yet.
    pub(super) fn new(shared: &'a Spare) -> Self {
        Store { shared, spare: Vec::new(), waiting: Vec::new(), free: Vec::new(), n_places: 0 }
    }

    /// A histogram in nobody's use, of whatever lengths.
    pub(super) fn unused(&mut self) -> Option<Histogram> {
        self.spare.pop().or_else(|| self.shared.lock().pop())
    }

    /// A place for a node that will be split; `remember` says whether it has written anything.
    pub(super) fn wait(&mut self, remember: impl FnOnce(&mut Memory) -> Result<bool>) -> Result<usize> {
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                try_push(WAITING, &mut self.waiting, Waiting::default())?;
                self.waiting.len() - 1
            }
        };
        self.waiting[place].is_remembered = remember(&mut self.waiting[place].memory)?;
        Ok(place)
    }

    /// Keeps the histogram of a searched node that will be split, if its children may be searched and there is room.
    pub(super) fn keep(&mut self, task: &Task, max_depth: usize, histogram: Option<Histogram>) -> Result<()> {
        let Some(histogram) = histogram else { return Ok(()) };
        match task.memory {
            Some(place) if self.n_places > 0 && task.depth + 1 < max_depth => {
                self.n_places -= 1;
                self.waiting[place].histogram = Some(histogram);
            }
            _ => self.give_back(histogram)?,
        }
        Ok(())
    }

    /// Nobody uses the histogram any more.
    pub(super) fn give_back(&mut self, histogram: Histogram) -> Result<()> {
        try_push(WHAT, &mut self.spare, histogram)
    }

    /// The histogram that was kept of a node.
    pub(super) fn take(&mut self, place: usize) -> Option<Histogram> {
        let histogram = self.waiting[place].histogram.take();
        self.n_places += usize::from(histogram.is_some());
        histogram
    }

    /// What was remembered of a node.
    pub(super) fn memory(&self, place: usize) -> Option<&Memory> {
        let waiting = &self.waiting[place];
        waiting.is_remembered.then_some(&waiting.memory)
    }

    /// The node waits no more.
    pub(super) fn free(&mut self, place: usize) -> Result<()> {
        try_push(WAITING, &mut self.free, place)
    }

    /// Whether no histogram is kept.
    #[cfg(test)]
    pub(super) fn keeps_none(&self) -> bool {
        self.waiting.iter().all(|waiting| waiting.histogram.is_none())
    }
}

impl Drop for Store<'_> {
    fn drop(&mut self) {
        let mut shared = self.shared.lock();
        // Only speed hangs on them: where memory is short they go.
        if shared.try_reserve(self.spare.len() + self.waiting.len()).is_err() {
            return;
        }
        shared.extend(self.spare.drain(..).chain(self.waiting.drain(..).filter_map(|waiting| waiting.histogram)));
        let bytes = shared.last().map_or(0, Histogram::bytes);
        shared.truncate(MOST_BYTES / bytes.max(1));
    }
}
