//! The properties of each criterion, and the methods of [`Criterion`] that return them.
//!
//! A criterion is a file of its own, with a type that implements [`CriterionKind`], and a row of the table of
//! [`super`]. Configurations, dispatch, importances and model files use the methods of [`Criterion`] and do not depend
//! on particular criteria.

use std::sync::LazyLock;

use super::variance::AnyVariance;
use super::{Criterion, NodeCriterion, Units};
use crate::control::Control;
use crate::data::Outputs;
use crate::data::train_y::TrainY;
use crate::error::{Error, Result};
use crate::exact::Total;
use crate::exact::reduce::Workers;

/// Defines [`Criterion`] and its methods from rows, each with documentation, a name, and a type that defines the rest.
macro_rules! criteria {
    ($($(#[$doc:meta])+ $criterion:ident: $kind:ty,)+) => {
        /// The impurity that splits reduce.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Criterion {
            $($(#[$doc])+ $criterion,)+
        }

        impl Criterion {
            /// All criteria.
            pub(crate) const ALL: &[Criterion] = &[$(Criterion::$criterion),+];

            fn facts(self) -> table::Facts {
                match self {
                    $(Criterion::$criterion => table::Facts::of::<$kind>(),)+
                }
            }

            /// Passes the statistics of nodes to `taker`.
            ///
            /// # Errors
            /// [`crate::ErrorKind::Invalid`] for targets that the criterion does not support,
            /// [`crate::ErrorKind::OutOfMemory`].
            pub(crate) fn statistics<'a, U: Units, T: TakeStatistics<'a>>(
                self,
                data: &NodeData<'a, U>,
                taker: T,
            ) -> Result<T::Outcome> {
                match self {
                    $(Criterion::$criterion => <$kind as table::CriterionKind>::statistics(data, taker),)+
                }
            }
        }
    };
}

/// The properties of a criterion.
pub(crate) trait CriterionKind {
    /// The name in model files.
    const NAME: &'static str;

    /// The outputs that the criterion supports.
    const DOMAIN: TargetKind;

    /// The outputs for which the criterion may be set if splits are searched on projections of the outputs. The
    /// variance of the projected outputs is reduced in this case, whatever criterion is set.
    const PROJECTED: &'static [TargetKind] = &[];

    /// The values of leaves for numerical outputs.
    const LEAVES: LeafValues = LeafValues::Means;

    /// The decrease of weight × impurity by a split, if it can be computed from sums over leaves: see
    /// [`Criterion::decrease`].
    const DECREASE: Option<Decrease>;

    /// Whether outputs may have factors, by which they are multiplied when splits are searched. The criterion must then
    /// read [`crate::data::train_y::RealTargets::searched`].
    const TAKES_FACTORS: bool = false;

    /// Whether numerical outputs that are mostly zero are fitted as entries. The criterion must then have statistics
    /// for [`TrainY::SparseReal`].
    const TAKES_ENTRIES: bool = false;

    /// Creates the statistics of nodes and passes them to `taker`.
    fn statistics<'a, U: Units, T: TakeStatistics<'a>>(data: &NodeData<'a, U>, taker: T) -> Result<T::Outcome>;

    /// Checks that the criterion supports these targets. `rows` are the samples of positive weight.
    fn check(_y: &TrainY<'_>, _rows: &[u32]) -> Result<()> {
        Ok(())
    }
}

/// A function that returns the decrease of weight × impurity by a split, summed over its outputs.
pub(crate) type Decrease = fn(&SplitSums<'_>) -> f64;

/// The values of leaves for numerical outputs, which are the best values according to the criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeafValues {
    Means,
    /// If the weight is divided evenly, this is the mean of the two values in the middle.
    Medians,
}

/// Returns the error of a criterion that does not support numerical outputs with unknown cells.
pub(super) fn refused_where_masked(of: Criterion) -> Error {
    Error::invalid("criterion", format!("{of:?}"), "be Variance if y has masked cells")
}

/// The kinds of outputs that criteria distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetKind {
    ClassesAndLabels,
    Numbers,
}

impl TargetKind {
    fn of(outputs: &Outputs) -> Self {
        match outputs {
            Outputs::Real { .. } => TargetKind::Numbers,
            Outputs::Classes { .. } | Outputs::Labels { .. } => TargetKind::ClassesAndLabels,
        }
    }
}

/// The data of the nodes of a tree.
#[derive(Debug)]
pub(crate) struct NodeData<'a, U> {
    pub(crate) y: &'a TrainY<'a>,
    pub(crate) units: &'a [U],
    /// Whether units are integer multiples of samples (see `data::weights`).
    pub(crate) exact_weights: bool,
    /// The weight of the root, in units.
    pub(crate) total: Total,
    pub(crate) workers: &'a Workers,
    pub(crate) control: &'a Control,
}

impl<U> NodeData<'_, U> {
    /// Returns the error of criterion `K` for targets that it does not support.
    pub(super) fn refused_by<K: CriterionKind>(&self) -> Error {
        let domain = match self.y {
            TrainY::Real(_) | TrainY::SparseReal(_) | TrainY::MaskedReal(_) => TargetKind::Numbers,
            TrainY::Slots(_) | TrainY::MaskedSlots(_) => TargetKind::ClassesAndLabels,
        };
        Error::invalid("criterion", K::NAME, must_be(domain, false))
    }
}

/// Takes the statistics of nodes as a concrete type, for each of which growth is compiled.
pub(crate) trait TakeStatistics<'a> {
    type Outcome;

    fn take<C: NodeCriterion + 'a>(self, statistics: C) -> Result<Self::Outcome>;

    /// Takes statistics that are sums of numerical outputs, which are also supported by histograms.
    fn take_variance<U: Units>(self, statistics: AnyVariance<'a, U>) -> Result<Self::Outcome>;
}

/// Sums over some columns of the leaves below a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SideSums<'a> {
    pub(crate) sums: &'a [f64],
    /// The divisor that converts the sums to frequencies or means.
    pub(crate) total: f64,
    pub(crate) weight: f64,
}

/// The data of a split from which importances of chosen outputs are computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SplitSums<'a> {
    /// The number of columns of each output.
    pub(crate) widths: &'a [usize],
    /// Whether outputs are labels. The column of a label is the frequency of its presence.
    pub(crate) are_labels: bool,
    pub(crate) left: SideSums<'a>,
    pub(crate) right: SideSums<'a>,
    /// The node, that is, both sides together.
    pub(crate) both: SideSums<'a>,
}

impl SplitSums<'_> {
    /// Returns the decrease for an impurity that is a function of an output's columns and their divisor.
    pub(super) fn decrease_of(&self, impurity: impl Fn(&[f64], f64) -> f64) -> f64 {
        let weighted = |side: &SideSums<'_>| {
            let mut rest = side.sums;
            let outputs = self.widths.iter().map(|&width| {
                let (output, after) = rest.split_at(width);
                rest = after;
                impurity(output, side.total)
            });
            side.weight * outputs.sum::<f64>()
        };
        weighted(&self.both) - (weighted(&self.left) + weighted(&self.right))
    }
}

/// A row of the table.
#[derive(Clone, Copy)]
pub(super) struct Facts {
    name: &'static str,
    domain: TargetKind,
    projected: &'static [TargetKind],
    leaves: LeafValues,
    takes_factors: bool,
    takes_entries: bool,
    check: fn(&TrainY<'_>, &[u32]) -> Result<()>,
    decrease: Option<Decrease>,
}

impl Facts {
    pub(super) fn of<K: CriterionKind>() -> Self {
        Facts {
            name: K::NAME,
            domain: K::DOMAIN,
            projected: K::PROJECTED,
            leaves: K::LEAVES,
            takes_factors: K::TAKES_FACTORS,
            takes_entries: K::TAKES_ENTRIES,
            check: K::check,
            decrease: K::DECREASE,
        }
    }
}

impl Criterion {
    /// The criterion that is reduced if splits are searched on projections of the outputs.
    pub(crate) const OF_PROJECTIONS: Criterion = Criterion::Variance;

    /// Returns the name in model files.
    pub(crate) fn name(self) -> &'static str {
        self.facts().name
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Criterion::ALL.iter().copied().find(|criterion| criterion.name() == name)
    }

    /// Returns whether the criterion supports numerical outputs, rather than classes and labels.
    pub(crate) fn is_for_numbers(self) -> bool {
        self.facts().domain == TargetKind::Numbers
    }

    /// Returns whether outputs may have factors.
    pub(crate) fn takes_factors(self) -> bool {
        self.facts().takes_factors
    }

    /// Returns whether numerical outputs that are mostly zero are fitted as entries. With other criteria, they are
    /// fitted as rows.
    pub(crate) fn takes_entries(self) -> bool {
        self.facts().takes_entries
    }

    fn is_for(self, domain: TargetKind, projected: bool) -> bool {
        let facts = self.facts();
        if projected { facts.projected.contains(&domain) } else { facts.domain == domain }
    }

    /// Checks that the criterion supports these outputs, or projections of them.
    pub(crate) fn check_outputs(self, outputs: &Outputs, projected: bool) -> Result<()> {
        let domain = TargetKind::of(outputs);
        if self.is_for(domain, projected) {
            return Ok(());
        }
        Err(Error::invalid("criterion", format!("{self:?}"), must_be(domain, projected)))
    }

    /// Returns whether a tree for these outputs may have this criterion, with or without projections.
    pub(crate) fn fits(self, outputs: &Outputs) -> bool {
        let domain = TargetKind::of(outputs);
        self.is_for(domain, false) || self.is_for(domain, true)
    }

    /// Checks that the criterion supports these targets. `rows` are the samples of positive weight.
    pub(crate) fn check_targets(self, y: &TrainY<'_>, rows: &[u32]) -> Result<()> {
        (self.facts().check)(y, rows)
    }

    /// Returns the values of leaves for numerical outputs.
    pub(crate) fn leaf_values(self) -> LeafValues {
        self.facts().leaves
    }

    /// Returns the decrease of weight × impurity by a split, summed over some outputs, or `None` if it cannot be
    /// computed from sums over the leaves below both sides.
    pub(crate) fn decrease(self) -> Option<Decrease> {
        self.facts().decrease
    }
}

/// Returns the text of errors that lists the criteria for these outputs.
fn must_be(domain: TargetKind, projected: bool) -> &'static str {
    static WORDS: LazyLock<[String; 4]> = LazyLock::new(|| {
        let words = |domain, projected, of: &str| {
            let names = Criterion::ALL.iter().filter(|criterion| criterion.is_for(domain, projected));
            let names: Vec<String> = names.map(|criterion| format!("{criterion:?}")).collect();
            format!("be {} for {of}", names.join(" or "))
        };
        [
            words(TargetKind::Numbers, false, "numerical outputs"),
            words(TargetKind::Numbers, true, "projected numerical outputs"),
            words(TargetKind::ClassesAndLabels, false, "classes and labels"),
            words(TargetKind::ClassesAndLabels, true, "projected classes and labels"),
        ]
    });
    let [numbers, projected_numbers, labels, projected_labels] = &*WORDS;
    match (domain, projected) {
        (TargetKind::Numbers, false) => numbers,
        (TargetKind::Numbers, true) => projected_numbers,
        (TargetKind::ClassesAndLabels, false) => labels,
        (TargetKind::ClassesAndLabels, true) => projected_labels,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn every_criterion_says_what_it_is_for() {
        let outputs = [
            Outputs::Real { n_outputs: 2 },
            Outputs::Labels { n_labels: 2 },
            Outputs::Classes { n_classes: vec![3] },
            Outputs::Classes { n_classes: vec![2, 4] },
        ];
        for outputs in &outputs {
            let is_real = matches!(outputs, Outputs::Real { .. });
            for (projected, expected) in [
                (
                    false,
                    if is_real {
                        "be Variance or Poisson or AbsoluteError for numerical outputs"
                    } else {
                        "be Gini or Entropy for classes and labels"
                    },
                ),
                (
                    true,
                    if is_real {
                        "be Variance for projected numerical outputs"
                    } else {
                        "be Gini or Variance for projected classes and labels"
                    },
                ),
            ] {
                for &criterion in Criterion::ALL {
                    let named = expected
                        .trim_start_matches("be ")
                        .split(" for ")
                        .next()
                        .unwrap()
                        .split(" or ")
                        .any(|n| n == format!("{criterion:?}"));
                    match criterion.check_outputs(outputs, projected) {
                        Ok(()) => assert!(named && criterion.fits(outputs), "{criterion:?} {outputs:?}"),
                        Err(error) => {
                            let got = format!("{criterion:?}");
                            assert!(!named, "{criterion:?} {outputs:?}");
                            assert_eq!(error.kind(), &ErrorKind::Invalid { what: "criterion", got, must: expected });
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn names_are_distinguished() {
        for &criterion in Criterion::ALL {
            assert_eq!(Criterion::from_name(criterion.name()), Some(criterion));
        }
        assert_eq!(Criterion::from_name("mass"), None);
    }
}
