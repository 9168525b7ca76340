//! A model is loaded from a file, and scores one sample after another.
#![allow(clippy::print_stdout)]

use weald::{LabelView, LinearConfig, Matrix, Model, Result, Scorer};

fn main() -> Result<()> {
    let x = Matrix::csr(vec![0, 2, 3, 5, 6], vec![0, 1, 0, 2, 4, 2], vec![2.0, 1.0, 1.0, 3.0, 1.0, 1.0], 5)?;
    let y = LabelView::try_new(vec![0, 1, 2, 3, 4], vec![0, 0, 2, 2], 3)?;
    let path = std::env::temp_dir().join(format!("weald-example-{}.safetensors", std::process::id()));
    LinearConfig::default().c(10.0).fit((&x, y))?.save(&path)?;

    // A file of any model, from Rust or Python, which is validated when it is read. Threads may share the scorer.
    let scorer = Scorer::new(Model::load(&path)?)?;
    // Words 2 and 4; the cost is that of these two.
    let best = scorer.topk((&[2, 4], &[3.0, 1.0]), 2)?;
    let mut probabilities = [0.0; 3];
    scorer.predict(&[0.0, 0.0, 3.0, 0.0, 1.0], &mut probabilities)?;
    println!("best labels {best:?}, probabilities {probabilities:.3?}");
    assert!(best[0].0 == 2 && probabilities[2] > probabilities[0]);
    let _ = std::fs::remove_file(&path);
    Ok(())
}

#[test]
fn runs() -> Result<()> {
    main()
}
