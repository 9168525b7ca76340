//! Many labels of sparse samples: boosting, a linear model and label trees, and the best labels of each sample.
#![allow(clippy::print_stdout)]

use weald::{BoostConfig, Control, LabelTreeConfig, LabelView, LinearConfig, LossKind, Matrix, Result, TopK};

const N_SAMPLES: usize = 1500;
const N_TOPICS: usize = 20;

fn main() -> Result<()> {
    // Sample i has one topic, five of its twenty words, and the two labels of the topic.
    let (mut words, mut labels) = (Vec::new(), Vec::new());
    for i in 0..N_SAMPLES {
        let (topic, first) = (i % N_TOPICS, (i / N_TOPICS) % 15);
        words.extend((0..5).map(|k| (20 * topic + first + k) as u32));
        labels.extend([2 * topic as u32, 2 * topic as u32 + 1]);
    }
    let starts = |each: usize| (0..=N_SAMPLES).map(|i| each * i).collect::<Vec<_>>();
    // Views check their arrays once, when they are created. Arrays are borrowed and not copied where possible.
    let values = vec![1.0; words.len()];
    let x = Matrix::csr(starts(5), &words[..], values, 20 * N_TOPICS)?;
    let y = || LabelView::try_new(starts(2), &labels[..], 2 * N_TOPICS);

    let control = Control::with_threads(2);
    let boosted = BoostConfig::new(LossKind::LogLoss).n_estimators(60).learning_rate(0.3).fit((&x, y()?, &control))?;
    let linear = LinearConfig::default().fit((&x, y()?, &control))?;
    let trees = LabelTreeConfig::default().max_leaf_labels(10).fit((&x, y()?, &control))?;

    let precision = |best: TopK| {
        let right = best.indices.indexed_iter().filter(|((i, _), label)| **label as usize / 2 == i % N_TOPICS);
        right.count() as f64 / best.indices.len() as f64
    };
    for (name, best) in [
        ("boosting", boosted.predict_topk(&x, 2)?),
        ("linear model", linear.predict_topk(&x, 2)?),
        ("label trees", trees.predict_topk(&x, 2)?),
    ] {
        let precision = precision(best);
        println!("{name}: {precision:.3} of the two best labels are right");
        assert!(precision > 0.9);
    }
    Ok(())
}

#[test]
fn runs() -> Result<()> {
    main()
}
