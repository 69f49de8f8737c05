//! A quantity computed from printed figures, records of experiments and constants, as written in
//! `published/claims`: `000/*-linux/fs-read / 000/ramfs/fs-read`. Pure.
//!
//! Words are separated by spaces. A word is a number with a unit (`64KiB`), the path of a figure in
//! `published/figures`, or `EXPERIMENT:METRIC`. A `*` in the entry of a path stands for every entry
//! that has the figure: the expression is then computed for each, matched by entry, and a function
//! such as `max( )` reduces the list. All values are in the units of records.
//!
//! Evaluators such as evalexpr or exmex have neither lists that are matched by entry nor names with
//! `/`, `*` and `-`; a parser library would replace the last 80 lines only.

use std::ops::{Add, Div, Mul, Sub};

use serde::Deserialize;

use crate::published::{self, ParsedFigure, Printed};

/// Maximum nesting of an expression, which bounds the stack on a user's file.
const DEPTH_MAX: usize = 12;

/// A parsed expression.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Expression {
    text: String,
    root: Node,
}

#[derive(Clone, Debug)]
enum Node {
    Constant(f64),
    /// The path of a printed figure; its entry may contain `*`.
    Printed(String),
    /// A value from the record of an experiment.
    Recorded {
        experiment: String,
        metric: String,
    },
    Call(NamedFunction, Vec<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
}

type Operator = fn(f64, f64) -> f64;

const SUM_OPERATORS: [(&str, Operator); 2] = [("+", Add::add), ("-", Sub::sub)];
const PRODUCT_OPERATORS: [(&str, Operator); 2] = [("*", Mul::mul), ("/", Div::div)];

#[derive(Clone, Copy, Debug)]
enum NamedFunction {
    /// Of each value.
    Each(fn(f64) -> f64),
    /// Of a list that is not empty.
    All(fn(&[f64]) -> f64),
}

const FUNCTIONS: [(&str, NamedFunction); 9] = [
    ("min", NamedFunction::All(least)),
    ("max", NamedFunction::All(most)),
    ("mean", NamedFunction::All(|values| values.iter().sum::<f64>() / values.len() as f64)),
    ("sum", NamedFunction::All(|values| values.iter().sum())),
    ("count", NamedFunction::All(|values| values.len() as f64)),
    ("spread", NamedFunction::All(|values| most(values) / least(values))),
    ("abs", NamedFunction::Each(f64::abs)),
    ("round", NamedFunction::Each(libm::round)),
    ("floor", NamedFunction::Each(libm::floor)),
];

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// What an expression is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    VirtualDrive,
    PublishedRows,
    Arithmetic,
}

/// A value for each matched entry; a single value has the entry ``.
type Values = Vec<(String, f64)>;

/// Finds the value of a metric in the record of an experiment.
pub(super) type Recorded<'a> = dyn Fn(&str, &str) -> Option<f64> + 'a;

impl TryFrom<String> for Expression {
    type Error = String;

    fn try_from(text: String) -> Result<Expression, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut parser = Parser { words: &words, depth: 0 };
        let root = parser.sum().map_err(|error| format!("'{text}': {error}"))?;
        match parser.words.first() {
            None => Ok(Expression { root, text }),
            Some(word) => Err(format!("'{text}': unexpected '{word}'")),
        }
    }
}

impl Expression {
    /// As written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The experiments and metrics that it needs.
    pub fn recorded(&self) -> Vec<(&str, &str)> {
        let mut names = Vec::new();
        self.root.visit(&mut |node| {
            if let Node::Recorded { experiment, metric } = node {
                names.push((experiment.as_str(), metric.as_str()));
            }
        });
        names
    }

    pub fn ground(&self) -> Ground {
        let mut ground = Ground::Arithmetic;
        self.root.visit(&mut |node| match node {
            Node::Recorded { .. } => ground = Ground::VirtualDrive,
            Node::Printed(_) if ground == Ground::Arithmetic => ground = Ground::PublishedRows,
            _ => {}
        });
        ground
    }

    /// Its value; `None` if a figure is missing, or if a list was not reduced.
    pub(super) fn value(&self, recorded: &Recorded<'_>) -> Option<f64> {
        match self.root.values(recorded)?.as_slice() {
            [(entry, value)] if entry.is_empty() => Some(*value).filter(|value| value.is_finite()),
            _ => None,
        }
    }
}

impl Node {
    fn visit<'a>(&'a self, see: &mut impl FnMut(&'a Node)) {
        see(self);
        match self {
            Node::Call(_, inner) => inner.iter().for_each(|node| node.visit(see)),
            Node::Binary(_, left, right) => {
                left.visit(see);
                right.visit(see);
            }
            Node::Constant(_) | Node::Printed(_) | Node::Recorded { .. } => {}
        }
    }

    fn values(&self, recorded: &Recorded<'_>) -> Option<Values> {
        match self {
            Node::Constant(value) => Some(single(*value)),
            Node::Printed(path) => printed(path),
            Node::Recorded { experiment, metric } => recorded(experiment, metric).map(single),
            Node::Call(function, inner) => {
                let inner: Option<Vec<Values>> =
                    inner.iter().map(|node| node.values(recorded)).collect();
                function.apply(inner?)
            }
            Node::Binary(operator, left, right) => {
                Some(combined(&left.values(recorded)?, &right.values(recorded)?, *operator))
            }
        }
    }
}

fn single(value: f64) -> Values {
    vec![(String::new(), value)]
}

/// The figures at a path, in the record's unit: the middle of a printed range, or its end at
/// `.low` or `.high`.
fn printed(path: &str) -> Option<Values> {
    let (path, end) = match path.rsplit_once('.') {
        Some((path, end @ ("low" | "high"))) => (path, end),
        _ => (path, ""),
    };
    let is_list = path.contains('*');
    let figures = published::figures(path)?.into_iter();
    let values = figures.map(|(entry, figure)| {
        let high = figure.to.unwrap_or(figure.value);
        let printed_value = match end {
            "low" => figure.value,
            "high" => high,
            _ => (figure.value + high) / 2.0,
        };
        let name = if is_list { entry } else { String::new() };
        (name, printed_value * figure.scale().1)
    });
    Some(values.collect())
}

/// Combines values. Lists are matched by entry, entries of only one are dropped, and a single value
/// goes with each entry.
fn combined(left: &Values, right: &Values, operator: Operator) -> Values {
    let pairs = left.iter().flat_map(|l| right.iter().map(move |r| (l, r)));
    let matched = pairs.filter(|((l, _), (r, _))| l.is_empty() || r.is_empty() || l == r);
    matched
        .map(|((l, left), (r, right))| {
            let entry = if l.is_empty() { r } else { l };
            (entry.clone(), operator(*left, *right))
        })
        .collect()
}

impl NamedFunction {
    fn apply(self, mut inner: Vec<Values>) -> Option<Values> {
        match self {
            NamedFunction::Each(change) => {
                let values = inner.pop().filter(|_| inner.is_empty())?;
                Some(values.into_iter().map(|(entry, value)| (entry, change(value))).collect())
            }
            NamedFunction::All(reduce) => {
                let values: Vec<f64> =
                    inner.into_iter().flatten().map(|(_, value)| value).collect();
                if values.is_empty() { None } else { Some(single(reduce(&values))) }
            }
        }
    }
}

/// A parser by recursive descent: sums of products of single values.
struct Parser<'w> {
    words: &'w [&'w str],
    depth: usize,
}

impl<'w> Parser<'w> {
    fn sum(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("nested too deeply".to_string());
        }
        let mut node = self.product()?;
        while let Some(operator) = self.operator(&SUM_OPERATORS) {
            node = Node::Binary(operator, Box::new(node), Box::new(self.product()?));
        }
        self.depth -= 1;
        Ok(node)
    }

    fn product(&mut self) -> Result<Node, String> {
        let mut node = self.single()?;
        while let Some(operator) = self.operator(&PRODUCT_OPERATORS) {
            node = Node::Binary(operator, Box::new(node), Box::new(self.single()?));
        }
        Ok(node)
    }

    fn single(&mut self) -> Result<Node, String> {
        let word = self.next().ok_or("it ends too early")?;
        if word == "(" {
            let node = self.sum()?;
            return self.close().map(|()| node);
        }
        if let Some(name) = word.strip_suffix('(') {
            let (_, function) =
                FUNCTIONS.iter().find(|(known, _)| *known == name).ok_or("unknown function")?;
            let mut inner = vec![self.sum()?];
            while self.words.first() == Some(&",") {
                self.next();
                inner.push(self.sum()?);
            }
            return self.close().map(|()| Node::Call(*function, inner));
        }
        if published::is_path(word) {
            return Ok(Node::Printed(word.to_string()));
        }
        if let Some((experiment, metric)) = word.split_once(':') {
            let (experiment, metric) = (experiment.to_string(), metric.to_string());
            return Ok(Node::Recorded { experiment, metric });
        }
        constant(word).map(Node::Constant).ok_or_else(|| format!("'{word}' is not a value"))
    }

    fn operator(&mut self, known: &[(&str, Operator)]) -> Option<Operator> {
        let word = self.words.first()?;
        let (_, operator) = known.iter().find(|(sign, _)| sign == word)?;
        self.next();
        Some(*operator)
    }

    fn close(&mut self) -> Result<(), String> {
        self.next().filter(|word| *word == ")").map(drop).ok_or("')' is missing".to_string())
    }

    fn next(&mut self) -> Option<&'w str> {
        let (word, rest) = self.words.split_first()?;
        self.words = rest;
        Some(word)
    }
}

/// A number with an optional unit, in the record's unit.
fn constant(word: &str) -> Option<f64> {
    let digits = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let (amount, unit) = word.split_at(digits);
    let unit = if unit.is_empty() { "1" } else { unit };
    let figure = ParsedFigure::read(&Printed::Number(amount.parse().ok()?), Some(unit))?;
    Some(figure.value * figure.scale().1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<f64> {
        let recorded = |experiment: &str, metric: &str| {
            (experiment == "drive" && metric == "write.throughput").then_some(2e6)
        };
        Expression::try_from(text.to_string()).expect(text).value(&recorded)
    }

    #[test]
    fn products_bind_before_sums_and_parentheses_before_both() {
        let table = [
            ("2 + 3 * 4", 14.0),
            ("( 2 + 3 ) * 4", 20.0),
            ("8 / 4 / 2", 1.0),
            ("10 - 4 - 3", 3.0),
            ("abs( 2 - 5 )", 3.0),
            ("max( 1 , 2 + 3 , 4 )", 5.0),
            ("spread( 2 , 8 )", 4.0),
            ("floor( 7 / 2 )", 3.0),
            ("64KiB / 2", 32768.0),
            ("drive:write.throughput / 1MB/s", 2.0),
        ];
        for (text, expected) in table {
            assert_eq!(value(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn paths_are_figures_and_a_star_is_each_entry_that_has_all_of_them() {
        assert_eq!(value("000/ramfs/hd-read"), Some(397_433.0 * 1024.0));
        assert_eq!(value("004/usd-adata-2g/read"), Some(13e6), "the middle of 11 to 15");
        assert_eq!(value("004/usd-adata-2g/read.high - 004/usd-adata-2g/read.low"), Some(4e6));
        // All 31 rows have a percentage; two have no rate.
        assert_eq!(value("count( 000/*/hd-read-percent )"), Some(31.0));
        assert_eq!(value("count( 000/*/hd-read / 000/*/hd-read-percent )"), Some(29.0));
        assert_eq!(value("000/*/hd-read"), None, "a list is not a value");
        assert_eq!(value("000/nobody/hd-read"), None);
        assert_eq!(value("other:write.throughput"), None);
        assert_eq!(value("1 / 0"), None);
    }

    #[test]
    fn the_ground_is_what_the_value_rests_on() {
        let ground = |text: &str| Expression::try_from(text.to_string()).expect(text).ground();
        assert_eq!(ground("8 / 2"), Ground::Arithmetic);
        assert_eq!(ground("000/ramfs/hd-read / 2"), Ground::PublishedRows);
        assert_eq!(ground("000/ramfs/hd-read / d:m"), Ground::VirtualDrive);
        let needs = Expression::try_from("max( a:m , b:n )".to_string()).expect("well formed");
        assert_eq!(needs.recorded(), [("a", "m"), ("b", "n")]);
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        let deep = format!("{}1", "( ".repeat(1000));
        for text in ["", "1 +", "( 1", "1 2", "lots( 1 )", "fast", "1parsec", ")", &deep] {
            assert!(Expression::try_from(text.to_string()).is_err(), "{text}");
        }
    }
}
