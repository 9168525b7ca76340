//! Tests of the public interface of the crate.

use ndarray::{Array2, array};
use weald::{
    BoostConfig, Control, Criterion, Dataset, ErrorKind, Forest, ForestConfig, LabelView, LossKind, Matrix,
    MaxFeatures, OutputProjection, Projection, ProjectionMatrix, ProjectionScope, Result, RuleStyle, Sampling,
    SparseView, Splitter, Targets, TreeConfig,
};

/// A small dense problem: 200 samples, 6 features, half of which are zero, and two outputs.
fn problem() -> (Array2<f32>, Array2<f64>) {
    let x = Array2::from_shape_fn((200, 6), |(i, j)| {
        let v = (i * (13 + 6 * j) + 5 * j) % 199;
        if v % 2 == 0 { 0.0 } else { v as f32 - 80.0 }
    });
    let y = Array2::from_shape_fn((200, 2), |(i, k)| f64::from(x[[i, k]]) * 0.5 + f64::from(x[[i, k + 2]]));
    (x, y)
}

fn csr(x: &Array2<f32>) -> Result<SparseView<'static>> {
    let (mut ptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in x.rows() {
        for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            values.push(v);
        }
        ptr.push(indices.len());
    }
    SparseView::try_new(ptr, indices, values, x.ncols())
}

fn config() -> ForestConfig {
    ForestConfig::random_forest(Criterion::Variance).n_trees(7).seed(3).max_features(MaxFeatures::Count(2))
}

#[test]
fn a_forest_is_the_same_for_every_layout_and_number_of_threads() -> Result<()> {
    let (x, y) = problem();
    let targets = Targets::Real(y.view());
    let by_row = csr(&x)?;
    let by_column = by_row.transposed()?;
    let fortran = x.t().as_standard_layout().to_owned();
    let first = config().fit((&x, &targets))?;
    for layout in [Matrix::Dense(fortran.t()), Matrix::Csr(by_row), Matrix::Csc(by_column)] {
        for n_threads in [1, 3] {
            let control = Control::with_threads(n_threads);
            let forest = config().fit((&layout, &targets, &control))?;
            assert_eq!(forest, first);
            assert_eq!(forest.predict((&layout, &control))?, first.predict(&x)?);
            assert_eq!(control.n_done(), 7);
        }
    }
    Ok(())
}

#[test]
fn parts_that_are_fitted_separately_merge_into_the_whole_forest() -> Result<()> {
    let (x, y) = problem();
    let parts = [config().fit_trees(0..3, (&x, &y))?, config().fit_trees(3..7, (&x, &y))?];
    assert_eq!(Forest::merge(&[&parts[0], &parts[1]])?, config().fit((&x, &y))?);
    Ok(())
}

#[test]
fn a_fully_grown_tree_learns_its_samples() -> Result<()> {
    let (x, y) = problem();
    for splitter in [Splitter::Best, Splitter::Random] {
        let tree = TreeConfig::new(Criterion::Variance).splitter(splitter).fit((&x, &y))?;
        let error = (&tree.predict(&x)? - &y).mapv(f64::abs);
        assert!(error.iter().all(|&e| e < 1e-12), "{splitter:?}");
    }
    Ok(())
}

#[test]
fn labels_are_returned_best_first() -> Result<()> {
    let x = array![[0f32], [1.0], [2.0], [3.0]];
    let y = Targets::Labels(LabelView::try_new(vec![0, 1, 2, 4, 6], vec![0, 0, 1, 4, 1, 4], 5)?);
    let config = ForestConfig::random_forest(Criterion::Gini).n_trees(1).sampling(Sampling::All);
    let forest = config.fit((&x, &y))?;
    let best = forest.predict_topk(&x, 2)?;
    assert_eq!(best.indices, array![[0, 1], [0, 1], [1, 4], [1, 4]]);
    assert_eq!(best.scores, array![[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]);
    Ok(())
}

#[test]
fn errors_name_the_argument_and_the_figures() {
    let x = array![[0f32], [1.0]];
    let y = array![[0.0], [1.0], [2.0]];
    let fit = |x: &Array2<f32>, y: &Array2<f64>, w: Option<&[f64]>| {
        config().fit(Dataset::new(x, y).sample_weight(w)).unwrap_err()
    };
    assert_eq!(*fit(&x, &y, None).kind(), ErrorKind::Shape { what: "y", expected: 2, got: 3 });
    let y = array![[0.0], [1.0]];
    assert!(fit(&array![[f32::INFINITY], [1.0]], &y, None).to_string().starts_with('X'));
    assert!(fit(&x, &y, Some(&[1.0, -1.0])).to_string().contains("sample_weight"));
    let stopped = Control::default();
    stopped.stop();
    let result = config().fit((&x, &y, &stopped));
    assert_eq!(*result.unwrap_err().kind(), ErrorKind::Interrupted);
}

#[test]
fn a_projected_forest_predicts_labels_and_is_restored_from_bytes() -> Result<()> {
    let (x, _) = problem();
    // Sample i has the labels 3 f and 3 f + 1, where f is its largest feature; most labels never occur.
    let (mut ptr, mut indices) = (vec![0], Vec::new());
    for row in x.rows() {
        let largest = (0..6u32).max_by(|&a, &b| row[a as usize].total_cmp(&row[b as usize])).unwrap_or(0);
        indices.extend([3 * largest, 3 * largest + 1]);
        ptr.push(indices.len());
    }
    let y = Targets::Labels(LabelView::try_new(ptr, indices.clone(), 400)?);
    let control = Control::with_threads(2);
    for criterion in [Criterion::Gini, Criterion::Variance] {
        let projection = OutputProjection::new(Projection::Gaussian);
        let config = ForestConfig::extra_trees(criterion).n_trees(15).seed(2).output_projection(projection);
        let forest = config.fit((&x, &y, &control))?;
        assert!(forest.trees().iter().all(|tree| tree.criterion() == Criterion::Variance));
        let best = forest.predict_topk((&x, &control), 2)?;
        for (i, row) in best.indices.rows().into_iter().enumerate() {
            let mut row = row.to_vec();
            row.sort_unstable();
            assert_eq!(row, indices[2 * i..2 * i + 2]);
        }
        #[cfg(feature = "model-files")]
        assert_eq!(Forest::from_bytes(&forest.to_bytes()?)?, forest);
        assert!(forest.feature_importances(Some(&[0, 1, 399]))?[0] > 0.3);
    }
    Ok(())
}

#[test]
fn a_projection_is_the_same_drawn_beforehand_or_by_the_forest() -> Result<()> {
    let (x, y) = problem();
    let control = Control::default();
    let with = |family, scope| {
        let projection = OutputProjection::new(family).n_projections(2).scope(scope);
        config().output_projection(projection).fit((&x, &y))
    };
    let drawn = Projection::Gaussian.draw(2, 2, config().seed, None, None, &control)?;
    let shared = with(Projection::Gaussian, ProjectionScope::Forest)?;
    assert_eq!(with(Projection::Given(vec![drawn.clone()]), ProjectionScope::Tree)?, shared);
    assert_eq!(with(Projection::Given(vec![drawn; 7]), ProjectionScope::Tree)?, shared);
    assert_ne!(with(Projection::Gaussian, ProjectionScope::Tree)?, shared);
    // The projection by the identity changes nothing.
    let identity = ProjectionMatrix::from_dense(Array2::eye(2).view())?;
    assert_eq!(with(Projection::Given(vec![identity]), ProjectionScope::Tree)?, config().fit((&x, &y))?);
    Ok(())
}

#[test]
fn public_types_may_be_sent_to_other_threads() {
    fn sent_and_shared<T: Send + Sync>() {}
    sent_and_shared::<(Forest, weald::Tree, weald::Boosted, weald::Compressed, weald::CompressionPath)>();
    sent_and_shared::<(ForestConfig, BoostConfig, weald::CompressConfig, RuleStyle<'_>, Control, weald::Error)>();
    sent_and_shared::<(Dataset<'_>, Matrix<'_>, Targets<'_>, ProjectionMatrix, weald::StagedScores<'_>)>();
}

#[test]
fn setters_set_the_fields_of_their_names_and_no_others() {
    let mut expected = ForestConfig::extra_trees(Criterion::Gini);
    (expected.n_trees, expected.seed, expected.sampling) = (200, 7, Sampling::Bootstrap(None));
    (expected.tree.max_depth, expected.tree.max_leaf_nodes, expected.tree.min_samples_leaf) = (Some(5), None, 3);
    expected.tree.output_projection = Some(OutputProjection::new(Projection::Hadamard));
    let found = ForestConfig::extra_trees(Criterion::Gini)
        .max_leaf_nodes(9)
        .output_projection(OutputProjection::new(Projection::Hadamard))
        .sampling(Sampling::Bootstrap(None))
        .n_trees(200)
        .max_depth(5)
        .min_samples_leaf(3)
        .max_leaf_nodes(None)
        .seed(7);
    assert_eq!(found, expected);

    let found = BoostConfig::new(LossKind::LogLoss).max_bins(None).learning_rate(1.0).max_depth(2).n_iter_no_change(4);
    assert_eq!((found.max_bins, found.learning_rate, found.n_iter_no_change), (None, 1.0, Some(4)));
    assert_eq!((found.tree.max_depth, found.n_estimators), (Some(2), 100));
    let style = RuleStyle::default().top_k(1).decimals(None);
    assert_eq!((style.top_k, style.decimals, style.max_depth), (1, None, None));
}
