//! The fraction of the growth of a projected forest that drawing Φ and applying it takes: `cargo bench -p
//! weald-benches --bench projection`.
//!
//! The data have the size of the delicious data set: 12 920 samples, each with 18 of 500 binary features and 19 of 983
//! labels. √p features are drawn at each node, one thread is used, and the medians of several fits are printed.
#![allow(clippy::print_stdout)]

use weald::bench::{median, seconds_of_projection};
use weald::projection::{OutputProjection, Projection, Sparsity};
use weald::{Criterion, ForestConfig, LabelView, Matrix, Result, SparseView, Targets};
use weald_benches::text;

const N_ROWS: usize = 12_920;
const REPEATS: usize = 5;

fn main() -> Result<()> {
    let flags = text(N_ROWS, 500, 18);
    let ones = vec![1.0f32; flags.values().len()];
    let x = Matrix::Csr(SparseView::try_new(flags.ptr(), flags.indices(), ones, 500)?);
    let labels = text(N_ROWS, 983, 19);
    let y = Targets::Labels(LabelView::try_new(labels.ptr(), labels.indices(), 983)?);
    let families = [
        ("gaussian", Projection::Gaussian),
        ("rademacher", Projection::Rademacher { sparsity: Sparsity::Factor(1.0) }),
        ("achlioptas", Projection::Rademacher { sparsity: Sparsity::Factor(3.0) }),
        ("sparse", Projection::Rademacher { sparsity: Sparsity::Sqrt }),
        ("subsample", Projection::Subsample { replacement: false }),
        ("hadamard", Projection::Hadamard),
    ];
    println!("family, q: milliseconds a tree to draw and apply, of the whole; share");
    for (name, family) in families {
        for q in [1, 7, 25, 100] {
            let projection = OutputProjection::new(family.clone()).n_projections(q);
            let config = ForestConfig::random_forest(Criterion::Gini).n_trees(10).output_projection(projection);
            let mut times = [vec![], vec![]];
            for _ in 0..REPEATS {
                let seconds = seconds_of_projection(&config, &x, &y)?;
                times.iter_mut().zip(seconds).for_each(|(times, s)| times.push(1e3 * s / config.n_trees as f64));
            }
            let [projecting, whole] = times.map(median);
            println!("{name:>10}, {q:>3}: {projecting:6.3} of {whole:6.1}; {:4.1} %", 100.0 * projecting / whole);
        }
    }
    Ok(())
}
