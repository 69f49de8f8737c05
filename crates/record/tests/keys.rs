//! Keys stored by earlier versions stay readable: each is parsed, prints the same text, and is
//! understood as far as the grid and the latency tables need it.

use record::{MetricKey, Subject};

/// Method and key of every metric in records of earlier versions.
fn stored() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("keys.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(' '))
}

#[test]
fn every_stored_key_prints_as_it_was_written() {
    assert!(stored().count() > 500);
    for (method, key) in stored() {
        assert_eq!(MetricKey::parse(key).to_string(), key, "{method}");
    }
}

#[test]
fn every_word_of_a_stored_method_key_is_understood() {
    let own = stored().filter(|(method, _)| !["fio", "iozone", "published"].contains(method));
    for (method, text) in own {
        let key = MetricKey::parse(text);
        if let Subject::Named(name) = key.subject {
            assert!(!name.contains('.'), "{method}: {text} has an unknown statistic");
        }
    }
}

#[test]
fn the_grid_of_quick_is_made_of_cells() {
    let keys =
        |method| stored().filter(move |(m, _)| *m == method).map(|(_, k)| MetricKey::parse(k));
    let (cells, checks): (Vec<_>, Vec<_>) = keys("quick").partition(|key| key.as_cell().is_some());
    assert!(cells.iter().all(|key| key.direction().is_some()) && cells.len() >= 40);
    assert!(checks.iter().all(|key| key.subject.to_string().starts_with("check-")));
    assert!(keys("io").all(|key| key.statistic.is_some()));
}
