//! The search on entries, for which every partitioner is a store without sums.

use std::convert::Infallible;

use super::Task;
use super::expand::Store;
use super::scan::Scan;
use crate::criterion::NodeCriterion;
use crate::error::Result;
use crate::partition::decision::Decision;
use crate::partition::{Partitioner, Span};

/// A partitioner whose columns are scanned entry by entry.
#[derive(Debug)]
pub(crate) struct Entries<P>(pub(crate) P);

impl<P: Partitioner, C: NodeCriterion> Store<C> for Entries<P> {
    type Sums = Infallible;

    fn root(&self) -> Span {
        self.0.root()
    }

    fn rows(&self, span: &Span) -> &[u32] {
        self.0.rows(span)
    }

    fn split_samples(&mut self, span: &Span, feature: u32, decision: Decision<'_>) -> Result<u32> {
        Ok(self.0.split_samples(span, feature, decision))
    }

    const CARRIES_COLUMNS: bool = P::CARRIES_COLUMNS;

    fn split_columns(&mut self, span: &Span, mid: u32, searched: [bool; 2]) -> Result<[Span; 2]> {
        self.0.split_columns(span, mid, searched)
    }

    fn search(&mut self, scan: &mut Scan<'_, C>, task: &Task, _: Option<&mut Infallible>) -> Result<()> {
        let (lottery, n_drawn) = (scan.lottery, scan.lottery.n_examined());
        self.0.visit(&task.span, lottery, n_drawn, scan)
    }
}
