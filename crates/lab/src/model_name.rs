//! Names of drive models, as printed, sold and reported by drives.

/// Words that do not identify a model: kinds of drives and of their links.
const KINDS: [&str; 6] = ["ssd", "nvme", "sata", "pcie", "m.2", "series"];

/// Whether two names refer to the same model: the same words, ignoring those for kinds, and the
/// same capacity if both have one. Remarks in brackets are ignored.
pub(crate) fn is_model(a: &str, b: &str) -> bool {
    let ((a, size_a), (b, size_b)) = (words(a), words(b));
    let sized = size_a.zip(size_b).is_none_or(|(a, b)| a == b);
    // A single word, such as `SSD` or a vendor, does not identify a model.
    a.len() >= 2 && a == b && sized
}

/// The capacity in a name, GB.
pub(crate) fn gigabytes(name: &str) -> Option<u64> {
    words(name).1
}

/// The words of a name, sorted, and its capacity in GB.
fn words(name: &str) -> (Vec<String>, Option<u64>) {
    let bare = name.split('(').next().unwrap_or(name).to_lowercase();
    let bare = bare.replace("western digital", "wd").replace('"', "");
    let mut size = None;
    let mut words: Vec<String> = Vec::new();
    for word in bare.split_whitespace() {
        match capacity(word) {
            Some(gb) => size = Some(gb),
            None if KINDS.contains(&word) => {}
            None => words.push(word.to_string()),
        }
    }
    words.sort();
    words.dedup();
    (words, size)
}

/// Parses `250GB`, `2TB`, `4G`; the result is in GB.
fn capacity(word: &str) -> Option<u64> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    match &word[digits.len()..] {
        "g" | "gb" => Some(number),
        "t" | "tb" => number.checked_mul(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_its_words_in_any_order_and_its_capacity() {
        let same = [
            ("Samsung SSD 980 PRO 1TB", "Samsung 980 PRO"),
            ("Crucial M225 64GB", "Crucial M225 64GB (Indilinx Barefoot)"),
            ("WD PC SN530 NVMe 256GB", "Western Digital PC SN530 256GB"),
            ("MicroSD SanDisk 4G class 2", "MicroSD SanDisk 4G \"Class 2\""),
        ];
        for (a, b) in same {
            assert!(is_model(a, b) && is_model(b, a), "{a} | {b}");
        }
        let other = [
            ("Samsung SSD 980 PRO 1TB", "Samsung SSD 980 PRO 2TB"),
            ("Samsung SSD 980 PRO 1TB", "Samsung SSD 980 1TB"),
            ("Samsung SSD 970 EVO Plus 1TB", "Samsung SSD 970 PRO 1TB"),
            ("SSD 1TB", "NVMe SSD"),
            ("QEMU NVMe Ctrl", "NVMe"),
            ("Crucial BX500 240GB", "Crucial BX500 240GB in a USB 2 caddy"),
        ];
        for (a, b) in other {
            assert!(!is_model(a, b), "{a} | {b}");
        }
    }
}
