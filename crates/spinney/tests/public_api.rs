//! The crate as its users see it: nothing here can reach inside.

use ndarray::{Array2, array};
use spinney::{
    Control, Criterion, ErrorKind, Forest, ForestConfig, LabelView, Matrix, MaxFeatures, OutputProjection, Projection,
    ProjectionMatrix, ProjectionScope, Result, Sampling, SparseView, Splitter, Targets, TreeConfig,
};

/// A small dense problem without order: 200 rows, 6 features of which half are zero, two targets.
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
    let base = ForestConfig::random_forest(Criterion::Variance);
    ForestConfig { n_trees: 7, seed: 3, tree: TreeConfig { max_features: MaxFeatures::Count(2), ..base.tree }, ..base }
}

#[test]
fn a_forest_is_the_same_for_every_layout_and_number_of_threads() -> Result<()> {
    let (x, y) = problem();
    let targets = Targets::Real(y.view());
    let by_row = csr(&x)?;
    let by_column = by_row.transposed()?;
    let fortran = x.t().as_standard_layout().to_owned();
    let first = config().fit(&x.view().into(), &targets, None, &Control::default())?;
    for layout in [Matrix::Dense(fortran.t()), Matrix::Csr(by_row), Matrix::Csc(by_column)] {
        for n_threads in [1, 3] {
            let control = Control::with_threads(n_threads);
            let forest = config().fit(&layout, &targets, None, &control)?;
            assert_eq!(forest, first);
            assert_eq!(forest.predict(&layout, &control)?, first.predict(&x.view().into(), &Control::default())?);
            assert_eq!(control.n_done(), 7);
        }
    }
    Ok(())
}

#[test]
fn parts_grown_apart_merge_into_the_whole() -> Result<()> {
    let (x, y) = problem();
    let (x, y, control) = (x.view().into(), Targets::Real(y.view()), Control::default());
    let parts = [config().fit_trees(0..3, &x, &y, None, &control)?, config().fit_trees(3..7, &x, &y, None, &control)?];
    assert_eq!(Forest::merge(&[&parts[0], &parts[1]])?, config().fit(&x, &y, None, &control)?);
    Ok(())
}

#[test]
fn a_fully_grown_tree_learns_its_rows() -> Result<()> {
    let (x, y) = problem();
    let (x, control) = (x.view().into(), Control::default());
    for splitter in [Splitter::Best, Splitter::Random] {
        let config = TreeConfig { splitter, ..TreeConfig::new(Criterion::Variance) };
        let tree = config.fit(&x, &Targets::Real(y.view()), None, &control)?;
        let error = (&tree.predict(&x, &control)? - &y).mapv(f64::abs);
        assert!(error.iter().all(|&e| e < 1e-12), "{splitter:?}");
    }
    Ok(())
}

#[test]
fn labels_come_back_best_first() -> Result<()> {
    let x = array![[0f32], [1.0], [2.0], [3.0]];
    let y = Targets::Labels(LabelView::try_new(vec![0, 1, 2, 4, 6], vec![0, 0, 1, 4, 1, 4], 5)?);
    let base = ForestConfig::random_forest(Criterion::Gini);
    let config = ForestConfig { n_trees: 1, sampling: Sampling::All, ..base };
    let forest = config.fit(&x.view().into(), &y, None, &Control::default())?;
    let best = forest.predict_topk(&x.view().into(), 2, &Control::default())?;
    assert_eq!(best.indices, array![[0, 1], [0, 1], [1, 4], [1, 4]]);
    assert_eq!(best.scores, array![[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]);
    Ok(())
}

#[test]
fn errors_name_the_argument_and_the_figures() {
    let x = array![[0f32], [1.0]];
    let y = array![[0.0], [1.0], [2.0]];
    let control = Control::default();
    let fit = |x: &Array2<f32>, y: &Array2<f64>, w: Option<&[f64]>| {
        config().fit(&x.view().into(), &Targets::Real(y.view()), w, &control).unwrap_err()
    };
    assert_eq!(*fit(&x, &y, None).kind(), ErrorKind::Shape { what: "y", expected: 2, got: 3 });
    let y = array![[0.0], [1.0]];
    assert!(fit(&array![[f32::NAN], [1.0]], &y, None).to_string().starts_with('X'));
    assert!(fit(&x, &y, Some(&[1.0, -1.0])).to_string().contains("sample_weight"));
    let stopped = Control::default();
    stopped.stop();
    let result = config().fit(&x.view().into(), &Targets::Real(y.view()), None, &stopped);
    assert_eq!(*result.unwrap_err().kind(), ErrorKind::Interrupted);
}

#[test]
fn a_projected_forest_predicts_labels_and_comes_back_from_bytes() -> Result<()> {
    let (x, _) = problem();
    // Row i has labels 3 f and 3 f + 1, where f is its largest feature; most labels never occur.
    let (mut ptr, mut indices) = (vec![0], Vec::new());
    for row in x.rows() {
        let largest = (0..6u32).max_by(|&a, &b| row[a as usize].total_cmp(&row[b as usize])).unwrap_or(0);
        indices.extend([3 * largest, 3 * largest + 1]);
        ptr.push(indices.len());
    }
    let y = Targets::Labels(LabelView::try_new(ptr, indices.clone(), 400)?);
    let control = Control::with_threads(2);
    for criterion in [Criterion::Gini, Criterion::Variance] {
        let mut config = ForestConfig { n_trees: 15, seed: 2, ..ForestConfig::extra_trees(criterion) };
        config.tree.output_projection = Some(OutputProjection::new(Projection::Gaussian));
        let forest = config.fit(&x.view().into(), &y, None, &control)?;
        assert!(forest.trees().iter().all(|tree| tree.criterion() == Criterion::Variance));
        let best = forest.predict_topk(&x.view().into(), 2, &control)?;
        for (i, row) in best.indices.rows().into_iter().enumerate() {
            let mut row = row.to_vec();
            row.sort_unstable();
            assert_eq!(row, indices[2 * i..2 * i + 2]);
        }
        assert_eq!(Forest::from_bytes(&forest.to_bytes()?)?, forest);
        assert!(forest.feature_importances(Some(&[0, 1, 399]))?[0] > 0.3);
    }
    Ok(())
}

#[test]
fn a_projection_is_the_same_drawn_beforehand_or_by_the_forest() -> Result<()> {
    let (x, y) = problem();
    let (x, y, control) = (x.view().into(), Targets::Real(y.view()), Control::default());
    let with = |family, scope| {
        let output_projection =
            Some(OutputProjection { n_projections: 2.into(), scope, ..OutputProjection::new(family) });
        let base = config();
        ForestConfig { tree: TreeConfig { output_projection, ..base.tree }, ..base }.fit(&x, &y, None, &control)
    };
    let drawn = Projection::Gaussian.draw(2, 2, config().seed, None, None, &control)?;
    let shared = with(Projection::Gaussian, ProjectionScope::Forest)?;
    assert_eq!(with(Projection::Given(vec![drawn.clone()]), ProjectionScope::Tree)?, shared);
    assert_eq!(with(Projection::Given(vec![drawn; 7]), ProjectionScope::Tree)?, shared);
    assert_ne!(with(Projection::Gaussian, ProjectionScope::Tree)?, shared);
    // The identity is no projection at all.
    let identity = ProjectionMatrix::from_dense(Array2::eye(2).view())?;
    assert_eq!(with(Projection::Given(vec![identity]), ProjectionScope::Tree)?, config().fit(&x, &y, None, &control)?);
    Ok(())
}
