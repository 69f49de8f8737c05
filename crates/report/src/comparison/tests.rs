//! Every form of a comparison has the conclusion before its details; charts have correct axes.

use record::{Run, Series, Target, TargetKind, Unit};

use super::*;
use crate::style::Style;

fn words(side: &str) -> SideWords {
    SideWords { ratio: format!("{side} 1.31 times"), claim: format!("{side} faster") }
}

fn comparison() -> GroupComparison {
    let row = |name: &str, ratio: f64, interval, certain| ComparedRow {
        name: name.into(),
        a: "100 MB/s".into(),
        b: "131 MB/s".into(),
        ratio: Some(ratio),
        is_rate: true,
        interval,
        named: words("new drive"),
        lettered: words("B"),
        interval_words: "1.24 to 1.38 times".into(),
        certain,
    };
    let rows = vec![
        row("sequential write", 1.31, Some([1.24, 1.38]), true),
        row("4K read <q1>", 1.0, Some([0.9, 1.1]), false),
    ];
    let side = |letter: char, heading: &str| ComparedSide {
        letter,
        name: letter.to_string(),
        heading: heading.into(),
    };
    let against = Against {
        letter: 'B',
        names: ["old drive", "new drive"].map(String::from),
        sentence: "B is 1.31 times as fast at sequential writes (1.24 to 1.38).".into(),
        rows,
        left_out: 3,
        warnings: vec!["kernel: 6.1 | 6.8".into()],
        notes: vec!["known for only one of them: firmware".into()],
    };
    GroupComparison {
        sides: vec![side('A', "run 1   quick   old"), side('B', "run 2   quick   new")],
        against: vec![against],
        caveat: "not in turns".into(),
        curves: Vec::new(),
    }
}

#[test]
fn every_form_starts_with_the_conclusion_and_has_every_row() {
    let view = comparison();
    let forms = [text(&view, &Style::PLAIN), markdown(&view), html(&view, "0")];
    for form in &forms {
        let conclusion = form.find("B is 1.31 times").expect("the conclusion");
        for later in ["sequential write", "kernel: 6.1", "known for only one", "not in turns"] {
            let at = form.rfind(later).unwrap_or_else(|| panic!("{later}: {form}"));
            assert!(at > conclusion, "{later}: {form}");
        }
    }
    assert!(forms.iter().all(|form| form.contains("3 more without a claim")), "{}", forms[1]);
    let sides = ["B 1.31 times", "B 1.31 times", "new drive 1.31 times"];
    assert!(forms.iter().zip(sides).all(|(form, side)| form.contains(side)), "{}", forms[1]);
    assert!(forms[1].contains("&lt;q1>") && forms[2].contains("&lt;q1&gt;"), "{}", forms[1]);
}

#[test]
fn a_narrow_screen_loses_the_plot_and_the_interval_but_never_a_name() {
    let mut view = comparison();
    let name = "sequential 1 MiB writes (just written) at depth 32 from 4 jobs";
    view.against[0].rows[0].name = name.into();
    for width in [60, 80, 100, 160] {
        let style = Style { width, unicode: true, ..Style::PLAIN };
        let text = text(&view, &style);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(name) && words.contains("4K read <q1>"), "{width}: {text}");
        assert!(!text.contains('…'), "{width}: {text}");
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(width), "{width}: {text}");
        assert_eq!(text.contains('●'), width == 160, "{width}: {text}");
        assert!(text.contains("100 MB/s") && text.contains("faster"), "{width}: {text}");
    }
}

#[test]
fn the_axis_of_the_page_is_centred_on_one() {
    let page = html(&comparison(), "0");
    assert!(page.contains("left:50.00%"), "the ratio of 1");
    assert!(
        page.contains("old drive 1.38 times") && page.contains("new drive 1.38 times"),
        "the ends of the axis"
    );
    assert!(!page.contains("<script"));
}

fn run(series: &[(&str, &[(u64, f64)])]) -> Run {
    let target = Target { spec: "sim:a".into(), kind: TargetKind::Virtual, ..Target::default() };
    let mut run = Run::new("sustain", target);
    for (name, points) in series {
        let mut one = Series::new(*name, 0, 0);
        for (t_ns, rate) in *points {
            one.push(*t_ns, &[("write", Unit::BytesPerSecond, Some(*rate))]);
        }
        run.series.push(one);
    }
    run
}

#[test]
fn rates_of_the_longest_common_workload_are_plotted_over_the_bytes_written() {
    let steady = |rate: f64, n: u64| (1..=n).map(|i| (i * 1_000_000_000, rate)).collect::<Vec<_>>();
    let (fast, slow, short) = (steady(200.0, 40), steady(100.0, 40), steady(500.0, 20));
    let a = run(&[("fresh", &fast), ("short", &short), ("alone", &fast)]);
    let b = run(&[("fresh", &slow), ("short", &short)]);
    let curves = overlay(&[('A', &a), ('B', &b)]);
    assert_eq!(
        curves.iter().map(|c| (c.letter, c.workload.as_str())).collect::<Vec<_>>(),
        [('A', "short"), ('B', "short")]
    );
    let curves = overlay(&[('A', &run(&[("fresh", &fast)])), ('B', &b)]);
    assert_eq!(curves[0].points.last(), Some(&[8000.0, 200.0]));
    assert_eq!(curves[1].points.last(), Some(&[4000.0, 100.0]));
    let mut page = comparison();
    page.curves = curves;
    assert!(html(&page, "0").contains("Write rate while the drive fills (fresh)"));
    assert_eq!(overlay(&[('A', &run(&[])), ('B', &b)]), []);
    let letters = |curves: &[Curve]| curves.iter().map(|c| c.letter).collect::<String>();
    let kept = overlay(&[('A', &a), ('B', &run(&[])), ('C', &b)]);
    assert_eq!(letters(&kept), "AC", "a side without the workload has no curve");
    let (fresh, full) = (steady(200.0, 30), steady(100.0, 90));
    let sustain = run(&[("sustain-full", &full), ("sustain-fresh", &fresh)]);
    let kept = overlay(&[('A', &sustain), ('B', &sustain)]);
    assert_eq!(kept[0].workload, "sustain-fresh", "the end of the cache is there");
}
