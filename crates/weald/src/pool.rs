//! Thread pools: private to each process, created when first needed, with no more threads than there are jobs.
//!
//! The input is a list of jobs and a number of threads. The output is the results in the order of the jobs, or the
//! first error. The caller's thread is one of the threads: it starts with the first job while those of the pool wake up.
//! With one thread, the jobs run without a pool. Pools are identified by the process id, because threads do not survive a
//! fork: a child process does not use the pools of its parent and creates its own.
//!
//! Work with many short loops runs [`within`] a pool of its own: there a loop takes back what no other thread has begun,
//! so that it is not late because the system runs something else.
//!
//! The global pool of `rayon` is not used, because it belongs to the application.

use std::cell::Cell;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use rayon::{Scope, ThreadPool, ThreadPoolBuilder, Yield};

use crate::error::{ErrorKind, Purpose, Result};

/// Size of the stack of a thread, in bytes. Unused parts of it take no memory. It is the default of Rust, so other
/// threads have the same.
const STACK_BYTES: usize = 2 << 20;

/// Bytes that a thread may allocate when it starts: its thread-local data, and at most 1 MiB that the allocator takes
/// from the system at a time. If these allocations fail, the C library ends the process.
const START_BYTES: usize = 2 << 20;

/// Bytes for each thread of a pool that must still be available when all threads have started. The allocations that
/// threads need to distribute work must not fail either; work that needs more memory allocates it in ways that may
/// fail.
const WORK_BYTES: usize = 1 << 20;

/// Returns whether there is enough memory to start a thread: for its stack and its initial allocations. Memory that is
/// not touched costs nothing.
pub fn has_room_for_a_thread() -> bool {
    has_room_for_one_of(0)
}

/// Like [`has_room_for_a_thread`], for one of `n_threads` threads of a pool.
fn has_room_for_one_of(n_threads: usize) -> bool {
    let bytes = n_threads.saturating_mul(WORK_BYTES).saturating_add(STACK_BYTES + START_BYTES);
    // From the system: what this thread's heap has free is of no use to the stack and the heap of another thread.
    memmap2::MmapMut::map_anon(bytes).is_ok()
}

/// Returns a pool whose threads are started one after another, each after the previous one has allocated what it needs,
/// so that no thread takes memory that was checked for another.
fn started(n_threads: usize) -> Result<ThreadPool> {
    let one_runs = Arc::new(Barrier::new(2));
    let runs = Arc::clone(&one_runs);
    let built = ThreadPoolBuilder::new()
        .num_threads(n_threads)
        .start_handler(move |_| {
            IS_OURS.set(true);
            runs.wait();
        })
        .spawn_handler(|worker| {
            if !has_room_for_one_of(n_threads) {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
            let named = thread::Builder::new().name(format!("weald-{}", worker.index()));
            named.stack_size(STACK_BYTES).spawn(|| worker.run())?;
            one_runs.wait();
            Ok(())
        })
        .build()
        // The caller's thread is one more.
        .map_err(|_| ErrorKind::Threads { n_threads: n_threads + 1 })?;
    // Each thread has searched for work once, and has allocated the memory for it.
    built.broadcast(|_| ());
    Ok(built)
}

struct Entry {
    process: u32,
    n_threads: usize,
    pool: Arc<ThreadPool>,
}

/// The pools of this process, and of the processes from which it was forked.
struct Pools(Mutex<Vec<Entry>>);

static POOLS: Pools = Pools(Mutex::new(Vec::new()));

/// Those that [`within`] lends, while nobody has them.
static LENT: Pools = Pools(Mutex::new(Vec::new()));

/// The most pools of a process that wait to be lent again.
const MOST_IDLE: usize = 4;

/// A pool that one thread has for itself. It is given back when this is dropped.
struct Lent(Arc<ThreadPool>);

impl Lent {
    /// Takes a pool of this process with `n_threads` threads, or makes one.
    fn take(n_threads: usize) -> Result<Self> {
        let process = std::process::id();
        let found = {
            let mut pools = lock(&LENT.0);
            let at = pools.iter().rposition(|e| e.process == process && e.n_threads == n_threads);
            at.map(|at| pools.remove(at).pool)
        };
        found.map_or_else(|| started(n_threads).map(Arc::new), Ok).map(Lent)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let process = std::process::id();
        let mut pools = lock(&LENT.0);
        // Only those of this process are dropped: see `Pools::get`.
        if pools.iter().filter(|e| e.process == process).count() == MOST_IDLE {
            let oldest = pools.iter().position(|e| e.process == process).expect("there are several");
            drop(pools.remove(oldest));
        }
        // Without memory for the list, the pool ends.
        let entry = Entry { process, n_threads: self.0.current_num_threads(), pool: Arc::clone(&self.0) };
        _ = Purpose("threads").push(&mut pools, entry);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics while the lock is held: it guards moves only")
}

impl Pools {
    /// Returns a pool of this process for `n_workers` workers, with at most `n_threads` threads: the smallest existing
    /// one that is large enough, or a new one with a thread for each worker.
    fn get(&self, n_workers: usize, n_threads: usize) -> Result<Arc<ThreadPool>> {
        let process = std::process::id();
        let find = |pools: &[Entry]| {
            let fits = |e: &&Entry| e.process == process && (n_workers..=n_threads).contains(&e.n_threads);
            pools.iter().filter(fits).min_by_key(|e| e.n_threads).map(|e| Arc::clone(&e.pool))
        };
        if let Some(pool) = find(&lock(&self.0)) {
            return Ok(pool);
        }
        // The pool is built outside the lock, so that a fork on another thread is unlikely to copy a held lock.
        let built = started(n_workers)?;
        let mut pools = lock(&self.0);
        if let Some(pool) = find(&pools) {
            return Ok(pool);
        }
        let pool = Arc::new(built);
        // If the number of jobs increases steadily, a pool of each size would be left behind. The threads of a dropped
        // pool end when the last work that uses it ends. Pools of other processes are kept, because dropping one would
        // signal threads that do not exist in this process.
        pools.retain(|e| e.process != process || e.n_threads > n_workers);
        Purpose("threads").push(&mut pools, Entry { process, n_threads: n_workers, pool: Arc::clone(&pool) })?;
        Ok(pool)
    }
}

/// Runs all `jobs`, which are distributed in order to at most `n_threads` threads, of which the caller's is one. Each
/// thread has its own scratch.
///
/// There are hundreds of loops like this: what does not depend on the jobs is compiled once, in [`run_workers`].
///
/// # Errors
/// Returns an error of `scratch` or `work`. Jobs that have not begun by then are not run.
pub(crate) fn for_each<J: Send, S>(
    n_threads: usize,
    mut jobs: impl ExactSizeIterator<Item = J> + Send,
    scratch: impl Fn() -> Result<S> + Sync,
    work: impl Fn(&mut S, J) -> Result<()> + Sync,
) -> Result<()> {
    let worker = |next: &mut dyn FnMut() -> Option<J>| -> Result<()> {
        let mut scratch = scratch()?;
        while let Some(job) = next() {
            work(&mut scratch, job)?;
        }
        Ok(())
    };
    let n_workers = n_threads.min(jobs.len());
    if n_workers <= 1 {
        return worker(&mut || jobs.next());
    }
    let jobs = Mutex::new(jobs);
    run_workers(n_workers, n_threads, &|failed| {
        worker(&mut || if failed.load(Ordering::Relaxed) { None } else { lock(&jobs).next() })
    })
}

/// What each thread of a loop runs, and may end when an error of another has been noted.
type Worker<'a> = &'a (dyn Fn(&AtomicBool) -> Result<()> + Sync);

/// Runs `worker` on `n_workers` threads, of which the caller's is one, in a pool of at most `n_threads`, and returns the
/// first error.
fn run_workers(n_workers: usize, n_threads: usize, worker: Worker) -> Result<()> {
    let (failed, failure) = (AtomicBool::new(false), Mutex::new(None));
    let worker = || {
        if let Err(error) = worker(&failed) {
            failed.store(true, Ordering::Relaxed);
            lock(&failure).get_or_insert(error);
        }
    };
    let n_left = AtomicUsize::new(n_workers - 1);
    if is_in_pool_of(n_workers) {
        rayon::scope(|scope| run_together(scope, n_workers, &worker, &n_left));
    } else {
        POOLS.get(n_workers - 1, n_threads)?.in_place_scope(|scope| run_together(scope, n_workers, &worker, &n_left));
    }
    let failure = lock(&failure).take();
    failure.map_or(Ok(()), Err)
}

/// Runs `worker` on this thread and on others, `n_workers` in all.
fn run_together<'s>(scope: &Scope<'s>, n_workers: usize, worker: &'s (impl Fn() + Sync), n_left: &'s AtomicUsize) {
    for _ in 1..n_workers {
        scope.spawn(|_| {
            let _done = Done(n_left);
            worker();
            rayon::spawn(linger);
        });
    }
    worker();
    await_others(n_left);
}

/// How long a thread that has no work looks for more before it sleeps. To wake a thread takes the time of a million
/// additions, and a tree has many loops of fewer.
const LINGER: Duration = Duration::from_micros(200);

thread_local! {
    static LINGERS: Cell<bool> = const { Cell::new(false) };
    /// Whether the thread belongs to one of these pools.
    static IS_OURS: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether the thread belongs to one of these pools, with at least `n_threads` threads.
fn is_in_pool_of(n_threads: usize) -> bool {
    IS_OURS.get() && rayon::current_num_threads() >= n_threads
}

/// Runs `f` on a thread of a pool of `n_threads` threads, which nothing else uses meanwhile. There, a loop is distributed
/// in less time, and it ends as soon as its jobs are done: it does not wait for threads that have not begun, because the
/// system runs something else, say.
pub(crate) fn within<T: Send>(n_threads: usize, f: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let (mut f, mut result) = (Some(f), None);
    run_within(n_threads, &mut || result = f.take().map(|f| f()))?;
    result.expect("it has run: no error above")
}

/// [`within`] of work that leaves its result where it is known: compiled once.
fn run_within(n_threads: usize, f: &mut (dyn FnMut() + Send)) -> Result<()> {
    if n_threads <= 1 || is_in_pool_of(n_threads) {
        f();
        return Ok(());
    }
    let lent = Lent::take(n_threads)?;
    lent.0.install(|| {
        let _leads = Leads(LINGERS.replace(true));
        wake_others();
        f();
    });
    Ok(())
}

/// While a thread leads, it does not linger.
struct Leads(bool);

impl Drop for Leads {
    fn drop(&mut self) {
        LINGERS.set(self.0);
    }
}

/// Lets the other threads of this thread's pool look for work for a while.
fn wake_others() {
    rayon::spawn_broadcast(|_| linger());
}

/// Runs what comes until nothing has come for a while.
fn linger() {
    if LINGERS.replace(true) {
        // This was run by the same function further down the stack.
        return;
    }
    let mut end = Instant::now() + LINGER;
    while Instant::now() < end {
        match rayon::yield_now() {
            Some(Yield::Executed) => end = Instant::now() + LINGER,
            Some(Yield::Idle) => thread::yield_now(),
            None => break,
        }
    }
    LINGERS.set(false);
}

/// Counts a thread that has ended its work, even if that panicked.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Waits for a while until no thread is left: what follows waits for as long as it takes, but would have to be woken.
/// A thread of the pool takes back what no other has begun, and finds that nothing is left to do.
fn await_others(n_left: &AtomicUsize) {
    let end = Instant::now() + LINGER;
    let mut some_slept = false;
    while n_left.load(Ordering::Acquire) > 0 && Instant::now() < end {
        if rayon::yield_local() == Some(Yield::Executed) {
            some_slept = true;
        } else {
            thread::yield_now();
        }
    }
    if some_slept {
        wake_others();
    }
}

/// Returns the number of threads among which `n` items are divided if each thread gets at least `least`, and the number
/// of items of a thread.
pub(crate) fn blocks(n_threads: usize, n: usize, least: usize) -> (usize, usize) {
    let n_blocks = n_threads.min(n / least.max(1)).max(1);
    (n_blocks, n.div_ceil(n_blocks).max(1))
}

/// Returns `f` of each of the [`blocks`] of `0..n`.
pub(crate) fn map_blocks<T: Send>(
    n_threads: usize,
    n: usize,
    least: usize,
    f: impl Fn(Range<usize>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let (n_blocks, at_once) = blocks(n_threads, n, least);
    map(n_blocks, n_blocks, |block| f((block * at_once).min(n)..((block + 1) * at_once).min(n)))
}

/// Returns, for one block after another, those of `rows`, which are in increasing order, that are in the block of
/// `at_once` samples.
pub(crate) fn rows_of_blocks<'r>(mut rows: &'r [u32], at_once: usize) -> impl FnMut(usize) -> &'r [u32] {
    move |block| {
        let n = rows.partition_point(|&row| (row as usize) < (block + 1) * at_once);
        rows.split_off(..n).unwrap_or_default()
    }
}

/// Returns `f(0), …, f(n − 1)`, computed on at most `n_threads` threads.
///
/// # Errors
/// Returns an error of `f`. Calls that have not begun by then are not made.
pub(crate) fn map<T: Send>(n_threads: usize, n: usize, f: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    map_dyn(n_threads, n, &f)
}

/// [`map`], compiled once for each type of results.
fn map_dyn<T: Send>(n_threads: usize, n: usize, f: &(dyn Fn(usize) -> Result<T> + Sync)) -> Result<Vec<T>> {
    let mut slots = Purpose("results").with_capacity(n)?;
    slots.resize_with(n, || None);
    for_each(
        n_threads,
        slots.iter_mut().enumerate(),
        || Ok(()),
        |(), (i, slot)| {
            *slot = Some(f(i)?);
            Ok(())
        },
    )?;
    Purpose("results").collected(slots.into_iter().map(|slot| slot.expect("every job was done: no error above")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorKind};

    #[test]
    fn results_keep_the_order_of_the_jobs() {
        for n_threads in [1, 2, 8] {
            assert_eq!(map(n_threads, 1000, |i| Ok(i * i)).unwrap(), (0..1000).map(|i| i * i).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_caller_is_one_of_the_threads() {
        let caller = std::thread::current().id();
        let threads = |n_threads, n_jobs| map(n_threads, n_jobs, |_| Ok(std::thread::current().id())).unwrap();
        assert!(threads(1, 50).iter().chain(&threads(8, 1)).all(|thread| *thread == caller));
        // Both jobs wait for each other.
        let both = Barrier::new(2);
        let found = map(2, 2, |_| {
            both.wait();
            Ok(std::thread::current().id())
        });
        let found = found.unwrap();
        assert!(found.contains(&caller) && found[0] != found[1]);
    }

    #[test]
    fn within_a_pool_a_loop_does_not_wait_for_a_thread_that_does_something_else() {
        let caller = std::thread::current().id();
        for n_threads in [2, 3] {
            let begun = Arc::new(Barrier::new(n_threads));
            let ended = Arc::new(Barrier::new(n_threads));
            let (b, e) = (Arc::clone(&begun), Arc::clone(&ended));
            let found = within(n_threads, move || {
                let leader = std::thread::current().id();
                rayon::spawn_broadcast(move |_| {
                    if std::thread::current().id() != leader {
                        b.wait();
                        e.wait();
                    }
                });
                begun.wait();
                // All other threads wait, for the barrier below.
                let threads = map(n_threads, 100, |_| Ok(std::thread::current().id()))?;
                ended.wait();
                assert!(threads.iter().all(|thread| *thread == leader));
                // A pool within a pool is the same.
                within(n_threads, || Ok((leader, std::thread::current().id())))
            });
            let (leader, inner) = found.unwrap();
            assert!(leader == inner && leader != caller);
        }
        assert_eq!(within(1, || Ok(std::thread::current().id())).unwrap(), caller);
    }

    #[test]
    fn each_has_a_pool_of_its_own_within_which_others_may_wait_for_it() {
        let together = Barrier::new(6);
        std::thread::scope(|scope| {
            let waits = || within(2, || Ok(together.wait().is_leader())).unwrap();
            let all: Vec<_> = (0..6).map(|_| scope.spawn(waits)).collect();
            assert_eq!(all.into_iter().map(|one| usize::from(one.join().unwrap())).sum::<usize>(), 1);
        });
        let process = std::process::id();
        assert!(lock(&LENT.0).iter().filter(|e| e.process == process).count() <= MOST_IDLE);
        // A pool is lent again after a panic.
        assert!(std::panic::catch_unwind(|| within::<()>(2, || panic!("within"))).is_err());
        assert_eq!(within(2, || map(2, 3, Ok)).unwrap(), [0, 1, 2]);
    }

    #[test]
    fn an_error_ends_the_work() {
        for n_threads in [1, 2] {
            let done = Mutex::new(0);
            let outcome = map(n_threads, 1000, |i| {
                *lock(&done) += 1;
                if i == 3 { Err(Error::from(ErrorKind::Interrupted)) } else { Ok(i) }
            });
            assert_eq!(outcome.unwrap_err().kind(), &ErrorKind::Interrupted);
            assert!(*lock(&done) < 1000);
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_threads_work_on() {
        for round in 0..20 {
            let caught = std::panic::catch_unwind(|| {
                map(2, 50, |i| if i == round { panic!("job {i}") } else { Ok(i) }).unwrap();
            });
            assert!(caught.is_err());
            // Threads that have ended their work look for more, which may have jobs of its own.
            let sums = map(2, 20, |i| Ok(map(2, 3, |j| Ok(i * j))?.iter().sum::<usize>()));
            assert_eq!(sums.unwrap(), (0..20).map(|i| 3 * i).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_pool_is_made_once_and_has_no_more_threads_than_workers() {
        let pools = Pools(Mutex::default());
        let get = |n_workers, n_threads| pools.get(n_workers, n_threads).unwrap();
        let two = get(2, 3000);
        assert_eq!(two.current_num_threads(), 2);
        assert!(Arc::ptr_eq(&two, &get(2, 2)));
        let three = get(3, 3000);
        assert_eq!(three.current_num_threads(), 3);
        assert!(Arc::ptr_eq(&three, &get(2, 3000)));
        assert_eq!(get(2, 2).current_num_threads(), 2);
        assert_eq!(lock(&pools.0).len(), 2);
    }
}
