//! The fuzzed functions. They take bytes, and panic if a guarantee is violated.
//! `crates/weald/tests/fuzz_regressions.rs` runs the same code on the inputs that are kept.

use arbitrary::{Result as Drawn, Unstructured};
use ndarray::{Array2, ArrayView2, Axis};
use weald::compress::{CompressConfig, Compressed};
use weald::label_files::{
    Features, IndexBase, LabelData, LabelRows, SparseRows, read_mulan, read_svmlight, read_xmc, write_xmc,
};
use weald::{
    BoostConfig, Boosted, CentroidForest, CentroidForestConfig, CentroidPrecision, Control, Criterion, Dataset, Error,
    ErrorKind, Forest, ForestConfig, LabelTreeConfig, LabelTreeModel, LabelView, LinearConfig, LinearModel, LossKind,
    Matrix, MaxFeatures, NProjections, OutputStrategy, Precision, Projection, Result, RowWeights, Sampling, SparseView,
    Splitter, Targets, TreeConfig,
};

/// Larger models are not asked for predictions, because this takes time and finds nothing new.
const MOST_SCORES: usize = 1 << 16;

/// Reads bytes as a model of each kind. The result must be an error about the bytes, or a model that predicts finite
/// numbers and can be saved.
pub fn model_file(bytes: &[u8]) {
    let control = Control::default();
    match Forest::from_bytes(bytes) {
        Ok(forest) => {
            ask(forest.n_trees_and_features(), forest.outputs().width(), |x| forest.predict((x, &control)));
            let again = forest.to_bytes().expect("a model that was read can be written");
            assert!(Forest::from_bytes(&again).expect("what was written can be read") == forest);
        }
        Err(error) => blames_bytes(&error),
    }
    match Boosted::from_bytes(bytes) {
        Ok(boosted) => {
            let size = (boosted.n_stages(), boosted.n_features());
            ask(size, boosted.width(), |x| boosted.predict_scores((x, &control)));
            ask(size, boosted.width(), |x| boosted.predict((x, &control)));
            let again = boosted.to_bytes().expect("a model that was read can be written");
            assert!(Boosted::from_bytes(&again).expect("what was written can be read") == boosted);
        }
        Err(error) => blames_bytes(&error),
    }
    match Compressed::from_bytes(bytes) {
        Ok(compressed) => {
            let size = compressed.forest().n_trees_and_features();
            ask(size, compressed.width(), |x| compressed.predict_scores((x, &control)));
            ask(size, compressed.width(), |x| compressed.predict((x, &control)));
            let again = compressed.to_bytes().expect("a model that was read can be written");
            assert!(Compressed::from_bytes(&again).expect("what was written can be read") == compressed);
        }
        Err(error) => blames_bytes(&error),
    }
    match LinearModel::from_bytes(bytes) {
        Ok(linear) => {
            let size = (1, linear.n_features());
            ask(size, linear.outputs().width(), |x| linear.predict_scores((x, &control)));
            let again = linear.to_bytes().expect("a model that was read can be written");
            assert!(LinearModel::from_bytes(&again).expect("what was written can be read") == linear);
        }
        Err(error) => blames_bytes(&error),
    }
    match LabelTreeModel::from_bytes(bytes) {
        Ok(tree) => {
            let size = (tree.trees().len(), tree.n_features());
            // Labels that are not found have a score of minus infinity.
            let in_columns = |x: &Matrix<'_>| {
                let scores = tree.predict_scores((x, &control))?.values;
                Ok(Array2::from_shape_vec((scores.len(), 1), scores).expect("a column"))
            };
            ask(size, tree.n_labels(), in_columns);
            let again = tree.to_bytes().expect("a model that was read can be written");
            assert!(LabelTreeModel::from_bytes(&again).expect("what was written can be read") == tree);
        }
        Err(error) => blames_bytes(&error),
    }
    match CentroidForest::from_bytes(bytes) {
        Ok(forest) => {
            let size = (forest.n_trees(), forest.n_features());
            ask(size, forest.outputs().width(), |x| forest.predict((x, &control)));
            let again = forest.to_bytes().expect("a model that was read can be written");
            assert!(CentroidForest::from_bytes(&again).expect("what was written can be read") == forest);
        }
        Err(error) => blames_bytes(&error),
    }
}

/// The number of trees and of features.
trait Size {
    fn n_trees_and_features(&self) -> (usize, usize);
}

impl Size for Forest {
    fn n_trees_and_features(&self) -> (usize, usize) {
        (self.n_trees(), self.n_features())
    }
}

fn blames_bytes(error: &Error) {
    let kind = error.kind();
    let blamed = matches!(kind, ErrorKind::Corrupt { .. } | ErrorKind::Invalid { .. } | ErrorKind::OutOfMemory { .. });
    assert!(blamed, "bytes that are no model: {error}");
}

/// Checks that predictions for a few samples are finite, and the same for dense and sparse samples.
fn ask(size: (usize, usize), width: usize, predict: impl Fn(&Matrix<'_>) -> Result<Array2<f64>>) {
    let (n_trees, n_features) = size;
    if width.max(n_features).max(n_trees) > MOST_SCORES {
        return;
    }
    let x = Array2::from_shape_fn((3, n_features), |(i, j)| [0.0, 1.5, -2.5e7][(i + j) % 3]);
    let dense = predict(&Matrix::from(&x)).expect("a model predicts");
    let sparse = predict(&Matrix::Csr(csr(x.view()).expect("rows are sound"))).expect("a model predicts");
    assert!(dense.iter().all(|v| v.is_finite()), "a prediction that is not finite");
    assert_eq!(dense, sparse, "dense and sparse rows of the same values");
}

fn csr(x: ArrayView2<'_, f32>) -> Result<SparseView<'static>> {
    let (mut ptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in x.rows() {
        for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(u32::try_from(j).expect("few columns"));
            values.push(v);
        }
        ptr.push(indices.len());
    }
    SparseView::try_new(ptr, indices, values, x.ncols())
}

/// Reads arbitrary arrays as CSR, CSC and labels. The result must be an error, or data on which a tree can be grown and
/// can predict.
pub fn sparse(bytes: &[u8]) {
    let _ = drawn_sparse(&mut Unstructured::new(bytes));
}

fn drawn_sparse(u: &mut Unstructured<'_>) -> Drawn<()> {
    let control = Control::default();
    let ptr = offsets(u)?;
    let indices = small_numbers(u)?;
    let values: Vec<f32> = if u.ratio(7, 8)? {
        indices.iter().map(|_| u.arbitrary::<i8>().map(f32::from)).collect::<Drawn<_>>()?
    } else {
        u.arbitrary()?
    };
    let n_minor = if u.ratio(7, 8)? { usize::from(u.arbitrary::<u8>()?) } else { u.arbitrary()? };
    let Ok(view) = SparseView::try_new(ptr, indices, values, n_minor) else { return Ok(()) };
    let label_ptr = offsets(u)?;
    let label_indices = small_numbers(u)?;
    let n_labels = usize::from(u.arbitrary::<u8>()?);
    if view.n_major().max(n_minor) > 4096 {
        return Ok(());
    }
    let (by_major, by_minor) = (Matrix::Csr(view.clone()), Matrix::Csc(view));
    for x in [&by_major, &by_minor] {
        let y = Array2::from_shape_fn((x.n_samples(), 2), |(i, j)| (i * 7 % 5 + j) as f64);
        grown(x, &Targets::Real(y.view()), Criterion::Variance, &control);
    }
    if let Ok(labels) = LabelView::try_new(label_ptr, label_indices, n_labels) {
        grown(&by_major, &Targets::Labels(labels), Criterion::Gini, &control);
    }
    Ok(())
}

/// Grows a tree on any data. The result must be an error, or finite predictions for the same samples.
fn grown(x: &Matrix<'_>, y: &Targets<'_>, criterion: Criterion, control: &Control) {
    let config = TreeConfig::new(criterion).max_features(MaxFeatures::All).max_depth(6);
    if let Ok(tree) = config.fit((x, y, control)) {
        let scores = tree.predict((x, control)).expect("the rows of a fit can be predicted");
        assert!(scores.iter().all(|v| v.is_finite()), "a prediction that is not finite");
    }
}

/// Returns offsets that usually increase slowly from 0, and are sometimes arbitrary.
fn offsets(u: &mut Unstructured<'_>) -> Drawn<Vec<usize>> {
    if u.ratio(1, 8)? {
        return u.arbitrary();
    }
    let mut ptr = vec![0];
    for _ in 0..u.int_in_range(0..=24)? {
        ptr.push(ptr[ptr.len() - 1] + u.int_in_range(0..=3usize)?);
    }
    Ok(ptr)
}

fn small_numbers(u: &mut Unstructured<'_>) -> Drawn<Vec<u32>> {
    if u.ratio(1, 8)? {
        return u.arbitrary();
    }
    let n = u.int_in_range(0..=48)?;
    (0..n).map(|_| u.arbitrary::<u8>().map(u32::from)).collect()
}

/// Reads bytes as a file of each format of label data. The result must be an error that names a line, or valid samples.
/// Data in the format of the Extreme Classification Repository must be the same after they are written and read again.
pub fn label_files(bytes: &[u8]) {
    let control = Control::default();
    if let Some(data) = read(read_xmc(bytes, &control)) {
        let (x, y) = sound(&data);
        let text = write_xmc(&x, &y, &control).expect("what was read can be written");
        let again = read_xmc(&text, &control).expect("what was written can be read");
        assert_eq!((&data.x.ptr, &data.x.indices, &data.y), (&again.x.ptr, &again.x.indices, &again.y));
        let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        assert!(data.x.values.iter().zip(&again.x.values).all(same), "values that change");
    }
    for (n_columns, base) in [(None, IndexBase::Auto), (Some(9), IndexBase::Zero), (Some(9), IndexBase::One)] {
        if let Some(data) = read(read_svmlight(bytes, n_columns, n_columns, base, &control)) {
            sound(&data);
        }
    }
    for labels in [&["a"][..], &["a", "b c"], &[]] {
        if let Some(mulan) = read(read_mulan(bytes, labels, &control)) {
            let n_samples = sound_labels(&mulan.y).n_samples();
            let n_features = mulan.feature_names.len();
            assert_eq!((mulan.label_names.len(), mulan.categories.len()), (labels.len(), n_features));
            match mulan.x {
                Features::Dense { values, .. } => assert_eq!(values.len(), n_samples * n_features),
                Features::Sparse(x) => assert_eq!(sound_rows(&x).n_major(), n_samples),
                _ => unreachable!("rows of a third kind"),
            }
        }
    }
}

/// Returns what was read, or `None` if the error is about the text.
fn read<T>(found: Result<T>) -> Option<T> {
    match found {
        Ok(found) => Some(found),
        Err(error) => {
            let kind = error.kind();
            let blamed = matches!(kind, ErrorKind::Line { .. } | ErrorKind::Invalid { .. } | ErrorKind::TooMany { .. });
            assert!(blamed, "text that is no label data: {error}");
            None
        }
    }
}

fn sound(data: &LabelData) -> (SparseView<'_>, LabelView<'_>) {
    let (x, y) = (sound_rows(&data.x), sound_labels(&data.y));
    assert_eq!(x.n_major(), y.n_samples());
    (x, y)
}

fn sound_rows(x: &SparseRows) -> SparseView<'_> {
    assert!(!x.values.iter().any(|v| v.is_infinite()), "infinity is refused");
    SparseView::try_new(&x.ptr[..], &x.indices[..], &x.values[..], x.n_features).expect("rows are sound")
}

fn sound_labels(y: &LabelRows) -> LabelView<'_> {
    LabelView::try_new(&y.ptr[..], &y.indices[..], y.n_labels).expect("labels are sound")
}

/// Fits a model to data of arbitrary shape and predicts arbitrary samples. Predictions must be finite for all accepted
/// samples, the same for dense samples, CSR and CSC, and the same for the model read from its bytes.
pub fn predict(bytes: &[u8]) {
    let _ = drawn_predict(&mut Unstructured::new(bytes));
}

fn drawn_predict(u: &mut Unstructured<'_>) -> Drawn<()> {
    let control = Control::with_threads(u.int_in_range(1..=2)?);
    let (n, p, d) = (u.int_in_range(1..=20)?, u.int_in_range(1..=6)?, u.int_in_range(1..=3)?);
    let x = matrix(u, n, p)?;
    if x.iter().any(|v| v.is_infinite()) {
        return Ok(());
    }
    let numbers: Vec<i16> = (0..n * d).map(|_| u.arbitrary()).collect::<Drawn<_>>()?;
    let y = Array2::from_shape_fn((n, d), |(i, j)| f64::from(numbers[i * d + j]));
    let codes = y.mapv(|v| v.rem_euclid(3.0) as u32);
    let (n_trees, seed) = (u.int_in_range(1..=3)?, u.arbitrary()?);
    let family = if u.arbitrary()? { ForestConfig::random_forest } else { ForestConfig::extra_trees };
    let forest = family(Criterion::Variance).n_trees(n_trees).seed(seed);
    let classes = Targets::Classes { codes: codes.view(), n_classes: vec![3; d] };
    let numbers = Targets::Real(y.view());
    let rows = matrix(u, 5, p)?;
    let fitted = Matrix::from(&x);
    match u.int_in_range(0..=3)? {
        0 => {
            let model = forest.fit((&fitted, &numbers, &control)).expect("numbers can be fitted");
            let again = Forest::from_bytes(&model.to_bytes().expect("bytes")).expect("what was written can be read");
            asked(&rows, |x| model.predict((x, &control)), |x| again.predict((x, &control)));
        }
        1 => {
            let splitter = forest.tree.splitter;
            let forest = forest.tree(TreeConfig::new(Criterion::Entropy).splitter(splitter));
            let model = forest.fit((&fitted, &classes, &control)).expect("classes can be fitted");
            let again = Forest::from_bytes(&model.to_bytes().expect("bytes")).expect("what was written can be read");
            asked(&rows, |x| model.predict((x, &control)), |x| again.predict((x, &control)));
        }
        2 => {
            let strategy = if u.arbitrary()? { OutputStrategy::Joint } else { OutputStrategy::SingleTarget };
            let max_bins = if u.arbitrary()? { None } else { Some(u.int_in_range(2..=255)?) };
            let config = BoostConfig::new(LossKind::LogLoss).n_estimators(3).strategy(strategy).max_bins(max_bins);
            let model = config.fit((&fitted, &classes, &control)).expect("classes can be boosted");
            let again = Boosted::from_bytes(&model.to_bytes().expect("bytes")).expect("what was written can be read");
            asked(&rows, |x| model.predict_scores((x, &control)), |x| again.predict_scores((x, &control)));
            asked(&rows, |x| model.predict((x, &control)), |x| again.predict((x, &control)));
        }
        _ => {
            let whole =
                forest.splitter(Splitter::Best).fit((&fitted, &numbers, &control)).expect("numbers can be fitted");
            let config = CompressConfig::stagewise(1.0);
            let Ok(path) = config.path(&whole, (&fitted, &numbers, &control), None) else { return Ok(()) };
            let model = path.at_step(path.n_steps().min(5), &control).expect("a step of the path");
            let again =
                Compressed::from_bytes(&model.to_bytes().expect("bytes")).expect("what was written can be read");
            asked(&rows, |x| model.predict_scores((x, &control)), |x| again.predict_scores((x, &control)));
        }
    }
    Ok(())
}

fn asked(
    rows: &Array2<f32>,
    model: impl Fn(&Matrix<'_>) -> Result<Array2<f64>>,
    again: impl Fn(&Matrix<'_>) -> Result<Array2<f64>>,
) {
    let by_row = csr(rows.view()).expect("rows are sound");
    let by_column = by_row.transposed().expect("memory for five rows");
    let Ok(expected) = model(&Matrix::from(rows)) else {
        assert!(rows.iter().any(|v| v.is_infinite()), "rows of finite and missing values are predicted");
        return;
    };
    assert!(!rows.iter().any(|v| v.is_infinite()), "infinity is refused");
    assert!(expected.iter().all(|v| v.is_finite()), "a prediction that is not finite");
    let mut reversed = rows.view();
    reversed.invert_axis(Axis(0));
    let mut upside_down = model(&Matrix::Dense(reversed)).expect("rows in another order");
    upside_down.invert_axis(Axis(0));
    assert_eq!(upside_down, expected);
    for x in [Matrix::Dense(rows.view()), Matrix::Csr(by_row), Matrix::Csc(by_column)] {
        assert_eq!(model(&x).expect("the same rows"), expected);
        assert_eq!(again(&x).expect("the same rows"), expected);
    }
}

/// Returns a matrix that usually has small numbers with many ties, and sometimes arbitrary bits.
fn matrix(u: &mut Unstructured<'_>, n: usize, p: usize) -> Drawn<Array2<f32>> {
    let wild = u.ratio(1, 4)?;
    let mut values = Vec::with_capacity(n * p);
    for _ in 0..n * p {
        values.push(if wild { f32::from_bits(u.arbitrary()?) } else { f32::from(u.arbitrary::<i8>()?) / 4.0 });
    }
    Ok(Array2::from_shape_vec((n, p), values).expect("n · p values"))
}

/// Returns inputs to start from: targets, names and bytes.
///
/// # Errors
/// The errors of fits; none of them fails.
pub fn seeds() -> Result<Vec<(&'static str, String, Vec<u8>)>> {
    let control = Control::default();
    let n = 24;
    let x = Array2::from_shape_fn((n, 3), |(i, j)| ((i * (j + 3)) % 7) as f32 - 2.0);
    let y = Array2::from_shape_fn((n, 4), |(i, j)| ((i * (2 * j + 1)) % 5) as f64 / 3.0);
    let codes = y.mapv(|v| (v * 3.0) as u32 % 3);
    let (ptr, indices) = ((0..=n).collect::<Vec<_>>(), (0..n as u32).map(|i| i * 7 % 40).collect::<Vec<_>>());
    let fitted = Matrix::from(&x);
    let numbers = Targets::Real(y.view());
    let classes = Targets::Classes { codes: codes.view(), n_classes: vec![3; 4] };
    let labels = Targets::Labels(LabelView::try_new(ptr, indices, 40)?);
    let small = |criterion, splitter| {
        let tree = TreeConfig::new(criterion).splitter(splitter).max_depth(3);
        ForestConfig::random_forest(criterion).n_trees(2).tree(tree)
    };
    let of_numbers = small(Criterion::Variance, Splitter::Random).fit((&fitted, &numbers, &control))?;
    let of_labels = small(Criterion::Gini, Splitter::Best).fit((&fitted, &labels, &control))?;
    let mut models = vec![
        ("numbers", of_numbers.to_bytes()?),
        ("labels", of_labels.to_bytes()?),
        ("classes", small(Criterion::Entropy, Splitter::Best).fit((&fitted, &classes, &control))?.to_bytes()?),
        ("half", of_numbers.with_precision(Precision::Half, &control)?.to_bytes()?),
        ("top_k", of_labels.with_top_k(1, &control)?.to_bytes()?),
    ];
    let whole = small(Criterion::Gini, Splitter::Best).sampling(Sampling::All).max_depth(None);
    let rows = whole.fit((&fitted, &labels, &control))?;
    let rows = rows.with_stored_rows(
        Dataset::new(&fitted, &labels).weights(RowWeights::default()).control(&control),
        whole.sampling,
        whole.seed,
    )?;
    models.push(("rows", rows.to_bytes()?));
    let loss = |loss, strategy| BoostConfig::new(loss).n_estimators(3).strategy(strategy);
    let projected = |relabel| OutputStrategy::Projected {
        projection: Projection::Gaussian,
        n_projections: NProjections::Count(1),
        relabel,
    };
    for (name, config, y) in [
        ("joint", loss(LossKind::SquaredError, OutputStrategy::Joint), &numbers),
        ("single target", loss(LossKind::LogLoss, OutputStrategy::SingleTarget), &classes),
        ("projected", loss(LossKind::LogLoss, projected(true)), &labels),
        ("low rank", loss(LossKind::SquaredError, projected(false)), &numbers),
        ("one value in each leaf", loss(LossKind::LogLoss, projected(false)), &labels),
    ] {
        models.push((name, config.fit((&fitted, y, &control))?.to_bytes()?));
    }
    for (name, forest, y) in [("compressed numbers", &of_numbers, &numbers), ("compressed labels", &of_labels, &labels)]
    {
        let path = CompressConfig::stagewise(0.1).path(forest, (&fitted, y, &control), None)?;
        models.push((name, path.at_step(path.n_steps().min(9), &control)?.to_bytes()?));
    }
    let centroids = CentroidForestConfig::default().n_trees(2).n_children(3).max_leaf_samples(3).samples_per_child(1);
    models.push(("centroids of labels", centroids.fit((&fitted, &labels, &control))?.to_bytes()?));
    for (name, precision) in [("bytes", CentroidPrecision::Byte), ("halves", CentroidPrecision::Half)] {
        let of_numbers = centroids.clone().centroid_precision(precision).fit((&fitted, &numbers, &control))?;
        models.push((name, of_numbers.to_bytes()?));
    }
    for (name, y, features) in
        [("linear labels", &labels, weald::Features::TfIdf), ("linear classes", &classes, weald::Features::Given)]
    {
        let config = LinearConfig::default().features(features);
        models.push((name, config.fit((&fitted, y, &control))?.to_bytes()?));
    }
    let tree = LabelTreeConfig::default().n_trees(2).max_children(3).max_leaf_labels(5);
    models.push(("label tree", tree.fit((&fitted, &labels, &control))?.to_bytes()?));
    let mut seeds: Vec<_> = models.into_iter().map(|(name, bytes)| ("model_file", name.to_owned(), bytes)).collect();
    for (name, text) in [
        ("xmc", "3 9 5\n0,4 8:0.25 1:1e-3\n 0:nan\n2\n"),
        ("svmlight", "3,1 qid:2 1:0.5 7:-2 # first\r\n\n2:1\r\n"),
        (
            "dense arff",
            "@relation 'a b'\n@attribute x real\n@attribute 'b c' {0,1}\n@ATTRIBUTE c {u, 'v w'}\n\
            @attribute a numeric\n% comment\n@data\n1.5,1,'v w',0\n?,0,u,1\n",
        ),
        ("sparse arff", "@attribute \"x\\\"\" integer\n@attribute a {0,1}\n@data\n{1 1, 0 2.5}\n{}\n"),
    ] {
        seeds.push(("label_files", name.to_owned(), text.into()));
    }
    let mut state = 1u64;
    for length in [16, 64, 256, 1024] {
        for target in ["sparse", "predict", "label_files"] {
            let noise = (0..length).map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            });
            seeds.push((target, format!("noise {length}"), noise.collect()));
        }
    }
    Ok(seeds)
}
