//! Sparklines: a time series as one line of block characters.

use crate::style::Style;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 8] = ['_', '.', ',', '-', '=', '+', '*', '#'];

/// The values, scaled from 0 to their maximum, in at most `columns` characters, each the median of
/// a group of values. An unknown value is a blank; without a positive value the line is empty.
pub fn sparkline(values: &[Option<f64>], columns: usize, style: &Style) -> String {
    let columns = columns.min(values.len());
    let medians: Vec<_> = (0..columns)
        .map(|i| median(&values[i * values.len() / columns..(i + 1) * values.len() / columns]))
        .collect();
    let max = medians.iter().flatten().copied().fold(0.0, f64::max);
    if max <= 0.0 {
        return String::new();
    }
    let blocks = if style.unicode { BLOCKS } else { ASCII };
    let blocks = medians.into_iter().map(|median| {
        median.map_or(' ', |value| blocks[((value / max * 8.0).ceil() as usize).clamp(1, 8) - 1])
    });
    blocks.collect()
}

fn median(values: &[Option<f64>]) -> Option<f64> {
    let mut numbers: Vec<f64> =
        values.iter().flatten().copied().filter(|v| v.is_finite()).collect();
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_start_at_zero_and_unknown_is_blank() {
        let style = Style { unicode: true, ..Style::PLAIN };
        let values = [Some(0.0), Some(1.0), None, Some(4.0), Some(8.0)];
        assert_eq!(sparkline(&values, 80, &style), "▁▁ ▄█");
        assert_eq!(sparkline(&values, 80, &Style::PLAIN), "__ -#");
    }

    #[test]
    fn many_values_become_medians() {
        let style = Style { unicode: true, ..Style::PLAIN };
        let values: Vec<_> = (0..1000).map(|i| Some(if i < 500 { 8.0 } else { 2.0 })).collect();
        assert_eq!(sparkline(&values, 4, &style), "██▂▂");
        assert_eq!(sparkline(&[], 4, &style), "");
        assert_eq!(sparkline(&[None, Some(0.0)], 4, &style), "");
    }
}
