//! Thousands of damaged model files: loading each one results in an error or in a model that predicts finite numbers,
//! and does not use more memory than its length allows.
//!
//! The test is a process of its own, because its allocator counts bytes. It counts all bytes that are held at the same
//! time while loading, which is a bound on every single allocation. Run it with `--nocapture` to see the results.

#![allow(clippy::unwrap_used, reason = "a test, helpers included")]

use ndarray::{Array2, ArrayView2};
use weald::model_file::{Array, Extra, Values};
use weald::{
    BoostConfig, CellWeights, CentroidForestConfig, CentroidPrecision, CompressConfig, Control, Criterion, Dataset,
    ErrorKind, Features, Forest, ForestConfig, LabelTreeConfig, LabelView, LinearConfig, LossKind, Matrix, Model,
    ModelFile, NProjections, OutputStrategy, Outputs, Precision, Projection, Routing, RowWeights, SparseView, Targets,
    WeakLearner, WeakPredictions,
};

const N: usize = 24;
const P: usize = 3;

/// Returns a small pseudo-random number.
fn noise(i: usize, j: usize) -> usize {
    (i * 7919 + j * 104_729 + (i * j) % 13 * 31) % 1009
}

fn x() -> Array2<f32> {
    Array2::from_shape_fn(
        (N, P),
        |(i, j)| if noise(i, j).is_multiple_of(3) { 0.0 } else { (noise(i, j) % 7) as f32 - 3.0 },
    )
}

fn numbers(d: usize) -> Array2<f64> {
    Array2::from_shape_fn((N, d), |(i, j)| f64::from(x()[[i, j % P]]) * 1.5 + (noise(i, j + 9) % 5) as f64 / 3.0)
}

fn codes() -> Array2<u32> {
    Array2::from_shape_fn((N, 1), |(i, _)| (noise(i, 0) % 3) as u32)
}

fn labels(d: usize) -> LabelView<'static> {
    let (mut ptr, mut indices) = (vec![0], Vec::new());
    for i in 0..N {
        indices.extend((0..d).filter(|&j| noise(i, j).is_multiple_of(d / 2 + 1)).map(|j| j as u32));
        ptr.push(indices.len());
    }
    LabelView::try_new(ptr, indices, d).unwrap()
}

/// Predicts half of the targets that it is fitted to.
struct Halves;

impl WeakLearner for Halves {
    fn fit_predict(
        &mut self,
        _: usize,
        _: &[u32],
        targets: ArrayView2<'_, f64>,
        _: &[f64],
    ) -> Result<WeakPredictions, weald::Error> {
        Ok(WeakPredictions::new(targets.mapv(|target| target / 2.0), None))
    }
}

/// Returns small models of every kind, with every form of leaves.
fn models() -> Vec<(&'static str, ModelFile)> {
    let control = Control::default();
    let x = x();
    let x = Matrix::from(x.view());
    let (real, wide, codes) = (numbers(1), numbers(6), codes());
    let classes = || Targets::Classes { codes: codes.view(), n_classes: vec![3] };
    let fit = |y: &Targets<'_>, criterion| {
        let config = ForestConfig::random_forest(criterion).n_trees(2).seed(3).max_leaf_nodes(5);
        let forest = config.fit((&x, y)).unwrap();
        (forest, config)
    };
    let rows = |y: &Targets<'_>, criterion| {
        let (forest, config) = fit(y, criterion);
        forest
            .with_stored_rows(Dataset::new(&x, y).weights(RowWeights::default()), config.sampling, config.seed)
            .unwrap()
    };
    let of_labels = Targets::Labels(labels(40));
    let of_numbers = Targets::Real(wide.view());
    let sparse = fit(&of_labels, Criterion::Gini).0;
    let dense = fit(&of_numbers, Criterion::Variance).0;
    let mut all: Vec<(&'static str, Model)> = vec![
        ("classes", fit(&classes(), Criterion::Gini).0.into()),
        ("sparse labels", sparse.clone().into()),
        ("numbers", dense.clone().into()),
        ("one number", fit(&Targets::Real(real.view()), Criterion::Variance).0.into()),
        ("float32", dense.with_precision(Precision::Single, &control).unwrap().into()),
        ("float16", dense.with_precision(Precision::Half, &control).unwrap().into()),
        ("8 bits", dense.with_precision(Precision::Byte, &control).unwrap().into()),
        ("rows of labels", rows(&of_labels, Criterion::Gini).into()),
        ("rows of numbers", rows(&of_numbers, Criterion::Variance).into()),
        ("rows of classes", rows(&classes(), Criterion::Entropy).into()),
    ];
    let float16 = sparse.with_precision(Precision::Half, &control).unwrap();
    all.push(("float16 labels", float16.into()));
    let most = fit(&classes(), Criterion::Gini).0.with_top_k(1, &control).unwrap();
    all.push(("most frequent classes", most.into()));
    let merged = Forest::merge(&[&dense, &rows(&of_numbers, Criterion::Variance)]).unwrap();
    all.push(("all forms of numbers", merged.into()));
    // Of these labels and numbers, most cells are unknown, so that leaves share values.
    let many = numbers(60);
    let mask = Array2::from_shape_fn((N, 60), |(i, j)| i > 0 && !noise(j + 1, i).is_multiple_of(8));
    for (name, y, criterion) in [
        ("shared values of labels", Targets::Labels(labels(60)), Criterion::Gini),
        ("shared values of numbers", Targets::Real(many.view()), Criterion::Variance),
    ] {
        let config = ForestConfig::extra_trees(criterion).n_trees(2).seed(3);
        let forest = config.fit(Dataset::new(&x, y).y_weight(CellWeights::from(&mask))).unwrap();
        all.push((name, forest.clone().into()));
        all.push((name, forest.with_precision(Precision::Half, &control).unwrap().into()));
    }
    let boost = |loss, strategy, y: &Targets<'_>| {
        BoostConfig::new(loss).n_estimators(3).strategy(strategy).max_leaf_nodes(4).fit((&x, y)).unwrap()
    };
    all.push(("boosting, joint", boost(LossKind::SquaredError, OutputStrategy::Joint, &of_numbers).into()));
    let joint = boost(LossKind::SquaredError, OutputStrategy::Joint, &of_numbers);
    let small = joint.without_small_values(0.1, &control).unwrap().with_precision(Precision::Byte, &control).unwrap();
    all.push(("boosting, 8 bits", small.into()));
    let projected = OutputStrategy::Projected {
        projection: Projection::Gaussian,
        n_projections: NProjections::Count(1),
        relabel: false,
    };
    let narrow = BoostConfig::new(LossKind::LogLoss).n_estimators(3).strategy(projected).max_leaf_nodes(4);
    all.push(("boosting, one value in each leaf", narrow.fit((&x, &of_labels)).unwrap().into()));
    let counts = wide.mapv(|y| y.abs().floor());
    let of_counts = Targets::Real(counts.view());
    all.push(("boosting, logarithms", boost(LossKind::Poisson, OutputStrategy::Joint, &of_counts).into()));
    all.push(("boosting, softmax", boost(LossKind::LogLoss, OutputStrategy::SingleTarget, &classes()).into()));
    let weak = BoostConfig::new(LossKind::SquaredError).n_estimators(3).strategy(OutputStrategy::Joint);
    let weak = weak.fit_with(&mut Halves, (N, P), &of_numbers, None, None, &control).unwrap();
    all.push(("boosting of other models", weak.into()));
    let centroids = |y: &Targets<'_>, config: CentroidForestConfig| {
        config.n_trees(2).n_children(3).max_leaf_samples(3).seed(1).fit((&x, y)).unwrap()
    };
    let shared = || CentroidForestConfig::default();
    let listed = || CentroidForestConfig::default().store_rows(false);
    let half = CentroidForestConfig::plain().centroid_precision(CentroidPrecision::Half);
    all.push(("centroids of labels", centroids(&of_labels, shared()).into()));
    all.push(("centroids of listed labels", centroids(&of_labels, listed()).into()));
    all.push(("centroids of classes", centroids(&classes(), listed()).into()));
    all.push(("centroids of rows of classes", centroids(&classes(), shared()).into()));
    all.push(("centroids of numbers", centroids(&of_numbers, listed()).into()));
    all.push(("plain centroids of numbers", centroids(&of_numbers, CentroidForestConfig::plain()).into()));
    all.push(("plain centroids in float16", centroids(&of_labels, half.routing(Routing::Nearest)).into()));
    for (name, y, features) in [
        ("a linear model of labels", &of_labels, Features::Given),
        ("a linear model of classes", &classes(), Features::TfIdf),
        ("a linear model of standardised features", &of_labels, Features::Standardized),
    ] {
        let config = LinearConfig::default().features(features);
        all.push((name, config.fit((&x, y)).unwrap().into()));
    }
    for (name, y, features) in
        [("a label tree", &of_labels, Features::Given), ("a label tree of classes", &classes(), Features::TfIdf)]
    {
        let config = LabelTreeConfig::default().n_trees(2).max_children(3).max_leaf_labels(2).features(features);
        all.push((name, config.fit((&x, y)).unwrap().into()));
    }
    for (name, y, forest) in [("compressed labels", &of_labels, &sparse), ("compressed numbers", &of_numbers, &dense)] {
        let path = CompressConfig::stagewise(0.2).path(forest, (&x, y), None).unwrap();
        all.push((name, path.at_step(path.n_steps().min(20), &control).unwrap().into()));
    }
    let mut extra = Extra::default();
    extra.estimator = Some("{\"class\": \"\u{e9}\"}".to_owned());
    let arrays = [("classes", Values::I64(vec![1, 2, 3])), ("flags", Values::Bool(vec![true, false, true]))];
    for (name, values) in arrays {
        extra.arrays.insert(name.to_owned(), Array::try_new(vec![3], values).unwrap());
    }
    all.into_iter()
        .enumerate()
        .map(|(i, (name, model))| {
            (name, ModelFile::new(model, if i % 3 == 0 { extra.clone() } else { Extra::default() }))
        })
        .collect()
}

/// The results for one kind of damage.
#[derive(Debug, Default)]
struct Outcomes {
    refused: usize,
    loaded: usize,
    /// The number of models that are too wide to predict with in this test.
    too_wide: usize,
    /// The maximum number of bytes that were held while loading, in addition to the file.
    peak: u64,
}

impl Outcomes {
    fn load(&mut self, bytes: &[u8]) {
        self.load_within(4, bytes);
    }

    /// Loads a file, and checks that the bytes held at the same time are at most `factor` times those of the file, plus
    /// a constant for small files.
    fn load_within(&mut self, factor: u64, bytes: &[u8]) {
        let mut result = None;
        let held = allocation_counter::measure(|| result = Some(ModelFile::from_bytes(bytes))).bytes_max;
        assert!(held <= factor * bytes.len() as u64 + (64 << 10), "{held} bytes held for a file of {}", bytes.len());
        self.peak = self.peak.max(held);
        match result.unwrap() {
            Ok(file) => {
                self.loaded += 1;
                if !self.is_usable(&file) {
                    self.too_wide += 1;
                }
            }
            Err(error) => {
                self.refused += 1;
                let known = matches!(
                    error.kind(),
                    ErrorKind::Corrupt { .. } | ErrorKind::Invalid { .. } | ErrorKind::OutOfMemory { .. }
                );
                assert!(known, "{error:?}");
            }
        }
    }

    /// Predicts with the model and saves it again. Returns `false` if samples or predictions would be too large.
    fn is_usable(&self, file: &ModelFile) -> bool {
        let (n_features, width) = match &file.model {
            Model::Forest(forest) => (forest.n_features(), forest.outputs().width()),
            Model::Boosted(boosted) => (boosted.n_features(), boosted.outputs().width()),
            Model::Compressed(compressed) => (compressed.forest().n_features(), compressed.outputs().width()),
            Model::Centroid(forest) => (forest.n_features(), forest.outputs().width()),
            Model::Linear(linear) => (linear.n_features(), linear.outputs().width()),
            Model::LabelTree(tree) => (tree.n_features(), tree.n_labels()),
            other => panic!("{other:?} is a new kind of model"),
        };
        if n_features > 10_000 || width > 10_000 {
            return false;
        }
        let x = Array2::from_shape_fn((3, n_features), |(i, j)| [0.0, -2.0, 3.0][(i + j) % 3]);
        let (mut ptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in x.rows() {
            for (j, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                indices.push(j as u32);
                values.push(value);
            }
            ptr.push(indices.len());
        }
        let csr = Matrix::Csr(SparseView::try_new(ptr, indices, values, n_features).unwrap());
        let control = Control::default();
        // The scores and, where there are any, the probabilities.
        let predict = |x: &Matrix<'_>| match &file.model {
            Model::Forest(forest) => with_range(forest.outputs(), forest.predict(x).unwrap()),
            Model::Centroid(forest) => with_range(forest.outputs(), forest.predict(x).unwrap()),
            Model::Compressed(compressed) => {
                with_range(compressed.outputs(), compressed.predict(x).unwrap());
                compressed.predict_scores(x).unwrap()
            }
            Model::Linear(linear) => {
                let scores = linear.predict_scores(x).unwrap();
                with_range(linear.outputs(), linear.to_predictions(scores.view(), &control).unwrap());
                scores
            }
            Model::LabelTree(tree) => {
                let scores = tree.predict_scores(x).unwrap();
                let proba = tree.predict_at_least(x, 0.0).unwrap();
                let in_columns = |values: Vec<f64>| Array2::from_shape_vec((values.len(), 1), values).unwrap();
                with_range(tree.outputs(), in_columns(proba.values));
                in_columns(scores.values)
            }
            Model::Boosted(boosted) if boosted.forest().is_none() => boosted.step_sizes().unwrap(),
            Model::Boosted(boosted) => {
                let scores = boosted.predict_scores(x).unwrap();
                if boosted.has_probabilities() {
                    with_range(boosted.outputs(), boosted.to_predictions(scores.view(), &control).unwrap());
                }
                scores
            }
            other => panic!("{other:?} is a new kind of model"),
        };
        let found = predict(&Matrix::from(&x));
        assert!(found.iter().all(|v| v.is_finite()));
        assert_eq!(predict(&csr), found);
        assert_eq!(ModelFile::from_bytes(&file.to_bytes().unwrap()).unwrap(), *file);
        true
    }

    #[allow(clippy::print_stdout, reason = "what `--nocapture` shows")]
    fn print(&self, name: &str) {
        let Outcomes { refused, loaded, too_wide, peak } = self;
        println!("{name}: {refused} refused, {loaded} loaded ({too_wide} too wide), at most {peak} bytes held");
    }
}

/// Checks that predictions of labels and classes are probabilities, and that predictions are finite, and returns them.
fn with_range(outputs: &Outputs, predictions: Array2<f64>) -> Array2<f64> {
    // Shares of a sample that is sent to two children are float32, so that their sum may be one plus its rounding.
    let range = if let Outputs::Real { .. } = outputs { f64::MIN..=f64::MAX } else { 0.0..=1.0 + 1e-6 };
    let strange = predictions.iter().find(|p| !range.contains(p));
    assert!(strange.is_none(), "{strange:?} is predicted for {outputs:?}");
    predictions
}

fn header_end(file: &[u8]) -> usize {
    8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize
}

/// Returns a file with this header.
fn with_header(text: &[u8], data: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text, data].concat()
}

/// Returns the positions of the integers in a header.
fn integers(text: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let n = text[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        if n > 0 && !text[at - 1].is_ascii_alphabetic() {
            found.push(at..at + n);
        }
        at += n.max(1);
    }
    found
}

#[test]
fn changed_files_are_refused_or_harmless() {
    let files: Vec<(&str, Vec<u8>)> =
        models().into_iter().map(|(name, file)| (name, file.to_bytes().unwrap())).collect();
    let mut all = [
        ("flipped bytes", Outcomes::default()),
        ("integers of the header", Outcomes::default()),
        ("truncations", Outcomes::default()),
        ("windows", Outcomes::default()),
        ("splices", Outcomes::default()),
    ];
    for (name, file) in &files {
        let mut whole = Outcomes::default();
        whole.load(file);
        assert_eq!((whole.loaded, whole.too_wide), (1, 0), "{name}");
        let [(_, flipped), (_, integer), (_, cut), (_, window), (_, spliced)] = &mut all;
        for at in 0..file.len() {
            for flip in [0x01, 0x10, 0x80, 0xFF] {
                let mut bytes = file.clone();
                bytes[at] ^= flip;
                flipped.load(&bytes);
            }
            cut.load(&file[..at]);
            for fill in [0x00, 0xFF] {
                let mut bytes = file.clone();
                let end = bytes.len().min(at + 8);
                bytes[at..end].fill(fill);
                window.load(&bytes);
            }
        }
        let (text, data) = file[8..].split_at(header_end(file) - 8);
        for range in integers(text) {
            for number in [
                "0",
                "1",
                "-1",
                "2147483648",
                "4294967296",
                "9007199254740992",
                "9223372036854775808",
                "18446744073709551615",
            ] {
                let text = [&text[..range.start], number.as_bytes(), &text[range.end..]].concat();
                integer.load(&with_header(&text, data));
            }
        }
        for (_, other) in &files {
            let (theirs, their_data) = other[8..].split_at(header_end(other) - 8);
            spliced.load(&with_header(text, their_data));
            spliced.load(&with_header(theirs, data));
            for eighth in 1..8 {
                let (here, there) = (file.len() * eighth / 8, other.len() * eighth / 8);
                spliced.load(&[&file[..here], &other[there..]].concat());
            }
        }
    }
    for (name, outcomes) in &all {
        outcomes.print(name);
        assert!(outcomes.refused > 0);
    }
    let [(_, flipped), (_, integer), (_, cut), (_, window), _] = &all;
    assert!(flipped.loaded > 0 && integer.loaded > 0 && window.loaded > 0);
    assert_eq!(cut.loaded, 0);
}

/// Files with long lists in place of a few numbers. The text, a copy of it without escapes, and the list of its
/// numbers, twice while it grows, take at most eight times the length of the text.
#[test]
fn long_lists_take_no_more_than_a_few_times_their_text() {
    let (_, file) = models().swap_remove(0);
    let file = file.to_bytes().unwrap();
    let (text, data) = file[8..].split_at(header_end(&file) - 8);
    let text = std::str::from_utf8(text).unwrap();
    let ones = vec!["1"; 200_000].join(",");
    let many: Vec<String> = (0..20_000).map(|i| format!("\"{i}\":\"\"")).collect();
    let tensors: Vec<String> = (0..20_000)
        .map(|i| format!("\"estimator.{i}\":{{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,0]}}"))
        .collect();
    let lies = [
        text.replacen("\\\"sizes\\\":[3]", &format!("\\\"sizes\\\":[{ones}]"), 1),
        text.replacen("\"shape\":[", &format!("\"shape\":[{ones},"), 1),
        text.replacen("\"data_offsets\":[", &format!("\"data_offsets\":[{ones},"), 1),
        text.replacen("{\"__metadata__\":{", &format!("{{\"__metadata__\":{{{},", many.join(",")), 1),
        text.replacen("{\"__metadata__\"", &format!("{{{},\"__metadata__\"", tensors.join(",")), 1),
        text.replacen("{\"__metadata__\"", &format!("{{\"a\":{}", "[".repeat(1 << 20)), 1),
    ];
    let mut outcomes = Outcomes::default();
    for lie in lies {
        assert!(lie.len() > text.len() + 100_000);
        outcomes.load_within(8, &with_header(lie.as_bytes(), data));
    }
    outcomes.print("long lists");
    assert_eq!(outcomes.loaded, 0);
}
