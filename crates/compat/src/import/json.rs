//! JSON in a text: one object, or several on one line, with prose before and after. Other programs
//! wrap results in their own JSON, as objects or as text; both are found at any depth.

use serde_json::Value;

use super::lines::Lines;

/// Depth at which an object is not read. serde_json has the same limit.
const DEPTH_MAX: usize = 128;

/// The texts of objects that begin on the current line, and the position after them; `None` if none
/// begins, or if none ends.
pub(super) fn objects<'a>(lines: &Lines<'a>) -> Option<(Vec<String>, Lines<'a>)> {
    let mut lines = lines.clone();
    let mut rest = &lines.peek()?[start(lines.peek()?)?..];
    let mut objects = Vec::new();
    loop {
        let mut scan = Scan::default();
        while !scan.add(rest)? {
            lines.next();
            rest = lines.peek()?;
        }
        rest = &rest[scan.end..];
        objects.push(scan.text);
        match rest.trim_start().trim_start_matches(',').trim_start() {
            next if next.starts_with('{') => rest = next,
            _ => break,
        }
    }
    lines.next();
    Some((objects, lines))
}

/// Whether an object begins on a line and does not end in the text.
pub(super) fn is_cut(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(|line| start(line).is_some()) && objects(lines).is_none()
}

/// The offset of the first object of a line, which ends the line or has a key behind it.
fn start(line: &str) -> Option<usize> {
    let brace = line.find('{')?;
    let tail = line[brace + 1..].trim_start();
    (tail.is_empty() || tail.starts_with('"')).then_some(brace)
}

/// An object while its lines are collected.
#[derive(Default)]
struct Scan {
    text: String,
    depth: usize,
    is_quoted: bool,
    is_escaped: bool,
    /// Length of the object's part of its last line.
    end: usize,
}

impl Scan {
    /// Adds a line; returns whether the object is complete. `None` if it cannot be one.
    fn add(&mut self, line: &str) -> Option<bool> {
        for (i, byte) in line.bytes().enumerate() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = self.is_quoted,
                b'"' => self.is_quoted = !self.is_quoted,
                b'{' if !self.is_quoted => self.depth += 1,
                b'}' if !self.is_quoted => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        self.end = i + 1;
                        self.text.push_str(&line[..=i]);
                        return Some(true);
                    }
                }
                _ => {}
            }
        }
        // No string of JSON continues on the next line.
        if self.is_quoted || self.depth > DEPTH_MAX {
            return None;
        }
        self.text.push_str(line);
        self.text.push('\n');
        Some(false)
    }
}

/// Objects within a value, including itself, that fulfil a condition; not those within them.
pub(super) fn find<'v>(value: &'v Value, is_wanted: &dyn Fn(&Value) -> bool) -> Vec<&'v Value> {
    if is_wanted(value) {
        return vec![value];
    }
    children(value).into_iter().flat_map(|child| find(child, is_wanted)).collect()
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(values) => values.iter().collect(),
        Value::Object(members) => members.values().collect(),
        _ => Vec::new(),
    }
}

/// The texts within the objects on the current line, and the position after these: strings, and
/// lists of strings, which are lines. `None` if no object begins there.
pub(super) fn texts<'a>(lines: &Lines<'a>) -> Option<(Vec<String>, Lines<'a>)> {
    let (objects, end) = objects(lines)?;
    let mut texts = Vec::new();
    for object in objects {
        collect(&serde_json::from_str(&object).ok()?, &mut texts);
    }
    texts.dedup();
    Some((texts, end))
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(values) if values.iter().all(Value::is_string) => {
            let lines: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            texts.push(lines.join("\n"));
        }
        other => children(other).into_iter().for_each(|child| collect(child, texts)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Option<(Vec<String>, usize)> {
        objects(&Lines::new(text, 1)).map(|(objects, end)| (objects, end.number()))
    }

    #[test]
    fn objects_may_follow_prose_and_each_other() {
        let text = "node1 | SUCCESS => {\n \"a\": \"}\\\"{\",\n \"b\": {}\n}, {\"c\": 1} end\nx\n";
        let objects = ["{\n \"a\": \"}\\\"{\",\n \"b\": {}\n}", "{\"c\": 1}"].map(String::from);
        assert_eq!(whole(text), Some((objects.to_vec(), 5)));
        for text in ["{ never\n", "{\n\"a\": 1\n", "{\n\"a\n\"}\n", "no { object }\n", ""] {
            assert_eq!(whole(text), None, "{text}");
        }
        assert_eq!(whole(&"{\n".repeat(1000)), None);
    }

    #[test]
    fn texts_within_objects_are_found() {
        let text = "{\"a\": [{\"out\": \"x\\ny\"}, 1], \"lines\": [\"p\", \"q\"]}\n";
        let texts = texts(&Lines::new(text, 1)).map(|(texts, _)| texts);
        assert_eq!(texts, Some(vec!["x\ny".to_string(), "p\nq".to_string()]));
    }
}
