//! Interrupted work, and work for which memory does not suffice.

use super::*;
use crate::ErrorKind;
use crate::data::train_y::TrainY;
use crate::projection::plan::{Plan, PlanData};
use crate::projection::{NProjections, OutputProjection};

fn stopped() -> Control {
    let control = Control::default();
    control.stop();
    control
}

fn assert_interrupted<T: std::fmt::Debug>(result: crate::Result<T>) {
    assert_eq!(result.unwrap_err().kind(), &ErrorKind::Interrupted);
}

#[test]
fn draws_are_stopped() {
    let y = Array2::from_shape_fn((300, 300), |(i, j)| ((i * j) % 17) as f64);
    for family in families() {
        let y = Targets::Real(y.view());
        let q = if matches!(family, Projection::Hadamard) { 1 << 16 } else { 300 };
        let d = if matches!(family, Projection::Hadamard) { 1 << 16 } else { 300 };
        assert_interrupted(family.draw(d, q, 0, Some(&y), None, &stopped()));
        let matrix = family.draw(300, 300, 0, Some(&y), None, &Control::default()).unwrap();
        assert_interrupted(matrix.to_dense(&stopped()));
        assert_interrupted(matrix.to_csr(&stopped()));
        if !matches!(family, Projection::Hadamard) {
            assert_interrupted(Projection::Given(vec![matrix]).draw(300, 300, 0, None, None, &stopped()));
        }
    }
}

#[test]
fn applying_is_stopped() {
    let targets = SomeTargets::new(3, 300, 250);
    for (y, dense) in targets.kinds() {
        let y = TrainY::new(&y).unwrap();
        for family in random_families() {
            let matrix = family.draw(dense.ncols(), 8, 0, None, None, &Control::default()).unwrap();
            let rows: Vec<u32> = (0..300).cycle().take(20_000).collect();
            assert_interrupted(matrix.project(&y, &rows, &mut vec![0.0; 300 * 8], &stopped()));
        }
    }
}

#[test]
fn targets_of_a_tree_are_stopped() {
    let targets = SomeTargets::new(3, 300, 250);
    let y = targets.labels();
    let y = TrainY::new(&y).unwrap();
    let rows: Vec<u32> = (0..300).collect();
    for family in families() {
        let config = OutputProjection { n_projections: NProjections::Count(40), ..OutputProjection::new(family) };
        let data = PlanData { y: &y, n_outputs: 250, n_samples: 300, rows: &rows, weights: None, seed: 0, n_trees: 2 };
        let plan = Plan::new(&config, &data, &Control::default()).unwrap();
        assert!(plan.targets(Key::from_seed(0), 0, &y, &rows, &Control::default()).is_ok());
        assert_interrupted(plan.targets(Key::from_seed(0), 0, &y, &rows, &stopped()));
    }
}

#[test]
fn matrices_that_memory_does_not_hold() {
    let is_out_of_memory = |error: &crate::Error| matches!(error.kind(), ErrorKind::OutOfMemory { .. });
    let all = u32::MAX as usize;
    for family in [Projection::Gaussian, Projection::Rademacher { sparsity: Sparsity::Factor(1.0) }] {
        let drawn = family.draw(all, all, 0, None, None, &Control::default());
        assert!(is_out_of_memory(&drawn.unwrap_err()));
    }
    // The matrix is drawn quickly, because it is not stored; its explicit form would take 2⁵⁵ bytes.
    let matrix = Projection::Hadamard.draw(all, 1 << 20, 0, None, None, &Control::default()).unwrap();
    assert!(is_out_of_memory(&matrix.to_dense(&Control::default()).unwrap_err()));
    // The vectors of an iteration for the principal directions.
    let block = crate::projection::block::Block::start(all, all, &Control::default());
    assert!(is_out_of_memory(&block.unwrap_err()));
}
