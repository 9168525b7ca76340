//! stub
use super::{Loss, LossKind};
use crate::data::weights::exponent_above;
use std::fmt::Debug;
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowTargets<'a> {
    Numbers(&'a [f64]),
    On(&'a [u32]),
}
pub(crate) trait Score:
    Copy
    + Debug
    + Default
    + Send
    + Sync
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + 'static
{
    fn from_f64(x: f64) -> Self;
    fn to_f64(self) -> f64;
    fn abs(self) -> Self;
    fn shift(bound: f64, total: f64) -> Self;
}
impl Score for f64 {
    fn from_f64(x: f64) -> Self {
        x
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn abs(self) -> Self {
        f64::abs(self)
    }
    fn shift(bound: f64, total: f64) -> f64 {
        if bound == 0.0 {
            return 0.0;
        }
        1.5 * 2f64.powi((exponent_above(bound) + exponent_above(total).max(1)).clamp(-1000, 1000))
    }
}
impl Score for f32 {
    fn from_f64(x: f64) -> Self {
        x as f32
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
    fn abs(self) -> Self {
        f32::abs(self)
    }
    fn shift(bound: f64, _: f64) -> f32 {
        if bound == 0.0 {
            return 0.0;
        }
        1.5 * 2f32.powi((exponent_above(bound) + 1).clamp(-100, 100))
    }
}
pub(crate) trait RowLoss<T: Score>: Debug + Send + Sync {
    fn negative_gradients(&self, y: RowTargets<'_>, scores: &[T], out: &mut [T]) -> f64;
    fn derivatives(&self, y: RowTargets<'_>, scores: &[T], steps: &[T], out: &mut [T], curvatures: &mut [T]);
    fn bounds(&self) -> Option<(f64, f64)>;
    fn loss(&self, y: RowTargets<'_>, scores: &[T]) -> f64;
}
#[derive(Debug)]
struct Scalar(LossKind);
impl Scalar {
    fn y(&self, y: &RowTargets<'_>, j: usize) -> f64 {
        match y {
            RowTargets::Numbers(y) => y[j],
            RowTargets::On(on) => {
                if on.binary_search(&(j as u32)).is_ok() {
                    1.0
                } else {
                    self.0.y_of_off()
                }
            }
        }
    }
}
impl<T: Score> RowLoss<T> for Scalar {
    fn negative_gradients(&self, y: RowTargets<'_>, scores: &[T], out: &mut [T]) -> f64 {
        let l = self.0.as_loss();
        (0..scores.len())
            .map(|j| {
                let (y, f) = (self.y(&y, j), scores[j].to_f64());
                out[j] = T::from_f64(l.negative_gradient(y, f));
                l.value(y, f)
            })
            .sum()
    }
    fn derivatives(&self, y: RowTargets<'_>, scores: &[T], steps: &[T], out: &mut [T], h: &mut [T]) {
        let l = self.0.as_loss();
        for j in 0..scores.len() {
            let (y, f) = (self.y(&y, j), (scores[j] + steps[j]).to_f64());
            out[j] = T::from_f64(l.negative_gradient(y, f));
            h[j] = T::from_f64(l.curvature(y, f));
        }
    }
    fn bounds(&self) -> Option<(f64, f64)> {
        match self.0 {
            LossKind::LogLoss => Some((2.0, 1.0)),
            LossKind::Hinge | LossKind::AbsoluteError => Some((1.0, 1.0)),
            _ => None,
        }
    }
    fn loss(&self, y: RowTargets<'_>, scores: &[T]) -> f64 {
        let l = self.0.as_loss();
        (0..scores.len()).map(|j| l.value(self.y(&y, j), scores[j].to_f64())).sum()
    }
}
impl LossKind {
    pub(crate) fn rows<T: Score>(&self) -> Box<dyn RowLoss<T>> {
        Box::new(Scalar(self.clone()))
    }
}
