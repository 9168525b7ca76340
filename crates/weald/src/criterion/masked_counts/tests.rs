use ndarray::Array2;

use super::*;
use crate::data::train_y::TrainY;
use crate::data::{CellWeights, Dataset, LabelView};
use crate::rng::{Key, Stream};

/// Returns the bits of what is found in some nodes for some moves of samples, and checks the bounds on scores.
fn found<S: SlotTerm>(y: &MaskedSlots<'_>, weights: &[u32], seed: u64) -> Vec<u64> {
    let mut counts = MaskedCounts::<u32, S>::new(y, weights, &Workers::One).unwrap();
    let mut stream = Stream::new(Key::from_seed(seed));
    let mut all = Vec::new();
    let n = weights.len() as u32;
    let root: Vec<u32> = (0..n).filter(|&row| weights[row as usize] > 0).collect();
    for size in [root.len(), root.len() / 2, 40, 7, 3, root.len() / 3] {
        let start = stream.below((root.len() - size + 1) as u64) as usize;
        let rows = &root[start..][..size];
        let stats = counts.enter(rows).unwrap();
        all.extend([stats.impurity.to_bits(), u64::from(stats.pure), counts.base.to_bits()]);
        let node = sums(|visit| counts.node_sums(visit));
        let width = counts.n_slots();
        let present: Vec<u32> = node.iter().map(|sum| sum.0).filter(|&number| number < width).collect();
        let weights_of = |sums: &[(u32, f64)]| {
            let of = |number: u32| sums.iter().find(|sum| sum.0 == number).map_or(0.0, |sum| sum.1);
            let of_label = |&label: &u32| [of(label), of(width + label) + of(2 * width)].map(f64::to_bits);
            present.iter().flat_map(of_label).collect::<Vec<u64>>()
        };
        all.extend(weights_of(&node));
        let most = weights.iter().copied().fold(0, u32::max);
        for n_moved in [1, 2, 3, 5, 6, size / 3, size / 2, size - 1] {
            let moved_rows: Vec<u32> =
                rows.iter().copied().skip(stream.below(3) as usize).take(n_moved.min(size - 1)).collect();
            let mut moved = counts.reset();
            let (one_by_one, run) = moved_rows.split_at(stream.below(3).min(moved_rows.len() as u64) as usize);
            one_by_one.iter().for_each(|&row| counts.move_sample(&mut moved, row));
            counts.move_run(&mut moved, run, |row| row);
            let score = counts.score(&moved);
            all.extend([score, counts.decrease(score), counts.moved_weight(&moved)].map(f64::to_bits));
            all.extend(weights_of(&sums(|visit| counts.moved_sums(&moved, visit))));
            assert!(!counts.is_below(&moved, score) && counts.score_from(&moved, score) == Some(score));
            assert_eq!(counts.score_from(&moved, score.next_up()), None);
            assert!(score <= counts.perfect_score());
            let least = counts.least_moved_weight(score);
            assert!(least <= counts.moved_weight(&moved), "{least} of {moved_rows:?} in {size}");
            // The weight of a side is bounded by that of the other side, too.
            assert!(least <= f64::from(most) * size as f64);
            // The same sums, moved together.
            let visited = sums(|visit| counts.moved_sums(&moved, visit));
            let weight = counts.moved_weight(&moved);
            let mut again = counts.reset();
            counts.move_side(&mut again, weight, &visited);
            assert_eq!(counts.score(&again).to_bits(), score.to_bits());
        }
    }
    all
}

/// Returns the sums that are not zero, in the order of their numbers.
fn sums(visit: impl FnOnce(&mut dyn FnMut(u32, f64)) -> f64) -> Vec<(u32, f64)> {
    let mut sums = Vec::new();
    visit(&mut |number, sum| sums.push((number, sum)));
    sums.retain(|sum| sum.1 != 0.0);
    sums.sort_unstable_by_key(|sum| sum.0);
    sums
}

#[test]
fn bits_and_lists_of_known_cells_give_the_same_scores_and_no_bound_is_above_a_score() {
    for seed in 0..24 {
        let mut stream = Stream::new(Key::from_seed(seed));
        let (n, q) = (600, [90, 128, 100, 300][seed as usize % 4]);
        let unknown_of_ten = [1, 3, 6, 9][seed as usize / 4 % 4];
        let mask = Array2::from_shape_fn((n, q), |_| stream.below(10) < unknown_of_ten);
        let most_weight = [2, 9, 40][seed as usize % 3];
        let weights: Vec<u32> = (0..n).map(|_| stream.below(most_weight) as u32).collect();
        let of_ten = 1 + stream.below(3);
        // A few labels are frequent, so that small nodes lack most of the others.
        let is_on = |stream: &mut Stream, label: usize| match label % 7 {
            0 => stream.below(10) < of_ten,
            _ => stream.below(100) == 0,
        };
        let on: Vec<Vec<u32>> =
            (0..n).map(|_| (0..q as u32).filter(|&label| is_on(&mut stream, label as usize)).collect()).collect();
        let ptr: Vec<usize> = (0..=n).map(|end| on[..end].iter().map(Vec::len).sum()).collect();
        let labels = LabelView::try_new(ptr, on.concat(), q).unwrap();
        let x = Array2::<f32>::zeros((n, 1));
        let sample_weight: Vec<f64> = weights.iter().map(|&w| f64::from(w)).collect();
        let data = Dataset::new(&x, labels).sample_weight(&sample_weight[..]).y_weight(CellWeights::from(&mask));
        let observed = data.observed().unwrap().unwrap();
        let data = data.with_observed(Some(&observed));
        let TrainY::MaskedSlots(with_bits) = data.train_y(None).unwrap() else { panic!("masked") };
        let TrainY::MaskedSlots(y) = data.train_y(None).unwrap() else { panic!("masked") };
        assert!(with_bits.bits().is_some());
        let with_lists = y.without_bits();
        // Samples without a known cell weigh nothing.
        let weights: Vec<u32> =
            (0..n).map(|row| if with_bits.known().n_known(row as u32) == 0 { 0 } else { weights[row] }).collect();
        assert_eq!(
            found::<GiniOfLabels>(&with_bits, &weights, seed),
            found::<GiniOfLabels>(&with_lists, &weights, seed)
        );
        assert_eq!(
            found::<EntropyOfLabels>(&with_bits, &weights, seed),
            found::<EntropyOfLabels>(&with_lists, &weights, seed)
        );
    }
}

#[test]
fn entropies_of_two_sides_are_those_of_each_and_near_the_definition() {
    fn check<S: SlotTerm>(definition: impl Fn(f64, f64) -> f64) {
        let sides = [[0.0, 1.0], [1.0, 1.0], [1.0, 3.0], [3.0, 7.0], [5e5, 1e6], [0.0, 9e9], [9e9, 9e9], [1.0, 9e15]];
        for (a, b) in sides.iter().flat_map(|a| sides.iter().map(move |b| (a, b))) {
            let found = S::terms([a[0], b[0]], [a[1], b[1]]);
            assert_eq!(found.to_bits(), (S::term(a[0], a[1]) + S::term(b[0], b[1])).to_bits(), "{a:?} {b:?}");
            let expected = definition(a[0], a[1]) + definition(b[0], b[1]);
            // The roundings of logarithms, products and sums; all terms have one sign.
            assert!((found - expected).abs() <= 1e-15 * expected.abs(), "{a:?} {b:?}");
        }
    }
    let of_share = |x: f64, whole: f64| if x > 0.0 { x * (x / whole).log2() } else { 0.0 };
    check::<EntropyOfClasses>(of_share);
    check::<EntropyOfLabels>(|count, weight| of_share(count, weight) + of_share(weight - count, weight));
}
