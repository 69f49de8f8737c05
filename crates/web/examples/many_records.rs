//! Fills a store with variations of a record, to measure lists, pages and sites:
//! `many_records STORE RECORD.json COUNT DRIVES`.

#[path = "../tests/it/samples.rs"]
mod samples;

use std::path::Path;

use record::{Document, Run};
use store::Store;

/// Records of one transaction.
const BATCH: u64 = 500;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [store, template, count, drives] = words.as_slice() else {
        panic!("many_records STORE RECORD.json COUNT DRIVES")
    };
    let template = std::fs::read_to_string(template).expect("a file");
    let template = Run::parse(&template).expect("a record");
    let [count, drives] = [count, drives].map(|word| word.parse::<u64>().expect("a number"));
    let mut store = Store::open(Some(Path::new(store))).expect("a store");
    for start in (0..count).step_by(BATCH as usize) {
        let seeds = start..count.min(start + BATCH);
        let documents: Vec<Document> =
            seeds.map(|seed| samples::vary(&template, seed, drives)).collect();
        store.import(&documents).expect("imported");
    }
    store.sync().expect("durable");
}
