//! Fits of several workers, compared with the fit of one worker with all samples.

use std::ops::ControlFlow;
use std::sync::Arc;

use ndarray::{Array2, Axis};
use proptest::prelude::*;

use crate::boost::*;
use crate::control::Control;
use crate::data::{Dataset, LabelView, Matrix, SparseView, Targets};
use crate::error::{ErrorKind, Result};
use crate::exact::reduce::{AllReduce, ReduceBuffer, ReduceOp};
use crate::loss::LossKind;
use crate::projection::{NProjections, Projection};
use crate::rng::{Key, Stream};
use crate::testing::workers::on_reduces;
use crate::tree::config::MaxFeatures;

/// The samples of all workers or of one.
#[derive(Clone, Debug)]
struct Samples {
    x: Array2<f32>,
    numbers: Array2<f64>,
    weights: Option<Vec<f64>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Numbers,
    Labels,
    Classes(u32),
}

impl Samples {
    /// Draws samples with few distinct values, so that ties are common, some of which are very large or missing.
    fn drawn(seed: u64, n: usize, p: usize, d: usize) -> Self {
        let mut stream = Stream::new(Key::from_seed(seed));
        let mut below = |n: u64| stream.below(n);
        let x = Array2::from_shape_fn((n, p), |(_, j)| match below(12) {
            0 => f32::NAN,
            1 => 1e30,
            2 => -0.0,
            value if j == 1 => value as f32 + below(1000) as f32 / 7.0,
            value => {
                if value < 8 {
                    0.0
                } else {
                    value as f32 - 9.0
                }
            }
        });
        let numbers = Array2::from_shape_fn((n, d), |(i, j)| {
            // Nodes without the outliers are rounded to finer grids.
            let outlier = if seed.is_multiple_of(5) && below(9) == 0 { 1e9 } else { 0.0 };
            let value = x[[i, j % p]];
            let value = if value.is_finite() && value.abs() < 1e9 { f64::from(value) } else { -1.0 };
            value + below(5) as f64 / 3.0 + outlier
        });
        // Halves are exact in units; quotients are rounded to units, and all the more over many decades.
        let mut weight = |i: usize| match (seed % 4, below(4)) {
            _ if i == 0 => 1.0,
            (1, drawn) => drawn as f64 / 2.0,
            (2, drawn) => drawn as f64 / below(100).max(1) as f64,
            (_, drawn) => drawn as f64 * 10f64.powi(below(30) as i32 - 15),
        };
        let weights = (!seed.is_multiple_of(4)).then(|| (0..n).map(&mut weight).collect());
        Samples { x, numbers, weights }
    }

    fn of(&self, worker: usize, cut: &[usize]) -> Self {
        let rows: Vec<usize> = (0..self.x.nrows()).filter(|&row| cut[row] == worker).collect();
        let weights = self.weights.as_ref().map(|weights| rows.iter().map(|&row| weights[row]).collect());
        Samples { x: self.x.select(Axis(0), &rows), numbers: self.numbers.select(Axis(0), &rows), weights }
    }

    fn fit(&self, kind: Kind, is_sparse: bool, fit: impl FnOnce(&Dataset<'_>) -> Result<Boosted>) -> Result<Boosted> {
        let (n, p) = self.x.dim();
        let (mut ptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in self.x.rows() {
            for (j, &value) in row.iter().enumerate().filter(|(j, v)| **v != 0.0 || j % 2 == 0) {
                indices.push(j as u32);
                values.push(value);
            }
            ptr.push(indices.len());
        }
        let x = match is_sparse {
            true => Matrix::Csr(SparseView::try_new(ptr, indices, values, p).unwrap()),
            false => Matrix::Dense(self.x.view()),
        };
        let (mut ptr, mut labels) = (vec![0], Vec::new());
        for row in self.numbers.rows() {
            labels.extend((0u32..).zip(row).filter(|(_, y)| **y > 0.5).map(|(j, _)| j));
            ptr.push(labels.len());
        }
        let n_classes = if let Kind::Classes(n_classes) = kind { n_classes } else { 2 };
        let codes =
            self.numbers.select(Axis(1), &[0]).mapv(|y| (y.rem_euclid(f64::from(n_classes))) as u32 % n_classes);
        let y = match kind {
            Kind::Numbers => Targets::Real(self.numbers.view()),
            Kind::Labels => Targets::Labels(LabelView::try_new(ptr, labels, self.numbers.ncols()).unwrap()),
            Kind::Classes(n_classes) => Targets::classes(codes.view(), vec![n_classes]),
        };
        assert_eq!(y.n_samples(), n);
        fit(&Dataset::new(x, y).sample_weight(self.weights.as_deref()))
    }
}

/// Returns configurations that cover all sums over workers.
fn config(choice: u64, kind: Kind) -> BoostConfig {
    let mut stream = Stream::new(Key::from_seed(choice).child(7));
    let mut below = |n: u64| stream.below(n);
    let loss = if kind == Kind::Numbers || below(3) == 0 { LossKind::SquaredError } else { LossKind::LogLoss };
    let projected = |projection, q, relabel| OutputStrategy::Projected {
        projection,
        n_projections: NProjections::Count(q),
        relabel,
    };
    let strategy = match below(7) {
        0 => OutputStrategy::SingleTarget,
        1 => OutputStrategy::Joint,
        2 => projected(Projection::Gaussian, 1, false),
        3 => projected(Projection::Rademacher { sparsity: crate::projection::Sparsity::Factor(1.0) }, 2, true),
        4 => projected(Projection::Subsample { replacement: below(2) == 0 }, 1, true),
        5 => projected(Projection::Pca, 1, below(2) == 0),
        _ => projected(Projection::Gaussian, 1, true),
    };
    let is_softmax = matches!(kind, Kind::Classes(n) if n > 2) && loss.name() == "log_loss";
    let is_line = below(3) == 0 && !is_softmax;
    let mut config = BoostConfig::new(loss)
        .strategy(strategy)
        .n_estimators(3)
        .learning_rate(0.7)
        .seed(choice)
        .max_bins([2, 4, 255][below(3) as usize])
        .subsample([1.0, 0.6][below(2) as usize])
        .leaf_estimation(if is_line { LeafEstimation::LineSearch } else { LeafEstimation::Newton })
        .min_weight_leaf([0.0, 2.0][below(2) as usize])
        .min_samples_leaf([1, 2, 3][below(3) as usize])
        .max_leaf_nodes([None, Some(5)][below(2) as usize]);
    if below(2) == 0 {
        config = config.max_features(MaxFeatures::Count(2));
    }
    if below(4) == 0 {
        config = config.max_features_by_tree(MaxFeatures::Count(3));
    }
    config
}

/// Compares the fit of one worker with those of all workers.
fn fits(config: &BoostConfig, kind: Kind, is_sparse: bool, samples: &Samples, n_workers: usize, cut: &[usize]) {
    let whole = samples.fit(kind, is_sparse, |data| config.fit(data));
    let (parts, _) = on_reduces(n_workers, usize::MAX, |worker, reduce| {
        let fit = |data: &Dataset<'_>| {
            config.fitting().worker(Arc::clone(&reduce)).fit((data, &Control::with_threads(1 + worker % 2)))
        };
        samples.of(worker, cut).fit(kind, is_sparse, fit)
    });
    for part in parts {
        match (&whole, part) {
            (Ok(whole), Ok(part)) => assert_eq!(&part.to_bytes().unwrap(), &whole.to_bytes().unwrap(), "{config:?}"),
            (Err(whole), Err(part)) => assert_eq!(&part, whole, "{config:?}"),
            (whole, part) => panic!("{config:?}: {:?}, {:?}", whole.as_ref().err(), part.err()),
        }
    }
}

proptest! {
    #[test]
    fn workers_fit_the_model_of_one_with_all_samples(
        seed in 0u64..1_000_000, n in 1usize..60, workers in prop::sample::select(vec![1usize, 2, 3, 7]), is_sparse in any::<bool>(),
        kind in prop::sample::select(vec![Kind::Numbers, Kind::Labels, Kind::Classes(2), Kind::Classes(3)]),
        places in prop::collection::vec(0usize..7, 60), empty in 0usize..3,
    ) {
        let samples = Samples::drawn(seed, n, 5, 3);
        // Some workers may have no samples.
        let most = workers.saturating_sub(empty).max(1);
        let cut: Vec<usize> = places.iter().map(|place| place % most).collect();
        fits(&config(seed, kind), kind, is_sparse, &samples, workers, &cut);
    }

    #[test]
    fn workers_that_lose_each_other_end_with_an_error(
        seed in 0u64..1_000_000, is_sparse in any::<bool>(), share in 0.0f64..1.0,
        kind in prop::sample::select(vec![Kind::Numbers, Kind::Labels, Kind::Classes(3)]),
    ) {
        let samples = Samples::drawn(seed, 30, 4, 3);
        let cut: Vec<usize> = (0..30).map(|row| row % 2).collect();
        let config = config(seed, kind);
        let run = |fails_at: usize| {
            on_reduces(3, fails_at, |worker, reduce| {
                let fit = |data: &Dataset<'_>| config.fitting().worker(Arc::clone(&reduce)).fit(data);
                samples.of(worker, &cut).fit(kind, is_sparse, fit)
            })
        };
        let (_, calls) = run(usize::MAX);
        for part in run((share * calls.len() as f64) as usize).0 {
            let error = part.unwrap_err();
            prop_assert!(matches!(error.kind(), ErrorKind::Workers { .. }), "{error}");
        }
    }

    #[test]
    fn stages_that_were_done_go_on_to_the_model_of_one(
        seed in 0u64..1_000_000, is_sparse in any::<bool>(), share in 0.0f64..1.0,
        kind in prop::sample::select(vec![Kind::Numbers, Kind::Labels, Kind::Classes(3)]),
    ) {
        let samples = Samples::drawn(seed, 30, 4, 3);
        let cut = |n: usize| -> Vec<usize> { (0..30).map(|row| row % n).collect() };
        let config = config(seed, kind).n_estimators(5);
        let run = |fails_at: usize| {
            on_reduces(3, fails_at, |worker, reduce| {
                let mut done = Done(None);
                let fit = |data: &Dataset<'_>| config.fitting().observer(&mut done).worker(Arc::clone(&reduce)).fit(data);
                let failed = samples.of(worker, &cut(3)).fit(kind, is_sparse, fit).is_err();
                (failed, done.0)
            })
        };
        let (_, calls) = run(usize::MAX);
        let (parts, _) = run((share * calls.len() as f64) as usize);
        prop_assert!(parts.iter().all(|(failed, _)| *failed));
        let fewest = parts.into_iter().map(|(_, done)| done).min_by_key(|done| done.as_ref().map_or(0, Boosted::n_stages));
        let done = fewest.flatten();
        // Losses of weights that differ by many decades may not stay finite, which is the same error.
        let bytes = |fitted: crate::Result<Boosted>| fitted.and_then(|model| model.to_bytes());
        let whole = bytes(samples.fit(kind, is_sparse, |data| config.fit(data)));
        let (parts, _) = on_reduces(2, usize::MAX, |worker, reduce| {
            let fit = |data: &Dataset<'_>| {
                config.fitting().start_from(done.as_ref()).observer(&mut Done(None)).worker(Arc::clone(&reduce)).fit(data)
            };
            bytes(samples.of(worker, &cut(2)).fit(kind, is_sparse, fit))
        });
        for part in parts {
            prop_assert_eq!(&part, &whole);
        }
    }
}

/// Features of which each has the values 0 to 8, and one output that depends on some of them.
fn nine_values(n: usize, y: impl Fn(bool, u64) -> f64) -> Samples {
    let mut stream = Stream::new(Key::from_seed(3));
    let x =
        Array2::from_shape_fn((n, 4), |(i, j)| if i < 9 { i as f32 } else { (stream.below(9 + j as u64) % 9) as f32 });
    let numbers = Array2::from_shape_fn((n, 1), |(i, _)| y(x[[i, 0]] > 3.0 || x[[i, 1]] > 6.0, stream.below(100)));
    Samples { x, numbers, weights: None }
}

/// Compares the fit of one worker with those of all workers, and returns the calls of the last stage whose buffers are
/// as long as bins: whether they are floats, and the number of values. The other buffers, those of nodes and leaves, are
/// shorter.
fn calls_of_bins(config: &BoostConfig, is_sparse: bool, samples: &Samples, n_workers: usize) -> Vec<(bool, usize)> {
    let cut: Vec<usize> = (0..samples.x.nrows()).map(|row| row % n_workers).collect();
    fits(config, Kind::Numbers, is_sparse, samples, n_workers, &cut);
    let calls = |n_stages: usize| {
        let config = config.clone().n_estimators(n_stages);
        let fit = |worker, reduce: Arc<dyn AllReduce>| {
            let fit = |data: &Dataset<'_>| config.fitting().worker(Arc::clone(&reduce)).fit(data);
            samples.of(worker, &cut).fit(Kind::Numbers, is_sparse, fit).unwrap();
        };
        let (_, calls) = on_reduces(n_workers, usize::MAX, fit);
        // The last value is the mark.
        calls.into_iter().map(|call| (call.is_float, call.len - 1)).filter(|call| call.1 > 30).collect::<Vec<_>>()
    };
    // Those before the first stage are the same for any number of stages.
    let (one, two) = (calls(1), calls(2));
    two[one.len()..].to_vec()
}

#[test]
fn workers_send_one_word_for_each_bin_of_one_output() {
    let samples = nine_values(300, |is_high, noise| if is_high { 3.0 } else { -1.0 } + noise as f64 / 50.0);
    let config = BoostConfig::new(LossKind::SquaredError).seed(5).max_leaf_nodes(Some(8)).n_estimators(2);
    // Sparse X has no cells of zeros.
    for (is_sparse, n_bins) in [(false, 36), (true, 32)] {
        let calls = calls_of_bins(&config, is_sparse, &samples, 3);
        assert!(calls.len() >= 5, "{calls:?}");
        // Pairs of floats would be twice as many values.
        assert!(calls.iter().all(|&call| call == (false, n_bins)), "{calls:?}");
        // Weights have more bits, and samples are counted: these were three floats for each bin. Seven numbers share a
        // word where they have no room in those of bins.
        let weights = (0..300).map(|i| 1.0 + f64::from(i % 2) / 16.0).collect();
        let weighted = Samples { weights: Some(weights), ..samples.clone() };
        let calls = calls_of_bins(&config.clone().min_samples_leaf(2), is_sparse, &weighted, 3);
        assert!(calls.len() >= 5 && calls.iter().all(|call| !call.0 && call.1 < 2 * n_bins), "{calls:?}");
    }
}

#[test]
fn bins_of_all_workers_may_not_have_the_room_that_those_of_each_have() {
    // Σ w is about 2¹⁴ and Σ w |t| about 2⁵¹, so that weights have no room. For a worker both are an eighth of that.
    let mut samples = nine_values(160, |is_high, noise| if is_high == (noise < 90) { 1.99 } else { -1.99 });
    samples.weights = Some((0..160).map(|i| if i < 8 { 1.0 } else { 107.0 }).collect());
    let config = BoostConfig::new(LossKind::SquaredError).seed(5).max_leaf_nodes(Some(8)).n_estimators(2);
    for (is_sparse, n_bins) in [(false, 36), (true, 32)] {
        let calls = calls_of_bins(&config, is_sparse, &samples, 8);
        // Four weights of 14 bits share a word in the root; smaller nodes have room.
        assert_eq!(calls[0], (false, n_bins + n_bins / 4));
        assert_eq!(calls.last(), Some(&(false, n_bins)));
    }
}

/// The completed stages of a fit that failed.
struct Done(Option<Boosted>);

impl StageObserver for Done {
    fn after(&mut self, _: &StageReport<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn failed(&mut self, done: &Boosted) {
        self.0 = Some(done.truncated(done.n_stages()).unwrap());
    }
}

/// A reduction that returns other values than the workers sent, from some call on.
#[derive(Debug)]
struct Wrong {
    kind: usize,
    n_right: std::sync::atomic::AtomicUsize,
}

impl AllReduce for Wrong {
    fn all_reduce(
        &self,
        buffer: ReduceBuffer<'_>,
        _: ReduceOp,
    ) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
        use std::sync::atomic::Ordering::Relaxed;
        if self.n_right.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
            return Ok(());
        }
        match buffer {
            ReduceBuffer::Float64(own) => own.iter_mut().for_each(|x| {
                *x = match self.kind {
                    0 => 0.0,
                    1 => 2.0 * *x,
                    2 => -*x,
                    3 => f64::NAN,
                    4 => f64::INFINITY,
                    _ => 1.0,
                }
            }),
            ReduceBuffer::Int64(own) if self.kind == 6 => own.reverse(),
            ReduceBuffer::Int64(own) => own.iter_mut().for_each(|x| {
                *x = match self.kind {
                    0 => 0,
                    1 => x.wrapping_mul(2),
                    2 => x.wrapping_neg(),
                    3 => i64::MAX,
                    4 => i64::MIN,
                    _ => 1,
                }
            }),
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// One worker has all samples, so that a right reduction changes nothing.
    #[test]
    fn a_reduction_of_other_values_ends_the_fit(
        seed in 0u64..1000, kind in 0usize..7, n_right in 0usize..150, is_sparse in any::<bool>(), labels in any::<bool>(),
    ) {
        let samples = Samples::drawn(seed, 30, 4, 2);
        let of = if labels { Kind::Labels } else { Kind::Numbers };
        let config = config(seed, of);
        let reduce: Arc<dyn AllReduce> = Arc::new(Wrong { kind, n_right: n_right.into() });
        let fitted = samples.fit(of, is_sparse, |data| config.fitting().worker(reduce).fit(data.view()));
        let whole = samples.fit(of, is_sparse, |data| config.fit(data.view()));
        if let (Ok(fitted), Ok(whole)) = (fitted, whole) {
            // The fit has made fewer calls, or all buffers were ones.
            prop_assert!(fitted == whole || kind >= 5);
        }
    }
}
