//! Hostile text in every place that accepts foreign text, passed through every output: nothing gets
//! through that could control a terminal or a browser.

use std::fs;

use serde_json::Value;

use crate::common::{Place, Said};

/// Sets the title, clears the screen, moves the cursor; the same with one-byte codes; reverses the
/// text direction; hides text; breaks lines; closes an element and opens a script.
const HOSTILE: [&str; 7] = [
    "\u{1b}]0;owned\u{7}",
    "\u{1b}[2J\u{1b}[1;1H",
    "\u{9b}31m\u{90}q",
    "\u{202e}gnp.exe\u{2066}",
    "\u{200b}\u{feff}\u{7f}\u{8}",
    "\r\nrun 7 verified\n",
    "</title><script>alert(1)</script>",
];

fn steers(c: char) -> bool {
    let invisible = matches!(c,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    (c.is_control() && !matches!(c, '\n' | '\t')) || invisible
}

/// Asserts that no character of a text controls a terminal or is invisible.
pub fn is_clean(what: &str, text: &str) {
    let found = text.char_indices().find(|(_, c)| steers(*c));
    let around = |at: usize| {
        let from = text[..at].char_indices().rev().nth(60).map_or(0, |(at, _)| at);
        text[from..at].to_string()
    };
    assert_eq!(found.map(|(at, c)| (c, around(at))), None, "{what}");
}

fn says_nothing_hostile(what: &str, said: &Said) {
    is_clean(what, &said.out);
    is_clean(what, &said.err);
    for text in [&said.out, &said.err] {
        assert!(!text.contains("\nrun 7 verified"), "{what}: a separate line:\n{text}");
    }
    assert!(!said.err.contains("panicked"), "{what}: {said:?}");
}

/// Keys with a time, an identity or one of a few words as their text. Units, levels, states and so
/// on accept any text, such as that of a later version.
const FIXED: [&str; 8] = ["schema", "id", "started", "as_of", "op", "side", "state_as_of", "stamp"];

/// Appends hostile text to every text of a record.
fn poison(value: &mut Value, key: &str, hostile: &str) {
    match value {
        Value::String(text) if !FIXED.contains(&key) => text.push_str(hostile),
        Value::Array(list) => list.iter_mut().for_each(|value| poison(value, key, hostile)),
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(key, value)| poison(value, key, hostile));
        }
        _ => {}
    }
}

#[test]
fn foreign_records_are_shown_without_control_characters() {
    let place = Place::new();
    let mut record = place.io(". --rw randrw --size 1MiB --time 300ms");
    let drive = serde_json::json!({"path": "/dev/sdx", "model": "ACME", "vendor": "V",
        "serial": "S", "firmware": "F", "bus": "nvme"});
    if record["target"]["drive"].is_null() {
        record["target"]["drive"] = drive;
    }
    let mut imported = 0;
    for (number, hostile) in HOSTILE.into_iter().enumerate() {
        let mut record = record.clone();
        poison(&mut record, "", hostile);
        record["id"] = format!("2026-01-01T00:00:0{number}-00000000").into();
        let file = place.text(&format!("hostile-{number}.json"));
        fs::write(&file, record.to_string()).expect("a file");
        let said = place.ssdyno(&["import", &file]);
        says_nothing_hostile("import", &said);
        imported += u32::from(said.code == 0);
    }
    assert!(imported >= 5, "{imported} records were imported");
    let runs = place.runs();
    assert!(runs.len() as u32 > imported);
    for number in (1..=runs.len()).map(|n| n.to_string()) {
        for option in ["--json", "--markdown", "--csv", "--series", "--verbose"] {
            let said = place.ssdyno(&["show", &number, option]);
            says_nothing_hostile(&format!("show {number} {option}"), &said);
        }
        says_nothing_hostile("show", &place.ssdyno(&["show", &number]));
        let page = place.text("page.html");
        let said = place.ssdyno(&["show", &number, &format!("--html={page}")]);
        says_nothing_hostile("show --html", &said);
        let page = fs::read_to_string(&page).expect("a page");
        is_clean("the page", &page);
        assert!(!page.contains("<script>alert"), "the page has a foreign element");
        let card = place.text("card.svg");
        says_nothing_hostile("show --card", &place.ssdyno(&["show", &number, "--card", &card]));
        is_clean("the card", &fs::read_to_string(&card).expect("a card"));
        let page = place.text("compare.html");
        let said = place.ssdyno(&["compare", "1", &number, "--html", &page]);
        says_nothing_hostile("compare --html", &said);
        if let Ok(page) = fs::read_to_string(&page) {
            is_clean("the page of a comparison", &page);
            assert!(!page.contains("<script>alert"), "the page has a foreign element");
        }
        for words in [&["compare", "1", &number][..], &["compare", "1", &number, "--json"]] {
            says_nothing_hostile("compare", &place.ssdyno(words));
        }
    }
    for words in [&["runs"][..], &["runs", "--json"], &["export", "--csv"]] {
        says_nothing_hostile(&format!("{words:?}"), &place.ssdyno(words));
    }
}

#[test]
fn foreign_words_and_files_are_quoted_without_control_characters() {
    let place = Place::new();
    for hostile in HOSTILE {
        let named = format!("--name={hostile}");
        let preset = place.text("hostile.toml");
        fs::write(&preset, format!("description = {:?}\n{hostile} = 1\n", "x")).expect("a file");
        let job = place.text("hostile.fio");
        fs::write(&job, format!("[{hostile}]\nrw=read{hostile}\nsize=64k\n")).expect("a file");
        let (sim, odd) = (format!("sim:{preset}"), format!("sim:usb-16k?{hostile}=1"));
        let commands: [&[&str]; 14] = [
            &["run", hostile],
            &["io", hostile, "--ops", "1"],
            &["io", &sim, "--ops", "1"],
            &["io", &odd, "--ops", "1"],
            &["io", ".", "--bs", hostile],
            &["run", ".", "-m", hostile],
            &["show", hostile],
            &["compare", hostile, "1"],
            &["import", hostile],
            &["import", &job],
            &["fio", &job],
            &["fio", &named, "--rw=read", "--size=64k", "--ioengine=null"],
            // A file named after the job is laid out.
            &["fio", &named, "--rw=read", "--size=64k"],
            &["fio", &named, "--rw=read", "--size=64k", "--ioengine=null", "--minimal"],
        ];
        for words in commands {
            says_nothing_hostile(&format!("{words:?}"), &place.ssdyno(words));
        }
        place.clear();
    }
}
