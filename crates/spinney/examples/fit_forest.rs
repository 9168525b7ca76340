//! A random forest on dense numbers: `cargo run --release --example fit_forest`.
#![allow(clippy::print_stdout)]

use ndarray::{Array2, Axis};
use spinney::{Control, Criterion, ForestConfig, MaxFeatures, Result, Targets, TreeConfig};

fn main() -> Result<()> {
    // y = x0² + x1 on a grid that is a little irregular.
    let x = Array2::from_shape_fn((2000, 4), |(i, j)| ((i * (7 + 4 * j)) % 1999) as f32 / 1999.0);
    let y = x.map_axis(Axis(1), |row| f64::from(row[0] * row[0] + row[1])).insert_axis(Axis(1));

    let random_forest = ForestConfig::random_forest(Criterion::Variance);
    let config = ForestConfig {
        n_trees: 50,
        seed: 7,
        tree: TreeConfig { max_features: MaxFeatures::Fraction(0.5), ..random_forest.tree },
        ..random_forest
    };
    // The control stops work under way from another thread, counts finished trees, and says how many threads to use.
    let control = Control::with_threads(2);
    let forest = config.fit(&x.view().into(), &Targets::Real(y.view()), None, &control)?;

    let predicted = forest.predict(&x.view().into(), &control)?;
    let error = (&predicted - &y).mapv(|e| e * e).mean().unwrap_or(f64::NAN);
    let nodes: usize = forest.trees().iter().map(|tree| tree.n_nodes()).sum();
    println!("{} trees, {nodes} nodes, mean squared error on the training rows {error:.2e}", forest.n_trees());
    Ok(())
}
