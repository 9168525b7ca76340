//! Which nodes of a growing tree the searches for its samples follow: those whose labels they are compared with.
//!
//! A leaf that only knew the samples with one of its labels could not tell them from others, whose search comes there,
//! too. Source: J. Zhang, W.-C. Chang, H.-F. Yu and I. S. Dhillon, *Fast multi-resolution transformer fine-tuning for
//! extreme multi-label text classification*, 2021 ("matcher-aware negatives").

use std::ops::Range;

use super::beam::{Beam, Followed};
use super::tree::LabelTree;
use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::linear::{Lists, Samples};
use crate::pool;

const PURPOSE: Purpose = Purpose("the nodes that samples reach in a label tree");

/// Samples that a thread takes at a time.
const AT_ONCE: usize = 256;

/// The nodes that the search for each sample follows, among those whose parents are fitted.
#[derive(Debug)]
pub(super) struct Routes<'r> {
    samples: &'r Samples,
    /// The number of nodes that a search follows.
    width: usize,
    /// Those of `AT_ONCE` samples, and the end of the nodes of each of them.
    blocks: Vec<(Vec<Followed>, Vec<usize>)>,
}

impl<'r> Routes<'r> {
    /// All searches begin at the root.
    pub(super) fn new(samples: &'r Samples, width: usize) -> Result<Self> {
        let mut blocks = PURPOSE.with_capacity(samples.len().div_ceil(AT_ONCE))?;
        for first in (0..samples.len()).step_by(AT_ONCE) {
            let n = AT_ONCE.min(samples.len() - first);
            blocks.push((PURPOSE.filled((0.0, 0), n)?, PURPOSE.collected((0..n).map(|at| at + 1))?));
        }
        Ok(Routes { samples, width, blocks })
    }

    /// Goes on to the best children, of which the parents have been fitted.
    pub(super) fn descend(&mut self, tree: &LabelTree, control: &Control) -> Result<()> {
        let (samples, width) = (self.samples, self.width);
        pool::for_each(
            control.n_threads(),
            self.blocks.iter_mut().enumerate(),
            || Ok((Beam::default(), Vec::new())),
            |(beam, features), (block, (nodes, ends))| {
                control.check()?;
                let (mut to, mut start) = (Vec::new(), 0);
                for (row, end) in (block * AT_ONCE..).zip(ends) {
                    let (places, values) = samples.x(row);
                    features.clear();
                    PURPOSE.extend(features, places.iter().map(|&place| samples.features[place as usize]))?;
                    beam.nodes.clear();
                    PURPOSE.extend(&mut beam.nodes, nodes[start..*end].iter().copied())?;
                    beam.descend(tree, (features, values), width)?;
                    PURPOSE.extend(&mut to, beam.nodes.iter().copied())?;
                    (start, *end) = (*end, to.len());
                }
                *nodes = to;
                Ok(())
            },
        )
    }

    /// Returns the samples whose search follows each of some nodes, in increasing order.
    pub(super) fn at(&self, nodes: &Range<usize>) -> Result<Lists> {
        let followed = self.blocks.iter().enumerate().flat_map(|(block, (of_block, ends))| {
            let starts = [0].into_iter().chain(ends.iter().copied());
            let of_row = move |((start, &end), row): ((usize, &usize), usize)| {
                of_block[start..end].iter().map(move |&(_, node)| (node as usize, row as u32))
            };
            starts.zip(ends).zip(block * AT_ONCE..).flat_map(of_row)
        });
        let among = followed.filter(|(node, _)| nodes.contains(node)).map(|(node, row)| (node - nodes.start, row));
        let (ptr, items) = PURPOSE.grouped(nodes.len(), among)?;
        Ok(Lists { ptr, items })
    }
}
