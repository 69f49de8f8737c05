//! Import cycles between the files of a crate: files that import each other, directly or
//! indirectly. Such files can only be read together and are in effect one file.
//!
//! A parent and its child may import each other. An import counts for the file that declares the
//! item, even if its path names a file that re-exports it (except by a glob or under another name).
//! Tests do not count: they may import anything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::source::code_of;

/// A module, as its path of names from the crate root.
type Module = Vec<String>;

/// One line per cycle among the files of one crate, given by their paths below its `src`.
pub fn findings(src: &str, files: &[(PathBuf, String)]) -> Vec<String> {
    let modules: BTreeMap<Module, &Path> =
        files.iter().map(|(path, _)| (module(path), path.as_path())).collect();
    let codes: BTreeMap<Module, String> =
        files.iter().map(|(path, text)| (module(path), code(text))).collect();
    let uses = codes.iter().map(|(own, code)| (own, uses(own, code, &modules))).collect();
    let imports: BTreeMap<&Module, BTreeSet<&Module>> =
        codes.iter().map(|(own, code)| (own, imports(own, code, &modules, &uses))).collect();
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for &start in imports.keys() {
        let there = reachable(start, &imports);
        let circle: Vec<_> =
            there.iter().filter(|other| reachable(other, &imports).contains(start)).collect();
        if circle.len() > 1 && seen.insert(circle.clone().into_iter().cloned().collect::<Vec<_>>())
        {
            let names: Vec<_> = circle.iter().map(|m| modules[**m].display().to_string()).collect();
            findings.push(format!("{src}: an import cycle: {}", names.join(", ")));
        }
    }
    findings
}

/// Converts a path: `a/b.rs` and `a/b/mod.rs` are the module `a::b`.
fn module(path: &Path) -> Module {
    let mut names: Module =
        path.with_extension("").iter().map(|n| n.to_string_lossy().into_owned()).collect();
    let last = names.last().map_or("", String::as_str);
    if last == "mod" || (names.len() == 1 && ["lib", "main"].contains(&last)) {
        names.pop();
    }
    names
}

/// All modules reachable from a module along imports.
fn reachable<'a>(
    start: &Module,
    imports: &BTreeMap<&'a Module, BTreeSet<&'a Module>>,
) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&Module> = vec![start];
    while let Some(module) = next.pop() {
        for &other in imports.get(module).into_iter().flatten() {
            if reached.insert(other) {
                next.push(other);
            }
        }
    }
    reached
}

/// The modules imported by a file, except those above and below it.
fn imports<'a>(
    own: &Module,
    code: &str,
    modules: &'a BTreeMap<Module, &Path>,
    uses: &BTreeMap<&Module, BTreeMap<String, Module>>,
) -> BTreeSet<&'a Module> {
    let named = paths(code).into_iter().filter_map(|path| {
        let mut full = absolute(own, &path)?;
        // A chain of re-exports ends where the item is declared; the limit ends a cycle of them.
        for _ in 0..=modules.len() {
            let n = (0..=full.len()).rev().find(|n| modules.contains_key(&full[..*n]))?;
            let declared = full.get(n).and_then(|name| uses.get(&full[..n].to_vec())?.get(name));
            match declared {
                Some(item) => full = [item, &full[n + 1..]].concat(),
                None => return modules.get_key_value(&full[..n]).map(|(module, _)| module),
            }
        }
        None
    });
    named.filter(|other| !other.starts_with(own) && !own.starts_with(other)).collect()
}

/// The items of the crate that a file's `use` declarations name, with their paths.
fn uses(own: &Module, code: &str, modules: &BTreeMap<Module, &Path>) -> BTreeMap<String, Module> {
    let full = |path: Vec<String>| match path.first()?.as_str() {
        "crate" | "self" | "super" => absolute(own, &path),
        child => {
            let child = [own.as_slice(), &[child.to_string()]].concat();
            modules.contains_key(&child).then(|| [own.as_slice(), &path].concat())
        }
    };
    let paths = found(code, "use ").flat_map(|at| expanded(&code[at + "use ".len()..]));
    paths.filter_map(full).filter_map(|path| Some((path.last()?.clone(), path))).collect()
}

/// The text without its tests, comments and strings.
fn code(text: &str) -> String {
    let tests = text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    text[..tests].lines().map(code_of).collect::<Vec<_>>().join("\n")
}

/// Converts a path that begins with `crate`, `self` or `super` to one from the crate root.
fn absolute(own: &Module, path: &[String]) -> Option<Module> {
    let mut full: Module = match path.first()?.as_str() {
        "crate" => Vec::new(),
        _ => own.clone(),
    };
    for name in path {
        match name.as_str() {
            "crate" | "self" => {}
            "super" => drop(full.pop()?),
            _ => full.push(name.clone()),
        }
    }
    Some(full)
}

/// All paths in a text that begin with `crate::`, `self::` or `super::`, with braces expanded.
fn paths(code: &str) -> Vec<Vec<String>> {
    let starts = ["crate::", "self::", "super::"].into_iter().flat_map(|word| found(code, word));
    starts.flat_map(|at| expanded(&code[at..])).collect()
}

/// The positions of a word in a text, unless it ends a longer word or a path.
fn found<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let places = code.match_indices(word).map(|(at, _)| at);
    places.filter(move |at| !code[..*at].ends_with(part))
}

/// The paths at the start of a text: several if they end in braces.
fn expanded(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    expand(&mut text.chars().peekable(), &[], &mut found);
    found
}

/// Reads one path, which may end in braces with several; adds each, prefixed with the names so far.
fn expand(
    text: &mut std::iter::Peekable<std::str::Chars<'_>>,
    before: &[String],
    found: &mut Vec<Vec<String>>,
) {
    let mut path = before.to_vec();
    loop {
        while text.next_if(|c| c.is_whitespace()).is_some() {}
        if text.next_if_eq(&'{').is_some() {
            loop {
                expand(text, &path, found);
                while text.next_if(|c| !",}".contains(*c)).is_some() {}
                if text.next() != Some(',') {
                    return;
                }
            }
        }
        let mut name = String::new();
        while let Some(c) = text.next_if(|c| c.is_alphanumeric() || *c == '_') {
            name.push(c);
        }
        path.extend((!name.is_empty()).then_some(name));
        if text.next_if_eq(&':').is_none() || text.next_if_eq(&':').is_none() {
            found.push(path);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| (PathBuf::from(path), text.to_string())).collect();
        findings("crates/x/src", &files)
    }

    #[test]
    fn files_that_import_each_other_are_a_cycle() {
        let two =
            [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "use super::a;")];
        assert_eq!(circles(&two), ["crates/x/src: an import cycle: a.rs, b.rs"]);
        let three = [
            ("a.rs", "use crate::{\n    b::{B, C as D},\n    e,\n};"),
            ("b.rs", "fn f() { crate::c::g() }"),
            ("c/mod.rs", "mod d;"),
            ("c/d.rs", "use super::super::a::A;"),
            ("e.rs", ""),
        ];
        assert_eq!(circles(&three), Vec::<String>::new(), "not c but its child imports a");
        let around =
            [("a.rs", "use crate::b;"), ("b.rs", "use crate::c::d;"), ("c/d.rs", "use crate::a;")];
        assert_eq!(circles(&around), ["crates/x/src: an import cycle: a.rs, b.rs, c/d.rs"]);
    }

    #[test]
    fn a_reexported_item_counts_for_the_file_that_declares_it() {
        let through_the_root = [
            ("lib.rs", "mod a; mod b; mod c; pub use a::A; pub(crate) use b::{B, C};"),
            ("a.rs", "use crate::B;"),
            ("b.rs", "use super::{A};"),
        ];
        assert_eq!(circles(&through_the_root), ["crates/x/src: an import cycle: a.rs, b.rs"]);
        let through_two = [
            ("lib.rs", "mod a; mod b; mod c; pub use b::A;"),
            ("a.rs", "use crate::c::C;"),
            ("b/mod.rs", "mod d; pub use super::a::A;"),
            ("c.rs", "fn f(a: &crate::A) {}"),
        ];
        assert_eq!(circles(&through_two), ["crates/x/src: an import cycle: a.rs, c.rs"]);
    }

    #[test]
    fn parents_children_tests_and_texts_are_not_cycles() {
        for files in [
            [("a/mod.rs", "mod b; use b::B; use self::b::C;"), ("a/b.rs", "use super::A;")],
            [("lib.rs", "mod a; pub use a::A;"), ("a.rs", "use crate::B;")],
            [("a.rs", "use crate::b;"), ("b.rs", "//! see crate::a\nlet x = \"crate::a\";")],
            [("a.rs", "use crate::b;"), ("b.rs", "\n#[cfg(test)]\nmod tests {\nuse crate::a;")],
            [("a.rs", "use crate::b;"), ("b.rs", "use ::othercrate::a; use mycrate::a;")],
        ] {
            assert_eq!(circles(&files), Vec::<String>::new(), "{files:?}");
        }
    }
}
