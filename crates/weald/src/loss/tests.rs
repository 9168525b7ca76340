//! Comparison of every loss with its definition, by finite differences and by brute-force searches.

use proptest::prelude::*;

use super::column::ColumnLoss;
use super::kernels::float::Float;
use super::outputs::ColumnLosses;
use super::rows::log_loss_rows::LogLossRows;
use super::rows::{Cells, ColumnTargets, RowLoss, RowTargets};
use super::steps::newton::Regularization;
use super::working::WorkingLoss;
use super::*;

fn losses() -> [LossKind; 5] {
    [LossKind::SquaredError, LossKind::AbsoluteError, LossKind::LogLoss, LossKind::Exponential, LossKind::Hinge]
}

/// A loss with the defaults of the trait.
#[derive(Debug)]
struct Plain(LossKind);

impl Loss for Plain {
    fn value(&self, y: f64, score: f64) -> f64 {
        self.0.as_column().value(y, score)
    }
    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        self.0.as_column().negative_gradient(y, score)
    }
    fn curvature(&self, y: f64, score: f64) -> f64 {
        self.0.as_column().curvature(y, score)
    }
}

/// A loss that hides its curvature.
#[derive(Debug)]
struct Hidden<L>(L);

impl<L: Loss> Loss for Hidden<L> {
    fn value(&self, y: f64, score: f64) -> f64 {
        self.0.value(y, score)
    }
    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        self.0.negative_gradient(y, score)
    }
    fn curvature(&self, _: f64, _: f64) -> f64 {
        0.0
    }
}

/// A loss with kinks and curvature: |y − f| + c (y − f)² / 2.
#[derive(Debug)]
struct Elastic(f64);

impl Loss for Elastic {
    fn value(&self, y: f64, score: f64) -> f64 {
        (y - score).abs() + 0.5 * self.0 * (y - score) * (y - score)
    }
    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        let r = y - score;
        self.0 * r + if r == 0.0 { 0.0 } else { r.signum() }
    }
    fn curvature(&self, _: f64, _: f64) -> f64 {
        self.0
    }
}

/// Returns the minimum of the elastic loss, which is at a kink or at the vertex of the parabola between two kinks.
fn least_elastic(problem: &LineProblem<'_>, c: f64) -> f64 {
    let mut places: Vec<f64> = problem.moving().map(|(y, f, g, _)| (y - f) / g).filter(|k| k.abs() < 1000.0).collect();
    places.extend([-1000.0, 0.0, 1000.0]);
    places.sort_by(f64::total_cmp);
    let loss = Elastic(c);
    let between = places.windows(2).filter(|_| c > 0.0).map(|ends| {
        let middle = 0.5 * (ends[0] + ends[1]);
        let (slope, curvature) = problem.derivatives(&loss, middle).unwrap();
        if curvature == 0.0 { middle } else { (middle - slope / curvature).clamp(ends[0], ends[1]) }
    });
    let all = places.iter().copied().chain(between);
    all.map(|place| problem.loss(&loss, place).unwrap()).fold(f64::INFINITY, f64::min)
}

/// Returns an upper bound on the decrease that remains when a search along a separable line ends: its last slope times
/// the rest of the line. It is 0 if the line does not separate the labels.
fn left_when_settled(problem: &LineProblem<'_>, loss: &dyn Loss) -> f64 {
    let slope = problem.derivatives(loss, 0.0).unwrap().0;
    let separates = |(y, _, g, _): (f64, f64, f64, f64)| y * g * slope <= 0.0;
    if problem.moving().all(separates) { 1e-8 * slope.abs() * LARGEST_STEP } else { 0.0 }
}

/// Returns the minimum of a convex function on [−1000, 1000]: it tries steps of all powers of ten, and then divides
/// intervals into thirds.
fn least(f: impl Fn(f64) -> f64) -> f64 {
    let places = || (-120..=30).flat_map(|e| [-1.0, 1.0].map(|s| s * 10f64.powf(f64::from(e) / 10.0))).chain([0.0]);
    let best = places().min_by(|&a, &b| f(a).total_cmp(&f(b))).unwrap();
    let width = 0.3 * best.abs() + 1e-12;
    let (mut low, mut high) = ((best - width).max(-1000.0), (best + width).min(1000.0));
    for _ in 0..200 {
        let third = (high - low) / 3.0;
        if f(low + third) <= f(high - third) { high -= third } else { low += third }
    }
    f(best).min(f(0.5 * (low + high)))
}

#[derive(Clone, Debug)]
struct Rows {
    y: Vec<f64>,
    scores: Vec<f64>,
    direction: Vec<f64>,
    weights: Vec<f64>,
    control: Control,
}

impl Rows {
    fn problem(&self) -> LineProblem<'_> {
        LineProblem {
            y: &self.y,
            scores: &self.scores,
            direction: &self.direction,
            weights: &self.weights,
            control: &self.control,
        }
    }
}

/// Zero weights and directions, constant labels, separable lines, and scores far from zero.
fn rows() -> impl Strategy<Value = Rows> {
    let row = (any::<bool>(), -1e3f64..1e3, -2f64..2.0, 0u8..4, 0u8..8, 0u8..6);
    (prop::collection::vec(row, 1..25), 0u8..6, prop::sample::select(vec![1e-3, 1.0, 1.0, 1.0, 30.0, 1000.0])).prop_map(
        |(rows, kind, scale)| {
            let mut all =
                Rows { y: vec![], scores: vec![], direction: vec![], weights: vec![], control: Control::default() };
            for (positive, f, g, w, zero, tie) in rows {
                let y = if kind == 0 || positive { 1.0 } else { -1.0 };
                all.y.push(y);
                all.scores.push(if tie == 0 { 0.0 } else { f / 1e3 * scale });
                let g = if zero == 0 {
                    0.0
                } else if tie == 1 {
                    g.signum()
                } else {
                    g
                };
                all.direction.push(if kind == 1 { y * g.abs() } else { g });
                all.weights.push(f64::from(w) * if kind == 2 { 0.1 } else { 1.0 });
            }
            all
        },
    )
}

/// Differences of the loss are its derivatives, up to this share of the largest of them.
fn assert_derivatives(loss: &dyn Loss, (y, score): (f64, f64), (share, size): (f64, f64)) {
    let h = 1e-5;
    let difference = |f: &dyn Fn(f64) -> f64| (f(score + h) - f(score - h)) / (2.0 * h);
    let near = |a: f64, b: f64| (a - b).abs() <= share * size;
    let slope = difference(&|f| loss.value(y, f));
    assert!(near(-slope, loss.negative_gradient(y, score)), "{loss:?} {y} {score} {slope}");
    let curvature = -difference(&|f| loss.negative_gradient(y, f));
    assert!(near(curvature, loss.curvature(y, score)), "{loss:?} {y} {score} {curvature}");
}

#[test]
fn derivatives_are_those_of_the_value() {
    for kind in losses() {
        let loss = kind.as_loss();
        for y in [-1.0, 1.0] {
            for score in [-30.0, -3.3, -1.01, -0.2, 0.13, 0.7, 1.02, 2.4, 17.0] {
                // The error of differences is h² times a third derivative, plus the rounding of values divided by h.
                assert_derivatives(loss, (y, score), (1e-7, 1.0 + loss.value(y, score)));
            }
        }
    }
}

/// The loss of y is finite and convex at these scores, which increase.
fn assert_convex(loss: &dyn Loss, y: f64, far: &[f64]) {
    for &f in far {
        let all = [loss.value(y, f), loss.negative_gradient(y, f), loss.curvature(y, f)];
        assert!(all.iter().all(|x| x.is_finite()), "{loss:?} {y} {f} {all:?}");
        assert!(all[0] >= 0.0 && all[2] >= 0.0, "{loss:?} {y} {f} {all:?}");
        // Squares of gradients are summed over samples.
        assert!(all[1].abs() <= 1.1e150, "{loss:?} {y} {f} {all:?}");
    }
    let falls = |a: &f64, b: &f64| loss.negative_gradient(y, *a) >= loss.negative_gradient(y, *b);
    assert!(far.is_sorted_by(falls), "{loss:?} {y}");
}

#[test]
fn far_margins_are_finite_and_convex() {
    for kind in losses() {
        for y in [-1.0, 1.0] {
            let far = [-1e6, -1e3, -400.0, -90.0, -1.0, 0.0, 1.0, 90.0, 400.0, 1e3, 1e6];
            assert_convex(kind.as_loss(), y, &far);
        }
    }
}

#[test]
fn starts_are_what_their_docs_say() {
    let (y, w) = ([1.0, -1.0, 1.0, -1.0], [2.0, 1.0, 0.0, 1.0]);
    let start = |kind: &LossKind, y: &[f64], w: &[f64]| kind.as_column().start(y, w, &Control::default()).unwrap();
    assert_eq!(losses().map(|k| start(&k, &y, &w)), [0.0, -1.0, 0.0, 0.0, 0.0]);
    let (y, w) = ([3.0, 1.0, 2.0, 9.0], [1.0, 1.0, 1.0, 0.0]);
    assert_eq!((start(&LossKind::SquaredError, &y, &w), start(&LossKind::AbsoluteError, &y, &w)), (2.0, 2.0));
    // With constant labels, the other class is treated as half a sample, or as a 64th of the total weight.
    let labels = [1.0; 50];
    assert_eq!(start(&LossKind::LogLoss, &labels, &labels), 0.5 * (50f64.ln() - 0.5f64.ln()));
    let twice = [2.0; 25];
    assert_eq!(start(&LossKind::LogLoss, &labels[..25], &twice), start(&LossKind::LogLoss, &labels, &labels));
    assert_eq!(start(&LossKind::Exponential, &[-1.0; 2], &[1.0; 2]), -0.5 * (2f64.ln() - (2.0f64 / 64.0).ln()));
    assert_eq!((start(&LossKind::Hinge, &labels, &labels), start(&LossKind::Hinge, &[-1.0], &[0.1])), (1.0, -1.0));
    for kind in losses() {
        assert_eq!((start(&kind, &[], &[]), start(&kind, &[1.0], &[0.0])), (0.0, 0.0), "{kind:?}");
    }
}

proptest! {
    #[test]
    fn starts_are_best_constants(rows in rows()) {
        let total: f64 = rows.weights.iter().sum();
        let weight_of = |y: f64| rows.y.iter().zip(&rows.weights).filter(|r| *r.0 == y).map(|r| r.1).sum::<f64>();
        let constant = weight_of(1.0) * weight_of(-1.0) == 0.0;
        for kind in losses() {
            let loss = kind.as_column();
            if total == 0.0 || (constant && matches!(kind, LossKind::LogLoss | LossKind::Exponential)) {
                continue;
            }
            let value = |c: f64| weighted_sum(&rows.weights, &rows.y.iter().map(|&y| loss.value(y, c)).collect::<Vec<_>>());
            let start = loss.start(&rows.y, &rows.weights, &Control::default()).unwrap();
            // The tolerance covers the rounding of sums of losses.
            prop_assert!(value(start) <= least(value) + 1e-9 * value(0.0), "{kind:?} {start}");
            let found = Plain(kind.clone()).start(&rows.y, &rows.weights, &Control::default()).unwrap();
            // A searched start has a relative error of 1e-7, and at a kink the loss increases by as much.
            prop_assert!(value(found) <= value(start) + 1e-7 * value(0.0), "{kind:?} {start} {found}");
        }
    }

    #[test]
    fn steps_are_best_steps_and_never_worse_than_none(rows in rows()) {
        let problem = rows.problem();
        for kind in losses() {
            let loss = kind.as_column();
            let value = |step: f64| problem.loss(loss, step).unwrap();
            let best = least(value);
            for (who, step) in [("own", loss.step(&problem)), ("default", Plain(kind.clone()).step(&problem))] {
                let step = step.unwrap();
                // The default search goes as far as the loss decreases, and steps of the absolute error have the unit of y.
                let has_no_limit = who == "default" || matches!(kind, LossKind::AbsoluteError);
                prop_assert!(has_no_limit || step.abs() <= LARGEST_STEP);
                prop_assert!(value(step) <= value(0.0), "{who} {kind:?} {step}");
                // The tolerance covers the rounding of sums of losses, and the remainder of a search along a
                // separable line.
                let slack = 1e-9 * value(0.0) + left_when_settled(&problem, loss) + f64::MIN_POSITIVE;
                prop_assert!(value(step) <= best + slack, "{who} {kind:?} {step} {} {best}", value(step));
            }
        }
    }

    #[test]
    fn kinks_are_found_to_the_last_bits(rows in rows(), c in prop::sample::select(vec![0.0, 1e-3, 1.0, 50.0]), hidden in any::<bool>()) {
        let problem = rows.problem();
        let best = least_elastic(&problem, c);
        // The loss is searched with its curvature, or as if it had only slopes.
        let step = if hidden { Hidden(Elastic(c)).step(&problem) } else { Elastic(c).step(&problem) };
        let step = step.unwrap();
        let value = problem.loss(&Elastic(c), step).unwrap();
        // A score is exact up to its last bit, and its sample's loss up to this error times the slope.
        let blur = |i: usize| {
            let score = problem.scores[i] + step * problem.direction[i];
            let slope = 1.0 + c * (problem.y[i] - score).abs();
            problem.weights[i] * slope * (problem.y[i].abs() + score.abs())
        };
        let rounding = 4.0 * f64::EPSILON * (0..problem.y.len()).map(blur).sum::<f64>();
        prop_assert!(value <= best * (1.0 + 1e-13) + rounding, "{step} {value} {best}");
    }

    #[test]
    fn separable_lines_settle(rows in rows()) {
        let mut rows = rows;
        let scores = rows.y.iter().zip(&rows.scores).map(|(y, f)| y * f.abs().min(5.0));
        rows.scores = scores.collect();
        rows.direction = rows.y.iter().zip(&rows.direction).map(|(y, g)| y * (0.5 + g.abs())).collect();
        let problem = rows.problem();
        for loss in [LossKind::LogLoss, LossKind::Exponential] {
            for step in [loss.as_column().step(&problem), Plain(loss.clone()).step(&problem)] {
                let step = step.unwrap();
                let [first, last] = [0.0, step].map(|at| problem.derivatives(loss.as_column(), at).unwrap().0);
                // A gradient decreases at least by e^(−g ρ), and g is at least a half.
                prop_assert!(last.abs() <= 1e-8 * first.abs() && (0.0..50.0).contains(&step), "{loss:?} {first} {last} {step}");
            }
        }
    }

    #[test]
    fn weights_are_repetitions_and_order_does_not_matter(mut rows in rows(), turn in 0usize..25) {
        rows.weights.iter_mut().for_each(|w| *w = w.ceil());
        let mut repeated = Rows { y: vec![], scores: vec![], direction: vec![], weights: vec![], control: Control::default() };
        let n = rows.y.len();
        for i in (0..n).map(|i| (i + turn) % n) {
            for _ in 0..rows.weights[i] as usize {
                repeated.y.push(rows.y[i]);
                repeated.scores.push(rows.scores[i]);
                repeated.direction.push(rows.direction[i]);
                repeated.weights.push(1.0);
            }
        }
        for kind in losses().into_iter().chain([LossKind::huber(0.5)]) {
            let loss = kind.as_column();
            let step = |rows: &Rows| loss.step(&rows.problem()).unwrap().to_bits();
            prop_assert_eq!(step(&rows), step(&repeated), "{:?}", kind);
            let start = |rows: &Rows| loss.start(&rows.y, &rows.weights, &Control::default()).unwrap().to_bits();
            prop_assert_eq!(start(&rows), start(&repeated), "{:?}", kind);
        }
    }
}

/// The losses have the defaults of the trait, like a loss of a caller.
#[test]
fn starts_and_steps_of_any_loss_are_found_however_far_the_targets_are() {
    for scale in [1.0, 1e6, -1e9, 1e40] {
        let y = [1.0, 2.0, 4.0].map(|y| y * scale);
        let (scores, direction, weights) = ([0.0, 0.5 * scale, 0.0], [0.5; 3], [1.0; 3]);
        let control = &Control::default();
        let problem = LineProblem { y: &y, scores: &scores, direction: &direction, weights: &weights, control };
        // The search ends at a relative error of 1e-7, where the slope is practically zero.
        let near = |found: f64, place: f64| (found - place * scale).abs() <= 1e-7 * (place * scale).abs();
        let (mean, median) = (Plain(LossKind::SquaredError), Plain(LossKind::AbsoluteError));
        let steps = [&mean, &median].map(|loss| loss.step(&problem).unwrap());
        assert!(near(steps[0], 6.5 / 1.5) && near(steps[1], 3.0), "{scale:e} {steps:?}");
        let starts = [&mean, &median].map(|loss| loss.start(&y, &weights, &Control::default()).unwrap());
        assert!(near(starts[0], 7.0 / 3.0) && near(starts[1], 2.0), "{scale:e} {starts:?}");
        // If a kink is close enough to the minimum, the minimum is the vertex of the parabola between two kinks.
        let start = Elastic(1.0 / scale.abs()).start(&y, &weights, &Control::default()).unwrap();
        assert!(near(start, 2.0), "{scale:e} {start}");
    }
}

#[test]
fn least_squares_are_exact_at_any_scale() {
    for scale in [1e-200, 1e-3, 1.0, 1e150] {
        let rows = Rows {
            y: vec![1.0, 2.0],
            scores: vec![0.0; 2],
            direction: vec![scale; 2],
            weights: vec![1.0; 2],
            control: Control::default(),
        };
        let step = SquaredError.step(&rows.problem()).unwrap();
        let expected = (1.5 / scale).min(1000.0);
        // The tolerance covers one quotient of two sums of two terms.
        assert!((step - expected).abs() <= 1e-15 * expected, "{step} {expected}");
    }
}

/// A row of scores close to zero and far from it, and the present labels.
fn scores_and_on() -> impl Strategy<Value = (Vec<f32>, Vec<u32>)> {
    let cell = (-1f32..1.0, prop::sample::select(vec![1e-3f32, 1.0, 8.0, 40.0, 1000.0]), 0u8..10);
    prop_oneof![0usize..40, 200usize..600, 3000usize..4000]
        .prop_flat_map(move |n| prop::collection::vec(cell.clone(), n))
        .prop_map(|cells| {
            let on = cells.iter().zip(0..).filter(|(c, _)| c.2 == 0).map(|(_, j)| j).collect();
            (cells.iter().map(|c| c.0 * c.1).collect(), on)
        })
}

proptest! {
    #[test]
    fn fast_rows_are_those_of_the_loss_and_the_same_bits_on_any_registers((scores, on) in scores_and_on()) {
        let n = scores.len();
        let numbers: Vec<f64> = (0..n as u32).map(|j| if on.contains(&j) { 1.0 } else { -1.0 }).collect();
        let run = |rows: &dyn RowLoss<f32>, y: RowTargets<'_>| {
            let mut r = vec![0f32; n];
            let loss = rows.responses(y, &scores, &mut r);
            assert_eq!(loss.to_bits(), rows.loss(y, &scores).to_bits());
            (loss, r)
        };
        let slow = run(&Cells { losses: ColumnLosses::One(&LogLoss), shares: None }, RowTargets::On(&on));
        let fast = run(&LogLossRows::new(), RowTargets::On(&on));
        for other in [run(&LogLossRows::narrow(), RowTargets::On(&on)), run(&LogLossRows::new(), RowTargets::Numbers(&numbers))] {
            prop_assert_eq!(fast.0.to_bits(), other.0.to_bits());
            prop_assert_eq!(fast.1.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), other.1.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
        }
        // Exponentials are float32 with an error of 1.3e-7 (see the tests of `log_loss_rows`), and so are the terms
        // below.
        prop_assert!((fast.0 - slow.0).abs() <= 1e-6 * slow.0 + 1e-9, "{} {}", fast.0, slow.0);
        for (fast, slow) in fast.1.iter().zip(slow.1) {
            prop_assert!((fast - slow).abs() <= 1e-6 * slow.abs() + 1e-30, "{fast} {slow}");
        }
    }

    #[test]
    fn weighed_losses_of_rows_are_sums_of_weighed_cells((scores, on) in scores_and_on()) {
        let shares: Vec<f64> = (0..scores.len()).map(|j| (j % 5) as f64 / 2.0).collect();
        for kind in losses().into_iter().filter(|kind| kind.as_column().domain().has_labels()) {
            let loss = kind.as_column();
            let working = WorkingLoss::Columns(ColumnLosses::One(loss));
            let (rows, plain) = (working.rows::<f32>(Some(&shares)), working.rows::<f32>(None));
            let (mut r, mut of_plain) = (vec![0f32; scores.len()], vec![0f32; scores.len()]);
            let found = rows.responses(RowTargets::On(&on), &scores, &mut r);
            plain.responses(RowTargets::On(&on), &scores, &mut of_plain);
            prop_assert_eq!(&r, &of_plain);
            prop_assert_eq!(found.to_bits(), rows.loss(RowTargets::On(&on), &scores).to_bits());
            let y = |j: usize| if on.contains(&(j as u32)) { 1.0 } else { loss.domain().off() };
            let cells = (0..scores.len()).map(|j| shares[j] * loss.value(y(j), scores[j].into()));
            let expected: f64 = cells.sum();
            // The tails of the logistic loss are float32, and present labels are corrected by their scores; sums have
            // up to 1e4 terms.
            prop_assert!((found - expected).abs() <= 1e-6 * expected + 1e-8, "{kind:?} {found} {expected}");
        }
    }

    #[test]
    fn rows_of_any_loss_are_sums_over_cells((scores, on) in scores_and_on()) {
        for kind in losses().into_iter().chain([LossKind::huber(0.5)]) {
            let y: Vec<f64> = (0..scores.len() as u32).map(|j| if on.contains(&j) { 1.0 } else { kind.as_column().domain().off() }).collect();
            let wide: Vec<f64> = scores.iter().map(|&f| f.into()).collect();
            let (mut r, mut other) = (vec![0f64; y.len()], vec![0f64; y.len()]);
            let working = WorkingLoss::Columns(ColumnLosses::One(kind.as_column()));
            let rows = working.rows::<f64>(None);
            let loss = rows.responses(RowTargets::On(&on), &wide, &mut r);
            prop_assert_eq!(loss, rows.responses(RowTargets::Numbers(&y), &wide, &mut other));
            prop_assert_eq!(&r, &other);
            prop_assert_eq!(loss, rows.loss(RowTargets::On(&on), &wide));
            let cells = || y.iter().zip(&scores).map(|(&y, &f)| kind.as_column().value(y, f.into()));
            let sum: f64 = cells().sum();
            // Both sums have the same terms in different orders.
            prop_assert!((loss - sum).abs() <= 1e-12 * sum + 1e-300, "{loss} {sum}");
            let mut narrow = vec![0f32; y.len()];
            let in_float32 = working.rows::<f32>(None).responses(RowTargets::On(&on), &scores, &mut narrow);
            // Rows of the logistic loss use float32 exponentials.
            prop_assert!((in_float32 - sum).abs() <= 1e-6 * sum + 1e-9, "{in_float32} {sum}");
            for j in 0..y.len() {
                let of_cell = if wide.len() == 1 { ColumnLoss::response } else { Loss::negative_gradient };
                prop_assert_eq!(r[j], of_cell(kind.as_column(), y[j], wide[j]));
                prop_assert!(rows.bounds().is_none_or(|most| r[j].abs() <= most.gradient));
            }
        }
    }
}

/// Checks that samples with one score each are computed as they are one by one.
fn check_column<T: Float>(loss: &dyn RowLoss<T>, y: ColumnTargets<'_>, scores: &[f64]) {
    let scores: Vec<T> = scores.iter().map(|&f| T::from_f64(f)).collect();
    let (mut r, mut losses) = (vec![T::from_f64(0.0); scores.len()], vec![0.0; scores.len()]);
    loss.column(y, &scores, &mut r, &mut losses);
    for (i, score) in scores.iter().enumerate() {
        let mut alone = [T::from_f64(0.0)];
        let expected = loss.responses(y.of(i), &[*score], &mut alone);
        assert_eq!((losses[i].to_bits(), r[i].to_f64().to_bits()), (expected.to_bits(), alone[0].to_f64().to_bits()));
        assert_eq!(losses[i].to_bits(), loss.loss(y.of(i), &[*score]).to_bits());
    }
}

proptest! {
    #[test]
    fn a_column_of_scores_has_the_bits_of_its_samples(
        rows in prop::collection::vec((-4f64..4.0, -40f64..40.0, any::<bool>()), 1..600),
    ) {
        let scores: Vec<f64> = rows.iter().map(|row| row.1).collect();
        let on: Vec<bool> = rows.iter().map(|row| row.2).collect();
        let signs: Vec<f64> = on.iter().map(|&on| if on { 1.0 } else { -1.0 }).collect();
        for kind in losses() {
            let working = WorkingLoss::Columns(ColumnLosses::One(kind.as_column()));
            for y in [ColumnTargets::On(&on), ColumnTargets::Numbers(&signs)] {
                check_column(&*working.rows::<f32>(None), y, &scores);
                check_column(&*working.rows::<f64>(None), y, &scores);
            }
        }
        check_column(&LogLossRows::narrow(), ColumnTargets::On(&on), &scores);
        for kind in losses_of_numbers().into_iter().chain([LossKind::SquaredError]) {
            let y: Vec<f64> = rows.iter().map(|row| in_domain(&kind, row.0)).collect();
            let working = WorkingLoss::Columns(ColumnLosses::One(kind.as_column()));
            check_column(&*working.rows::<f64>(None), ColumnTargets::Numbers(&y), &scores);
        }
    }
}

/// Losses of numerical outputs that have a parameter or that do not support all numbers.
fn losses_of_numbers() -> Vec<LossKind> {
    let quantiles = [0.05, 0.5, 0.8].map(LossKind::quantile);
    let deviances = [LossKind::Poisson, LossKind::Gamma].into_iter().chain([1.1, 1.5, 1.9].map(LossKind::tweedie));
    quantiles.into_iter().chain(deviances).chain([LossKind::huber(0.5)]).collect()
}

/// Returns a number in the domain of a loss: y itself, its magnitude, or slightly more than its magnitude.
fn in_domain(kind: &LossKind, y: f64) -> f64 {
    match kind.as_loss().domain() {
        Domain::Numbers | Domain::NumbersAndSigns | Domain::Signs => y,
        Domain::NotNegative => y.abs(),
        Domain::Positive => y.abs() + 1e-3,
    }
}

/// Samples with numerical outputs, some of which are zero; scores close to zero and far from it; directions that are
/// zero or all have the same sign.
fn rows_of_numbers() -> impl Strategy<Value = Rows> {
    let row = (-3f64..3.0, -1f64..1.0, -2f64..2.0, 0u8..4, 0u8..5);
    let rows = prop::collection::vec(row, 1..25);
    (rows, any::<bool>(), prop::sample::select(vec![1e-3, 1.0, 4.0])).prop_map(|(rows, one_way, scale)| Rows {
        // Targets are multiples of a half, so that residuals and ratios tie.
        y: rows.iter().map(|r| if r.4 == 0 { 0.0 } else { (4.0 * r.0.exp()).round() / 2.0 * r.0.signum() }).collect(),
        scores: rows.iter().map(|r| r.1 * scale).collect(),
        direction: rows
            .iter()
            .map(|r| {
                if r.4 == 1 {
                    0.0
                } else if one_way {
                    r.2.abs()
                } else {
                    r.2
                }
            })
            .collect(),
        weights: rows.iter().map(|r| r.3.into()).collect(),
        control: Control::default(),
    })
}

#[test]
fn derivatives_of_regression_losses_are_those_of_the_value() {
    for kind in losses_of_numbers() {
        let loss = kind.as_loss();
        for y in [-2.6, 0.0, 1e-3, 0.7, 3.3, 250.0].map(|y| in_domain(&kind, y)) {
            for score in [-9.0, -3.3, -1.01, -0.2, 0.13, 0.71, 1.02, 2.4, 7.0] {
                // A third derivative of these losses is not larger than the second.
                let size = 1.0 + loss.value(y, score) + loss.curvature(y, score);
                assert_derivatives(loss, (y, score), (1e-9, size));
            }
        }
    }
}

#[test]
fn scores_far_out_have_finite_regression_losses_that_stay_convex() {
    for kind in losses_of_numbers() {
        for y in [0.0, 1e-300, 1.0, 1e40, 1e150].map(|y| in_domain(&kind, y)) {
            let far = [-1e6, -1e3, -400.0, -345.4, -90.0, -1.0, 0.0, 1.0, 90.0, 345.3, 345.5, 400.0, 1e3, 1e6];
            assert_convex(kind.as_loss(), y, &far);
        }
    }
}

#[test]
fn deviances_are_what_their_formulas_say() {
    for (y, f) in [(3.0f64, 0.4f64), (0.25, -2.0), (7.5, 9.0), (1e6, 13.8), (1e-4, 40.0)] {
        let mean = crate::elementary::exp(f);
        let poisson = mean - y * f - y + y * y.ln();
        let gamma = y / mean + f - y.ln() - 1.0;
        // The tolerance covers the cancellation in the formulas.
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-14 * (1.0 + y * y.ln().abs() + mean + y / mean);
        assert!(near(Poisson.value(y, f), poisson) && near(Gamma.value(y, f), gamma), "{y} {f}");
        assert_eq!(Poisson.value(0.0, f), mean);
        for power in [1.1f64, 1.5, 1.9] {
            let (a, b) = (power - 1.0, 2.0 - power);
            let tweedie = y * mean.powf(-a) / a + mean.powf(b) / b - y.powf(b) / (a * b);
            let found = Tweedie { power }.value(y, f);
            assert!(
                // As above, with powers that are rounded more often.
                (found - tweedie).abs() <= 1e-13 * (1.0 + y.powf(b) / (a * b) + mean.powf(b) / b),
                "{y} {f} {power}"
            );
        }
        // Powers near the ends give values near the two other losses, because the deviance is a smooth function of the
        // power.
        let near =
            |power: f64, end: f64| (Tweedie { power }.value(y, f) - end).abs() <= 1e-5 * (1.0 + end) * (1.0 + f.abs());
        assert!(near(1.0 + 1e-7, poisson) && near(2.0 - 1e-7, gamma), "{y} {f}");
    }
    assert_eq!(Quantile::default().value(3.0, 1.0), 0.5 * AbsoluteError.value(3.0, 1.0));
}

#[test]
fn targets_outside_the_domain_are_refused() {
    let refused = |kind: LossKind, y: f64| kind.as_loss().domain().refuses(y).is_some();
    for kind in [LossKind::Poisson, LossKind::tweedie(1.5)] {
        assert!(refused(kind.clone(), -1e-300) && !refused(kind.clone(), 0.0) && !refused(kind, -0.0));
    }
    assert!(refused(LossKind::Gamma, 0.0) && refused(LossKind::Gamma, -1.0) && !refused(LossKind::Gamma, 1e-300));
    assert!(!refused(LossKind::quantile(0.5), -1.0) && !refused(LossKind::SquaredError, -1.0));
    for bad in [0.0, 1.0, -0.5, 2.0, f64::NAN, f64::INFINITY] {
        assert!(LossKind::quantile(bad).as_loss().check().is_err(), "{bad}");
    }
    for bad in [1.0, 2.0, 0.0, 3.0, f64::NAN, f64::INFINITY] {
        assert!(LossKind::tweedie(bad).as_loss().check().is_err(), "{bad}");
    }
    for kind in losses_of_numbers() {
        assert!(kind.as_loss().check().is_ok());
        assert_eq!(LossKind::named(kind.name()).unwrap().name(), kind.name());
    }
}

#[test]
fn rows_of_the_table_describe_their_loss() {
    for row in LossKind::ALL {
        let loss = row.loss();
        assert_eq!(loss.name(), row.name);
        assert_eq!(format!("{loss:?}").split('(').next(), Some(row.type_name), "the variant contains its type");
        let of_numbers = row.targets != LossTargets::Labels;
        let of_labels = row.targets != LossTargets::Numbers;
        assert!(!of_numbers || row.domain().has_numbers(), "{row:?}");
        assert!(!of_labels || row.domain().has_labels(), "{row:?}");
        assert!(row.about.contains('f') && row.about.trim().ends_with('.'), "{row:?}");
        let Some(parameter) = row.parameter else {
            assert!(LossKind::with_parameter(row.name, 1.0).is_none());
            continue;
        };
        let checked = |value| LossKind::with_parameter(row.name, value).unwrap().as_loss().check();
        assert!(checked(parameter.default).is_ok());
        let middle = parameter.above + (parameter.below - parameter.above).min(1.0) / 2.0;
        assert!(checked(middle).is_ok());
        assert_ne!(format!("{:?}", LossKind::with_parameter(row.name, middle / 2.0 + 0.3)), format!("{loss:?}"));
        for bad in [parameter.above, parameter.below, f64::NAN] {
            let error = checked(bad).unwrap_err().to_string();
            assert!(error.contains(parameter.name) && error.contains(parameter.must), "{error}");
        }
    }
    let names: std::collections::BTreeSet<_> = LossKind::ALL.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), LossKind::ALL.len());
}

#[test]
fn outputs_that_are_always_zero_have_a_finite_start() {
    let start = |kind: &LossKind, y: &[f64], w: &[f64]| kind.as_loss().start(y, w, &Control::default()).unwrap();
    for kind in [LossKind::Poisson, LossKind::tweedie(1.3)] {
        // The start is that for half a sample with y = 1, or for a 64th of the total weight.
        assert_eq!(start(&kind, &[0.0; 50], &[1.0; 50]), 0.5f64.ln() - 50f64.ln());
        assert_eq!(start(&kind, &[0.0; 25], &[2.0; 25]), start(&kind, &[0.0; 50], &[1.0; 50]));
        assert_eq!(start(&kind, &[0.0; 4], &[1.0; 4]), (4.0f64 / 64.0).ln() - 4f64.ln());
        assert_eq!(start(&kind, &[0.0, 6.0], &[2.0, 1.0]), 2f64.ln());
    }
    for kind in losses_of_numbers() {
        assert_eq!((start(&kind, &[], &[]), start(&kind, &[1.0], &[0.0])), (0.0, 0.0), "{kind:?}");
    }
}

#[test]
fn quantiles_are_the_least_values_with_enough_weight_below() {
    let y = [5.0, 1.0, 3.0, 2.0, 4.0];
    let start = |q, w: &[f64]| LossKind::quantile(q).as_loss().start(&y, w, &Control::default()).unwrap();
    assert_eq!([0.1, 0.2, 0.21, 0.5, 0.8, 0.99].map(|q| start(q, &[1.0; 5])), [1.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!((start(0.5, &[9.0, 1.0, 0.0, 0.0, 0.0]), start(0.05, &[9.0, 1.0, 0.0, 0.0, 0.0])), (5.0, 1.0));
    let (scores, direction, weights) = ([0.0; 5], [1.0; 5], [1.0; 5]);
    let control = &Control::default();
    let far = y.map(|y| y * 1e7);
    let line = LineProblem { y: &far, scores: &scores, direction: &direction, weights: &weights, control };
    let strict = Regularization::new(9.0, 9.0);
    assert_eq!(Quantile { quantile: 0.7 }.leaf_value(&line, strict).unwrap(), 4e7);
}

proptest! {
    #[test]
    fn starts_steps_and_leaves_of_losses_of_numbers_are_the_best_there_are(rows in rows_of_numbers()) {
        for kind in losses_of_numbers() {
            let loss = kind.as_column();
            let mut rows = rows.clone();
            rows.y.iter_mut().for_each(|y| *y = in_domain(&kind, *y));
            let problem = rows.problem();
            let total: f64 = rows.weights.iter().sum();
            let mass: f64 = rows.y.iter().zip(&rows.weights).map(|(y, w)| y.abs() * w).sum();
            if total > 0.0 && mass > 0.0 {
                let value = |c: f64| weighted_sum(&rows.weights, &rows.y.iter().map(|&y| loss.value(y, c)).collect::<Vec<_>>());
                let start = loss.start(&rows.y, &rows.weights, &Control::default()).unwrap();
                // The tolerance covers the rounding of sums of losses.
                prop_assert!(value(start) <= least(value) + 1e-9 * value(0.0), "{kind:?} {start}");
            }
            let value = |step: f64| problem.loss(loss, step).unwrap();
            let best = least(value);
            // If the loss of every sample decreases indefinitely, the search ends at 10⁻⁸ of the slope.
            let slope = problem.derivatives(loss, 0.0).unwrap().0;
            let end = -slope.signum() * LARGEST_STEP;
            let falls = |(y, f, g, _): (f64, f64, f64, f64)| end * g * loss.negative_gradient(y, f + end * g) >= 0.0;
            let left = if problem.moving().all(falls) { 1e-8 * slope.abs() * LARGEST_STEP } else { 0.0 };
            let step = loss.step(&problem).unwrap();
            prop_assert!(value(step) <= value(0.0), "{kind:?} {step}");
            // The tolerance covers the rounding of sums of losses.
            let slack = 1e-9 * value(0.0) + left + f64::MIN_POSITIVE;
            prop_assert!(value(step) <= best + slack, "{kind:?} {step} {} {best}", value(step));
            for regularization in [Regularization::NONE, Regularization::new(1.0, 1e-3)] {
                let step = loss.newton_step(&problem, regularization).unwrap();
                prop_assert!(value(step) <= value(0.0), "{kind:?} {step}");
            }
        }
    }

    #[test]
    fn weights_are_repetitions_and_order_does_not_matter_for_losses_of_numbers(rows in rows_of_numbers(), turn in 0usize..25) {
        let n = rows.y.len();
        for kind in losses_of_numbers() {
            let loss = kind.as_column();
            let mut rows = rows.clone();
            rows.y.iter_mut().for_each(|y| *y = in_domain(&kind, *y));
            let mut repeated = Rows { y: vec![], scores: vec![], direction: vec![], weights: vec![], control: Control::default() };
            for i in (0..n).map(|i| (i + turn) % n) {
                for _ in 0..rows.weights[i] as usize {
                    repeated.y.push(rows.y[i]);
                    repeated.scores.push(rows.scores[i]);
                    repeated.direction.push(rows.direction[i]);
                    repeated.weights.push(1.0);
                }
            }
            let found = |rows: &Rows| {
                let (problem, rule) = (rows.problem(), Regularization::new(0.3, 1e-3));
                let ones = vec![1.0; rows.y.len()];
                let leaf = LineProblem { direction: &ones, ..problem };
                [
                    loss.start(&rows.y, &rows.weights, &Control::default()),
                    loss.step(&problem),
                    loss.newton_step(&problem, rule),
                    loss.leaf_value(&leaf, rule),
                ]
                .map(|found| found.unwrap().to_bits())
            };
            prop_assert_eq!(found(&rows), found(&repeated), "{:?}", kind);
        }
    }
}
