//! A forest plot as text: the interval of each ratio on one logarithmic axis, with 1 in the middle.

use crate::style::Style;

/// Columns of a bar; odd, so that 1 is at the centre of a column.
pub const COLUMNS: usize = 21;

/// The factor at the ends of an axis that covers all of these, at least 1.1 and at most 10.
pub fn reach(ends: impl IntoIterator<Item = f64>) -> f64 {
    let distances = ends.into_iter().filter(|v| v.is_finite() && *v > 0.0).map(|v| v.max(1.0 / v));
    distances.fold(1.1, f64::max).min(10.0)
}

/// A ratio with its interval on an axis from `1 / reach` to `reach`. A line that extends beyond the
/// axis ends in an arrow.
pub fn bar(ratio: f64, interval: Option<[f64; 2]>, reach: f64, style: &Style) -> String {
    let half = (COLUMNS / 2) as f64;
    let place =
        |value: f64| libm::log(value.max(f64::MIN_POSITIVE)) / libm::log(reach) * half + half;
    let column = |value: f64| place(value).round().clamp(0.0, (COLUMNS - 1) as f64) as usize;
    let mut cells = vec![' '; COLUMNS];
    cells[COLUMNS / 2] = pick(style, '│', '|');
    if let Some([low, high]) = interval {
        cells[column(low)..=column(high)].fill(pick(style, '─', '-'));
        if (column(low)..=column(high)).contains(&(COLUMNS / 2)) {
            cells[COLUMNS / 2] = pick(style, '┼', '+');
        }
        if place(low) < -0.5 {
            cells[0] = pick(style, '◄', '<');
        }
        if place(high) > COLUMNS as f64 - 0.5 {
            cells[COLUMNS - 1] = pick(style, '►', '>');
        }
    }
    cells[column(ratio)] = pick(style, '●', 'o');
    cells.into_iter().collect()
}

fn pick(style: &Style, unicode: char, ascii: char) -> char {
    if style.unicode { unicode } else { ascii }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(ratio: f64, interval: Option<[f64; 2]>) -> String {
        bar(ratio, interval, 10.0, &Style::PLAIN)
    }

    #[test]
    fn one_is_in_the_middle_and_ten_at_the_end() {
        assert_eq!(plain(1.0, None), "          o          ");
        assert_eq!(plain(10.0, Some([1.0, 10.0])), "          +---------o");
        assert_eq!(plain(0.1, Some([0.01, 1.0])), "o---------+          ");
        assert_eq!(plain(1.0, Some([0.01, 100.0])), "<---------o--------->");
        assert_eq!(plain(f64::INFINITY, None), "          |         o");
    }

    #[test]
    fn an_axis_shows_every_end_up_to_a_factor_of_ten() {
        assert_eq!(reach([1.01, 0.99]), 1.1);
        assert_eq!(reach([0.5, 1.2]), 2.0);
        assert_eq!(reach([1e9, f64::NAN]), 10.0);
    }
}
