//! Random forest and extra-trees on dense numbers, and what the features are worth:
//! `cargo run --release --example forest`.
#![allow(clippy::print_stdout)]

use ndarray::{Array2, Axis};
use spinney::{Control, Criterion, ForestConfig, MaxFeatures, Result};

fn main() -> Result<()> {
    // y = x0² + x1 on a grid that is a little irregular; x2 and x3 say nothing. The last 500 rows are kept for a test.
    let x = Array2::from_shape_fn((2000, 4), |(i, j)| ((i * (7 + 4 * j)) % 1999) as f32 / 1999.0);
    let y = x.map_axis(Axis(1), |row| f64::from(row[0] * row[0] + row[1])).insert_axis(Axis(1));
    let ((x, x_test), (y, y_test)) = (x.view().split_at(Axis(0), 1500), y.view().split_at(Axis(0), 1500));

    // The control stops work under way from another thread, counts finished trees, and says how many threads to use.
    let control = Control::with_threads(2);
    for (name, config) in [
        ("random forest", ForestConfig::random_forest(Criterion::Variance)),
        ("extra-trees", ForestConfig::extra_trees(Criterion::Variance)),
    ] {
        let config = config.n_trees(50).max_features(MaxFeatures::Fraction(0.5)).seed(7);
        let forest = config.fit((x, y), &control)?;

        let error = forest.predict(x_test, &control)? - y_test;
        let error = error.mapv(|e| e * e).mean().unwrap_or(f64::NAN);
        let variance = y_test.var(0.0);
        let nodes: usize = forest.trees().iter().map(|tree| tree.n_nodes()).sum();
        println!("{name}: {nodes} nodes, R² of the test rows {:.4}", 1.0 - error / variance);
        println!("  importance of each feature: {:.3?}", forest.feature_importances(None)?);
    }
    Ok(())
}
