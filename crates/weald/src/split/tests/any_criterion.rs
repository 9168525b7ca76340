//! Criteria behind a pointer, so that one test covers all of them.

use std::cell::RefCell;

use super::Prepared;
use crate::control::Control;
use crate::criterion::absolute_error::AbsoluteError;
use crate::criterion::cells::CellsVariance;
use crate::criterion::counts::two_classes::GiniOfTwo;
use crate::criterion::counts::{Gini, ManySlots, OneSlot};
use crate::criterion::entropy::Entropy;
use crate::criterion::masked_counts::{EntropyOfClasses, EntropyOfLabels, GiniOfClasses, GiniOfLabels, MaskedCounts};
use crate::criterion::poisson::Poisson;
use crate::criterion::sparse_variance::SparseVariance;
use crate::criterion::variance::{self, Variance};
use crate::criterion::{NodeCriterion, NodeStats, Units};
use crate::data::sparse_targets::SparseNumbers;
use crate::data::train_y::TrainY;
use crate::data::{CellWeights, Dataset, SparseTargets};
use crate::error::Result;
use crate::exact::reduce::Workers;

/// Makes a criterion from data that it borrows.
pub(super) type Make<'a> = dyn FnMut() -> Box<dyn AnyCriterion + 'a> + 'a;

/// Calls `body` with each criterion that fits the targets, for each width of units.
pub(super) fn for_each_criterion(data: &Prepared<'_>, mut body: impl FnMut(&str, &mut Make<'_>)) {
    fn with_units<U: Units + Whole>(data: &Prepared<'_>, units: &[U], body: &mut impl FnMut(&str, &mut Make<'_>)) {
        let total = data.rules.total;
        let weights: Vec<f64> = data.units.iter().map(|&units| units as f64).collect();
        let dataset =
            Dataset::new(&data.x, &data.targets).sample_weight(&weights[..]).y_weight(data.mask.map(CellWeights::from));
        let observed = dataset.observed().unwrap();
        let dataset = dataset.with_observed(observed.as_ref());
        match dataset.train_y(None).unwrap() {
            TrainY::MaskedSlots(y) if y.n_class_outputs().is_some() => {
                body("gini", &mut || boxed(MaskedCounts::<U, GiniOfClasses>::new(&y, units, &Workers::One).unwrap()));
                body("entropy", &mut || {
                    boxed(MaskedCounts::<U, EntropyOfClasses>::new(&y, units, &Workers::One).unwrap())
                });
            }
            TrainY::MaskedSlots(y) => {
                body("gini", &mut || boxed(MaskedCounts::<U, GiniOfLabels>::new(&y, units, &Workers::One).unwrap()));
                body("entropy", &mut || {
                    boxed(MaskedCounts::<U, EntropyOfLabels>::new(&y, units, &Workers::One).unwrap())
                });
            }
            TrainY::MaskedReal(y) => {
                let exact = data.exact;
                let make = || CellsVariance::new(&y, units, exact, &Control::default()).unwrap();
                body("variance", &mut || boxed(make()));
            }
            TrainY::Slots(slots) => {
                let slots = &slots;
                body("gini", &mut || boxed(Gini::new(ManySlots::new(slots, units), slots, &Workers::One).unwrap()));
                if slots.n_class_outputs == Some(1) {
                    let one = || OneSlot::new(slots, units).unwrap();
                    body("gini of one", &mut || boxed(Gini::new(one(), slots, &Workers::One).unwrap()));
                    if slots.width == 2 {
                        body("gini of two", &mut || boxed(GiniOfTwo::new(slots, units, &Workers::One).unwrap()));
                    }
                }
                body("entropy", &mut || boxed(Entropy::new(slots, units, total, &Workers::One).unwrap()));
            }
            TrainY::SparseReal(_) => panic!("numbers are held row after row"),
            TrainY::Real(y) => {
                let (y, q, exact) = (&y, y.n_outputs, data.exact);
                let entries = |row: usize| (0u32..).zip(y.of(row as u32).iter().copied()).filter(|(_, v)| *v != 0.0);
                let n = y.values.len() / q;
                let ptr: Vec<usize> = (0..=n).map(|end| (0..end).map(|row| entries(row).count()).sum()).collect();
                let (outputs, values): (Vec<u32>, Vec<f64>) = (0..n).flat_map(entries).unzip();
                let entries = &SparseNumbers::new(SparseTargets::try_new(ptr, outputs, values, q).unwrap());
                body("variance-of-entries", &mut || {
                    boxed(SparseVariance::new(entries, units, exact, &Control::default(), &Workers::One).unwrap())
                });
                body("variance", &mut || {
                    boxed(
                        Variance::new(
                            y,
                            units,
                            exact,
                            variance::Many::new(q).unwrap(),
                            &Control::default(),
                            &Workers::One,
                        )
                        .unwrap(),
                    )
                });
                let values = || data.rows.iter().flat_map(|&row| y.of(row));
                if values().all(|&y| y >= 0.0) && values().any(|&y| y > 0.0) {
                    body("poisson", &mut || boxed(Poisson::new(y, units, total, &Workers::One).unwrap()));
                }
                body("absolute-error", &mut || boxed(AbsoluteError::new(y, units, &Control::default()).unwrap()));
                if q == 1 {
                    body("variance of one", &mut || {
                        boxed(
                            Variance::new(y, units, exact, variance::One, &Control::default(), &Workers::One).unwrap(),
                        )
                    });
                }
            }
        }
    }
    if data.rules.total.units() < 1 << 31 {
        with_units(data, &data.units.iter().map(|&u| u as u32).collect::<Vec<_>>(), &mut body);
    }
    with_units(data, &data.units, &mut body);
}

/// A criterion behind a pointer, to which samples are moved one by one.
pub(super) trait AnyCriterion {
    fn remember(&self, place: &mut usize) -> Result<bool>;
    fn enter_rest(&mut self, place: usize, rows: &[u32]) -> Result<NodeStats>;
    fn enter(&mut self, rows: &[u32]) -> Result<NodeStats>;
    fn reset(&mut self);
    fn add(&mut self, row: u32);
    fn move_one(&mut self, row: u32);
    fn moved_weight(&self) -> f64;
    fn score(&self) -> f64;
    fn perfect_score(&self) -> f64;
    fn least_moved_weight(&self, score: f64) -> f64;
    fn decrease(&self, score: f64) -> f64;
    fn score_without_gain(&self) -> f64;
    fn moved_sums(&self, visit: &mut dyn FnMut(u32, i128)) -> i128;
    fn node_sums(&self, visit: &mut dyn FnMut(u32, i128)) -> i128;
    fn move_side(&mut self, weight: i128, sums: &[(u32, i128)]);
    fn ordering_sum(&self) -> Option<u32>;
    fn ordering_unit(&self, number: u32) -> Option<f64>;
}

/// Sums are whole numbers of any type.
trait Whole: Copy {
    fn to_whole(self) -> i128;
    fn from_whole(whole: i128) -> Self;
}

macro_rules! whole {
    ($($sum:ty),*) => { $(
        impl Whole for $sum {
            fn to_whole(self) -> i128 {
                self as i128
            }
            fn from_whole(whole: i128) -> Self {
                whole as $sum
            }
        }
    )* };
}

whole!(f64, u32, u64, i128);

struct Scanned<C: NodeCriterion>(C, C::Moved, RefCell<Vec<C::Memory>>);

impl<C: NodeCriterion<Sum: Whole>> AnyCriterion for Scanned<C> {
    fn remember(&self, place: &mut usize) -> Result<bool> {
        let mut memory = C::Memory::default();
        let worthwhile = self.0.remember(&mut memory);
        *place = self.2.borrow().len();
        self.2.borrow_mut().push(memory);
        worthwhile
    }
    fn enter_rest(&mut self, place: usize, rows: &[u32]) -> Result<NodeStats> {
        self.0.enter_rest(&self.2.borrow()[place], rows)
    }
    fn enter(&mut self, rows: &[u32]) -> Result<NodeStats> {
        self.0.enter(rows)
    }
    fn reset(&mut self) {
        self.1 = self.0.reset();
    }
    fn add(&mut self, row: u32) {
        self.0.move_sample(&mut self.1, row);
    }
    fn move_one(&mut self, row: u32) {
        self.1 = self.0.move_one(row);
    }
    fn moved_weight(&self) -> f64 {
        self.0.moved_weight(&self.1)
    }
    fn score(&self) -> f64 {
        self.0.score(&self.1)
    }
    fn perfect_score(&self) -> f64 {
        self.0.perfect_score()
    }
    fn least_moved_weight(&self, score: f64) -> f64 {
        self.0.least_moved_weight(score)
    }
    fn decrease(&self, score: f64) -> f64 {
        self.0.decrease(score)
    }
    fn score_without_gain(&self) -> f64 {
        self.0.score_without_gain()
    }
    fn moved_sums(&self, visit: &mut dyn FnMut(u32, i128)) -> i128 {
        self.0.moved_sums(&self.1, |number, sum| visit(number, sum.to_whole())).to_whole()
    }
    fn node_sums(&self, visit: &mut dyn FnMut(u32, i128)) -> i128 {
        self.0.node_sums(|number, sum| visit(number, sum.to_whole())).to_whole()
    }
    fn move_side(&mut self, weight: i128, sums: &[(u32, i128)]) {
        let sums: Vec<_> = sums.iter().map(|&(number, sum)| (number, C::Sum::from_whole(sum))).collect();
        self.0.move_side(&mut self.1, C::Sum::from_whole(weight), &sums);
    }
    fn ordering_sum(&self) -> Option<u32> {
        self.0.ordering_sum()
    }
    fn ordering_unit(&self, number: u32) -> Option<f64> {
        self.0.ordering_unit(number)
    }
}

fn boxed<'a, C: NodeCriterion<Sum: Whole> + 'a>(mut criterion: C) -> Box<dyn AnyCriterion + 'a> {
    let moved = criterion.reset();
    Box::new(Scanned(criterion, moved, RefCell::default()))
}

impl NodeCriterion for Box<dyn AnyCriterion + '_> {
    type Memory = usize;
    type Moved = ();
    type Sample = ();

    fn remember(&self, memory: &mut usize) -> Result<bool> {
        (**self).remember(memory)
    }
    fn enter_rest(&mut self, whole: &usize, rows: &[u32]) -> Result<NodeStats> {
        (**self).enter_rest(*whole, rows)
    }

    fn enter(&mut self, rows: &[u32]) -> Result<NodeStats> {
        (**self).enter(rows)
    }
    fn reset(&mut self) {
        (**self).reset();
    }
    fn move_sample(&mut self, (): &mut (), row: u32) {
        self.add(row);
    }
    fn move_one(&mut self, row: u32) {
        (**self).move_one(row);
    }
    fn moved_weight(&self, (): &()) -> f64 {
        (**self).moved_weight()
    }
    fn score(&self, (): &()) -> f64 {
        (**self).score()
    }
    fn perfect_score(&self) -> f64 {
        (**self).perfect_score()
    }
    fn least_moved_weight(&self, score: f64) -> f64 {
        (**self).least_moved_weight(score)
    }
    fn decrease(&self, score: f64) -> f64 {
        (**self).decrease(score)
    }
    fn score_without_gain(&self) -> f64 {
        (**self).score_without_gain()
    }
    type Sum = i128;
    fn moved_sums(&self, (): &(), mut visit: impl FnMut(u32, i128)) -> i128 {
        (**self).moved_sums(&mut visit)
    }
    fn node_sums(&self, mut visit: impl FnMut(u32, i128)) -> i128 {
        (**self).node_sums(&mut visit)
    }
    fn move_side(&mut self, (): &mut (), weight: i128, sums: &[(u32, i128)]) {
        (**self).move_side(weight, sums);
    }
    fn ordering_sum(&self) -> Option<u32> {
        (**self).ordering_sum()
    }
    fn ordering_unit(&self, number: u32) -> Option<f64> {
        (**self).ordering_unit(number)
    }
}
