//! Threads: one private pool for each number of threads and process, made when first needed.
//!
//! In: jobs and a number of threads. Out: their results, in the order of the jobs, or the first error. One thread
//! means the caller's own, without any pool. Pools are keyed by the process id: threads do not survive a fork, so
//! a child that finds its parent's pool leaves it alone and makes its own.
//!
//! Not here: the global pool, which belongs to the application.

use std::sync::{Arc, Mutex, MutexGuard};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result, try_collected, try_with_capacity};

struct Entry {
    process: u32,
    n_threads: usize,
    pool: Arc<ThreadPool>,
}

/// Entries are never removed: dropping a pool of the parent in a child would signal threads that are not there.
static POOLS: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics while the lock is held: it guards moves only")
}

/// The pool of this process with `n_threads` threads.
fn pool(n_threads: usize) -> Result<Arc<ThreadPool>> {
    let process = std::process::id();
    let find = |pools: &[Entry]| {
        pools.iter().find(|e| e.process == process && e.n_threads == n_threads).map(|e| Arc::clone(&e.pool))
    };
    if let Some(pool) = find(&lock(&POOLS)) {
        return Ok(pool);
    }
    // Built outside the lock, so that a fork on another thread hardly ever copies it held.
    let built = ThreadPoolBuilder::new()
        .num_threads(n_threads)
        .thread_name(|i| format!("spinney-{i}"))
        .build()
        .map_err(|_| Error::invalid("n_threads", n_threads, "as many threads as the system can start"))?;
    let mut pools = lock(&POOLS);
    if let Some(pool) = find(&pools) {
        return Ok(pool);
    }
    let pool = Arc::new(built);
    pools.push(Entry { process, n_threads, pool: Arc::clone(&pool) });
    Ok(pool)
}

/// Runs `f` inside the pool of `n_threads` threads, or on the caller's thread when `n_threads` is 1.
///
/// With one thread there is no pool around `f`: rayon's parallel iterators would go to the global one. Prefer
/// [`for_each`] and [`map`], which take care of it.
pub(crate) fn install<R: Send>(n_threads: usize, f: impl FnOnce() -> R + Send) -> Result<R> {
    if n_threads <= 1 { Ok(f()) } else { Ok(pool(n_threads)?.install(f)) }
}

/// Does all `jobs`, handed out in their order to at most `n_threads` threads, each with a scratch of its own.
///
/// # Errors
/// An error of `scratch` or `work`; jobs not yet begun are then left undone.
pub(crate) fn for_each<J: Send, S>(
    n_threads: usize,
    mut jobs: impl ExactSizeIterator<Item = J> + Send,
    scratch: impl Fn() -> Result<S> + Sync,
    work: impl Fn(&mut S, J) -> Result<()> + Sync,
) -> Result<()> {
    let n_workers = n_threads.min(jobs.len());
    if n_workers <= 1 {
        let mut scratch = scratch()?;
        return jobs.try_for_each(|job| work(&mut scratch, job));
    }
    let queue = Mutex::new((jobs, None));
    let next = || {
        let (jobs, failure) = &mut *lock(&queue);
        if failure.is_none() { jobs.next() } else { None }
    };
    let worker = || -> Result<()> {
        let mut scratch = scratch()?;
        while let Some(job) = next() {
            work(&mut scratch, job)?;
        }
        Ok(())
    };
    install(n_threads, || {
        rayon::scope(|scope| {
            for _ in 0..n_workers {
                scope.spawn(|_| {
                    if let Err(error) = worker() {
                        lock(&queue).1.get_or_insert(error);
                    }
                });
            }
        });
    })?;
    let failure = lock(&queue).1.take();
    failure.map_or(Ok(()), Err)
}

/// `f(0), …, f(n − 1)`, computed on at most `n_threads` threads.
///
/// # Errors
/// An error of `f`; calls not yet begun are then left undone.
pub(crate) fn map<T: Send>(n_threads: usize, n: usize, f: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let mut slots = try_with_capacity("results", n)?;
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
    try_collected("results", slots.into_iter().map(|slot| slot.expect("every job was done: no error above")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn results_keep_the_order_of_the_jobs() {
        for n_threads in [1, 2, 8] {
            assert_eq!(map(n_threads, 1000, |i| Ok(i * i)).unwrap(), (0..1000).map(|i| i * i).collect::<Vec<_>>());
        }
    }

    #[test]
    fn one_thread_is_the_callers() {
        let caller = std::thread::current().id();
        assert_eq!(install(1, || std::thread::current().id()).unwrap(), caller);
        assert_ne!(install(2, || std::thread::current().id()).unwrap(), caller);
        assert_eq!(install(3, rayon::current_num_threads).unwrap(), 3);
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
    fn a_pool_is_made_once() {
        assert!(Arc::ptr_eq(&pool(2).unwrap(), &pool(2).unwrap()));
    }
}
