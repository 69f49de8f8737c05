//! Options of the methods.
//!
//! Size, time, seed and replicates are common to all methods; a method lists those of them that it
//! ignores. It declares any other option in its info as a typed [`Opt`] with its help and default;
//! the command line is built from the declarations, and no other code reads them. An option without
//! effect on any chosen method is refused.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use workload::units::{binary, span};

use crate::{MethodError, Result};

/// Minimum size of a region: a smaller one has too few large blocks.
pub const BYTES_MIN: u64 = 4 << 20;

/// Maximum number of rounds: a larger one is a typing error.
const ROUNDS_MAX: u32 = 1000;

/// Options given by the user. The default leaves everything to the method.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of the target to use.
    pub size: Option<u64>,
    /// Approximate total duration.
    pub time: Option<Duration>,
    /// Seed of all random choices.
    pub seed: u64,
    /// Repeats of each workload, at least 1; intervals need at least 2.
    pub replicates: Option<u32>,
    /// Options declared by individual methods.
    pub given: Given,
}

impl Default for Options {
    fn default() -> Self {
        Options { size: None, time: None, seed: 1, replicates: None, given: Given::default() }
    }
}

impl Options {
    /// The common options that the user gave.
    pub fn common(&self) -> impl Iterator<Item = Common> {
        let size = self.size.map(|_| Common::Size);
        let time = self.time.map(|_| Common::Time);
        let replicates = self.replicates.map(|_| Common::Replicates);
        [size, time, replicates].into_iter().flatten()
    }

    /// Refuses common options out of range.
    pub fn check(&self) -> Result<()> {
        let bad = |option: Common, value, range: String| {
            Err(MethodError::Option { option: option.name(), value, range })
        };
        if let Some(size) = self.size.filter(|&size| size < BYTES_MIN) {
            return bad(Common::Size, binary(size), format!("{} or more", binary(BYTES_MIN)));
        }
        if let Some(time) = self.time.filter(|time| time.as_secs_f64() < 1.0) {
            return bad(Common::Time, span(time.as_secs_f64()), "1 s or more".into());
        }
        match self.replicates {
            Some(n) if n == 0 || n > ROUNDS_MAX => {
                bad(Common::Replicates, n.to_string(), format!("1 to {ROUNDS_MAX}"))
            }
            _ => Ok(()),
        }
    }

    /// The value of a declared option, or its default.
    pub fn get<T: Clone + 'static>(&self, option: &Opt<T>) -> T {
        let entry = self.given.0.iter().rev().find(|entry| entry.name == option.name);
        let value = entry.and_then(|entry| entry.value.downcast_ref::<T>());
        value.cloned().unwrap_or_else(option.default)
    }

    /// These options with this size.
    pub fn sized(&self, bytes: u64) -> Options {
        Options { size: Some(bytes), ..self.clone() }
    }

    /// These options with one more value.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, option: &Opt<T>, value: T) -> Options {
        let value = Value(Arc::new(value));
        self.given.0.push(GivenOption { name: option.name, value, words: None });
        self
    }

    /// Parses an option as typed; the error describes the permitted values.
    pub fn parse(&mut self, option: &dyn Declared, words: &[String]) -> Result<(), String> {
        let (name, value) = (option.name(), option.parse(words)?);
        self.given.0.push(GivenOption { name, value, words: Some(words.to_vec()) });
        Ok(())
    }

    /// The options that a user gave and a method heeds, by name, in words: of its own the declared
    /// ones, of the common ones those that it does not ignore. A switch has no words.
    pub fn given_to(
        &self,
        declared: &[&dyn Declared],
        ignores: &[Common],
    ) -> BTreeMap<String, String> {
        let size = self.size.map(|bytes| (Common::Size, binary(bytes)));
        let time = self.time.map(|time| (Common::Time, span(time.as_secs_f64())));
        let replicates = self.replicates.map(|rounds| (Common::Replicates, rounds.to_string()));
        let common = [size, time, replicates].into_iter().flatten();
        let heeded = common.filter(|(option, _)| !ignores.contains(option));
        let mut options: BTreeMap<String, String> =
            heeded.map(|(option, words)| (option.name().to_string(), words)).collect();
        for GivenOption { name, words, .. } in &self.given.0 {
            let is_declared = declared.iter().any(|option| option.name() == *name);
            if let Some(words) = words.as_ref().filter(|_| is_declared) {
                options.insert((*name).to_string(), words.join(" "));
            }
        }
        options
    }
}

/// An option common to all methods, except those that list it in [`crate::MethodInfo`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Common {
    /// `--size`.
    Size,
    /// `--time`.
    Time,
    /// `--replicates`.
    Replicates,
}

impl Common {
    /// All of them.
    pub const ALL: [Common; 3] = [Common::Size, Common::Time, Common::Replicates];

    /// Its name, without dashes.
    pub fn name(self) -> &'static str {
        match self {
            Common::Size => "size",
            Common::Time => "time",
            Common::Replicates => "replicates",
        }
    }
}

/// Declared options as given, in order; the last of each name counts.
#[derive(Clone, Debug, Default)]
pub struct Given(Vec<GivenOption>);

/// A declared option with its value.
#[derive(Clone, Debug)]
struct GivenOption {
    name: &'static str,
    value: Value,
    /// The value as typed; `None` if a program set it.
    words: Option<Vec<String>>,
}

/// Value of an option, of the type in its declaration.
#[derive(Clone)]
pub struct Value(Arc<dyn Any + Send + Sync>);

impl Value {
    fn downcast_ref<T: 'static>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Value")
    }
}

/// Form of an option on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `--name`, without a value.
    Switch,
    /// `--name VALUE`; the word is the placeholder for the value.
    Value(&'static str),
    /// Everything after `--`; the word is its placeholder.
    Rest(&'static str),
    /// Not on the command line: set by a program.
    Unwritten,
}

/// An option as seen by a command line, independent of its type.
pub trait Declared: Sync {
    /// Its name, without dashes.
    fn name(&self) -> &'static str;
    /// Its form.
    fn form(&self) -> Form;
    /// One line of help.
    fn help(&self) -> &'static str;
    /// Parses the words typed: none for a switch, one for a value. The error describes the
    /// permitted values.
    fn parse(&self, words: &[String]) -> Result<Value, String>;
}

impl fmt::Debug for dyn Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An option of one method.
pub struct Opt<T> {
    name: &'static str,
    form: Form,
    help: &'static str,
    parse: fn(&[String]) -> Result<T, String>,
    default: fn() -> T,
}

impl Opt<bool> {
    /// `--name`.
    pub const fn switch(name: &'static str, help: &'static str) -> Opt<bool> {
        Opt { name, form: Form::Switch, help, parse: |_| Ok(true), default: || false }
    }
}

impl Opt<Vec<String>> {
    /// Everything after `--`.
    pub const fn rest(
        name: &'static str,
        value_name: &'static str,
        help: &'static str,
    ) -> Opt<Vec<String>> {
        let form = Form::Rest(value_name);
        Opt { name, form, help, parse: |words| Ok(words.to_vec()), default: Vec::new }
    }
}

impl<T> Opt<T> {
    /// `--name VALUE`. `parse` receives the value as the only word.
    pub const fn value(
        name: &'static str,
        value_name: &'static str,
        help: &'static str,
        parse: fn(&[String]) -> Result<T, String>,
        default: fn() -> T,
    ) -> Opt<T> {
        Opt { name, form: Form::Value(value_name), help, parse, default }
    }

    /// An option set only by a program.
    pub const fn unwritten(name: &'static str, default: fn() -> T) -> Opt<T> {
        let parse = |_: &[String]| Err("cannot be typed".to_string());
        Opt { name, form: Form::Unwritten, help: "", parse, default }
    }
}

impl<T: Send + Sync + 'static> Declared for Opt<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn form(&self) -> Form {
        self.form
    }

    fn help(&self) -> &'static str {
        self.help
    }

    fn parse(&self, words: &[String]) -> Result<Value, String> {
        Ok(Value(Arc::new((self.parse)(words)?)))
    }
}
