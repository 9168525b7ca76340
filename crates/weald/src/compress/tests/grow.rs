//! Globally induced forests: comparison with a reference implementation, and their properties.

use ndarray::{Array1, Array2, Axis};
use proptest::prelude::*;

use super::stagewise::{gradient, indicators, linear, problem};
use crate::compress::{CompressConfig, CompressLoss, CompressMethod};
use crate::control::Control;
use crate::data::{Dataset, Matrix, Outputs};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn nodes_are_those_of_the_naive_twin(seed in 0u64..10_000, n in 2usize..40, kind in 0u64..6, rate in 1u8..5) {
        let p = problem(seed, n, kind);
        let forest = p.forest(seed);
        let x = Matrix::from(p.x.view());
        let learning_rate = f64::from(rate) / 4.0;
        let method = CompressMethod::Grow { learning_rate, max_nodes: 25, candidate_window: None };
        let loss = if kind % 6 >= 3 && !kind.is_multiple_of(3) { CompressLoss::LogLoss } else { CompressLoss::SquaredError };
        let config = CompressConfig { loss, ..CompressConfig::new(method) };
        let path = config.path(&forest, Dataset::new(&x, p.y()).sample_weight(&p.weight[..]), None).unwrap();

        let (z, names) = indicators(&forest, &p.x);
        let w = Array1::from_vec(p.weight.clone());
        let scale = Array1::from_vec(path.scale.clone());
        let y = &p.columns() / &scale.view().insert_axis(Axis(0));
        let several = matches!(p.y().outputs(), Outputs::Classes { n_classes } if n_classes != [2]);
        let curvature = if several && loss == CompressLoss::LogLoss { 0.5 } else { 1.0 };
        let mut f = Array2::from_shape_fn(y.dim(), |(_, c)| path.start[c]);
        let mut open: Vec<bool> = vec![false; names.len()];
        let first = |tree: u32| names.iter().position(|&name| name == (tree, 0)).unwrap();
        let children = |j: usize| {
            let (tree, node) = names[j];
            let split = &forest.trees()[tree as usize].nodes()[node as usize];
            if split.is_leaf() { vec![] } else { vec![j + 1, first(tree) + split.right() as usize] }
        };
        for tree in 0..forest.n_trees() as u32 {
            children(first(tree)).into_iter().for_each(|j| open[j] = true);
        }
        let mass: Vec<f64> = z.columns().into_iter().map(|z| (&z * &w).sum()).collect();
        let crate::compress::path::Steps::Moves { nodes, .. } = &path.steps else { unreachable!() };
        for (s, &node) in nodes.iter().enumerate() {
            let g = gradient(&config, &p, &y, &f, &w).0 * w.view().insert_axis(Axis(1));
            let c = z.t().dot(&g);
            let gain = |j: usize| ((&c.row(j) * &c.row(j)).sum() / mass[j]).sqrt();
            let best = (0..names.len()).filter(|&j| open[j] && mass[j] > 0.0).map(gain).fold(0.0, f64::max);
            let node = node as usize;
            prop_assert!(open[node], "step {}", s);
            // Nodes of the same samples may tie.
            prop_assert!(gain(node) >= best * (1.0 - 1e-6) - 1e-12, "step {}: {} {}", s, gain(node), best);
            let weight = c.row(node).mapv(|c| learning_rate * c / (curvature * mass[node]));
            f += &(&z.column(node).insert_axis(Axis(1)) * &weight.view().insert_axis(Axis(0)));
            open[node] = false;
            children(node).into_iter().for_each(|j| open[j] = true);
        }
        let found = &linear(&path, path.n_steps(), &p.x) / &scale.view().insert_axis(Axis(0));
        let reach = f.iter().fold(1.0f64, |a, b| a.max(b.abs()));
        // The directions of steps are rounded to float32.
        prop_assert!(found.iter().zip(&f).all(|(a, b)| (a - b).abs() <= 1e-5 * reach));
        if path.width == 1 || kind % 3 != 0 {
            // Losses are rounded sums of terms of about 1.
            prop_assert!(path.train_loss().windows(2).all(|l| l[1] <= l[0] + 1e-12));
        }
    }

    #[test]
    fn windows_choose_open_nodes_and_follow_the_seed(seed in 0u64..10_000, n in 2usize..40, kind in 0u64..6, window in 1usize..8) {
        let p = problem(seed, n, kind);
        let forest = p.forest(seed);
        let x = Matrix::from(p.x.view());
        let method = CompressMethod::Grow { learning_rate: 0.5, max_nodes: 30, candidate_window: Some(window) };
        let config = CompressConfig { seed, ..CompressConfig::new(method) };
        let run = |config: &CompressConfig| {
            config.path(&forest, Dataset::new(&x, p.y()).sample_weight(&p.weight[..]), None).unwrap()
        };
        let path = run(&config);
        let again = run(&config);
        prop_assert_eq!(path.at_step(path.n_steps(), &Control::default()).unwrap(), again.at_step(again.n_steps(), &Control::default()).unwrap());
        let chosen: Vec<(u32, u32)> = path.coefficients(path.n_steps(), &Control::default()).unwrap().into_iter().map(|c| (c.tree, c.node)).collect();
        for &(tree, node) in &chosen {
            // A root is never chosen. The parents of chosen nodes are not checked, because nodes without a gradient
            // have no coefficient.
            prop_assert!(node > 0);
            prop_assert!((tree as usize) < forest.n_trees());
        }
        prop_assert!(chosen.len() <= 30);
    }
}
