//! Forests on many outputs, grown on a few random projections of them: as accurate, in a fraction of the time. `cargo
//! run --release --example projection`.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use std::time::Instant;

use ndarray::{Array2, Axis};
use weald::{Control, Criterion, ForestConfig, OutputProjection, Projection, Result};

fn main() -> Result<()> {
    // There are 600 outputs, which are smooth functions of the same ten features. The last 300 samples are used as a
    // test set.
    let x = Array2::from_shape_fn((1200, 10), |(i, j)| ((i * (17 + 10 * j)) % 1201) as f32 / 1201.0);
    let y = Array2::from_shape_fn((1200, 600), |(i, k)| {
        let (a, b) = (f64::from(x[[i, k % 10]]), f64::from(x[[i, (k + 1 + k % 7) % 10]]));
        (a * (1.0 + (k % 5) as f64)).sin() + b
    });
    let ((x, x_test), (y, y_test)) = (x.view().split_at(Axis(0), 900), y.view().split_at(Axis(0), 900));
    let variance = y_test.var_axis(Axis(0), 0.0).mean().unwrap_or(f64::NAN);

    let control = Control::with_threads(2);
    let forest = ForestConfig::random_forest(Criterion::Variance).n_trees(20).seed(1);
    let projected = |q| forest.clone().output_projection(OutputProjection::new(Projection::Gaussian).n_projections(q));
    for (name, config) in
        [("1 projection", projected(1)), ("30 projections", projected(30)), ("all outputs", forest.clone())]
    {
        let start = Instant::now();
        let model = config.fit((x, y, &control))?;
        let milliseconds = start.elapsed().as_millis();
        let error = model.predict((x_test, &control))? - y_test;
        let error = error.mapv(|e| e * e).mean().unwrap_or(f64::NAN);
        println!("trees grown on {name}: {milliseconds} ms, R² of the test set {:.3}", 1.0 - error / variance);
    }
    Ok(())
}

#[test]
fn runs() -> Result<()> {
    main()
}
