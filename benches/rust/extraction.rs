//! Measurements for the constants of `partition/sparse.rs` and `forest/grow.rs`: `cargo bench -p weald-benches
//! --bench extraction`.
//!
//! The first part measures the nanoseconds of one visit of a node for each way of finding entries. It also prints the
//! way that the rule chooses, and its regret: the time of the chosen way divided by that of the fastest. The second
//! part measures the seconds of whole trees with and without carried columns.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use ndarray::{Array2, Axis};
use weald::bench::{Nodes, Visit, carries_columns, seconds_of_trees};
use weald::{Criterion, Matrix, MaxFeatures, Result, SparseView, Splitter, Targets, TreeConfig};
use weald_benches::{Random, text};

/// The logarithms of regrets.
#[derive(Default)]
struct Regrets(Vec<f64>);

impl Regrets {
    fn print(&self, of: &str) {
        let mean = (self.0.iter().sum::<f64>() / self.0.len() as f64).exp();
        let worst = self.0.iter().copied().fold(0.0, f64::max).exp();
        println!("{of}: {} cases, geometric mean of the regret {mean:.3}, worst {worst:.2}\n", self.0.len());
    }
}

fn ways(name: &str, x: SparseView<'static>, n_drawn: u32, all: &mut Regrets) -> Result<()> {
    println!("{name}: {} × {}, {} entries, {n_drawn} drawn", x.n_major(), x.n_minor(), x.values().len());
    println!(
        "{:>8} {:>10} {:>10} {:>10} {:>10} {:>10}  {:<12} regret",
        "samples", "mapping", "columns", "set", "place", "bisection", "picked"
    );
    let nodes = Nodes::new(x)?;
    let mut regrets = Regrets::default();
    let sizes = (1..32).map(|i| 1u32 << i).take_while(|&n| n < nodes.n_samples()).chain([nodes.n_samples()]);
    for n_node in sizes {
        let at_once = (16_384 / n_node as usize).clamp(1, 64);
        // Searching many samples in whole columns is always much slower, so it is not measured.
        let visits = if n_node <= 512 { &Visit::ALL[..] } else { &Visit::ALL[..4] };
        let time = nodes.nanoseconds(visits, n_node, n_drawn, at_once, 11)?;
        let picked = nodes.picked(n_node, n_drawn)?;
        let taken = Visit::ALL.iter().position(|&visit| visit == picked).expect("ALL is all");
        let regret = time[taken] / time.iter().copied().fold(f64::INFINITY, f64::min);
        regrets.0.push(regret.ln());
        print!("{n_node:>8}");
        (0..Visit::ALL.len()).for_each(|i| match time.get(i) {
            Some(t) => print!(" {t:>10.0}"),
            None => print!(" {:>10}", "–"),
        });
        println!("  {:<12} {regret:.2}", format!("{picked:?}"));
    }
    regrets.print(name);
    all.0.extend(regrets.0);
    Ok(())
}

fn carried(name: &str, x: &Matrix<'_>, y: &Targets<'_>, splitter: Splitter, all: &mut Regrets) -> Result<()> {
    println!("{name}\n{:>8} {:>10} {:>10} {:>8}  regret", "share", "at nodes", "carried", "picked");
    let mut regrets = Regrets::default();
    for share in [0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0] {
        let config = TreeConfig::new(Criterion::Gini).max_features(MaxFeatures::Fraction(share)).splitter(splitter);
        let times = seconds_of_trees(&config, x, y, 5)?;
        let carries = carries_columns(&config, x)?;
        let regret = times[usize::from(carries)] / times[0].min(times[1]);
        regrets.0.push(regret.ln());
        let picked = if carries { "carried" } else { "at nodes" };
        println!("{share:>8.2} {:>10.3} {:>10.3} {picked:>8}  {regret:.2}", times[0], times[1]);
    }
    regrets.print(name);
    all.0.extend(regrets.0);
    Ok(())
}

fn main() -> Result<()> {
    let only = std::env::args().skip(1).find(|a| !a.starts_with('-')).unwrap_or_default();
    if "ways".contains(&only) {
        let mut regrets = Regrets::default();
        for (name, n_rows, n_words, per_row) in
            [("text", 11_000, 130_000, 156), ("labels", 13_000, 500, 18), ("short texts", 50_000, 20_000, 12)]
        {
            let root = (n_words as f64).sqrt() as u32;
            for n_drawn in [root, n_words as u32 / 10] {
                ways(name, text(n_rows, n_words, per_row), n_drawn, &mut regrets)?;
            }
        }
        regrets.print("all");
    }
    if "carry".contains(&only) {
        let mut regrets = Regrets::default();
        let mut random = Random(2);
        let x = Array2::from_shape_fn((20_000, 30), |_| random.uniform() as f32);
        let y = x.map_axis(Axis(1), |row| u32::from(row[0] + row[1] * row[2] + 0.3 * row[3] > 0.9));
        let y = y.insert_axis(Axis(1));
        let classes = Targets::Classes { codes: y.view(), n_classes: vec![2] };
        carried("dense, 20 000 × 30", &x.view().into(), &classes, Splitter::Best, &mut regrets)?;
        for (name, n_rows, n_words, per_row) in [("text", 3000, 30_000, 100), ("labels", 13_000, 500, 18)] {
            let x = text(n_rows, n_words, per_row);
            let y = Array2::from_shape_fn((n_rows, 1), |(i, _)| {
                let (words, _) = x.slice(i);
                words.iter().filter(|&&w| w % 3 == 0).count() as u32 * 10 / (words.len() as u32 + 1)
            });
            let x = Matrix::Csr(x);
            let classes = Targets::Classes { codes: y.view(), n_classes: vec![11] };
            carried(&format!("{name}, best cuts"), &x, &classes, Splitter::Best, &mut regrets)?;
            carried(&format!("{name}, random cuts"), &x, &classes, Splitter::Random, &mut regrets)?;
        }
        regrets.print("all");
    }
    Ok(())
}
