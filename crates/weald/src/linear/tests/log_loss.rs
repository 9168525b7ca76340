//! Log loss: weights against Newton's method for one coordinate at a time, the duality gap, and the numbers of a step.

use proptest::prelude::*;

use super::super::log_loss::{FAR, exp, sides, solved};
use super::super::{Features, LinearConfig, LinearLoss};
use super::{Data, column, data};
use crate::data::{Dataset, Matrix};

fn config() -> LinearConfig {
    super::config().loss(LinearLoss::LogLoss).features(Features::Given)
}

/// A column of `data`, in plain numbers.
struct Column<'c> {
    config: &'c LinearConfig,
    data: &'c Data,
    label: usize,
}

impl Column<'_> {
    /// The samples that know the column: their y, −1 or 1, and weight.
    fn known(&self) -> impl Iterator<Item = (usize, f64, f64)> {
        let (data, label) = (self.data, self.label);
        let known = (0..data.x.nrows()).filter(move |&i| !data.unknown[[i, label]] && data.weights[i] > 0.0);
        known.map(move |i| (i, if data.y[[i, label]] { 1.0 } else { -1.0 }, data.weights[i]))
    }

    /// What the intercept is drawn towards.
    fn start(&self) -> f64 {
        let weight = |sign: f64| self.known().filter(|(_, y, _)| *y == sign).map(|(.., weight)| weight).sum::<f64>();
        ((weight(1.0) + 0.5) / (weight(-1.0) + 0.5)).ln()
    }

    fn margin(&self, i: usize, w: &[f64], b: f64) -> f64 {
        self.data.x.row(i).iter().zip(w).map(|(&x, w)| f64::from(x) * w).sum::<f64>() + b
    }

    fn penalty(&self, w: &[f64], from_start: f64) -> f64 {
        let scaled = from_start / self.config.intercept_scaling;
        0.5 * (w.iter().map(|w| w * w).sum::<f64>() + scaled * scaled)
    }

    fn objective(&self, w: &[f64], b: f64) -> f64 {
        let of_sample = |(i, y, weight): (usize, f64, f64)| {
            let margin = y * self.margin(i, w, b);
            weight * ((-margin).max(0.0) + (-margin.abs()).exp().ln_1p())
        };
        self.penalty(w, b - self.start()) + self.config.c * self.known().map(of_sample).sum::<f64>()
    }

    /// A bound of what the objective is above its least value: the difference to the dual objective of the variables that
    /// the margins stand for.
    fn gap(&self, w: &[f64], b: f64) -> f64 {
        let s = self.config.intercept_scaling;
        let (mut dual, mut of_duals, mut intercept) = (0.0, vec![0.0; w.len()], 0.0);
        for (i, y, weight) in self.known() {
            let p = 1.0 / (1.0 + (y * self.margin(i, w, b)).exp());
            let entropy = |p: f64| if p > 0.0 { p * p.ln() } else { 0.0 };
            let alpha = self.config.c * weight * p;
            dual -= self.config.c * weight * (entropy(p) + entropy(1.0 - p)) + alpha * y * self.start();
            of_duals.iter_mut().zip(self.data.x.row(i)).for_each(|(to, &x)| *to += alpha * y * f64::from(x));
            intercept += s * s * alpha * y;
        }
        self.objective(w, b) - (dual - self.penalty(&of_duals, intercept))
    }

    /// A bound of the largest second derivative of the objective, in the unit of the scaled intercept.
    fn bend(&self) -> f64 {
        let s = self.config.intercept_scaling;
        let square = |i: usize| self.data.x.row(i).iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>() + s * s;
        1.0 + 0.25 * self.config.c * self.known().map(|(i, _, weight)| weight * square(i)).sum::<f64>()
    }

    /// Minimises the objective by steps of Newton's method for one coordinate at a time, each halved until it gains.
    fn slowly(&self) -> (Vec<f64>, f64) {
        let (mut w, mut b) = (vec![0.0; self.data.x.ncols()], self.start());
        let penalty = 1.0 / self.config.intercept_scaling.powi(2);
        for _ in 0..1000 {
            let before = self.objective(&w, b);
            for j in 0..=w.len() {
                let (mut slope, mut bend) =
                    if j == w.len() { ((b - self.start()) * penalty, penalty) } else { (w[j], 1.0) };
                for (i, y, weight) in self.known() {
                    let p = 1.0 / (1.0 + (y * self.margin(i, &w, b)).exp());
                    let x = if j == w.len() { 1.0 } else { f64::from(self.data.x[[i, j]]) };
                    slope -= self.config.c * weight * p * y * x;
                    bend += self.config.c * weight * p * (1.0 - p) * x * x;
                }
                let now = self.objective(&w, b);
                for halvings in 0..60 {
                    let step = slope / bend * 0.5f64.powi(halvings);
                    let (mut moved, mut moved_b) = (w.clone(), b);
                    if j == w.len() {
                        moved_b -= step
                    } else {
                        moved[j] -= step
                    }
                    if self.objective(&moved, moved_b) <= now {
                        (w, b) = (moved, moved_b);
                        break;
                    }
                }
            }
            if before - self.objective(&w, b) <= 1e-12 * before {
                break;
            }
        }
        (w, b)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn weights_minimise_the_objective(mut data in data(), c in prop_oneof![Just(0.1), Just(1.0), Just(10.0)], rare in 1usize..4) {
        data.weights.iter_mut().for_each(|w| *w = w.clamp(0.0, 10.0));
        for (i, row) in data.y.rows_mut().into_iter().enumerate() {
            row.into_iter().for_each(|on| *on &= i % rare == 0);
        }
        for tol in [1e-3, 0.1] {
            let config = config().c(c).tol(tol);
            let model = data.fit(&config);
            prop_assert_eq!(model.n_unfinished(), 0);
            for label in 0..data.y.ncols() {
                let column_of = Column { config: &config, data: &data, label };
                let (w, b) = column(&model, label);
                let w: Vec<f64> = w.into_iter().map(f64::from).collect();
                let b = f64::from(b);
                // Columns without samples are not fitted.
                if column_of.known().all(|(_, y, _)| y < 0.0) {
                    continue;
                }
                let (ours, gap) = (column_of.objective(&w, b), column_of.gap(&w, b));
                let (slow_w, slow_b) = column_of.slowly();
                let best = column_of.objective(&slow_w, slow_b);
                // The gap is at most `tol` times the loss of ours. The rest is single precision.
                prop_assert!(ours <= best / (1.0 - tol) + 1e-4, "{} {} {}", label, ours, best);
                prop_assert!(gap >= ours - best * (1.0 + 1e-9), "{} {} {}", gap, ours, best);
                // Half the squared gradient, which the gap is, is at most that times what the objective is above its least.
                let above = ours - best + 1e-4 + 1e-9 * best;
                prop_assert!(gap <= column_of.bend() * above + 1e-3, "{} {} {} {}", label, gap, ours, best);
            }
        }
    }

    #[test]
    fn a_step_solves_its_equation(margin in -50f32..50.0, dual in -50f32..50.0, exponent in -6f32..7.0) {
        let (reach, share) = (10f32.powf(exponent), sides(dual).0);
        let mut moves = [0.0; 16];
        moves[3] = 1.0;
        let z = solved(&[margin; 16], &[share; 16], &[reach; 16], &moves);
        prop_assert!((0..16).all(|lane| lane == 3 || z[lane] == margin));
        let (z, margin, reach, share) = (f64::from(z[3]), f64::from(margin), f64::from(reach), f64::from(share));
        let p = 1.0 / (1.0 + z.exp());
        let (difference, slope) = (z - margin - reach * (p - share), 1.0 + reach * p * (1.0 - p));
        // The last step is at most a thousandth, and Newton's method squares errors; a share has 24 bits, and a margin too.
        let of_share = reach * (p * 2e-7 + share * 2e-7) + 1e-5;
        prop_assert!(difference.abs() <= 1e-3 * slope + of_share, "{} {} {}", z, difference, slope);
    }
}

#[test]
fn exponentials_are_right_to_the_last_bits() {
    for at in 0..=80_000 {
        let x = -(at as f32) * 1e-3;
        let truth = f64::from(x).exp();
        assert!((f64::from(exp(x)) / truth - 1.0).abs() < 2e-7, "{x}");
    }
    assert_eq!(exp(0.0), 1.0);
    assert_eq!(exp(-1e30), exp(-FAR));
    assert_eq!(sides(0.0), (0.5, 0.5));
    let (least, most) = sides(20.0);
    assert!((f64::from(least) / 2.061_153_618_190_204e-9 - 1.0).abs() < 1e-6 && most == 1.0);
    assert_eq!(sides(-20.0), (most, least));
}

#[test]
fn steps_of_long_samples_end() {
    for reach in [1e10f32, 1e20, 1e30] {
        for (margin, share) in [(0.0f32, 0.0), (1e3, 0.5), (-1e3, 0.5), (5.0, 1.0), (-1e6, 1e-9)] {
            let z = solved(&[margin; 16], &[share; 16], &[reach; 16], &[1.0; 16]);
            assert!(z.iter().all(|z| z.is_finite()));
        }
    }
    let x = ndarray::array![[1e30f32, 0.0], [0.0, 1.0], [1.0, 1.0]];
    // The third sample sends the margin of the first to the wrong side, and that one cannot move.
    let y = super::label_view(&ndarray::array![[false], [false], [true]]);
    let model = config().max_iter(5).fit((&x, y)).unwrap();
    assert_eq!(model.n_unfinished(), 1);
    assert!(column(&model, 0).1.is_finite());
}

#[test]
fn weights_of_any_size_fit_as_well() {
    let rows = 40;
    let x = ndarray::Array2::from_shape_fn((rows, 2), |(i, j)| if j == 0 { i as f32 / 10.0 - 1.95 } else { 1.0 });
    // The second label has samples on both sides of every margin, so that its weights stay small.
    let y = super::label_view(&ndarray::Array2::from_shape_fn((rows, 2), |(i, j)| i >= 20 && (j == 0 || i % 3 != 0)));
    let margins = |config: LinearConfig, exponent: i32| {
        let weights = vec![2f64.powi(exponent); rows];
        let data = Dataset::new(&x, y.clone()).sample_weight(&weights[..]);
        let model = config.fit(&data).unwrap();
        assert!(model.intercepts().iter().all(|intercept| intercept.is_finite()));
        model.predict(Matrix::from(&x)).unwrap()
    };
    for config in [config(), config().calibration(true)] {
        // Where samples contradict each other, weights that leave little of the penalty say as much as larger ones.
        let near = margins(config.clone(), 8);
        for exponent in [101, 130, 500, 1023] {
            let far = margins(config.clone(), exponent);
            for (far, near) in far.column(1).iter().zip(near.column(1)) {
                assert!((far - near).abs() < 0.02, "{exponent} {far} {near}");
            }
            (0..rows).for_each(|i| assert_eq!(far[[i, 0]] > 0.5, i >= 20, "{i} {exponent}"));
        }
    }
    let hinge = config().loss(LinearLoss::SquaredHinge).calibration(true);
    for exponent in [500, 1023] {
        assert_eq!(margins(hinge.clone(), exponent), margins(hinge.clone(), 428));
    }
}
