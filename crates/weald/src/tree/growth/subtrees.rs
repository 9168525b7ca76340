//! Growth of one tree on several threads: one thread grows the upper nodes, and the subtrees below them are grown in
//! parallel.
//!
//! A subtree is a function of the samples of its root and of what the search hands over. A search of these samples
//! alone therefore grows the same subtree as the search of all samples, and the result does not depend on the number of
//! threads.

use std::cmp::Reverse;

use super::grow::{Decode, Structure, expanded, in_pre_order};
use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::pool;
use crate::rng::Key;
use crate::split::{HandedOver, SplitSearch};

/// The smallest number of samples for which a node gets a search of its own. It is small in tests, which have few
/// samples.
const FEW_SAMPLES: usize = if cfg!(test) { 2 } else { 1024 };

/// The number of subtrees for each thread. More subtrees balance the work better and leave less to the upper nodes, but
/// each one has to arrange X anew.
const SUBTREES_A_THREAD: usize = 2;

/// Returns the maximum number of samples of the nodes that are grown separately, or `None` if the tree has too few
/// samples.
pub(super) fn largest(n_samples: usize, n_threads: usize) -> Option<u32> {
    let until = (n_samples / (SUBTREES_A_THREAD * n_threads)).max(FEW_SAMPLES);
    (n_threads > 1 && 2 * until <= n_samples).then_some(until as u32)
}

/// Creates the searches of one tree.
pub(super) trait Searches: Sync {
    /// Returns a search of some of the samples of the tree, in increasing order.
    fn of<'s>(&'s self, rows: &'s [u32]) -> Result<Box<dyn SplitSearch + 's>>;
}

/// Grows `rows` depth-first, as [`super::grow::grow`] does, but grows the subtrees of nodes of at most `until` samples
/// on all threads of `control`.
pub(super) fn grow_side_by_side(
    searches: &impl Searches,
    rows: &[u32],
    decode: &(impl Decode + Sync),
    key: Key,
    until: u32,
    control: &Control,
) -> Result<Structure> {
    const PURPOSE: Purpose = Purpose("the subtrees of a tree");
    let mut search = searches.of(rows)?;
    let root = search.root(key)?;
    let grown = expanded(&mut *search, root, None, until, control)?;
    let order = PURPOSE.copied(search.rows(&grown[0].span()))?;
    let mut subtrees: Vec<(u32, Subtree)> = Vec::new();
    for (number, node) in (0..).zip(&grown) {
        if let Some(task) = &node.left_over {
            PURPOSE.push(&mut subtrees, (number, Subtree::Waits(search.hand_over(task)?)))?;
        }
    }
    // The largest subtrees are grown first, so that the threads finish at about the same time.
    let node = |number: u32| &grown[number as usize];
    subtrees.sort_unstable_by_key(|(number, _)| (Reverse(node(*number).stats.n), *number));
    pool::for_each(
        control.n_threads(),
        subtrees.iter_mut(),
        || Ok(()),
        |(), (number, subtree)| {
            let samples = &node(*number).samples;
            let rows = &order[samples.start as usize..samples.end as usize];
            subtree.grow(&mut *searches.of(rows)?, decode, control)
        },
    )?;
    subtrees.sort_unstable_by_key(|(number, _)| *number);
    let mut grown_apart = PURPOSE.with_capacity(subtrees.len())?;
    grown_apart.extend(subtrees.into_iter().filter_map(|(number, subtree)| Some((number, subtree.structure()?))));
    in_pre_order(&grown, &grown_apart, &*search, decode)
}

/// The subtree of one node.
#[derive(Debug)]
enum Subtree {
    Waits(HandedOver),
    Grows,
    IsGrown(Structure),
}

impl Subtree {
    fn grow(&mut self, search: &mut dyn SplitSearch, decode: &dyn Decode, control: &Control) -> Result<()> {
        if let Subtree::Waits(node) = std::mem::replace(self, Subtree::Grows) {
            let root = search.resume(node)?;
            let grown = expanded(search, root, None, 0, control)?;
            *self = Subtree::IsGrown(in_pre_order(&grown, &[], search, decode)?);
        }
        Ok(())
    }

    fn structure(self) -> Option<Structure> {
        match self {
            Subtree::IsGrown(structure) => Some(structure),
            Subtree::Waits(_) | Subtree::Grows => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::criterion::Criterion;
    use crate::data::{Dataset, FeatureKind, Schema, Targets};
    use crate::split::Splitter;
    use crate::testing::grown::{Problem, Y};
    use crate::testing::models;
    use crate::tree::{MaxFeatures, TreeConfig};

    #[test]
    fn trees_of_many_threads_are_those_of_one() {
        let mut n_grown_apart = 0;
        for seed in 0..240u64 {
            let mut problem = Problem::new(seed, 1.0);
            let is_poisson = seed % 12 > 8;
            if let Y::Real(y) = &mut problem.y
                && is_poisson
            {
                y.mapv_inplace(|y| y.abs() + 1.0);
            }
            let criterion = match (problem.targets(), seed % 5) {
                (Targets::Real(_), _) if is_poisson => Criterion::Poisson,
                (Targets::Real(_), 0) => Criterion::AbsoluteError,
                (Targets::Real(_), _) => Criterion::Variance,
                (_, 0) => Criterion::Entropy,
                (_, _) => Criterion::Gini,
            };
            let config = TreeConfig {
                splitter: if seed % 4 == 3 { Splitter::Random } else { Splitter::Best },
                max_features: if seed % 5 < 2 { MaxFeatures::Count(1) } else { MaxFeatures::All },
                max_depth: (seed % 7 == 0).then_some(3),
                min_samples_leaf: 1 + usize::from(seed % 11 == 0),
                ccp_alpha: if seed % 13 == 0 { 0.01 } else { 0.0 },
                seed,
                ..TreeConfig::new(criterion)
            };
            let n_features = problem.x.ncols();
            // The first feature may be categorical, with five codes and missing values.
            let code = |v: f32| if v.is_nan() { v } else { (v.abs() * 4.0).trunc() };
            let (kinds, x) = if seed % 3 == 1 {
                let mut kinds = vec![FeatureKind::Ordered; n_features];
                kinds[0] = FeatureKind::Category { n_categories: 5 };
                (
                    kinds,
                    Array2::from_shape_fn(
                        problem.x.dim(),
                        |at| if at.1 == 0 { code(problem.x[at]) } else { problem.x[at] },
                    ),
                )
            } else {
                (vec![FeatureKind::Ordered; n_features], problem.x.clone())
            };
            for x in models::in_layouts(seed, x).layouts() {
                let fit = |n_threads| {
                    let schema = Schema::new(kinds.clone());
                    let data = Dataset::new(x.view(), problem.targets()).weights(problem.weights()).schema(schema);
                    config.fit(data.control(&Control::with_threads(n_threads))).unwrap()
                };
                let one = fit(1);
                for n_threads in [2, 3, 8] {
                    n_grown_apart += usize::from(one.n_leaves() > 4);
                    assert_eq!(fit(n_threads), one, "{seed}, {n_threads} threads");
                }
            }
        }
        assert!(n_grown_apart > 500, "{n_grown_apart}");
    }

    #[test]
    fn trees_of_few_samples_or_one_thread_are_grown_at_once() {
        assert_eq!(largest(1_000_000, 1), None);
        assert_eq!(largest(3, 8), None);
        assert_eq!(largest(1_000_000, 2), Some(250_000));
    }
}
