//! Import cycles between the files of a crate: files that import each other, directly or
//! indirectly. Such files can only be read together and are in effect one file.
//!
//! A parent and its children may import each other, but no children may do so without their parent, and
//! no circle may lead through a parent to files outside it. A public re-export is no import. An import counts for the file that declares the
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
    let imports: Imports<'_> =
        codes.iter().map(|(own, code)| (own, imports(own, code, &modules, &uses))).collect();
    let mut circles = Vec::new();
    collect(&imports, &mut circles);
    let names = |circle: &BTreeSet<&Module>| {
        circle.iter().map(|module| modules[*module].display().to_string()).collect::<Vec<_>>()
    };
    circles.iter().map(|c| format!("{src}: an import cycle: {}", names(c).join(", "))).collect()
}

/// The imports of each module.
type Imports<'a> = BTreeMap<&'a Module, BTreeSet<&'a Module>>;

/// Adds every set of modules that all reach each other. A module that contains all others of its set
/// is set aside first: with its parts it may be a circle, but they may not be one without it.
fn collect<'a>(imports: &Imports<'a>, circles: &mut Vec<BTreeSet<&'a Module>>) {
    let mut seen = BTreeSet::new();
    for &start in imports.keys() {
        let mut circle = reachable(start, imports);
        circle.retain(|other| reachable(other, imports).contains(start));
        if circle.len() < 2 || !seen.insert(circle.clone()) {
            continue;
        }
        match circle.iter().find(|parent| circle.iter().all(|m| m.starts_with(parent))) {
            Some(&parent) => {
                circle.remove(parent);
                let inner = |(module, others): (&&'a Module, &BTreeSet<&'a Module>)| {
                    circle.contains(module).then(|| (*module, &circle & others))
                };
                collect(&imports.iter().filter_map(inner).collect(), circles);
            }
            None => circles.push(circle),
        }
    }
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
fn reachable<'a>(start: &Module, imports: &Imports<'a>) -> BTreeSet<&'a Module> {
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

/// The modules imported by a file.
fn imports<'a>(
    own: &Module,
    code: &str,
    modules: &'a BTreeMap<Module, &Path>,
    uses: &BTreeMap<&Module, BTreeMap<String, Module>>,
) -> BTreeSet<&'a Module> {
    let named = paths(own, code, modules).into_iter().filter_map(|path| {
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
    named.filter(|other| *other != own).collect()
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
        // `self`, `super`, or the name of a child.
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

/// All paths in a text that begin with `crate::`, `self::`, `super::` or a child of the module, with
/// braces expanded. A public re-export uses nothing.
fn paths(own: &Module, code: &str, modules: &BTreeMap<Module, &Path>) -> Vec<Vec<String>> {
    let is_reexport = |at: usize| {
        let line = code[..at].rfind('\n').map_or(0, |end| end + 1);
        code[line..at].starts_with("pub") && code[line..at].ends_with("use ")
    };
    let children =
        modules.keys().filter(|module| module.split_last().is_some_and(|(_, up)| up == own));
    let children = children.filter_map(|module| module.last());
    let words = ["crate", "self", "super"].into_iter().chain(children.map(String::as_str));
    let starts = words.flat_map(|word| {
        let word = format!("{word}::");
        found(code, &word).filter(|at| !is_reexport(*at)).collect::<Vec<_>>()
    });
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
    fn a_way_through_a_parent_or_a_child_is_part_of_a_cycle() {
        let through_a_child = [
            ("a.rs", "use crate::b::f;"),
            ("b/mod.rs", "mod c; fn f() { c::g() }"),
            ("b/c.rs", "use crate::a::A;"),
        ];
        assert_eq!(
            circles(&through_a_child),
            ["crates/x/src: an import cycle: a.rs, b/mod.rs, b/c.rs"]
        );
        let through_a_parent = [
            ("a.rs", "use crate::b::c::g;"),
            ("b/mod.rs", "mod c; use crate::a::A;"),
            ("b/c.rs", "use super::f;"),
        ];
        assert_eq!(
            circles(&through_a_parent),
            ["crates/x/src: an import cycle: a.rs, b/mod.rs, b/c.rs"]
        );
        let beside_the_parent = [
            ("a/mod.rs", "mod b; mod c; use b::B; use c::C;"),
            ("a/b.rs", "use super::{A, c::C};"),
            ("a/c.rs", "use super::{A, b::B};"),
        ];
        assert_eq!(circles(&beside_the_parent), ["crates/x/src: an import cycle: a/b.rs, a/c.rs"]);
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
