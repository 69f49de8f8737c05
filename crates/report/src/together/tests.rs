//! Both tables at several widths, with names of others.

use super::*;
use crate::style::Style;

fn set() -> SetTable {
    let figure = |name: &str, low: &str, high: &str| QuantityRow {
        name: name.into(),
        lowest: low.into(),
        highest: high.into(),
        sums: Some(["12.4 GB/s".into(), "6.2 GB/s".into()]),
        share: Some(0.5),
        loss: "HOST CEILING".into(),
    };
    let drive = |name: &str, deviation: f64, stands_out| DeviationRow {
        name: name.into(),
        runs: "3, 7".into(),
        deviations: vec![Some(deviation), None],
        stands_out: vec![stands_out, false],
    };
    SetTable {
        sentence: "HOST CEILING: together.".into(),
        is_limited: true,
        method: "quick".into(),
        quantities: vec![
            figure("sequential reads", "3.00 GB/s", "3.10 GB/s"),
            figure("random | reads", "900 MB/s", "1.00 GB/s"),
        ],
        drives: vec![drive("/dev/sdb  X1", -0.102, true), drive("/dev/sdc  <b>", 0.0004, false)],
        caveat: "a caveat".into(),
    }
}

#[test]
fn the_terminal_has_every_name_and_number_at_60_and_100_columns() {
    for width in [60, 100] {
        let text = text(&set(), &Style { width, ..Style::PLAIN });
        for word in ["HOST CEILING", "12.4 GB/s", "50%", "-10.2*", "0.0", "unknown", "/dev/sdb  X1"]
        {
            assert!(text.contains(word), "{word} at {width}:\n{text}");
        }
        assert_eq!(text.contains("3.00 to 3.10 GB/s"), width == 100, "{text}");
        assert!(!text.contains("+0.0"), "{text}");
    }
}

#[test]
fn page_and_markdown_keep_hostile_names_as_text() {
    let page = html(&set(), "0.1.0");
    assert!(page.contains("&lt;b&gt;") && !page.contains("<b>"), "{page}");
    assert!(page.contains("900 MB/s to 1.00 GB/s") && page.contains("stands out"));
    let text = markdown(&set());
    assert!(text.contains("random \\| reads") && text.contains("-10.2\\*"), "{text}");
}
