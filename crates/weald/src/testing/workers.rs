//! Workers on threads that exchange their sums in memory.

use std::error::Error as StdError;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::exact::reduce::{AllReduce, ReduceBuffer, ReduceOp, Workers};

/// The properties of a call that must be the same for all workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Call {
    op: ReduceOp,
    pub(crate) is_float: bool,
    pub(crate) len: usize,
}

/// The numbers of one call.
#[derive(Clone, Debug)]
enum Numbers {
    Floats(Vec<f64>),
    Integers(Vec<i64>),
}

#[derive(Debug, Default)]
struct State {
    /// The numbers of each worker for the current call.
    brought: Vec<(usize, Numbers)>,
    found: Option<Numbers>,
    n_left: usize,
    calls: Vec<Call>,
    /// The number of workers that have finished.
    n_gone: usize,
    /// The reason why no more calls are possible, if there is one.
    broken: Option<String>,
}

/// The state that all workers share.
#[derive(Debug)]
pub(crate) struct Meeting {
    n_workers: usize,
    /// The number of the call that fails, if any.
    fails_at: usize,
    state: Mutex<State>,
    changed: Condvar,
}

/// The access of one worker to the shared state.
#[derive(Debug)]
struct Seat {
    worker: usize,
    meeting: Arc<Meeting>,
}

impl Meeting {
    fn new(n_workers: usize, fails_at: usize) -> Arc<Self> {
        Arc::new(Meeting { n_workers, fails_at, state: Mutex::default(), changed: Condvar::new() })
    }
}

fn reduced(brought: &mut [(usize, Numbers)], op: ReduceOp) -> Numbers {
    // Numbers are combined in the reverse order of workers, because the order must not matter.
    brought.sort_by_key(|(worker, _)| std::cmp::Reverse(*worker));
    let pairs = brought.iter().map(|(_, numbers)| numbers.clone());
    pairs
        .reduce(|a, b| match (a, b) {
            (Numbers::Floats(a), Numbers::Floats(b)) => {
                let of = |(a, b): (f64, f64)| if op == ReduceOp::Sum { a + b } else { a.max(b) };
                assert!(a.iter().chain(&b).all(|x| !x.is_nan()), "NaN is reduced");
                Numbers::Floats(a.into_iter().zip(b).map(of).collect())
            }
            (Numbers::Integers(a), Numbers::Integers(b)) => {
                let of = |(a, b): (i64, i64)| if op == ReduceOp::Sum { a.wrapping_add(b) } else { a.max(b) };
                Numbers::Integers(a.into_iter().zip(b).map(of).collect())
            }
            other => panic!("workers reduce different kinds: {other:?}"),
        })
        .expect("a worker")
}

impl AllReduce for Seat {
    fn all_reduce(&self, buffer: ReduceBuffer<'_>, op: ReduceOp) -> Result<(), Box<dyn StdError + Send + Sync>> {
        let meeting = &*self.meeting;
        let (own, is_float) = match &buffer {
            ReduceBuffer::Float64(own) => (Numbers::Floats(own.to_vec()), true),
            ReduceBuffer::Int64(own) => (Numbers::Integers(own.to_vec()), false),
        };
        let len = match &own {
            Numbers::Floats(own) => own.len(),
            Numbers::Integers(own) => own.len(),
        };
        let call = Call { op, is_float, len };
        let mut state = meeting.state.lock().unwrap_or_else(PoisonError::into_inner);
        // The previous call must have ended for all workers.
        while state.n_left > 0 && state.broken.is_none() {
            state = meeting.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(why) = &state.broken {
            return Err(why.clone().into());
        }
        if state.brought.is_empty() {
            if state.calls.len() == meeting.fails_at {
                state.broken = Some("the network is down".into());
                meeting.changed.notify_all();
                return Err("the network is down".into());
            }
            state.calls.push(call);
        }
        let n_calls = state.calls.len();
        let expected = state.calls[n_calls - 1];
        if call != expected {
            let why = format!("worker {} makes the call {call:?}, another {expected:?}", self.worker);
            state.broken = Some(why.clone());
            meeting.changed.notify_all();
            drop(state);
            panic!("call {n_calls}: {why}");
        }
        state.brought.push((self.worker, own));
        if state.brought.len() == meeting.n_workers {
            state.found = Some(reduced(&mut state.brought, op));
            state.brought.clear();
            state.n_left = meeting.n_workers;
            meeting.changed.notify_all();
        }
        while !(state.n_left > 0 && state.calls.len() == n_calls) {
            if let Some(why) = &state.broken {
                return Err(why.clone().into());
            }
            assert!(state.n_gone == 0, "call {n_calls}: a worker makes fewer calls");
            state = meeting.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        match (buffer, &state.found) {
            (ReduceBuffer::Float64(own), Some(Numbers::Floats(found))) => own.copy_from_slice(found),
            (ReduceBuffer::Int64(own), Some(Numbers::Integers(found))) => own.copy_from_slice(found),
            other => panic!("{other:?}"),
        }
        state.n_left -= 1;
        if state.n_left == 0 {
            meeting.changed.notify_all();
        }
        Ok(())
    }
}

/// Returns the results of `n_workers` workers, and the calls that they made. Call number `fails_at` fails.
pub(crate) fn on_reduces<T: Send>(
    n_workers: usize,
    fails_at: usize,
    work: impl Fn(usize, Arc<dyn AllReduce>) -> T + Sync,
) -> (Vec<T>, Vec<Call>) {
    let meeting = Meeting::new(n_workers, fails_at);
    let found = std::thread::scope(|scope| {
        let started: Vec<_> = (0..n_workers)
            .map(|worker| {
                let (work, meeting) = (&work, Arc::clone(&meeting));
                scope.spawn(move || {
                    let seat: Arc<dyn AllReduce> = Arc::new(Seat { worker, meeting: Arc::clone(&meeting) });
                    let found = work(worker, seat);
                    meeting.state.lock().unwrap_or_else(PoisonError::into_inner).n_gone += 1;
                    meeting.changed.notify_all();
                    found
                })
            })
            .collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let calls = std::mem::take(&mut meeting.state.lock().unwrap().calls);
    (found, calls)
}

/// Returns the results of `n_workers` workers.
pub(crate) fn on_workers<T: Send>(n_workers: usize, work: impl Fn(usize, &Workers) -> T + Sync) -> Vec<T> {
    on_reduces(n_workers, usize::MAX, |worker, reduce| work(worker, &Workers::many(reduce))).0
}
