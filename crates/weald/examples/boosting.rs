//! Gradient boosting of three classes, with early stopping on a validation set: `cargo run --release --example
//! boosting`.
#![allow(clippy::print_stdout)]

use ndarray::{Array2, Axis};
use weald::{BoostConfig, Dataset, LossKind, OutputStrategy, Result, Targets};

fn main() -> Result<()> {
    // Three rings around the centre of a square; every tenth sample has a wrong class.
    let x = Array2::from_shape_fn((3000, 2), |(i, j)| ((i * (13 + 24 * j)) % 2999) as f32 / 1499.5 - 1.0);
    let mut classes = x.map_axis(Axis(1), |row| ((row[0] * row[0] + row[1] * row[1]) * 2.0).min(2.0) as u32);
    classes.iter_mut().step_by(10).for_each(|class| *class = (*class + 1) % 3);
    let classes = classes.insert_axis(Axis(1));
    let (x, x_validation) = x.view().split_at(Axis(0), 2000);
    let (y, y_validation) = classes.view().split_at(Axis(0), 2000);
    let train = Dataset::new(x, Targets::classes(y, [3]));
    let validation = Dataset::new(x_validation, Targets::classes(y_validation, [3]));

    let config = BoostConfig::new(LossKind::LogLoss)
        .strategy(OutputStrategy::Joint) // one tree for all classes in each stage
        .n_estimators(500)
        .learning_rate(0.2)
        .n_iter_no_change(10);
    let model = config.fitting().validation(&validation).fit(&train)?;

    let (losses, held_out) = (model.train_score(), model.validation_score());
    println!("stopped early: {} stages of at most 500", model.n_stages());
    println!("training loss: {:.3} after the first stage, {:.3} at the end", losses[0], losses[losses.len() - 1]);
    println!("validation loss: {:.3}, {:.3}", held_out[0], held_out[held_out.len() - 1]);

    let probabilities = model.predict(&ndarray::array![[0.0f32, 0.0], [0.7, 0.0], [0.9, 0.9]])?;
    println!("class probabilities in the centre, on the second ring and in a corner:\n{probabilities:.2}");
    Ok(())
}
