//! A model is written to a file, inspected and loaded: `cargo run --release --example model_file`.
#![allow(clippy::print_stdout)]

use ndarray::Array2;
use weald::model_file::inspect;
use weald::{Control, Criterion, ErrorKind, Forest, ForestConfig, Precision, Result, Targets};

fn main() -> Result<()> {
    let x = Array2::from_shape_fn((500, 3), |(i, j)| ((i * (7 + 6 * j)) % 499) as f32);
    let y = Array2::from_shape_fn((500, 1), |(i, _)| u32::from(x[[i, 0]] > x[[i, 1]]));
    let control = Control::default();
    let config = ForestConfig::random_forest(Criterion::Gini).n_trees(20).max_depth(6);
    let forest = config.fit((&x, Targets::classes(&y, [2])))?;

    let path = std::env::temp_dir().join(format!("weald-example-{}.safetensors", std::process::id()));
    forest.save(&path)?;
    let about = inspect(&path)?;
    println!("{} trees, {} features, {} bytes:", about.n_trees, about.n_features, about.n_bytes);
    for tensor in &about.tensors {
        println!("  {:<16} {:<4} {:?}", tensor.name, tensor.dtype, tensor.shape);
    }

    // Loading validates every tree: the result is the model that was saved, bit for bit, or an error that gives the
    // reason.
    assert_eq!(Forest::load(&path)?, forest);
    let small = forest.with_precision(Precision::Half, &control)?;
    println!("with leaves in float16: {} bytes", small.to_bytes()?.len());
    let mut bytes = forest.to_bytes()?;
    bytes.truncate(bytes.len() / 2);
    if let Err(error) = Forest::from_bytes(&bytes) {
        assert!(matches!(error.kind(), ErrorKind::Corrupt { .. }));
        println!("half of the file: {error}");
    }
    let _ = std::fs::remove_file(&path);
    Ok(())
}
