//! A site is complete, is replaced as a whole, and takes no directory of others.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use store::Store;
use web::write_site;

use crate::served::{documents, hostile, store_in};

fn names(directory: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The relative addresses on a page.
fn links(page: &str) -> Vec<&str> {
    let parts = page.split("href=\"").skip(1).chain(page.split("<script src=\"").skip(1));
    parts.filter_map(|part| part.split('"').next()).collect()
}

#[test]
fn a_site_has_every_page_it_names() {
    let place = tempfile::tempdir().expect("a directory");
    let records = [documents(210, 3), vec![hostile("<b>\"x")]].concat();
    let path = store_in(place.path(), &records);
    let mut store = Store::open(Some(&path)).expect("a store");
    let site = place.path().join("site");
    let counts = write_site(&mut store, &site).expect("written");
    assert_eq!((counts.records, counts.drives, counts.models), (211, 4, 4));
    let files = names(&site);
    assert_eq!(counts.files + 1, files.len(), "and its mark");
    for name in files.iter().filter(|name| name.ends_with(".html")) {
        let page = fs::read_to_string(site.join(name)).expect("a page");
        for link in
            links(&page).into_iter().filter(|link| *link != "data:," && !link.starts_with('#'))
        {
            assert!(files.contains(link), "{name} names {link}");
        }
        assert!(!page.contains("<form") && !page.contains("<b>\"x"), "{name}");
        if let Some(stem) = name
            .strip_suffix(".html")
            .filter(|stem| stem.contains('-') && !stem.starts_with("index"))
        {
            assert!(
                files.contains(&format!("{stem}.json")) && files.contains(&format!("{stem}.csv")),
                "{stem}"
            );
        }
    }
    store.remove(&[1]).expect("removed");
    fs::write(site.join("notes.txt"), "mine").expect("written");
    write_site(&mut store, &site).expect("written again");
    let files = names(&site);
    assert!(!files.contains("run-1.html") && files.contains("run-2.html"));
    assert!(files.contains("notes.txt"), "files of others are kept");
}

#[test]
fn a_directory_of_others_is_refused() {
    let place = tempfile::tempdir().expect("a directory");
    let path = store_in(place.path(), &documents(1, 1));
    let mut store = Store::open(Some(&path)).expect("a store");
    let refused = write_site(&mut store, place.path()).expect_err("it has the store").to_string();
    assert!(refused.contains("not empty"), "{refused}");
    assert_eq!(names(place.path()).iter().filter(|name| name.ends_with(".html")).count(), 0);
}
