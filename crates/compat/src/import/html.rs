//! The text of a page's source: tags are removed, references become their characters.
//!
//! Only the tags that forums and trackers put into a listing are known, so that the name of a host
//! in angle brackets stays. Lines keep their numbers, unless `<br>` alone ends them.

/// Tags around lines of text.
const TAGS: [&str; 19] = [
    "p",
    "pre",
    "code",
    "div",
    "span",
    "td",
    "th",
    "tr",
    "table",
    "tbody",
    "b",
    "i",
    "li",
    "ul",
    "tt",
    "font",
    "samp",
    "blockquote",
    "html",
];

/// Names of characters.
const NAMED: [(&str, &str); 7] = [
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("micro", "µ"),
    ("amp", "&"),
];

/// The text of a page's source; `None` if it has no sign of being one.
pub(super) fn text(source: &str) -> Option<String> {
    let signs = ["<br", "</", "&nbsp;", "&gt;", "&lt;", "&quot;", "&#", "&amp;"];
    signs.iter().any(|sign| source.contains(sign)).then(|| references(&tags(source)))
}

/// A text without tags; a break becomes the end of a line.
fn tags(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        let tag = after.split_once('>').and_then(|(tag, after)| Some((name(tag)?, after)));
        rest = match tag {
            Some(("br", after)) => {
                if !after.trim_start_matches([' ', '\r']).starts_with('\n') {
                    text.push('\n');
                }
                after
            }
            Some((_, after)) => after,
            None => {
                text.push('<');
                after
            }
        };
    }
    text + rest
}

/// The name of a tag between its brackets.
fn name(tag: &str) -> Option<&'static str> {
    let word = tag.trim_start_matches('/').split([' ', '/']).next()?;
    std::iter::once(&"br").chain(&TAGS).find(|name| word.eq_ignore_ascii_case(name)).copied()
}

/// A text with characters instead of references to them.
fn references(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some((before, after)) = rest.split_once('&') {
        text.push_str(before);
        let reference =
            after.split_once(';').and_then(|(name, after)| Some((letter(name)?, after)));
        match reference {
            Some((letter, after)) => {
                text.push_str(&letter);
                rest = after;
            }
            None => {
                text.push('&');
                rest = after;
            }
        }
    }
    text + rest
}

/// The character of a reference: `gt`, `#62`, `#x3e`.
fn letter(name: &str) -> Option<String> {
    if let Some(number) = name.strip_prefix('#') {
        let hex = number.strip_prefix(['x', 'X']).map(|digits| u32::from_str_radix(digits, 16));
        let code = hex.unwrap_or_else(|| number.parse()).ok()?;
        return char::from_u32(code).map(String::from);
    }
    NAMED.iter().find(|(known, _)| *known == name).map(|(_, letter)| (*letter).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_of_a_page_becomes_its_text() {
        for (source, plain) in [
            ("<pre>a\nb</pre>", "a\nb"),
            ("a<br>\nb<br/>c<BR />d", "a\nb\nc\nd"),
            ("&lt;node1&gt; a &quot;b&quot; &#38; &#x3c;", "<node1> a \"b\" & <"),
            ("<td class=\"x\">1&nbsp;MB/s</td> <node1> a & b", "1 MB/s <node1> a & b"),
        ] {
            assert_eq!(text(source).as_deref(), Some(plain), "{source}");
        }
        assert_eq!(text("<node1> a & b"), None);
    }
}
