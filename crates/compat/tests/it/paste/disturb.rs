//! What happens to a tool's output on its way into a mail, a ticket or a log.
//!
//! Every function returns the text as somebody may have it. They are drawn from a seed, so that a
//! failure can be repeated.

use serde_json::json;

/// A small generator of random numbers (xorshift64*).
pub struct Dice(u64);

impl Dice {
    /// Equal seeds give equal numbers.
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit.max(1)
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

/// A disturbance with its name.
pub type Disturbance = (&'static str, fn(&str, &mut Dice) -> String);

/// All disturbances that leave a result whole.
pub const DISTURBANCES: [Disturbance; 13] = [
    ("indentation", indentation),
    ("quote marks", quote_marks),
    ("time stamps", time_stamps),
    ("host prefixes", host_prefixes),
    ("progress lines", progress_lines),
    ("escape sequences", escape_sequences),
    ("no-break spaces", no_break_spaces),
    ("CRLF", |text, _| text.replace('\n', "\r\n")),
    ("prose", prose),
    ("JSON", json_around),
    ("a drawn prefix", drawn_prefix),
    ("table cells", table_cells),
    ("HTML", html),
];

fn each_line(text: &str, mut prefix: impl FnMut(usize) -> String) -> String {
    text.lines().enumerate().map(|(i, line)| format!("{}{line}\n", prefix(i))).collect()
}

fn indentation(text: &str, dice: &mut Dice) -> String {
    let indent = ["  ", "    ", "\t", "        ", "   "][dice.below(5)];
    // Editors leave blank lines without the indentation.
    let lines = text.lines().map(|line| match line {
        "" => "\n".to_string(),
        line => format!("{indent}{line}\n"),
    });
    lines.collect()
}

fn quote_marks(text: &str, dice: &mut Dice) -> String {
    let mark = dice.pick(&["> ", "> > ", ">> ", "# "]);
    let trims = dice.below(2) == 0;
    let quoted = each_line(text, |_| mark.to_string());
    if trims {
        quoted.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    } else {
        quoted
    }
}

fn time_stamps(text: &str, dice: &mut Dice) -> String {
    let kind = dice.below(6);
    each_line(text, |i| {
        let (minute, second) = (i / 60 % 60, i % 60);
        match kind {
            0 => format!("2025-01-06T00:{minute:02}:{second:02}.{:07}Z ", i * 7919 % 9_999_999),
            1 => format!("12:{minute:02} | "),
            2 => format!("[12:{minute:02}:{second:02}] "),
            3 => format!("2025-01-06 00:{minute:02}:{second:02},{:03} INFO ", i * 37 % 1000),
            4 => format!("[{:5}.{:06}] ", 10 + i, i * 7919 % 999_999),
            _ => format!("Mon Jan  6 00:{minute:02}:{second:02} 2025 "),
        }
    })
}

fn host_prefixes(text: &str, dice: &mut Dice) -> String {
    let kind = dice.below(6);
    each_line(text, |i| match kind {
        0 => "<node-1> ".to_string(),
        1 => "bench-1  | ".to_string(),
        2 => "node1: ".to_string(),
        3 => format!("Jan {:2} 00:{:02}:{:02} host fio[123]: ", 6 + i / 3600, i / 60 % 60, i % 60),
        4 => "10.0.0.12: ".to_string(),
        _ => format!("{:4}\t", i + 1),
    })
}

/// Progress lines end in a carriage return, before the first line and between others.
fn progress_lines(text: &str, dice: &mut Dice) -> String {
    let eta = "Jobs: 1 (f=1): [w(1)][50.0%][w=400KiB/s][w=100 IOPS][eta 00m:05s]\r";
    let start = dice.below(3);
    let mut lines = text.lines();
    let first: String = lines.by_ref().take(start).map(|line| format!("{line}\n")).collect();
    format!("{first}{}{}\n", eta.repeat(1 + dice.below(3)), lines.collect::<Vec<_>>().join("\n"))
}

fn escape_sequences(text: &str, dice: &mut Dice) -> String {
    let whole = dice.below(2) == 0;
    let lines = text.lines().map(|line| {
        if whole {
            return format!("\u{1b}[0;32m{line}\u{1b}[0m\u{1b}[K\n");
        }
        let words = line.split(' ').map(|word| {
            let is_marked = !word.is_empty() && dice.below(4) == 0;
            if is_marked { format!("\u{1b}[1m{word}\u{1b}(B\u{1b}[m") } else { word.to_string() }
        });
        words.collect::<Vec<_>>().join(" ") + "\n"
    });
    lines.collect()
}

fn no_break_spaces(text: &str, dice: &mut Dice) -> String {
    let space = ['\u{a0}', '\u{202f}'][dice.below(2)];
    let every = dice.below(2) == 0;
    let change = |c: char| if c == ' ' && (every || dice.below(3) == 0) { space } else { c };
    text.chars().map(change).collect()
}

/// A part of a drawn prefix: the same on every line, or a number that grows.
enum Piece {
    Text(String),
    Count { start: usize, step: usize, width: usize, is_aligned: bool },
}

impl Piece {
    fn draw(dice: &mut Dice) -> Piece {
        const LETTERS: &[u8] = b"abcXYZ~!@#$%^&*()-_=+[]|;:<>,./? ";
        if dice.below(3) == 0 {
            let step = [1, 1, 7, 97][dice.below(4)];
            let is_aligned = dice.below(2) == 0;
            return Piece::Count {
                start: dice.below(2000),
                step,
                width: dice.below(7),
                is_aligned,
            };
        }
        let length = 1 + dice.below(6);
        let letter = |_| char::from(LETTERS[dice.below(LETTERS.len())]);
        Piece::Text((0..length).map(letter).collect())
    }

    fn on_line(&self, i: usize) -> String {
        match self {
            Piece::Text(text) => text.clone(),
            Piece::Count { start, step, width, is_aligned: true } => {
                format!("{:>width$}", start + step * i)
            }
            Piece::Count { start, step, width, .. } => format!("{:0>width$}", start + step * i),
        }
    }
}

/// Random characters and counters before every line, closed by a mark or a blank.
fn drawn_prefix(text: &str, dice: &mut Dice) -> String {
    let mut pieces: Vec<Piece> = (0..1 + dice.below(4)).map(|_| Piece::draw(dice)).collect();
    // Two counters with nothing between them become one when the second outgrows its width.
    let is_count = |piece: &Piece| matches!(piece, Piece::Count { .. });
    pieces.dedup_by(|next, piece| is_count(next) && is_count(piece));
    let close = dice.pick(&[" ", ": ", "> ", "] ", " | ", "\t", "|", ":"]);
    each_line(text, |i| {
        let pieces: String = pieces.iter().map(|piece| piece.on_line(i)).collect();
        pieces + close
    })
}

/// Each line as a cell of a table, or as a line that continues.
fn table_cells(text: &str, dice: &mut Dice) -> String {
    let (open, close) =
        [("| ", " |"), ("|", "|"), ("│ ", " │"), ("", " \\"), ("", "|")][dice.below(5)];
    let width =
        [0, text.lines().map(|line| line.chars().count()).max().unwrap_or(0)][dice.below(2)];
    let cell = |line: &str| format!("{open}{line:width$}{close}\n");
    text.lines().map(cell).collect()
}

/// The text as it stands in the source of a page.
fn html(text: &str, dice: &mut Dice) -> String {
    let space = ["&nbsp;", " "][dice.below(2)];
    let quote = ["&quot;", "\"", "&#34;"][dice.below(3)];
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let escaped = escaped.replace('"', quote).replace("  ", &space.repeat(2));
    let (open, close, end) =
        [("<pre>", "</pre>", "\n"), ("<p>", "</p>", "<br>\n"), ("", "", "<br />")][dice.below(3)];
    let lines: Vec<&str> = escaped.lines().collect();
    format!("<div class=\"post\">{open}{}{close}</div>\n", lines.join(end))
}

fn prose(text: &str, dice: &mut Dice) -> String {
    let fence = dice.pick(&["```\n", "", "$ ./run.sh\n", "-----\n"]);
    format!(
        "Hi all,\n\nthis is what I get on my machine, see 3 below:\n\n{fence}{text}\n{fence}\n\
         I think that 12 ms are too slow; what do you get? Thanks: Ann\n"
    )
}

/// The text as a string, or as lines, within the JSON of another program.
fn json_around(text: &str, dice: &mut Dice) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let value = match dice.below(3) {
        0 => json!({"host": "node1", "rc": 0, "stdout": text}),
        1 => json!({"results": [{"host": "node1", "stdout_lines": lines}], "changed": true}),
        _ => {
            let start = text.find("{\n").unwrap_or(text.len());
            match serde_json::from_str(&text[start..]) {
                Ok(serde_json::Value::Object(object)) => json!({"name": "x", "fio": object}),
                _ => json!({"host": "node1", "output": text}),
            }
        }
    };
    let text = if dice.below(2) == 0 { value.to_string() } else { format!("{value:#}") };
    format!("node1 | SUCCESS => {text}\n")
}

/// A text that ends early, at a line.
pub fn cut(text: &str, dice: &mut Dice) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[..dice.below(lines.len())].iter().map(|line| format!("{line}\n")).collect()
}
