//! Rows of the logistic loss: nanoseconds for each cell, computed cell by cell, in narrow registers, and in the widest
//! registers of the machine.
//!
//! `cargo bench -p weald-benches --bench losses`

#![allow(clippy::print_stdout)]

use weald::bench::nanoseconds_of_rows;

fn main() {
    println!("{:>6}  {:>9} {:>22} {:>22} {:>22}", "width", "", "cell by cell", "narrow", "widest");
    for width in [1, 6, 20, 100, 983, 4000] {
        let (times, adding) = nanoseconds_of_rows(width, 1_000_000 / width, 7);
        let gradients = times.map(|t| format!("{:22.2}", t.gradients)).join(" ");
        let losses = times.map(|t| format!("{:22.2}", t.loss)).join(" ");
        println!("{width:>6}  gradients {gradients}\n{:>6}  loss      {losses}", "");
        println!("{:>6}  adding rounded rows {adding:.2}", "");
    }
}
