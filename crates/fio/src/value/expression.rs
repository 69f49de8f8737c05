//! Arithmetic in values, in parentheses as in fio: `size=(8*(1+3))k`.
//!
//! Supports `+ - * / % ^`, unary minus, parentheses, integers and fractions, and the suffixes
//! of sizes and times, which bind more loosely than `* / % ^`, so that `10/5k` is 2k. Size suffixes
//! are powers of 1024 (`kib` and the like: 1000), regardless of `kb_base`. Fractions are computed
//! in floating point, integers in 64 bits; integer overflow is an error.

use super::Parsed;

/// Maximum nesting depth (arbitrary); keeps hostile input from overflowing the stack.
const DEEPEST: u32 = 64;

/// The unit of a number without a suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Bytes, or a plain number; `m` is mega.
    Bytes,
    /// Microseconds; `m` is minutes.
    Micros,
    /// Seconds; the result is in microseconds.
    Seconds,
}

/// Evaluates an expression to bytes or microseconds. A negative result is an error.
pub(crate) fn evaluate(text: &str, unit: Unit) -> Parsed<u64> {
    let mut reader = ExpressionReader { rest: text, whole: text, unit, depth: 0, suffixed: false };
    let value = reader.sum()?;
    if !reader.rest.trim_start().is_empty() {
        return Err(reader.wrong());
    }
    let value = if unit == Unit::Seconds && !reader.suffixed {
        value.times(Term::whole(1_000_000)).ok_or_else(|| reader.large())?
    } else {
        value
    };
    match value {
        Term { whole: Some(whole), .. } => u64::try_from(whole).ok(),
        // The integer part of any float below 2^63 fits in a `u64`.
        Term { real, .. } => (0.0..9.2e18).contains(&real).then_some(real as u64),
    }
    .ok_or_else(|| format!("'{text}' is negative or too large"))
}

/// An intermediate value, exact unless a fraction was involved.
#[derive(Clone, Copy, Debug)]
struct Term {
    whole: Option<i64>,
    real: f64,
}

impl Term {
    fn whole(value: i64) -> Term {
        Term { whole: Some(value), real: value as f64 }
    }

    fn real(value: f64) -> Option<Term> {
        value.is_finite().then_some(Term { whole: None, real: value })
    }

    /// Applies `whole` if both operands are integers, otherwise `real`; `None` on overflow.
    fn with(
        self,
        other: Term,
        whole: impl Fn(i64, i64) -> Option<i64>,
        real: impl Fn(f64, f64) -> f64,
    ) -> Option<Term> {
        match (self.whole, other.whole) {
            (Some(a), Some(b)) => whole(a, b).map(Term::whole),
            _ => Term::real(real(self.real, other.real)),
        }
    }

    fn times(self, other: Term) -> Option<Term> {
        self.with(other, i64::checked_mul, |a, b| a * b)
    }

    fn power(self, other: Term) -> Option<Term> {
        match (self.whole, other.whole) {
            (Some(a), Some(b)) if b >= 0 => a.checked_pow(u32::try_from(b).ok()?).map(Term::whole),
            _ => Term::real(libm::pow(self.real, other.real)),
        }
    }
}

struct ExpressionReader<'a> {
    rest: &'a str,
    whole: &'a str,
    unit: Unit,
    depth: u32,
    suffixed: bool,
}

impl ExpressionReader<'_> {
    fn wrong(&self) -> String {
        match self.rest.trim_start() {
            "" => format!("'{}' is incomplete", self.whole),
            rest => format!("'{}' cannot be parsed at '{rest}'", self.whole),
        }
    }

    fn large(&self) -> String {
        format!("'{}' overflows", self.whole)
    }

    /// Takes the next character if it is one of `some`.
    fn take(&mut self, some: &str) -> Option<char> {
        let rest = self.rest.trim_start();
        let c = rest.chars().next().filter(|c| some.contains(*c))?;
        self.rest = &rest[c.len_utf8()..];
        Some(c)
    }

    fn sum(&mut self) -> Parsed<Term> {
        let mut value = self.product()?;
        while let Some(sign) = self.take("+-") {
            let right = self.product()?;
            value = match sign {
                '+' => value.with(right, i64::checked_add, |a, b| a + b),
                _ => value.with(right, i64::checked_sub, |a, b| a - b),
            }
            .ok_or_else(|| self.large())?;
        }
        Ok(value)
    }

    /// Factors and suffixes, from left to right.
    fn product(&mut self) -> Parsed<Term> {
        let mut value = self.power()?;
        loop {
            let combined = if let Some(unit) = self.suffix() {
                value.times(Term::whole(unit))
            } else if let Some(sign) = self.take("*/") {
                let right = self.power()?;
                if sign == '/' && right.real == 0.0 {
                    return Err(format!("'{}' divides by zero", self.whole));
                }
                match sign {
                    '*' => value.times(right),
                    _ => value.with(right, i64::checked_div, |a, b| a / b),
                }
            } else {
                return Ok(value);
            };
            value = combined.ok_or_else(|| self.large())?;
        }
    }

    fn power(&mut self) -> Parsed<Term> {
        self.deeper(|reader| {
            let base = reader.modulo()?;
            if reader.take("^").is_none() {
                return Ok(base);
            }
            let exponent = reader.power()?;
            base.power(exponent).ok_or_else(|| reader.large())
        })
    }

    fn modulo(&mut self) -> Parsed<Term> {
        let mut value = self.unary()?;
        while self.take("%").is_some() {
            let (Some(a), Some(b)) = (value.whole, self.unary()?.whole) else {
                return Err(format!("'{}' applies % to a fraction", self.whole));
            };
            let rest = a.checked_rem(b);
            value = Term::whole(rest.ok_or_else(|| format!("'{}' divides by zero", self.whole))?);
        }
        Ok(value)
    }

    fn unary(&mut self) -> Parsed<Term> {
        self.deeper(|reader| {
            if reader.take("-").is_some() {
                let value = reader.unary()?;
                return value.times(Term::whole(-1)).ok_or_else(|| reader.large());
            }
            if reader.take("(").is_some() {
                let value = reader.sum()?;
                return reader.take(")").map(|_| value).ok_or_else(|| reader.wrong());
            }
            reader.number()
        })
    }

    fn deeper(&mut self, inner: impl Fn(&mut Self) -> Parsed<Term>) -> Parsed<Term> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("'{}' is nested too deeply", self.whole));
        }
        let value = inner(self);
        self.depth -= 1;
        value
    }

    fn number(&mut self) -> Parsed<Term> {
        let rest = self.rest.trim_start();
        let hex = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X"));
        let (text, radix) = hex.map_or((rest, 10), |digits| (digits, 16));
        let end = text.find(|c: char| !(c.is_digit(radix) || radix == 10 && c == '.'));
        let end = end.unwrap_or(text.len());
        let (digits, rest) = text.split_at(end);
        let term = if digits.contains('.') {
            digits.parse().ok().and_then(Term::real)
        } else {
            i64::from_str_radix(digits, radix).ok().map(Term::whole)
        };
        let term = term.ok_or_else(|| self.wrong())?;
        self.rest = rest;
        Ok(term)
    }

    /// Takes a suffix and returns its factor.
    fn suffix(&mut self) -> Option<i64> {
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let micros = 1_000_000;
        let factor = match (rest[..end].to_ascii_lowercase().as_str(), self.unit) {
            ("k" | "kb", _) => 1 << 10,
            ("m", Unit::Bytes) | ("mb", _) => 1 << 20,
            ("g" | "gb", _) => 1 << 30,
            ("t" | "tb", _) => 1 << 40,
            ("p" | "pb", _) => 1 << 50,
            ("kib", _) => 1_000,
            ("mib", _) => 1_000_000,
            ("gib", _) => 1_000_000_000,
            ("tib", _) => 1_000_000_000_000,
            ("pib", _) => 1_000_000_000_000_000,
            ("us", _) => 1,
            ("ms", _) => 1_000,
            ("s", _) => micros,
            ("m", _) => 60 * micros,
            ("h", _) => 3_600 * micros,
            ("d", _) => 86_400 * micros,
            _ => return None,
        };
        self.suffixed = true;
        self.rest = &rest[end..];
        Some(factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic() {
        let table = [
            ("(4*1024)k", 4 << 20),
            ("(8*(1+3))k", 32 << 10),
            ("(1k+1)", 1025),
            ("(1+4k)", 4097),
            ("(4k*2)", 8192),
            ("(2^3^2)", 512),
            ("(7%4*2)", 6),
            ("(0.5*1m)", 1 << 19),
            ("(1.5g)", 3 << 29),
            ("(10/4)", 2),
            ("(10/4.0*2)", 5),
            ("(-1+3)", 2),
            ("(0x10 + 1)", 17),
            ("(2^-1*4)", 2),
            ("(4kib)", 4000),
        ];
        for (text, value) in table {
            assert_eq!(evaluate(text, Unit::Bytes), Ok(value), "{text}");
        }
        assert_eq!(evaluate("(1m)", Unit::Micros), Ok(60_000_000));
        assert_eq!(evaluate("(1+1)", Unit::Seconds), Ok(2_000_000));
    }

    #[test]
    fn invalid_expressions_are_errors_without_panics() {
        let deep = "(".repeat(100_000);
        let minus = format!("({}1)", "-".repeat(100_000));
        let towers = format!("(1{})", "^1".repeat(100_000));
        for text in [
            "(",
            "()",
            "(1",
            "1)",
            "(1/0)",
            "(1%0)",
            "(2^64)",
            "(9^999999999999)",
            "(1-2)",
            "(1.5%2)",
            "(4q)",
            "(1 2)",
            "(.)",
            "(1..2)",
            "(9223372036854775807+1)",
            "(-9223372036854775807-1)",
            &deep,
            &minus,
            &towers,
        ] {
            assert!(evaluate(text, Unit::Bytes).is_err(), "{}", &text[..text.len().min(40)]);
        }
    }
}
