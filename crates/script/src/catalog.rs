//! A list of methods, such as [`crate::ALL`], by name, with their options.

use emit::nearest;

use crate::{Declared, Form, MethodError, MethodInfo, Options, Result};

/// The method with this name; the error lists the known names and suggests the nearest.
pub fn find(methods: &[&'static MethodInfo], name: &str) -> Result<&'static MethodInfo> {
    let names = methods.iter().map(|m| m.name);
    let method = methods.iter().copied().find(|m| m.name == name);
    method.ok_or_else(|| MethodError::Unknown {
        name: name.to_string(),
        nearest: nearest(name, names.clone()),
        known: names.collect::<Vec<_>>().join(", "),
    })
}

/// All options available on the command line, each once, with the methods that declare it.
pub fn declared(
    methods: &[&'static MethodInfo],
) -> Vec<(&'static dyn Declared, Vec<&'static str>)> {
    let mut options: Vec<(&'static dyn Declared, Vec<&'static str>)> = Vec::new();
    for info in methods {
        for option in info.options.iter().filter(|o| o.form() != Form::Unwritten) {
            match options.iter_mut().find(|(known, _)| known.name() == option.name()) {
                Some((_, names)) => names.push(info.name),
                None => options.push((*option, vec![info.name])),
            }
        }
    }
    options
}

/// Adds typed options to the common ones. Refuses an option that no chosen method declares, and a
/// common one that all of them ignore.
pub fn options(
    methods: &[&'static MethodInfo],
    chosen: &[&MethodInfo],
    typed: &[(String, Vec<String>)],
    mut common: Options,
) -> Result<Options> {
    for (name, words) in typed {
        let Some(option) =
            chosen.iter().find_map(|m| m.options.iter().find(|o| o.name() == name).copied())
        else {
            return Err(undeclared(methods, name, chosen));
        };
        common.parse(option, words).map_err(|range| MethodError::Option {
            option: option.name(),
            value: words.join(" "),
            range,
        })?;
    }
    let ignored = common.common().find(|option| chosen.iter().all(|m| m.ignores.contains(option)));
    match ignored {
        Some(option) if !chosen.is_empty() => {
            Err(MethodError::Ignored { option: option.name(), chosen: names(chosen) })
        }
        _ => Ok(common),
    }
}

fn names(chosen: &[&MethodInfo]) -> String {
    chosen.iter().map(|m| m.name).collect::<Vec<_>>().join(", ")
}

fn undeclared(methods: &[&'static MethodInfo], name: &str, chosen: &[&MethodInfo]) -> MethodError {
    let declared = declared(methods);
    let option_and_methods = declared.iter().find(|(option, _)| option.name() == name);
    let declared_by = option_and_methods.map_or(String::new(), |(_, names)| names.join(" or -m "));
    let rest = option_and_methods.is_some_and(|(option, _)| matches!(option.form(), Form::Rest(_)));
    MethodError::Undeclared {
        option: if rest { format!("a {name} after --") } else { format!("--{name}") },
        declared_by,
        chosen: names(chosen),
    }
}
