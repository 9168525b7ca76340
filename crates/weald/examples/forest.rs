//! Random forest and extra-trees on dense numbers, and feature importances.
#![allow(clippy::print_stdout)]

use ndarray::{Array2, Axis};
use weald::{Control, Criterion, ForestConfig, MaxFeatures, Result};

fn main() -> Result<()> {
    // y = x0² + x1 on a slightly irregular grid; x2 and x3 have no effect. The last 500 samples are used as a test set.
    let x = Array2::from_shape_fn((2000, 4), |(i, j)| ((i * (7 + 4 * j)) % 1999) as f32 / 1999.0);
    let y = x.map_axis(Axis(1), |row| f64::from(row[0] * row[0] + row[1])).insert_axis(Axis(1));
    let ((x, x_test), (y, y_test)) = (x.view().split_at(Axis(0), 1500), y.view().split_at(Axis(0), 1500));

    // The control can stop the work from another thread, counts finished trees, and sets the number of threads.
    let control = Control::with_threads(2);
    for config in [ForestConfig::random_forest(Criterion::Variance), ForestConfig::extra_trees(Criterion::Variance)] {
        let forest = config.n_trees(50).max_features(MaxFeatures::Fraction(0.5)).seed(7).fit((x, y, &control))?;
        let error = (forest.predict((x_test, &control))? - y_test).mapv(|e| e * e).mean().unwrap_or(f64::NAN);
        let importances = forest.feature_importances(None)?;
        println!("R² of the test set {:.4}, importances {importances:.3?}", 1.0 - error / y_test.var(0.0));
        assert!(error < 0.05 * y_test.var(0.0) && importances[0] + importances[1] > 0.8);
    }
    Ok(())
}

#[test]
fn runs() -> Result<()> {
    main()
}
