//! Sizes in iozone's notation: a number of KiB, or with the suffix `k`, `m` or `g`.

use super::IozoneError;

/// Maximum accepted size, bytes: more than any drive.
const MOST: u64 = 1 << 50;

/// Parses a size into bytes; `option` is named in the error.
pub(super) fn parse(option: &str, text: &str) -> Result<u64, IozoneError> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return Err(wrong(option, text)),
    };
    let number: u64 = digits.parse().map_err(|_| wrong(option, text))?;
    let bytes = number.checked_mul(1 << shift).filter(|bytes| (1..=MOST).contains(bytes));
    bytes.ok_or_else(|| wrong(option, text))
}

fn wrong(option: &str, text: &str) -> IozoneError {
    IozoneError::new(format!("{option} takes a size such as 512, 64k, 100m or 2g, not '{text}'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_kib_without_a_suffix() {
        let of = |text| parse("-s", text);
        assert_eq!(of("512"), Ok(512 << 10));
        assert_eq!(of("4k"), Ok(4 << 10));
        assert_eq!((of("100M"), of("100m")), (Ok(100 << 20), Ok(100 << 20)));
        assert_eq!(of("2g"), Ok(2 << 30));
        for text in ["", "k", "0", "-1", "1.5m", "4kb", "4t", "99999999999g", "m4"] {
            let error = of(text).expect_err(text);
            assert!(error.what.starts_with("-s takes a size"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_size_or_an_error(text in "\\PC*") {
            let _ = parse("-s", &text);
        }

        #[test]
        fn numbers_of_each_unit_are_exact(number in 1u64..1 << 20, unit in 0usize..3) {
            let text = format!("{number}{}", ["k", "m", "g"][unit]);
            prop_assert_eq!(parse("-r", &text), Ok(number << (10 * (unit + 1))));
        }
    }
}
