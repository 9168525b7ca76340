//! Gradient boosting with a loss of one's own, and early stopping on held-out samples.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use std::sync::Arc;

use ndarray::{Array2, Axis};
use weald::{BoostConfig, Loss, LossKind, Result};

/// log cosh(y − f): squared near zero, absolute far from it.
#[derive(Debug)]
struct LogCosh;

impl Loss for LogCosh {
    fn name(&self) -> &str {
        "log_cosh"
    }

    fn value(&self, y: f64, f: f64) -> f64 {
        let r = (y - f).abs();
        r + (-2.0 * r).exp().ln_1p() - std::f64::consts::LN_2
    }

    fn negative_gradient(&self, y: f64, f: f64) -> f64 {
        (y - f).tanh()
    }

    fn curvature(&self, y: f64, f: f64) -> f64 {
        1.0 - (y - f).tanh().powi(2)
    }
}

fn main() -> Result<()> {
    let x = Array2::from_shape_fn((3000, 4), |(i, j)| ((i * 37 + j * 101 + i * i * (j + 1)) % 997) as f32 / 997.0);
    let y = x.map_axis(Axis(1), |row| f64::from((6.0 * row[0]).sin() + row[1])).insert_axis(Axis(1));
    let ((x, x_held), (y, y_held)) = (x.view().split_at(Axis(0), 2000), y.view().split_at(Axis(0), 2000));

    let config = BoostConfig::new(LossKind::Custom(Arc::new(LogCosh))).n_estimators(400).n_iter_no_change(10);
    let model = config.learning_rate(0.2).fitting().validation((x_held, y_held)).fit((x, y))?;

    let losses = model.validation_score();
    println!(
        "{} stages, held-out loss {:.4} at first, {:.6} at last",
        losses.len(),
        losses[0],
        losses[losses.len() - 1]
    );
    let largest = (model.predict(x_held)? - y_held).mapv(f64::abs).fold(0.0, |a: f64, &b| a.max(b));
    assert!(losses[losses.len() - 1] < 0.01 * losses[0] && largest < 0.5);
    Ok(())
}

#[test]
fn runs() -> Result<()> {
    main()
}
