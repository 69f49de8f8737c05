//! The available methods, by name, with their options.

use emit::nearest;

use crate::{Declared, Form, MethodError, MethodInfo, Options};

/// A list of methods. The default one has all methods of this crate; others can be added.
#[derive(Clone)]
pub struct Catalog {
    methods: Vec<&'static MethodInfo>,
}

impl Default for Catalog {
    fn default() -> Catalog {
        Catalog { methods: crate::all().to_vec() }
    }
}

impl Catalog {
    /// The catalog with one more method.
    #[must_use]
    pub fn with(mut self, method: &'static MethodInfo) -> Catalog {
        self.methods.push(method);
        self
    }

    /// The method with this name; the error lists the known names and suggests the nearest.
    pub fn find(&self, name: &str) -> Result<&'static MethodInfo, MethodError> {
        let names = || self.methods.iter().map(|m| m.name);
        let found = self.methods.iter().copied().find(|m| m.name == name);
        found.ok_or_else(|| MethodError::Unknown {
            name: name.to_string(),
            nearest: nearest(name, names()),
            known: names().collect::<Vec<_>>().join(", "),
        })
    }

    /// All options available on the command line, each once, with the methods that declare it.
    pub fn declared(&self) -> Vec<(&'static dyn Declared, Vec<&'static str>)> {
        let mut all: Vec<(&'static dyn Declared, Vec<&'static str>)> = Vec::new();
        for info in &self.methods {
            for option in info.options.iter().filter(|o| o.form() != Form::Unwritten) {
                match all.iter_mut().find(|(known, _)| known.name() == option.name()) {
                    Some((_, names)) => names.push(info.name),
                    None => all.push((*option, vec![info.name])),
                }
            }
        }
        all
    }

    /// Parses the options for these methods. Refuses an option that none of them declares.
    pub fn options(
        &self,
        chosen: &[&MethodInfo],
        typed: &[(String, Vec<String>)],
        mut usual: Options,
    ) -> Result<Options, MethodError> {
        for (name, words) in typed {
            let of = |m: &&MethodInfo| m.options.iter().find(|o| o.name() == name).copied();
            let Some(option) = chosen.iter().find_map(of) else {
                return Err(self.undeclared(name, chosen));
            };
            usual.parse(option, words).map_err(|range| MethodError::Option {
                option: option.name(),
                value: words.join(" "),
                range,
            })?;
        }
        Ok(usual)
    }

    fn undeclared(&self, name: &str, chosen: &[&MethodInfo]) -> MethodError {
        let declared = self.declared();
        let known = declared.iter().find(|(option, _)| option.name() == name);
        let names = known.map_or(Vec::new(), |(_, names)| names.clone());
        let rest = known.is_some_and(|(option, _)| matches!(option.form(), Form::Rest(_)));
        let chosen: Vec<&str> = chosen.iter().map(|m| m.name).collect();
        MethodError::Undeclared {
            option: if rest { format!("a {name} after --") } else { format!("--{name}") },
            declared_by: names.join(" or -m "),
            chosen: chosen.join(", "),
        }
    }
}
