//! A JSON value in fio's layout. The keys of an object keep their order, and a number has six
//! decimals or none: scripts search this text line by line, and `serde_json` sorts keys.

use std::fmt::{self, Display, Formatter};

use serde_json::Value;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    Null,
    Flag(bool),
    Whole(u64),
    Real(f64),
    Text(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl Tree {
    /// An object with these fields.
    pub fn object<K: Into<String>>(fields: impl IntoIterator<Item = (K, Tree)>) -> Tree {
        Tree::Object(fields.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// A list of these values.
    pub fn list<T: Into<Tree>>(values: impl IntoIterator<Item = T>) -> Tree {
        Tree::List(values.into_iter().map(Into::into).collect())
    }

    fn write(&self, f: &mut Formatter<'_>, level: usize) -> fmt::Result {
        match self {
            Tree::Null => f.write_str("null"),
            Tree::Flag(flag) => write!(f, "{flag}"),
            Tree::Whole(number) => write!(f, "{number}"),
            Tree::Real(number) => write!(f, "{number:.6}"),
            Tree::Text(text) => write!(f, "{}", Value::from(text.as_str())),
            Tree::List(values) => {
                write_lines(f, level, ['[', ']'], values, |value, f| value.write(f, level + 1))
            }
            Tree::Object(fields) => write_lines(f, level, ['{', '}'], fields, |(key, value), f| {
                write!(f, "{} : ", Value::from(key.as_str()))?;
                value.write(f, level + 1)
            }),
        }
    }
}

/// Writes one element a line between two brackets.
fn write_lines<T>(
    f: &mut Formatter<'_>,
    level: usize,
    [open, close]: [char; 2],
    elements: &[T],
    write_one: impl Fn(&T, &mut Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    writeln!(f, "{open}")?;
    for (i, element) in elements.iter().enumerate() {
        let separator = if i == 0 { "" } else { ",\n" };
        write!(f, "{separator}{:1$}", "", (level + 1) * 2)?;
        write_one(element, f)?;
    }
    write!(f, "\n{:1$}{close}", "", level * 2)
}

impl Display for Tree {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

impl From<u64> for Tree {
    fn from(number: u64) -> Tree {
        Tree::Whole(number)
    }
}

impl From<u32> for Tree {
    fn from(number: u32) -> Tree {
        Tree::Whole(number.into())
    }
}

impl From<f64> for Tree {
    fn from(number: f64) -> Tree {
        Tree::Real(number)
    }
}

impl From<&str> for Tree {
    fn from(text: &str) -> Tree {
        Tree::Text(text.into())
    }
}

impl From<String> for Tree {
    fn from(text: String) -> Tree {
        Tree::Text(text)
    }
}

impl From<Value> for Tree {
    fn from(value: Value) -> Tree {
        match value {
            Value::Null => Tree::Null,
            Value::Bool(flag) => Tree::Flag(flag),
            Value::Number(number) => {
                number.as_u64().map_or(Tree::Real(number.as_f64().unwrap_or(0.0)), Tree::Whole)
            }
            Value::String(text) => Tree::Text(text),
            Value::Array(values) => Tree::list(values),
            Value::Object(fields) => {
                Tree::object(fields.into_iter().map(|(key, value)| (key, value.into())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_that_of_fio() {
        let inner = Tree::object([("z", Tree::from(1.5)), ("a", "x\"y".into())]);
        let tree = Tree::object([("b", Tree::from(7u64)), ("list", Tree::list([inner]))]);
        let text = "{\n  \"b\" : 7,\n  \"list\" : [\n    {\n      \"z\" : 1.500000,\n      \
                    \"a\" : \"x\\\"y\"\n    }\n  ]\n}";
        assert_eq!(tree.to_string(), text);
        assert_eq!(Tree::List(Vec::new()).to_string(), "[\n\n]");
    }

    #[test]
    fn other_values_keep_their_content() {
        let value = serde_json::json!({"a": [null, true, -2, 0.5, "t"]});
        let text = Tree::from(value.clone()).to_string();
        let read: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read["a"][4], value["a"][4]);
        assert_eq!(read["a"][2], -2.0);
    }
}
