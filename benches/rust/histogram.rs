//! Trees for boosting, grown exactly and with histograms: `cargo bench -p weald-benches --bench histogram`.
//!
//! The benchmark prints the milliseconds of preparing X, which happens once per fit, and of growing one tree. With
//! arguments, only the cases whose name contains one of them are run.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use ndarray::{Array2, ArrayView2, Axis};
use weald::bench::milliseconds_of_trees;
use weald::{Control, Criterion, Matrix, Result, Targets, TreeConfig};
use weald_benches::Random;

/// Real numbers. Each output depends on five features.
fn made(n: usize, p: usize, q: usize) -> (Array2<f32>, Array2<f64>) {
    let mut random = Random(2);
    let x = Array2::from_shape_simple_fn((n, p), || (random.uniform() + random.uniform() - 1.0) as f32);
    let y = Array2::from_shape_fn((n, q), |(i, j)| {
        let x = |k: usize| f64::from(x[[i, (j + k) % p]]);
        (3.0 * x(0)).sin() + x(1) * x(2) + x(3).abs() + if x(4) > 0.3 { 1.0 } else { 0.0 } + 0.3 * random.uniform()
    });
    (x, y)
}

fn case(name: &str, x: ArrayView2<'_, f32>, y: ArrayView2<'_, f64>, config: &TreeConfig, exact: usize) -> Result<()> {
    let picked: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    if !picked.is_empty() && !picked.iter().any(|part| name.contains(part)) {
        return Ok(());
    }
    let (x, y) = (Matrix::Dense(x), Targets::Real(y));
    let by =
        |bins, repeats, threads| milliseconds_of_trees(config, &x, &y, bins, repeats, &Control::with_threads(threads));
    let [_, exact] = if exact == 0 { [f64::NAN; 2] } else { by(None, exact, 1)? };
    let [prepared, binned] = by(Some(255), 21, 1)?;
    let [_, two] = by(Some(255), 21, 2)?;
    println!("{name:<44} {exact:>9.1} {prepared:>9.1} {binned:>9.2} {two:>9.2}");
    Ok(())
}

fn main() -> Result<()> {
    println!("{:<44} {:>9} {:>9} {:>9} {:>9}", "ms", "exact", "binning", "binned", "2 threads");
    let config = |leaves: Option<usize>, depth: Option<usize>| {
        TreeConfig::new(Criterion::Variance).max_leaf_nodes(leaves).max_depth(depth)
    };
    let (x, y) = made(100_000, 50, 8);
    let one = y.view().split_at(Axis(1), 1).0.to_owned();
    for (name, leaves, depth) in [
        ("stump", Some(2), None),
        ("depth 3", None, Some(3)),
        ("depth 6", None, Some(6)),
        ("31 leaves", Some(31), None),
    ] {
        let name = format!("100 000 × 50, one output, {name}");
        case(&name, x.view(), one.view(), &config(leaves, depth), 3)?;
    }
    let (large, of_large) = made(1_000_000, 50, 1);
    case("1 000 000 × 50, one output, 31 leaves", large.view(), of_large.view(), &config(Some(31), None), 0)?;
    drop(large);
    case("100 000 × 50, one output, all leaves", x.view(), one.view(), &config(None, None), 0)?;
    case("100 000 × 50, 8 outputs, depth 6", x.view(), y.view(), &config(None, Some(6)), 0)?;
    let (x, y) = made(2_000, 50, 500);
    case("2 000 × 50, 500 outputs, depth 6", x.view(), y.view(), &config(None, Some(6)), 1)?;
    let one = y.view().split_at(Axis(1), 1).0.to_owned();
    case("2 000 × 50, one output, depth 6", x.view(), one.view(), &config(None, Some(6)), 11)?;
    case("2 000 × 50, one output, all leaves", x.view(), one.view(), &config(None, None), 3)
}
