//! Where rows of several workers are added or compared.
//!
//! Each worker has some of the rows and runs the whole algorithm on them; where a decision depends on all rows, it asks
//! [`Workers`] for the sums or the largest numbers over the rows of all. As all sums are exact, every worker has the same bits
//! after it, those of one worker with all rows. Today there is one worker, which compiles to nothing; tests have two.
//!
//! A fit knows its workers by the [`crate::data::Weights`] of its rows. What they are asked for:
//!
//! | where | what |
//! |---|---|
//! | `data::weights` | the unit, totals, and which weights are exact |
//! | `criterion` | statistics of a node: counts, sums, ranges that choose frames, the number of samples |
//! | `split::histogram` | sums and counts of bins |
//! | `tree::fill` | values of leaves, where all cells of y are known |
//! | `projection::pca` | means and ranges of targets, products with their covariance |
//! | `loss::working` | starts of losses: counts of labels and classes, means |
//! | `boost::state` | weights of leaves, bounds and sums of gradients, the training loss |
//!
//! Searches that look at rows one by one, of cuts between entries and of steps along rows, have nothing to add up and see
//! one worker's rows alone.

use std::ops::AddAssign;
#[cfg(test)]
use std::sync::Arc;

use crate::error::{Result, try_filled, try_push};

/// What is reduced: whole numbers, and floats that are on a grid, so that their sums are exact.
pub(crate) trait Summand: Copy + AddAssign + PartialOrd + Send + 'static {}

impl Summand for u32 {}
impl Summand for u64 {}
impl Summand for f32 {}
impl Summand for i64 {}
impl Summand for i128 {}
impl Summand for f64 {}

/// Puts numbers of all workers in place of those of each. Every worker calls the same methods in the same order, with as
/// many numbers.
pub(crate) trait Reduce: Sync {
    /// Whether this worker has all rows, so that its own decide.
    fn has_all_rows(&self) -> bool;

    /// Sums over all workers, place by place.
    fn sum<T: Summand>(&self, own: &mut [T]);

    /// The largest over all workers, place by place. None is NaN.
    fn max<T: Summand>(&self, own: &mut [T]);

    /// As [`Reduce::sum`] for counts that are mostly zero. `places` are those of the others: of this worker before, of any
    /// worker after. There is room for all in it.
    #[inline(always)]
    fn sum_sparse<T: Summand + Default>(&self, own: &mut [T], places: &mut Vec<u32>) {
        if !self.has_all_rows() {
            self.sum(own);
            places.clear();
            places.extend((0u32..).zip(&*own).filter(|(_, count)| **count > T::default()).map(|(place, _)| place));
        }
    }

    /// The places below `width` that any worker has, rising; those of this worker before.
    fn union(&self, width: usize, places: &mut Vec<u32>) -> Result<()> {
        if self.has_all_rows() {
            return Ok(());
        }
        const WHAT: &str = "the places of all workers";
        let mut is_there = try_filled(WHAT, 0u32, width)?;
        places.iter().for_each(|&place| is_there[place as usize] = 1);
        self.max(&mut is_there);
        places.clear();
        let there = (0u32..).zip(is_there).filter(|(_, is_there)| *is_there > 0);
        there.map(|(place, _)| place).try_for_each(|place| try_push(WHAT, places, place))
    }

    /// The sum of one number.
    #[inline(always)]
    fn sum_of<T: Summand>(&self, own: T) -> T {
        let mut all = [own];
        self.sum(&mut all);
        all[0]
    }

    /// The largest of one number.
    #[inline(always)]
    fn max_of<T: Summand>(&self, own: T) -> T {
        let mut all = [own];
        self.max(&mut all);
        all[0]
    }

    /// The least and the largest of numbers of which these are a worker's own.
    #[inline(always)]
    fn range(&self, (low, high): (f64, f64)) -> (f64, f64) {
        let mut range = [-low, high];
        self.max(&mut range);
        (-range[0], range[1])
    }
}

/// The workers of a fit.
#[derive(Clone, Debug, Default)]
pub(crate) enum Workers {
    /// One, which has all rows.
    #[default]
    One,
    #[cfg(test)]
    Two(Arc<tests::OneOfTwo>),
}

impl Reduce for Workers {
    #[inline(always)]
    fn has_all_rows(&self) -> bool {
        match self {
            Workers::One => true,
            #[cfg(test)]
            Workers::Two(_) => false,
        }
    }

    #[inline(always)]
    fn sum<T: Summand>(&self, own: &mut [T]) {
        match self {
            Workers::One => _ = own,
            #[cfg(test)]
            Workers::Two(two) => two.sum(own),
        }
    }

    #[inline(always)]
    fn max<T: Summand>(&self, own: &mut [T]) {
        match self {
            Workers::One => _ = own,
            #[cfg(test)]
            Workers::Two(two) => two.max(own),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::any::Any;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Mutex, PoisonError};

    use super::*;
    use crate::exact::{exact_mean, exact_mean_of_all};
    use proptest::prelude::*;

    type Parcel = Box<dyn Any + Send>;

    /// One of two workers, on threads of their own.
    #[derive(Debug)]
    pub(crate) struct OneOfTwo {
        to_other: Sender<Parcel>,
        from_other: Mutex<Receiver<Parcel>>,
    }

    impl OneOfTwo {
        pub(crate) fn pair() -> [OneOfTwo; 2] {
            let ((a, from_a), (b, from_b)) = (channel(), channel());
            [(a, from_b), (b, from_a)].map(|(to_other, from)| OneOfTwo { to_other, from_other: Mutex::new(from) })
        }

        fn exchanged<T: Summand>(&self, own: &[T]) -> Vec<T> {
            self.to_other.send(Box::new(own.to_vec())).unwrap();
            let from = self.from_other.lock().unwrap_or_else(PoisonError::into_inner);
            *from.recv().unwrap().downcast().unwrap()
        }
    }

    impl Reduce for OneOfTwo {
        fn has_all_rows(&self) -> bool {
            false
        }

        fn sum<T: Summand>(&self, own: &mut [T]) {
            let others = self.exchanged(own);
            own.iter_mut().zip(others).for_each(|(own, other)| *own += other);
        }

        fn max<T: Summand>(&self, own: &mut [T]) {
            let others = self.exchanged(own);
            own.iter_mut().zip(others).filter(|(own, other)| other > &**own).for_each(|(own, other)| *own = other);
        }
    }

    /// What two workers find that run the same.
    pub(crate) fn by_two<T: Send>(work: impl Fn(usize, &Workers) -> T + Sync) -> [T; 2] {
        let [a, b] = OneOfTwo::pair().map(|one| Workers::Two(Arc::new(one)));
        std::thread::scope(|scope| {
            let other = scope.spawn(|| work(1, &b));
            [work(0, &a), other.join().unwrap()]
        })
    }

    proptest! {
        #[test]
        fn means_of_two_workers_are_those_of_one(
            values in prop::collection::vec((-1e9f64..1e9, 1u64..1000, any::<bool>()), 1..50),
        ) {
            let one = exact_mean(values.iter().map(|v| (v.0, v.1)));
            let of_worker = |i: usize| values.iter().filter(move |v| v.2 == (i == 0)).map(|v| (v.0, v.1));
            for found in by_two(|i, workers| exact_mean_of_all(of_worker(i), workers)) {
                prop_assert_eq!(found.to_bits(), one.to_bits());
            }
        }
    }
}
