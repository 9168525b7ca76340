//! The loop of learners that work in rounds: stages of boosting, steps of a regularisation path, nodes of a growing
//! forest, trees.
//!
//! This is the only place where a fit is interrupted between rounds, where rounds are counted to report progress, and
//! where an [`Observer`] is notified of each round and may end the fit.

use std::ops::{ControlFlow, Range};

use crate::control::Control;
use crate::error::Result;
use crate::pool;

/// An observer that is notified after every round.
pub(crate) trait Observer {
    /// Called after a round. `validation_loss` is the loss of the model on the validation samples after this round, or
    /// `None` if there are no validation samples. The fit ends if the observer returns a break.
    fn after(&mut self, round: usize, validation_loss: Option<f64>) -> ControlFlow<()>;
}

/// An observer that never ends the fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unobserved;

impl Observer for Unobserved {
    fn after(&mut self, _: usize, _: Option<f64>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Runs the rounds one after another. A round returns the validation loss after it, or a break if there was nothing
/// left to do; such a round is not counted, and ends the loop.
///
/// # Errors
/// The errors of rounds, and [`Interrupted`](crate::ErrorKind::Interrupted) if the flag is raised between rounds.
pub(crate) fn rounds(
    which: Range<usize>,
    control: &Control,
    observer: &mut dyn Observer,
    mut round: impl FnMut(usize) -> Result<ControlFlow<(), Option<f64>>>,
) -> Result<()> {
    for i in which {
        control.check()?;
        let ControlFlow::Continue(validation_loss) = round(i)? else { break };
        control.one_more_done();
        if observer.after(i, validation_loss).is_break() {
            break;
        }
    }
    Ok(())
}

/// Returns the results of `n` independent rounds, in order, computed on all threads of `control`.
///
/// # Errors
/// The errors of rounds, and [`Interrupted`](crate::ErrorKind::Interrupted) if the flag is raised between rounds.
pub(crate) fn side_by_side<T: Send>(
    n: usize,
    control: &Control,
    round: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    pool::map(control.n_threads(), n, |i| {
        control.check()?;
        let result = round(i)?;
        control.one_more_done();
        Ok(result)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    /// Ends the fit after a round.
    struct Until(usize, Vec<(usize, Option<f64>)>);

    impl Observer for Until {
        fn after(&mut self, round: usize, loss: Option<f64>) -> ControlFlow<()> {
            self.1.push((round, loss));
            if round == self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }

    #[test]
    fn observers_see_every_round_and_end_the_fit() {
        let (control, mut observer) = (Control::default(), Until(5, Vec::new()));
        rounds(3..9, &control, &mut observer, |i| Ok(ControlFlow::Continue(Some(i as f64)))).unwrap();
        assert_eq!(observer.1, [(3, Some(3.0)), (4, Some(4.0)), (5, Some(5.0))]);
        assert_eq!(control.n_done(), 3);
    }

    #[test]
    fn a_round_that_finds_nothing_to_do_is_not_counted() {
        let control = Control::default();
        let mut begun = 0;
        let round = |i| {
            begun += 1;
            Ok(if i < 2 { ControlFlow::Continue(None) } else { ControlFlow::Break(()) })
        };
        rounds(0..9, &control, &mut Unobserved, round).unwrap();
        assert_eq!((begun, control.n_done()), (3, 2));
    }

    #[test]
    fn a_raised_flag_ends_both_loops() {
        let control = Control::with_threads(2);
        let mut begun = 0;
        let interrupted = rounds(0..9, &control, &mut Unobserved, |_| {
            begun += 1;
            control.stop();
            Ok(ControlFlow::Continue(None))
        });
        assert!(matches!(interrupted.unwrap_err().kind(), ErrorKind::Interrupted));
        assert_eq!((begun, control.n_done()), (1, 1));
        let interrupted = side_by_side(4, &control, Ok);
        assert!(matches!(interrupted.unwrap_err().kind(), ErrorKind::Interrupted));
        assert_eq!(side_by_side(3, &Control::with_threads(2), |i| Ok(i * i)).unwrap(), [0, 1, 4]);
    }
}
