//! A forest of many nodes is replaced by a sparse linear model over a few of them: `cargo run --release --example
//! compression`.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use ndarray::{Array2, Axis};
use weald::{CompressConfig, Control, Criterion, ForestConfig, Result};

fn main() -> Result<()> {
    let x = Array2::from_shape_fn((1500, 6), |(i, j)| ((i * (11 + 8 * j)) % 1499) as f32 / 1499.0);
    let y = x.map_axis(Axis(1), |row| f64::from((6.0 * row[0]).sin() + row[1] * row[2])).insert_axis(Axis(1));
    let ((x, x_test), (y, y_test)) = (x.view().split_at(Axis(0), 1000), y.view().split_at(Axis(0), 1000));
    let control = Control::with_threads(2);
    let error = |predicted: Array2<f64>| (predicted - y_test).mapv(|e| e * e).mean().unwrap_or(f64::NAN);

    let forest = ForestConfig::extra_trees(Criterion::Variance).n_trees(100).seed(3).fit((x, y))?;
    let tests: usize = forest.trees().iter().map(|tree| tree.n_nodes() / 2).sum();
    println!("forest: {tests} test nodes, mean squared error {:.4}", error(forest.predict((x_test, &control))?));

    // Each step of the path increases the coefficient of the node that decreases the loss most.
    for most in [50, 100, 200] {
        let config = CompressConfig::stagewise(0.01).max_test_nodes(most);
        let path = config.path(&forest, (x, y, &control), None)?;
        let model = path.at_step(path.n_steps(), &control)?;
        let found = error(model.predict((x_test, &control))?);
        println!("compressed: {} test nodes, mean squared error {found:.4}", model.n_test_nodes());
    }
    Ok(())
}

#[test]
fn runs() -> Result<()> {
    main()
}
