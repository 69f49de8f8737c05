//! What the user may ask of a method.
//!
//! Size, time, seed and replicates are everybody's. Everything else a method declares in its info,
//! as a typed [`Opt`] with its help and its default: the command line is made from the declarations,
//! and nobody else reads them. An option that no chosen method declares is refused.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What the user may ask of a method. The default leaves everything to it.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of the target to work on.
    pub size: Option<u64>,
    /// About how long the whole may take.
    pub time: Option<Duration>,
    /// Seed of everything random.
    pub seed: u64,
    /// How often each workload is repeated, at least 1; from 2 on there are intervals.
    pub replicates: Option<u32>,
    /// Options that single methods declare.
    pub given: Given,
}

impl Default for Options {
    fn default() -> Self {
        Options { size: None, time: None, seed: 1, replicates: None, given: Given::default() }
    }
}

impl Options {
    /// The value of a declared option, or its default.
    pub fn get<T: Clone + 'static>(&self, option: &Opt<T>) -> T {
        let given = self.given.0.iter().rev().find(|g| g.0 == option.name);
        let value = given.and_then(|g| g.1.downcast_ref::<T>());
        value.cloned().unwrap_or_else(option.default)
    }

    /// The same options with this value.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, option: &Opt<T>, value: T) -> Options {
        self.given.0.push((option.name, Value(Arc::new(value))));
        self
    }

    /// Takes an option as it was typed; says in words what its value must be.
    pub fn parse(&mut self, option: &dyn Declared, words: &[String]) -> Result<(), String> {
        let value = option.parse(words)?;
        self.given.0.push((option.name(), value));
        Ok(())
    }
}

/// Declared options that were given, in their order; the last of a name counts.
#[derive(Clone, Debug, Default)]
pub struct Given(Vec<(&'static str, Value)>);

/// The value of an option, of the type that its declaration has.
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

/// How an option is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `--name`.
    Switch,
    /// `--name VALUE`, with this word for the value.
    Value(&'static str),
    /// Everything after `--`, with this word for it.
    Rest(&'static str),
    /// Not at all: a program sets it.
    Unwritten,
}

/// An option as a command line sees it, whatever its type.
pub trait Declared: Sync {
    /// Its name, without dashes.
    fn name(&self) -> &'static str;
    /// How it is typed.
    fn form(&self) -> Form;
    /// One line of help.
    fn help(&self) -> &'static str;
    /// Its value from what was typed: none for a switch, one for a value. The error says what it
    /// must be.
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
    /// `--name VALUE`. `parse` gets the value as the only word.
    pub const fn value(
        name: &'static str,
        value_name: &'static str,
        help: &'static str,
        parse: fn(&[String]) -> Result<T, String>,
        default: fn() -> T,
    ) -> Opt<T> {
        Opt { name, form: Form::Value(value_name), help, parse, default }
    }

    /// An option that only a program sets.
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
