//! The rows that each tree draws, as a function of the seed and the tree's index.

use crate::config::Sampling;
use crate::rng::{Key, Stream};

/// Purpose of the stream that draws rows.
const SAMPLING: u64 = u64::from_be_bytes(*b"sampling");

/// Key of tree `index` of a forest: everything random about the tree is derived from it.
pub(crate) fn tree_key(seed: u64, index: usize) -> Key {
    Key::from_seed(seed).child(index as u64)
}

/// How often the tree draws each of `n_samples` rows; `None` when it takes all as they are.
///
/// Draws are among `rows`, those of positive weight in rising order: a row of weight zero changes them no more than a
/// row that is not there. The caller has proven that `WithoutReplacement(m)` asks for at most `rows.len()`.
pub(crate) fn draw(sampling: Sampling, rows: &[u32], n_samples: usize, tree: Key) -> Option<Vec<u32>> {
    let mut stream = Stream::new(tree.child(SAMPLING));
    let mut counts = match sampling {
        Sampling::All => return None,
        _ => vec![0; n_samples],
    };
    match sampling {
        Sampling::Bootstrap(draws) if !rows.is_empty() => {
            for _ in 0..draws.unwrap_or(rows.len()) {
                counts[rows[stream.below(rows.len() as u64) as usize] as usize] += 1;
            }
        }
        Sampling::WithoutReplacement(m) => {
            debug_assert!(m <= rows.len());
            // Floyd's algorithm: after each turn, the rows drawn are a uniform subset of rows[..=last].
            for last in rows.len() - m..rows.len() {
                let drawn = rows[stream.below(last as u64 + 1) as usize] as usize;
                let drawn = if counts[drawn] == 0 { drawn } else { rows[last] as usize };
                counts[drawn] = 1;
            }
        }
        _ => {}
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Greatest plausible χ²: mean plus six standard deviations.
    fn chi_square_bound(degrees: f64) -> f64 {
        degrees + 6.0 * (2.0 * degrees).sqrt()
    }

    #[test]
    fn all_rows_need_no_draw() {
        assert_eq!(draw(Sampling::All, &[0, 1], 2, tree_key(0, 0)), None);
    }

    #[test]
    fn draws_add_up_and_touch_only_the_given_rows() {
        let rows: Vec<u32> = (0..200).filter(|i| i % 3 != 0).collect();
        for i in 0..50 {
            let sum = |sampling| {
                let counts = draw(sampling, &rows, 200, tree_key(7, i)).unwrap();
                assert!(counts.iter().step_by(3).all(|&c| c == 0));
                (counts.iter().sum::<u32>() as usize, counts.into_iter().max().unwrap())
            };
            assert_eq!(sum(Sampling::Bootstrap(None)).0, rows.len());
            assert_eq!(sum(Sampling::Bootstrap(Some(500))).0, 500);
            for m in [1, 17, rows.len()] {
                assert_eq!(sum(Sampling::WithoutReplacement(m)), (m, 1));
            }
        }
    }

    #[test]
    fn rows_of_no_weight_are_as_if_removed() {
        let rows: Vec<u32> = (0..100).filter(|i| i % 4 != 1).collect();
        let renumbered: Vec<u32> = (0..rows.len() as u32).collect();
        for sampling in [Sampling::Bootstrap(None), Sampling::Bootstrap(Some(9)), Sampling::WithoutReplacement(40)] {
            let with = draw(sampling, &rows, 100, tree_key(3, 5)).unwrap();
            let without = draw(sampling, &renumbered, rows.len(), tree_key(3, 5)).unwrap();
            assert_eq!(rows.iter().map(|&i| with[i as usize]).collect::<Vec<_>>(), without);
        }
    }

    #[test]
    fn rows_are_drawn_uniformly() {
        let rows: Vec<u32> = (0..40).collect();
        for (sampling, draws, variance) in [
            (Sampling::Bootstrap(None), 40.0, 1.0 - 1.0 / 40.0),
            (Sampling::Bootstrap(Some(7)), 7.0, 1.0 - 1.0 / 40.0),
            (Sampling::WithoutReplacement(10), 10.0, 1.0 - 10.0 / 40.0),
        ] {
            let n_trees = 4000;
            let mut counts = [0.0; 40];
            for i in 0..n_trees {
                let drawn = draw(sampling, &rows, 40, tree_key(11, i)).unwrap();
                counts.iter_mut().zip(drawn).for_each(|(sum, c)| *sum += f64::from(c));
            }
            let mean = draws * n_trees as f64 / 40.0;
            let chi_square: f64 = counts.iter().map(|c| (c - mean).powi(2) / (mean * variance)).sum();
            assert!(chi_square < chi_square_bound(40.0), "{sampling:?}: {chi_square}");
        }
    }

    #[test]
    fn trees_and_seeds_draw_differently() {
        let rows: Vec<u32> = (0..50).collect();
        let drawn = |seed, i| draw(Sampling::Bootstrap(None), &rows, 50, tree_key(seed, i)).unwrap();
        assert_eq!(drawn(1, 2), drawn(1, 2));
        assert_ne!(drawn(1, 2), drawn(1, 3));
        assert_ne!(drawn(1, 2), drawn(2, 2));
    }
}
