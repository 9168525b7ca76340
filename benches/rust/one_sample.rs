//! One dense sample at a time: microseconds of `Scorer::scores`, for forests and boosting of 100 trees.
//!
//! `cargo bench -p weald-benches --bench one_sample`
//!
//! Calls score different samples one after the other: if they repeated a few samples, the processor would remember the
//! paths of these samples through the trees. Medians of 21 rounds of 2000 samples, with the least and the greatest.

#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use ndarray::Array2;
use weald::{BoostConfig, Criterion, ForestConfig, LossKind, Scorer};

const N_FEATURES: usize = 30;
const N_TRAIN: usize = 10_000;
const N_CALLS: usize = 2000;
const N_ROUNDS: usize = 21;

fn main() -> weald::Result<()> {
    let x = Array2::from_shape_fn((N_TRAIN, N_FEATURES), |(i, j)| draw(i, j) as f32);
    // Waves of eight features, and noise.
    let y = Array2::from_shape_fn((N_TRAIN, 1), |(i, _)| {
        (0..8).map(|j| (6.0 * f64::from(x[[i, j]])).sin()).sum::<f64>() + draw(i, N_FEATURES)
    });

    let forest = ForestConfig::random_forest(Criterion::Variance).n_trees(100).max_depth(8);
    let forest = forest.fit((&x, &y))?;
    measure("random forest, depth 8", &Scorer::new(forest)?, &x)?;

    let boosted = BoostConfig::new(LossKind::SquaredError).n_estimators(100).fit((&x, &y))?;
    measure("boosting, 31 leaves", &Scorer::new(boosted)?, &x)
}

/// A number between 0 and 1 that looks random.
fn draw(i: usize, j: usize) -> f64 {
    let mut bits = (i as u64) << 32 | j as u64;
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        bits = (bits ^ bits >> 30).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(factor);
    }
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

fn measure(name: &str, scorer: &Scorer, x: &Array2<f32>) -> weald::Result<()> {
    let samples: Vec<&[f32]> = x.rows().into_iter().map(|row| row.to_slice().expect("rows are contiguous")).collect();
    let mut scores = [0.0];
    let mut times = Vec::new();
    for round in 0..N_ROUNDS {
        let start = Instant::now();
        for sample in samples.iter().cycle().skip(round * N_CALLS % N_TRAIN).take(N_CALLS) {
            scorer.scores(*sample, &mut scores)?;
            black_box(&scores);
        }
        times.push(1e6 * start.elapsed().as_secs_f64() / N_CALLS as f64);
    }
    times.sort_by(f64::total_cmp);
    println!("{name}: {:.2} us [{:.2} .. {:.2}]", times[N_ROUNDS / 2], times[0], times[N_ROUNDS - 1]);
    Ok(())
}
