//! The pass over samples that have one score each.
//!
//! It computes what the pass over rows does (see [`super::held`]), in loops over columns: of scores, of leaves, of y and
//! of negative gradients. No function is called for a sample.

use std::ops::Range;
use std::slice;

use super::{Moves, Pass};
use crate::boost::data::Data;
use crate::boost::projector::Projector;
use crate::data::slots::Slots;
use crate::data::train_y::TrainY;
use crate::error::{Purpose, Result};
use crate::exact::reduce::Reduce;
use crate::loss::kernels::float::Float;
use crate::loss::kernels::vector::take_largest;
use crate::loss::rows::ColumnTargets;
use crate::pool;
use crate::reuse::Buffer;

/// The number of samples that are computed at a time, whose columns stay in the innermost cache.
pub(crate) const AT_ONCE: usize = 1 << 11;
/// The number of samples of a job.
const OF_A_JOB: usize = 8 * AT_ONCE;

const COLUMNS: Purpose = Purpose("columns of samples");

/// y of all samples, in one column.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ColumnY<'y> {
    Numbers(&'y [f64]),
    Slots(&'y Slots<'y>),
}

impl<'y> ColumnY<'y> {
    /// Returns y if samples have one score each.
    pub(crate) fn of<T: Float>(data: &'y Data<'_, T>) -> Option<Self> {
        match &data.y {
            _ if data.width != 1 => None,
            TrainY::Real(y) => Some(ColumnY::Numbers(&y.values)),
            TrainY::Slots(y) => Some(ColumnY::Slots(y)),
            TrainY::SparseReal(_) | TrainY::MaskedSlots(_) | TrainY::MaskedReal(_) => None,
        }
    }

    /// Returns y of consecutive samples.
    fn part<'m>(self, rows: Range<usize>, memory: &'m mut YMemory) -> Result<ColumnTargets<'m>>
    where
        'y: 'm,
    {
        match self {
            ColumnY::Numbers(y) => Ok(ColumnTargets::Numbers(&y[rows])),
            ColumnY::Slots(y) => memory.on(y, rows.map(|row| row as u32)),
        }
    }

    /// Returns y of some samples.
    pub(crate) fn of_rows<'m>(self, rows: &[u32], memory: &'m mut YMemory) -> Result<ColumnTargets<'m>> {
        match self {
            ColumnY::Numbers(y) => {
                memory.numbers.clear();
                COLUMNS.extend(&mut memory.numbers, rows.iter().map(|&row| y[row as usize]))?;
                Ok(ColumnTargets::Numbers(&memory.numbers))
            }
            ColumnY::Slots(y) => memory.on(y, rows.iter().copied()),
        }
    }
}

/// Memory for y of some samples.
#[derive(Debug, Default)]
pub(crate) struct YMemory {
    numbers: Vec<f64>,
    on: Vec<bool>,
}

impl YMemory {
    fn on(&mut self, y: &Slots<'_>, rows: impl ExactSizeIterator<Item = u32>) -> Result<ColumnTargets<'_>> {
        self.on.clear();
        COLUMNS.extend(&mut self.on, rows.map(|row| !y.of(row).is_empty()))?;
        Ok(ColumnTargets::On(&self.on))
    }
}

/// Moves scores; see [`super::Scores::sweep`]. Returns the loss of each sample, and a bound of the negative gradients.
/// Returns `None` if this pass does not compute what is asked for.
pub(super) fn sweep<T: Float, M: Moves<T>>(
    data: &Data<'_, T>,
    scores: &mut [T],
    moved: Option<(&[u32], &M)>,
    Pass { projector, targets, control, .. }: &mut Pass<'_>,
) -> Result<Option<(Buffer<f64>, Vec<T>)>> {
    let (Some(y), None, None | Some(Projector::Identity(_))) = (ColumnY::of(data), data.of_row.in_blocks(), *projector)
    else {
        return Ok(None);
    };
    let zero = T::from_f64(0.0);
    let mut losses = control.buffer(Purpose("the losses of rows"), data.n_samples)?;
    let mut largest = Purpose("the bounds of gradients").filled(zero, data.n_samples.div_ceil(OF_A_JOB).max(1))?;
    let known = data.of_row.bounds();
    let scratch = || Ok((COLUMNS.filled(zero, AT_ONCE)?, YMemory::default()));
    let mut of_targets = targets.chunks_mut(OF_A_JOB);
    let wants_targets = projector.is_some();
    let columns = scores.chunks_mut(OF_A_JOB).zip(losses.chunks_mut(OF_A_JOB)).zip(&mut largest);
    let jobs =
        columns.enumerate().map(|(job, columns)| (job * OF_A_JOB, columns, of_targets.next().unwrap_or_default()));
    pool::for_each(
        control.n_threads(),
        jobs,
        scratch,
        |(gradients, memory), (first, ((scores, losses), largest), targets)| {
            control.check()?;
            let mut targets = targets.chunks_mut(AT_ONCE);
            let pieces = (first..).step_by(AT_ONCE).zip(scores.chunks_mut(AT_ONCE)).zip(losses.chunks_mut(AT_ONCE));
            for ((first, scores), losses) in pieces {
                let rows = first..first + scores.len();
                let units = data.weights.of_rows_in(rows.clone());
                let is_there = |i: usize| units.is_none_or(|units| units[i] > 0);
                if let Some((leaf_of, moves)) = moved {
                    for (i, (score, &leaf)) in scores.iter_mut().zip(&leaf_of[rows.clone()]).enumerate() {
                        if is_there(i) {
                            moves.add_to(leaf as usize, slice::from_mut(score));
                        }
                    }
                }
                let gradients = &mut gradients[..scores.len()];
                data.of_row.column(y.part(rows, memory)?, scores, gradients, losses);
                if units.is_some() {
                    let absent = gradients.iter_mut().zip(&mut *losses).enumerate().filter(|(i, _)| !is_there(*i));
                    absent.for_each(|(_, (gradient, loss))| (*gradient, *loss) = (zero, 0.0));
                }
                if known.is_none() {
                    gradients
                        .iter()
                        .for_each(|gradient| take_largest(slice::from_mut(largest), slice::from_ref(gradient)));
                }
                if wants_targets && let Some(targets) = targets.next() {
                    targets.iter_mut().zip(&*gradients).for_each(|(target, gradient)| *target = gradient.to_f64());
                }
            }
            Ok(())
        },
    )?;
    let mut bound = [zero];
    match known {
        Some(known) => bound = [T::from_f64(known.gradient)],
        None => {
            largest.iter().for_each(|one| take_largest(&mut bound, slice::from_ref(one)));
            data.weights.workers().max(&mut bound)?;
        }
    }
    Ok(Some((losses, Purpose("the bounds of gradients").copied(&bound)?)))
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::boost::scores::held::sweep_rows;
    use crate::boost::scores::table::TableMoves;
    use crate::control::Control;
    use crate::data::{LabelView, Targets, Weights};
    use crate::loss::LossKind;
    use crate::loss::outputs::ColumnLosses;
    use crate::loss::working::WorkingLoss;
    use crate::rng::{Key, Stream};

    /// Compares both passes, with and without moves and targets.
    fn check<T: Float>(y: &Targets<'_>, loss: &LossKind, weights: Option<&[f64]>, stream: &mut Stream) {
        let n = y.n_samples();
        let working = WorkingLoss::Columns(ColumnLosses::One(loss.as_column()));
        let data = Data::<T>::new(y, (&working, None), Weights::of_rows(weights, n).unwrap(), 1).unwrap();
        let scores: Vec<T> = (0..n).map(|_| T::from_f64(stream.below(2000) as f64 / 300.0 - 3.0)).collect();
        let leaf_of: Vec<u32> = (0..n).map(|_| stream.below(5) as u32).collect();
        let moves = TableMoves::Rows([0.5, -2.0, 1e-3, 0.0, 7.25].map(T::from_f64).to_vec());
        let identity = Projector::Identity(1);
        for moved in [None, Some((&leaf_of[..], &moves))] {
            for projector in [None, Some(&identity)] {
                let control = Control::with_threads(2);
                let run = |by_columns: bool| {
                    let (mut scores, mut targets) =
                        (scores.clone(), vec![9.0; if projector.is_some() { n } else { 0 }]);
                    let mut pass = Pass { projector, targets: &mut targets, out_of_bag: None, control: &control };
                    let (losses, bounds) = if by_columns {
                        sweep(&data, &mut scores, moved, &mut pass).unwrap().expect("samples have one score")
                    } else {
                        sweep_rows(&data, &mut scores, moved, &mut pass).unwrap()
                    };
                    // Without targets, nobody asks for the bound.
                    let bound = if projector.is_some() { bounds[0].to_f64() } else { 0.0 };
                    (scores.iter().map(|score| score.to_f64()).collect::<Vec<_>>(), losses.to_vec(), bound, targets)
                };
                assert_eq!(run(true), run(false), "{loss:?}");
            }
        }
    }

    #[test]
    fn the_pass_over_columns_is_the_pass_over_rows() {
        for (seed, n) in [1, 7, AT_ONCE - 1, AT_ONCE + 1, OF_A_JOB + 3].into_iter().enumerate() {
            let mut stream = Stream::new(Key::from_seed(seed as u64));
            let weights: Vec<f64> = (0..n).map(|i| if i == 0 { 2.0 } else { stream.below(3) as f64 }).collect();
            let numbers = Array2::from_shape_simple_fn((n, 1), || stream.below(500) as f64 / 70.0);
            let numbers = Targets::Real(numbers.view());
            let ptr: Vec<usize> = (0..=n).map(|i| i.div_ceil(2)).collect();
            let on = vec![0u32; ptr[n]];
            let labels = Targets::Labels(LabelView::try_new(&ptr[..], &on[..], 1).unwrap());
            for weights in [None, Some(&weights[..])] {
                for loss in [LossKind::SquaredError, LossKind::huber(0.5), LossKind::Poisson] {
                    check::<f64>(&numbers, &loss, weights, &mut stream);
                }
                for loss in [LossKind::SquaredError, LossKind::LogLoss, LossKind::Hinge] {
                    check::<f32>(&labels, &loss, weights, &mut stream);
                }
            }
        }
    }
}
