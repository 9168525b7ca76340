//! Sparse features, sparse labels, and the best three labels of each sample: `cargo run --release --example
//! multi_label`.
#![allow(clippy::print_stdout)]

use weald::{Control, Criterion, ForestConfig, LabelView, Matrix, Result, Targets};

const N_SAMPLES: usize = 3000;
const N_TOPICS: usize = 50;
const WORDS_OF_A_TOPIC: usize = 20;

fn main() -> Result<()> {
    // Sample i has one topic, contains five of its words, and has two labels of this topic.
    let (mut words, mut labels) = (Vec::new(), Vec::new());
    for i in 0..N_SAMPLES {
        let topic = i % N_TOPICS;
        let first = (i / N_TOPICS) % (WORDS_OF_A_TOPIC - 5);
        words.extend((0..5).map(|k| (topic * WORDS_OF_A_TOPIC + first + k) as u32));
        labels.extend([2 * topic as u32, 2 * topic as u32 + 1]);
    }
    let row_starts: Vec<usize> = (0..=N_SAMPLES).map(|i| 5 * i).collect();
    let label_starts: Vec<usize> = (0..=N_SAMPLES).map(|i| 2 * i).collect();
    let counts = vec![1.0; words.len()];
    // Views check their arrays once, when they are created. Arrays are borrowed and not copied where possible.
    let x = Matrix::csr(&row_starts[..], &words[..], &counts[..], N_TOPICS * WORDS_OF_A_TOPIC)?;
    let y = Targets::Labels(LabelView::try_new(&label_starts[..], &labels[..], 2 * N_TOPICS)?);

    let control = Control::with_threads(2);
    let config = ForestConfig::random_forest(Criterion::Gini).n_trees(20);
    let forest = config.fit((&x, &y))?;

    let best = forest.predict_topk((&x, &control), 3)?;
    for i in 0..5 {
        let shown: Vec<String> =
            (0..3).map(|k| format!("{} ({:.2})", best.indices[[i, k]], best.scores[[i, k]])).collect();
        println!("sample {i}: labels {:?}, best {}", &labels[2 * i..2 * i + 2], shown.join(", "));
    }
    Ok(())
}
