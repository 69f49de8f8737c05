//! The letters of a command line of iozone that a text records, as getopt reads them: letters may be
//! joined, and a value may be joined to its letter (`-Obout.xls`, `-azI`, `-i0`).

use super::words::takes_value;

/// The letters of a command line in order, each with its value, which is empty without one.
pub(crate) fn letters(command: &str) -> Vec<(char, &str)> {
    let mut letters = Vec::new();
    let mut words = command.split_whitespace();
    while let Some(word) = words.next() {
        let Some(options) = word.strip_prefix('-').filter(|word| !word.starts_with('+')) else {
            continue;
        };
        for (at, letter) in options.char_indices() {
            if !takes_value(letter) {
                letters.push((letter, ""));
                continue;
            }
            let value = &options[at + letter.len_utf8()..];
            let value = if value.is_empty() { words.next().unwrap_or_default() } else { value };
            letters.push((letter, value));
            break;
        }
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_values_may_be_joined() {
        for (command, read) in [
            ("iozone -azI", &[('a', ""), ('z', ""), ('I', "")][..]),
            ("iozone -Ob out.xls -i0", &[('O', ""), ('b', "out.xls"), ('i', "0")]),
            ("iozone -bO.xls -f -I", &[('b', "O.xls"), ('f', "-I")]),
            ("iozone -+n -i 0 -F a b -O", &[('i', "0"), ('F', "a"), ('O', "")]),
            ("iozone - -é -r", &[('é', ""), ('r', "")]),
            ("", &[]),
        ] {
            assert_eq!(letters(command), read, "{command}");
        }
    }
}
