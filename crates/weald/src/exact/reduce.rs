//! Sums and maxima over the samples of several workers.
//!
//! Each worker has some of the samples and runs the whole algorithm on them. Where a decision depends on all samples,
//! it asks [`Workers`] for the sums or the maxima over the samples of all workers. As all sums are exact, every worker
//! then has the same bits as a single worker with all samples would have. With one worker, the calls compile to
//! nothing; several workers reduce buffers of float64 and int64 by an [`AllReduce`] that the caller provides.
//!
//! A fit gets its workers from the [`crate::data::Weights`] of its samples. They are asked for the following:
//!
//! | where | what |
//! |---|---|
//! | `data::weights` | the unit, totals, and which weights are exact |
//! | `data::bins`, `forest::bootstrap` | distinct values and their weights, the ranks of samples (`exact::merge`) |
//! | `criterion` | statistics of a node: counts, sums, ranges that choose frames, the number of samples |
//! | `split` | the number of samples of children, sums and counts of bins, the cells of sparse X |
//! | `tree::fill` | values of leaves, where all cells of y are known |
//! | `projection::pca` | means and ranges of targets, products with their covariance |
//! | `loss::working` | starts of losses: counts of labels and classes, means |
//! | `boost` | weights and sums of leaves, bounds of gradients, products of low rank, the training loss |
//!
//! A caller's reduction may be wrong. Every worker therefore also sends a known number with each buffer; if its sum is
//! not that of all workers, or if numbers of samples do not add up, the fit ends with an error.
//!
//! Every worker makes the same calls in the same order: no call depends on the samples of one worker alone, and none is
//! made on the threads of a pool. Searches that visit individual samples, for cuts between entries and for steps along
//! samples, have nothing to sum and use the samples of one worker only.

use std::error::Error as StdError;
use std::fmt::Debug;
use std::hash::{BuildHasher, RandomState};
use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::{Error, ErrorKind, Purpose, Result};

/// A buffer of values that are reduced over all workers, in place.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReduceBuffer<'b> {
    /// Floats, none of which is NaN.
    Float64(&'b mut [f64]),
    /// Integers. Sums wrap around on overflow of 64 bits.
    Int64(&'b mut [i64]),
}

/// The operation that combines the values of all workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReduceOp {
    /// The sum. Sums of floats are exact, so the order of addition does not matter.
    Sum,
    /// The maximum.
    Max,
}

/// A reduction over all workers, called all-reduce in MPI and other libraries: it replaces the values of each worker by
/// the sums or the maxima over all workers.
///
/// Every worker of a fit calls it equally often, with the same operation and the same number of values, from the thread
/// that runs the fit, and waits for the others. All workers must get the same bits. This is the only place where the
/// failure of a worker can be noticed: an implementation should have a timeout, and return an error that names the
/// missing worker.
pub trait AllReduce: Debug + Send + Sync {
    /// Reduces the buffer in place, element by element.
    ///
    /// # Errors
    /// Any error of the implementation. The fit then ends with [`crate::ErrorKind::Workers`], whose source is this
    /// error, and makes no further calls.
    fn all_reduce(&self, buffer: ReduceBuffer<'_>, op: ReduceOp) -> Result<(), Box<dyn StdError + Send + Sync>>;
}

/// Values that can be summed over workers: integers, and floats on a grid, so that their sums are exact.
pub(crate) trait Summand: Copy + AddAssign + PartialOrd + Send + Sync + 'static {
    /// Replaces `own` by the sums over many workers, element by element; of [`Largest`], also by the maxima.
    fn over(many: &Many, own: &mut [Self], op: ReduceOp) -> Result<()>;
}

/// Values whose maximum over workers can be taken.
pub(crate) trait Largest: Summand {}

impl Largest for f32 {}
impl Largest for f64 {}
impl Largest for u32 {}
impl Largest for u64 {}

/// Maximum number of values in one call of the reduction: 128 MiB.
const AT_ONCE: usize = 1 << 24;

/// The number that every worker sends with each buffer. It is a prime that other sums are unlikely to be.
const MARK: i64 = 1_000_003;

/// The name of the buffers in errors about memory.
const BUFFER: Purpose = Purpose("numbers of all workers");

/// One of several workers.
#[derive(Debug)]
pub(crate) struct Many {
    reduce: Arc<dyn AllReduce>,
    /// Whether a reduction has failed. After that, no further calls are made.
    is_lost: AtomicBool,
    place: OnceLock<(usize, usize)>,
}

impl Many {
    fn reduced(&self, buffer: ReduceBuffer<'_>, op: ReduceOp) -> Result<()> {
        if self.is_lost.load(Ordering::Relaxed) {
            return Err(lost("an earlier sum failed"));
        }
        self.reduce.all_reduce(buffer, op).map_err(|source| {
            self.is_lost.store(true, Ordering::Relaxed);
            let error = lost(&source.to_string());
            error.caused_by(Lost(source))
        })
    }

    fn floats(&self, own: &mut [f64], op: ReduceOp) -> Result<()> {
        for own in own.chunks_mut(AT_ONCE) {
            let sent = self.with_mark(own, MARK as f64, |sent| self.reduced(ReduceBuffer::Float64(sent), op))?;
            let (mark, found) = sent.split_last().expect("at least the mark");
            if !self.is_of_marks(*mark as i64, op) || found.iter().any(|value| value.is_nan()) {
                return Err(other_sums());
            }
            own.copy_from_slice(found);
        }
        Ok(())
    }

    fn integers(&self, own: &mut [i64], op: ReduceOp) -> Result<()> {
        for own in own.chunks_mut(AT_ONCE) {
            let sent = self.with_mark(own, MARK, |sent| self.reduced(ReduceBuffer::Int64(sent), op))?;
            let (mark, found) = sent.split_last().expect("at least the mark");
            if !self.is_of_marks(*mark, op) {
                return Err(other_sums());
            }
            own.copy_from_slice(found);
        }
        Ok(())
    }

    /// Reduces the values together with the mark, which every worker sends last: the result shows whether the reduction
    /// returned what the workers sent.
    fn with_mark<T: Copy>(&self, own: &[T], mark: T, reduce: impl FnOnce(&mut [T]) -> Result<()>) -> Result<Vec<T>> {
        let mut sent = BUFFER.with_capacity(own.len() + 1)?;
        sent.extend_from_slice(own);
        sent.push(mark);
        reduce(&mut sent)?;
        Ok(sent)
    }

    /// Returns whether this is the sum, or the maximum, of the marks of all workers.
    fn is_of_marks(&self, found: i64, op: ReduceOp) -> bool {
        match (op, self.place.get()) {
            (ReduceOp::Max, _) => found == MARK,
            (ReduceOp::Sum, Some((_, n_workers))) => found == MARK * *n_workers as i64,
            // The workers do not yet know how many they are.
            (ReduceOp::Sum, None) => found > 0 && found % MARK == 0,
        }
    }

    /// Reduces values that are sent as `N` integers each.
    fn converted<T: Copy, const N: usize>(
        &self,
        own: &mut [T],
        op: ReduceOp,
        to: impl Fn(T) -> Result<[i64; N]>,
        from: impl Fn([i64; N]) -> Result<T>,
    ) -> Result<()> {
        for own in own.chunks_mut(AT_ONCE / N) {
            let mut sent: Vec<i64> = BUFFER.filled(0, own.len() * N)?;
            for (to_send, own) in sent.as_chunks_mut::<N>().0.iter_mut().zip(&*own) {
                *to_send = to(*own)?;
            }
            self.integers(&mut sent, op)?;
            for (own, found) in own.iter_mut().zip(sent.as_chunks::<N>().0) {
                *own = from(*found)?;
            }
        }
        Ok(())
    }
}

fn lost(why: &str) -> Error {
    ErrorKind::Workers { why: why.to_owned() }.into()
}

/// Returns the error for a reduction that returned values that no workers have sent.
pub(crate) fn other_sums() -> Error {
    lost("all_reduce must return the same values on all workers, sums and maxima of what they send, got others")
}

/// The error of the caller's reduction.
#[derive(Debug)]
struct Lost(Box<dyn StdError + Send + Sync>);

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.0, f)
    }
}

impl StdError for Lost {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}

impl Summand for f64 {
    fn over(many: &Many, own: &mut [Self], op: ReduceOp) -> Result<()> {
        many.floats(own, op)
    }
}

impl Summand for i64 {
    fn over(many: &Many, own: &mut [Self], op: ReduceOp) -> Result<()> {
        many.integers(own, op)
    }
}

/// Values of different types that are summed in one call. All are sent as floats; integers are split in limbs of 32
/// bits, whose sums over up to 2²¹ workers are exact.
pub(crate) enum Part<'p> {
    /// Floats on a grid, so that their sums are exact.
    Floats(&'p mut [f64]),
    Counts(&'p mut [u32]),
    /// An integer that is not negative.
    Large(&'p mut i128),
}

impl Part<'_> {
    fn n_floats(&self) -> usize {
        match self {
            Part::Floats(own) => own.len(),
            Part::Counts(own) => own.len(),
            Part::Large(_) => 4,
        }
    }

    fn write(&self, sent: &mut Vec<f64>) {
        match self {
            Part::Floats(own) => sent.extend_from_slice(own),
            Part::Counts(own) => sent.extend(own.iter().copied().map(f64::from)),
            Part::Large(own) => sent.extend((0..4).map(|limb| f64::from((**own >> (32 * limb)) as u32))),
        }
    }

    /// Reads the sums over all workers.
    fn read(&mut self, found: &[f64]) -> Result<()> {
        match self {
            Part::Floats(own) => own.copy_from_slice(found),
            Part::Counts(own) => {
                for (own, &found) in own.iter_mut().zip(found) {
                    *own = unsigned([found as i64])?;
                }
            }
            Part::Large(own) => **own = found.iter().rev().fold(0, |sum, &limb| (sum << 32) + limb as i128),
        }
        Ok(())
    }
}

/// Float32 values are sent as float64, which has enough bits for their sums.
impl Summand for f32 {
    fn over(many: &Many, own: &mut [Self], op: ReduceOp) -> Result<()> {
        for own in own.chunks_mut(AT_ONCE) {
            let mut sent = BUFFER.collected(own.iter().map(|&x| f64::from(x)))?;
            many.floats(&mut sent, op)?;
            own.iter_mut().zip(sent).for_each(|(own, found)| *own = found as f32);
        }
        Ok(())
    }
}

/// Returns a number that is not negative, as it was sent.
fn unsigned<T: TryFrom<i64>>([found]: [i64; 1]) -> Result<T> {
    if found < 0 { Err(other_sums()) } else { T::try_from(found).map_err(too_many) }
}

fn too_many<E>(_: E) -> Error {
    ErrorKind::TooMany { what: "samples of all workers", limit: u32::MAX as usize }.into()
}

impl Summand for u32 {
    fn over(many: &Many, own: &mut [Self], op: ReduceOp) -> Result<()> {
        many.converted(own, op, |x| Ok([x.into()]), unsigned)
    }
}

impl Summand for u64 {
    fn over(many: &Many, own: &mut [Self], op: ReduceOp) -> Result<()> {
        many.converted(own, op, |x| Ok([i64::try_from(x).map_err(too_many)?]), unsigned)
    }
}

/// A value is sent as four limbs of 32 bits, the last of which has the sign. Sums of the limbs of 2³¹ workers fit in 64
/// bits, and are combined afterwards.
impl Summand for i128 {
    fn over(many: &Many, own: &mut [Self], op: ReduceOp) -> Result<()> {
        const BITS: u32 = 32;
        let limb = |x: i128, i: u32| i64::from((x >> (i * BITS)) as u32);
        let to = |x: i128| Ok([limb(x, 0), limb(x, 1), limb(x, 2), (x >> (3 * BITS)) as i64]);
        let from = |limbs: [i64; 4]| {
            let sum = |sum: i128, limb: &i64| (sum << BITS).wrapping_add(i128::from(*limb));
            Ok(limbs.iter().rev().fold(0, sum))
        };
        many.converted(own, op, to, from)
    }
}

/// Reductions over all workers, in place. Every worker calls the same methods in the same order, with the same number
/// of values. The methods return an error if a reduction fails.
pub(crate) trait Reduce: Sync {
    /// Returns whether this worker has all samples, so that no reduction is needed.
    fn has_all_rows(&self) -> bool;

    /// Replaces `own` by the sums over all workers, element by element.
    fn sum<T: Summand>(&self, own: &mut [T]) -> Result<()>;

    /// Replaces `own` by the maxima over all workers, element by element. No value may be NaN.
    fn max<T: Largest>(&self, own: &mut [T]) -> Result<()>;

    /// Like [`Reduce::sum`], for counts that are mostly zero. `places` are the positions of non-zero counts: of this
    /// worker before the call, of any worker after it. It must have capacity for all positions.
    #[inline(always)]
    fn sum_sparse<T: Summand + Default>(&self, own: &mut [T], places: &mut Vec<u32>) -> Result<()> {
        if !self.has_all_rows() {
            self.sum(own)?;
            places.clear();
            places.extend((0u32..).zip(&*own).filter(|(_, count)| **count > T::default()).map(|(place, _)| place));
        }
        Ok(())
    }

    /// Replaces `places`, positions below `width` in increasing order, by the union over all workers.
    fn union(&self, width: usize, places: &mut Vec<u32>) -> Result<()> {
        if self.has_all_rows() {
            return Ok(());
        }
        const PURPOSE: Purpose = Purpose("the places of all workers");
        let mut is_there = PURPOSE.filled(0u32, width)?;
        places.iter().for_each(|&place| is_there[place as usize] = 1);
        self.max(&mut is_there)?;
        places.clear();
        let there = (0u32..).zip(is_there).filter(|(_, is_there)| *is_there > 0);
        there.map(|(place, _)| place).try_for_each(|place| PURPOSE.push(places, place))
    }

    /// Returns the sum of one value over all workers.
    #[inline(always)]
    fn sum_of<T: Summand>(&self, own: T) -> Result<T> {
        let mut all = [own];
        self.sum(&mut all)?;
        Ok(all[0])
    }

    /// Returns the sums of some values over all workers.
    #[inline(always)]
    fn sums_of<T: Summand, const N: usize>(&self, mut own: [T; N]) -> Result<[T; N]> {
        self.sum(&mut own)?;
        Ok(own)
    }

    /// Sums values of several types in a single exchange.
    #[inline(always)]
    fn sum_together<const N: usize>(&self, mut parts: [Part<'_>; N]) -> Result<()> {
        if self.has_all_rows() {
            return Ok(());
        }
        let mut sent = BUFFER.with_capacity(parts.iter().map(|part| part.n_floats()).sum())?;
        parts.iter().for_each(|part| part.write(&mut sent));
        self.sum(&mut sent)?;
        let mut found = &sent[..];
        for part in &mut parts {
            let (own, others) = found.split_at(part.n_floats());
            part.read(own)?;
            found = others;
        }
        Ok(())
    }

    /// Returns the maximum of one value over all workers.
    #[inline(always)]
    fn max_of<T: Largest>(&self, own: T) -> Result<T> {
        let mut all = [own];
        self.max(&mut all)?;
        Ok(all[0])
    }

    /// Returns the minimum and the maximum over all workers, of which `low` and `high` are the values of this worker.
    #[inline(always)]
    fn range(&self, (low, high): (f64, f64)) -> Result<(f64, f64)> {
        let mut range = [-low, high];
        self.max(&mut range)?;
        Ok((-range[0], range[1]))
    }

    /// Like [`Reduce::range`], for many values.
    #[inline(always)]
    fn ranges(&self, low: &mut [f64], high: &mut [f64]) -> Result<()> {
        if self.has_all_rows() {
            return Ok(());
        }
        let mut both = BUFFER.collected(low.iter().map(|low| -low))?;
        BUFFER.extend(&mut both, high.iter().copied())?;
        self.max(&mut both)?;
        low.iter_mut().zip(&both).for_each(|(low, found)| *low = -found);
        high.iter_mut().zip(&both[low.len()..]).for_each(|(high, found)| *high = *found);
        Ok(())
    }
}

/// The workers of a fit.
#[derive(Clone, Debug, Default)]
pub(crate) enum Workers {
    /// A single worker, which has all samples.
    #[default]
    One,
    Many(Arc<Many>),
    #[cfg(test)]
    Two(Arc<tests::OneOfTwo>),
}

impl Workers {
    /// Returns several workers, whose values are reduced by `reduce`.
    pub(crate) fn many(reduce: Arc<dyn AllReduce>) -> Self {
        Workers::Many(Arc::new(Many { reduce, is_lost: AtomicBool::new(false), place: OnceLock::new() }))
    }

    /// Returns the number of threads for a computation that calls reductions: one if there are several workers, as
    /// every worker must make the calls in the same order.
    pub(crate) fn n_threads(&self, n_threads: usize) -> usize {
        if self.has_all_rows() { n_threads } else { 1 }
    }

    /// Returns the index of this worker and the number of workers.
    ///
    /// Workers are not numbered by the caller. Each draws a random number, and is placed after the workers with larger
    /// ones; if two are equal, all draw again. No model depends on the order.
    pub(crate) fn place(&self) -> Result<(usize, usize)> {
        const MOST_DRAWS: usize = 64;
        const MOST_WORKERS: usize = 1 << 20;
        let Workers::Many(many) = self else { return Ok((0, 1)) };
        if let Some(place) = many.place.get() {
            return Ok(*place);
        }
        for draw in 0..MOST_DRAWS {
            // The generator is seeded by the operating system, separately in each thread.
            let own = 1 + (RandomState::new().hash_one(draw) >> 2);
            let (mut place, mut n_workers, mut are_apart) = (None, 0, true);
            let mut last = u64::MAX;
            loop {
                let largest = self.max_of(if place.is_none() { own } else { 0 })?;
                if largest == 0 {
                    break;
                }
                if largest >= last || n_workers == MOST_WORKERS {
                    return Err(other_sums());
                }
                last = largest;
                let is_own = place.is_none() && own == largest;
                if is_own {
                    place = Some(n_workers);
                }
                are_apart &= self.sum_of(u32::from(is_own))? == 1;
                n_workers += 1;
            }
            if let (Some(place), true) = (place, are_apart) {
                return Ok(*many.place.get_or_init(|| (place, n_workers)));
            }
        }
        Err(lost("workers do not find their places: all_reduce gives them different numbers"))
    }

    /// Returns the result of a local computation if it succeeded on all workers. Otherwise it returns the error of this
    /// worker, or an error that another worker has failed.
    pub(crate) fn agree<T>(&self, own: Result<T>) -> Result<T> {
        if self.has_all_rows() {
            return own;
        }
        if self.max_of(u32::from(own.is_err()))? == 0 {
            return own;
        }
        own.and_then(|_| Err(Error::invalid("data", "an error on another worker", "be accepted by every worker")))
    }
}

impl Reduce for Workers {
    #[inline(always)]
    fn has_all_rows(&self) -> bool {
        match self {
            Workers::One => true,
            Workers::Many(_) => false,
            #[cfg(test)]
            Workers::Two(_) => false,
        }
    }

    #[inline(always)]
    fn sum<T: Summand>(&self, own: &mut [T]) -> Result<()> {
        match self {
            Workers::One => Ok(()),
            Workers::Many(many) => T::over(many, own, ReduceOp::Sum),
            #[cfg(test)]
            Workers::Two(two) => two.sum(own),
        }
    }

    #[inline(always)]
    fn max<T: Largest>(&self, own: &mut [T]) -> Result<()> {
        match self {
            Workers::One => Ok(()),
            Workers::Many(many) => T::over(many, own, ReduceOp::Max),
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

    /// One of two workers, each of which has its own thread.
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

        fn sum<T: Summand>(&self, own: &mut [T]) -> Result<()> {
            let others = self.exchanged(own);
            own.iter_mut().zip(others).for_each(|(own, other)| *own += other);
            Ok(())
        }

        fn max<T: Largest>(&self, own: &mut [T]) -> Result<()> {
            let others = self.exchanged(own);
            own.iter_mut().zip(others).filter(|(own, other)| other > &**own).for_each(|(own, other)| *own = other);
            Ok(())
        }
    }

    /// Returns the results of two workers that run the same function.
    pub(crate) fn by_two<T: Send>(work: impl Fn(usize, &Workers) -> T + Sync) -> [T; 2] {
        let [a, b] = OneOfTwo::pair().map(|one| Workers::Two(Arc::new(one)));
        std::thread::scope(|scope| {
            let other = scope.spawn(|| work(1, &b));
            [work(0, &a), other.join().unwrap()]
        })
    }

    proptest! {
        #[test]
        fn sums_of_several_types_are_those_of_each(
            floats in prop::collection::vec((0u32..1 << 30, 0u32..1 << 30), 0..5), counts in prop::collection::vec((0u32..1 << 31, 0u32..1 << 31), 0..5),
            large in (0i128..i128::MAX / 2, 0i128..i128::MAX / 2),
        ) {
            let own = |i: usize| {
                let pick = |pair: &(u32, u32)| if i == 0 { pair.0 } else { pair.1 };
                let floats: Vec<f64> = floats.iter().map(|pair| f64::from(pick(pair)) / 64.0).collect();
                (floats, counts.iter().map(pick).collect::<Vec<u32>>(), if i == 0 { large.0 } else { large.1 })
            };
            let apart = by_two(|i, workers| {
                let (mut floats, mut counts, mut large) = own(i);
                workers.sum(&mut floats).unwrap();
                workers.sum(&mut counts).unwrap();
                workers.sum(std::slice::from_mut(&mut large)).unwrap();
                (floats, counts, large)
            });
            let together = by_two(|i, workers| {
                let (mut floats, mut counts, mut large) = own(i);
                let parts = [Part::Floats(&mut floats), Part::Counts(&mut counts), Part::Large(&mut large)];
                workers.sum_together(parts).unwrap();
                (floats, counts, large)
            });
            prop_assert_eq!(apart, together);
        }

        #[test]
        fn means_of_two_workers_are_those_of_one(
            values in prop::collection::vec((-1e9f64..1e9, 1u64..1000, any::<bool>()), 1..50),
        ) {
            let one = exact_mean(values.iter().map(|v| (v.0, v.1)));
            let of_worker = |i: usize| values.iter().filter(move |v| v.2 == (i == 0)).map(|v| (v.0, v.1));
            for found in by_two(|i, workers| exact_mean_of_all(of_worker(i), workers).unwrap()) {
                prop_assert_eq!(found.to_bits(), one.to_bits());
            }
        }
    }
}
