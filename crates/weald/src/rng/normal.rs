//! Normal random numbers by the ziggurat (Marsaglia and Tsang 2000), in the form of Doornik (2005, "An improved ziggurat
//! method to generate normal random samples"), with the bits of a draw taken as by the crate `rand_distr`, whose own
//! draws depend on the system's exponentials and logarithms.

use std::sync::LazyLock;

use super::Stream;
use crate::elementary::{exp, ln};

/// The number of layers.
const LAYERS: usize = 256;
/// Where the tail begins.
const TAIL: f64 = 3.654_152_885_361_009;
/// The area of a layer, and that of the lowest with the tail: R e^(−R²/2) and the integral of e^(−x²/2) from R on.
const AREA: f64 = 4.928_673_233_974_655e-3;

/// The widths of the layers, from the lowest to the highest, and e^(−x²/2) of these.
struct Ziggurat {
    x: [f64; LAYERS + 1],
    f: [f64; LAYERS + 1],
}

static ZIGGURAT: LazyLock<Ziggurat> = LazyLock::new(|| {
    let mut x = [0.0; LAYERS + 1];
    x[LAYERS - 1] = wider(0.2, 1.0);
    for layer in (1..LAYERS - 1).rev() {
        x[layer] = wider(x[layer + 1], density(x[layer + 1]));
    }
    // As wide as a rectangle with the area of the lowest layer and its tail.
    x[0] = AREA / density(TAIL);
    Ziggurat { x, f: x.map(density) }
});

/// Returns the width of the layer whose upper edge is at `above`, by Newton's method from a narrower one: its height and
/// the density at its end add up to `above`.
fn wider(narrower: f64, above: f64) -> f64 {
    let newton = |x: f64| x + (AREA / x + density(x) - above) / (AREA / (x * x) + x * density(x));
    // Each step doubles the number of correct digits.
    (0..16).fold(narrower, |x, _| newton(x))
}

fn density(x: f64) -> f64 {
    exp(-x * x / 2.0)
}

impl Stream {
    /// Returns a standard normal number.
    pub(crate) fn normal(&mut self) -> f64 {
        let Ziggurat { x: widths, f } = &*ZIGGURAT;
        loop {
            let bits = self.next_u64();
            let layer = (bits & 0xff) as usize;
            // Uniform in [−1, 1), from other bits than the layer.
            let u = (bits >> 12) as f64 * (1.0 / (1u64 << 51) as f64) - 1.0;
            let x = u * widths[layer];
            if x.abs() < widths[layer + 1] {
                return x;
            }
            if layer == 0 {
                return self.tail().copysign(u);
            }
            if f[layer + 1] + (f[layer] - f[layer + 1]) * self.uniform() < density(x) {
                return x;
            }
        }
    }

    /// Returns a number that is uniform in [0, 1).
    fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns a number that is uniform in (0, 1).
    fn uniform_inside(&mut self) -> f64 {
        ((self.next_u64() >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
    }

    /// Returns a normal number above the beginning of the tail (Marsaglia 1964).
    fn tail(&mut self) -> f64 {
        loop {
            let x = -ln(self.uniform_inside()) / TAIL;
            let y = -ln(self.uniform_inside());
            if 2.0 * y >= x * x {
                return TAIL + x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Key;

    #[test]
    fn layers_have_the_same_area() {
        let Ziggurat { x, f } = &*ZIGGURAT;
        // The layer next to the tail begins where it should, from the other end: the tolerance is that of the area.
        assert!((x[1] - TAIL).abs() < 1e-12, "{}", x[1]);
        // As printed by `rand_distr`, whose area has 12 digits.
        assert!((x[2] - 3.449_278_298_560_964_3).abs() < 1e-11, "{}", x[2]);
        assert!((x[255] - 0.215_241_895_913_273_8).abs() < 1e-9, "{}", x[255]);
        for layer in 1..LAYERS {
            let area = x[layer] * (f[layer + 1] - f[layer]);
            // Differences of densities near 1 are rounded to 2⁻⁵³.
            assert!((area - AREA).abs() < 1e-15, "{layer} {area}");
        }
    }

    #[test]
    fn a_share_of_numbers_is_below_each_quantile() {
        let mut stream = Stream::new(Key::from_seed(11));
        let draws: Vec<f64> = (0..1_000_000).map(|_| stream.normal()).collect();
        // Quantiles of the normal distribution. The last are in the tail beyond all layers.
        for (quantile, p) in
            [(0.0, 0.5), (0.674_489_750_196_082, 0.75), (1.959_963_984_540_054, 0.975), (3.719_016_485_455_68, 0.9999)]
        {
            for (quantile, p) in [(quantile, p), (-quantile, 1.0 - p)] as [(f64, f64); 2] {
                let below = draws.iter().filter(|draw| **draw < quantile).count() as f64;
                let (expected, deviation) = (1e6 * p, (1e6 * p * (1.0 - p)).sqrt());
                // Five standard deviations of a binomial count.
                assert!((below - expected).abs() < 5.0 * deviation, "{quantile}: {below} for {expected}");
            }
        }
    }
}
