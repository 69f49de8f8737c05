//! The comparison as Markdown, for a forum or an issue.

use super::{Against, GroupComparison, SideWords};
use crate::markdown::escape;

/// The comparison in the Markdown dialect of GitHub and most forums.
pub fn markdown(comparison: &GroupComparison) -> String {
    let mut text = "### ssdyno compare\n\n".to_string();
    for side in &comparison.sides {
        text += &format!("- **{}** {}\n", side.letter, escape(&side.heading));
    }
    for against in &comparison.against {
        text += &format!("\n**{}**\n\n{}", escape(&against.sentence), table(against));
        if against.left_out > 0 {
            text += &format!("- {} more without a claim\n", against.left_out);
        }
        for line in against.warnings.iter().chain(&against.notes) {
            text += &format!("- {}\n", escape(line));
        }
    }
    text + &format!("- {}\n", escape(&comparison.caveat))
}

fn table(against: &Against) -> String {
    if against.rows.is_empty() {
        return String::new();
    }
    let letter = against.letter;
    let mut text =
        format!("| | A | {letter} | ratio | interval | claim |\n|---|--:|--:|--:|---|---|\n");
    for row in &against.rows {
        let SideWords { ratio, claim } = &row.lettered;
        let cells = [&row.name, &row.a, &row.b, ratio, &row.interval_words, claim];
        let cells = cells.map(|cell| escape(cell));
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text + "\n"
}
