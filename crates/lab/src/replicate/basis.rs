//! The basis of a replicated figure: fitted, stated or predicted.
//!
//! The presets record for every parameter whether it is published, fitted or guessed, and from
//! which figure. A figure cited by a fitted parameter must be reproduced, which shows only that the
//! model is able to; so must a rate of a filled drive whose parameter was fitted to another figure
//! of that rate. A figure cited by a published parameter is an input. The model predicts
//! everything else, from parameters some of which are guesses.

use model::FigureLine;

use super::document::{Basis, PublishedFigure};
use super::time_series::Reading;
use crate::virtual_drive;

/// The basis of a figure on the virtual drive `sim:NAME?...`.
pub(super) fn basis(figure: &PublishedFigure, target: &str) -> Basis {
    if let Some(basis) = figure.basis {
        return basis;
    }
    let Ok(spec) = virtual_drive::named(target) else { return Basis::Predicted };
    let lines = spec.figures();
    let cited = |from: &str| lines.iter().filter(|l| l.from == from).any(|l| cites(l, figure));
    let mut fitted = lines.iter().filter(|line| line.from == "fitted");
    let is_fitted = fitted.any(|line| determining(&figure.read).contains(&&*line.key));
    match (cited("fitted") || is_fitted, cited("published")) {
        (true, _) => Basis::Fitted,
        (false, true) => Basis::Stated,
        (false, false) => Basis::Predicted,
    }
}

/// The parameters that determine a rate of a drive while it is filled.
fn determining(read: &Reading) -> &'static [&'static str] {
    match read {
        Reading::Metric(name) => match name.as_str() {
            "sustain-fresh.inside" => &["nand.slc_program_us"],
            "sustain-fresh.average" | "sustain-fresh.worst-1%" => &["nand.program_us", "slc.drain"],
            _ => &[],
        },
        _ => &[],
    }
}

/// Relative tolerance for a cited number to be the figure: both are rounded.
const SAME: f64 = 0.005;

/// Whether the source of a parameter cites a figure: by its path in `published/figures` or, if it
/// contains no path, by its value and unit.
fn cites(line: &FigureLine, figure: &PublishedFigure) -> bool {
    let words = line.source.split([' ', ',', ';', ':']);
    let paths: Vec<&str> = words.filter(|word| is_path(word)).collect();
    if !paths.is_empty() {
        return figure.of.as_deref().is_some_and(|of| paths.contains(&of));
    }
    let (unit, scale) = figure.unit.name_and_scale();
    let words: Vec<&str> = line.source.split_whitespace().collect();
    let published_max = figure.to.unwrap_or(figure.published);
    words.windows(2).any(|pair| {
        let [amount, cited_unit] = pair else { return false };
        let cited_unit = cited_unit.trim_end_matches([',', ';', ':', ')']);
        let factor = match (cited_unit, unit) {
            _ if cited_unit == unit => 1.0,
            ("GB/s", "MB/s" | "KiB/s" | "kB/s") => 1e9 / scale,
            ("MB/s", "GB/s" | "KiB/s" | "kB/s") => 1e6 / scale,
            _ => return false,
        };
        let (low, top) = amount.split_once('-').unwrap_or((amount, amount));
        let ends = low.parse::<f64>().ok().zip(top.parse::<f64>().ok());
        ends.is_some_and(|(low, top)| {
            let (low, top) = (low * factor, top * factor);
            low <= published_max * (1.0 + SAME) && top >= figure.published * (1.0 - SAME)
        })
    })
}

/// Whether a word is a path in `published/figures`, such as `004/usd-sandisk-4g-class2/read`,
/// rather than a web address.
fn is_path(word: &str) -> bool {
    let document = word.split_once('/').filter(|(_, row)| row.contains('/'));
    document.is_some_and(|(name, _)| name.len() == 3 && name.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::super::document;
    use super::*;

    fn counts(name: &str) -> Vec<(Basis, usize)> {
        let document = document::document(name).expect("there");
        let of = |figure: &PublishedFigure| {
            let found = document.experiments.iter().find(|e| e.id == figure.experiment);
            super::basis(figure, &found.expect("its experiment").target())
        };
        let all: Vec<Basis> = document.figures.iter().map(of).collect();
        let count = |basis| (basis, all.iter().filter(|b| **b == basis).count());
        Basis::ALL.map(count).to_vec()
    }

    #[test]
    fn a_path_in_a_source_cites_only_that_figure() {
        let document = document::document("000").expect("there");
        let of = |path: &str| document.figures.iter().find(|f| f.of.as_deref() == Some(path));
        let line = |source: &str| FigureLine {
            key: "k".into(),
            value: "1".into(),
            from: "fitted".into(),
            source: source.into(),
        };
        let fitted = of("000/first-sabrent-512-mini-b/fs-read").expect("1705 KiB/s");
        let predicted = of("000/bx100-120/fs-read").expect("1703 KiB/s");
        let source = line("000/first-sabrent-512-mini-b/fs-read, 1705 KiB/s");
        assert!(cites(&source, fitted) && !cites(&source, predicted));
    }

    #[test]
    fn a_web_address_in_a_source_is_not_a_path() {
        assert!(is_path("004/usd-sandisk-4g-class2/read"));
        assert!(!is_path("example.org/news/185692") && !is_path("400/600") && !is_path("MB/s"));
        // The sources of the P2's parameters contain a value and a web address.
        let document = document::document("fills").expect("there");
        let of = |figure: &&PublishedFigure| figure.experiment == "crucial-p2-500-qlc";
        let figures: Vec<&PublishedFigure> = document.figures.iter().filter(of).collect();
        let target = "sim:crucial-p2-500-qlc";
        let fitted = figures.iter().filter(|f| super::basis(f, target) == Basis::Fitted).count();
        assert!(fitted > 0, "{fitted} of {}", figures.len());
    }

    #[test]
    fn one_row_of_000_was_fitted_and_others_are_predicted() {
        let [(_, predicted), (_, fitted), _] = counts("000")[..] else { panic!("three") };
        assert!(predicted > 2 * fitted, "{predicted} {fitted}");
    }

    #[test]
    fn in_003_the_drive_was_fitted_to_some_figures_and_predicts_others() {
        let [(_, predicted), (_, fitted), _] = counts("003")[..] else { panic!("three") };
        assert!(predicted > 0 && fitted > 0, "{predicted} {fitted}");
    }

    #[test]
    fn a_source_cites_a_number_in_its_unit() {
        let document = document::document("004").expect("there");
        let row =
            |i: usize| ["004/usd-sandisk-4g-class2/read", "004/usd-sandisk-4g-class2/write"][i];
        let of = |i: usize| document.figures.iter().find(|f| f.of.as_deref() == Some(row(i)));
        let figure = |i: usize| of(i).expect("its row");
        let line = |source: &str| FigureLine {
            key: "k".into(),
            value: "1".into(),
            from: "fitted".into(),
            source: source.into(),
        };
        // Printed as 20, and as 6-7.
        assert!(cites(&line("document 004: 20 MB/s read"), figure(0)));
        assert!(!cites(&line("document 004: 21 MB/s read"), figure(0)));
        assert!(!cites(&line("document 004: 20 s"), figure(0)));
        assert!(cites(&line("0.0065 GB/s (somewhere)"), figure(1)));
        assert!(!cites(&line("8-9 MB/s"), figure(1)));
    }
}
