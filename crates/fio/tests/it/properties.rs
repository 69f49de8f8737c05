//! Properties that hold for any words: no panic, equal jobs from a file and from a command line,
//! and correct arithmetic.

use fio::{Amount, CommandLine, FioError, Plan, World, parse};
use proptest::prelude::*;

/// A world with one job file.
struct One(String);

impl World for One {
    fn read(&self, path: &str) -> std::io::Result<Vec<u8>> {
        match path {
            "a.fio" => Ok(self.0.clone().into_bytes()),
            _ => Err(std::io::Error::from(std::io::ErrorKind::NotFound)),
        }
    }

    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn is_special(&self, _: &str) -> bool {
        false
    }
}

fn ask(words: &[String], file: &str) -> Result<CommandLine, FioError> {
    parse(words, &One(file.into()))
}

/// The plan without the locations of its parts.
fn plan(words: &[String], file: &str) -> Result<Plan, String> {
    match ask(words, file) {
        Ok(CommandLine::Run(mut plan)) => {
            // As in fio, a file processes options in another order, and a name is no option there.
            for job in &mut plan.jobs {
                job.origin.clear();
                job.given.clear();
            }
            plan.notes.iter_mut().for_each(|note| note.place.clear());
            Ok(*plan)
        }
        Ok(CommandLine::Answer(text) | CommandLine::Inflate(text)) => Err(text),
        Err(error) => Err(error.what),
    }
}

/// Options that can be combined in any order.
fn option() -> impl Strategy<Value = String> {
    let size = (1u32..64, prop::sample::select(vec!["k", "m", "kb", "KiB", ""]));
    let size = size.prop_map(|(number, unit)| format!("{}{unit}", number * 512));
    prop_oneof![
        size.clone().prop_map(|size| format!("bs={size}")),
        (size.clone(), size.clone()).prop_map(|(a, b)| format!("bs={a},{b}")),
        (size.clone(), size.clone()).prop_map(|(a, b)| format!("bsrange={a}-{b}")),
        (size.clone(), size, 1u32..99)
            .prop_map(|(a, b, share)| format!("bssplit={a}/{share}:{b}/{}", 100 - share)),
        (1u32..256).prop_map(|depth| format!("iodepth={depth}")),
        (0u32..64).prop_map(|batch| format!("iodepth_batch={batch}")),
        (1u32..8).prop_map(|jobs| format!("numjobs={jobs}")),
        (1u32..9).prop_map(|files| format!("nrfiles={files}")),
        (0u32..101).prop_map(|share| format!("rwmixread={share}")),
        (0u32..101).prop_map(|share| format!("offset={share}%")),
        (1u32..900).prop_map(|time| format!("runtime={time}ms")),
        prop::sample::select(vec![
            "rw=randrw",
            "rw=write",
            "rw=randread:4",
            "thread",
            "time_based",
            "norandommap",
            "direct=1",
            "verify=crc32c",
            "ioengine=io_uring",
            "group_reporting",
            "stonewall",
            "random_distribution=zipf:1.3",
            "description=it's a \"test\"",
            "directory=/a b:/c",
            "write_bw_log=bw",
            "zero_buffers",
            "refill_buffers=1",
            "fsync=32",
            "unlink=1",
        ])
        .prop_map(String::from),
    ]
}

/// Splits the output of `--showcmd` like a shell: it uses only single quotes and backslashes.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut quoted, mut letters) = (false, line.trim().chars());
    while let Some(letter) = letters.next() {
        let last = words.len() - 1;
        match letter {
            '\'' => quoted = !quoted,
            '\\' if !quoted => words[last].extend(letters.next()),
            ' ' if !quoted => words.push(String::new()),
            _ => words[last].push(letter),
        }
    }
    words
}

/// An expression with its value.
fn expression() -> impl Strategy<Value = (String, i128)> {
    let leaf = (0i128..5000).prop_map(|number| (number.to_string(), number));
    leaf.prop_recursive(5, 40, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| (format!("({}+{})", a.0, b.0), a.1 + b.1)),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| (format!("({}-{})", a.0, b.0), a.1 - b.1)),
            (inner.clone(), 0i128..50).prop_map(|(a, b)| (format!("({}*{b})", a.0), a.1 * b)),
            (inner.clone(), 1i128..50).prop_map(|(a, b)| (format!("({}/{b})", a.0), a.1 / b)),
            (inner.clone(), 1i128..50).prop_map(|(a, b)| (format!("({} % {b})", a.0), a.1 % b)),
            inner.clone().prop_map(|a| (format!("(-{})", a.0), -a.1)),
            inner.prop_map(|a| (format!("({}k)", a.0), a.1 * 1024)),
        ]
    })
}

proptest! {
    #[test]
    fn any_words_give_a_plan_an_answer_or_an_error(
        words in prop::collection::vec(".{0,24}|--[a-z_]{1,12}=.{0,12}|-[a-z]{1,9}", 0..8),
        file in "(\\[[a-z]{1,3}\\]\n|[a-z_]{2,12}(=.{0,12})?\n|.{0,20}\n){0,10}",
    ) {
        let _ = ask(&words, &file);
        let _ = ask(&["a.fio".to_string()], &file);
    }

    #[test]
    fn a_file_and_a_command_line_give_the_same_plan(options in prop::collection::vec(option(), 0..12)) {
        let mut words = vec!["--name=j".to_string(), "--size=1g".into()];
        words.extend(options.iter().map(|option| format!("--{option}")));
        let text = format!("[j]\nsize=1g\n{}\n", options.join("\n"));
        let file = ["a.fio".to_string()];
        let from_file = plan(&file, &text);
        prop_assert_eq!(&plan(&words, ""), &from_file);
        // The same holds for the command line that fio derives from a file.
        let shown = plan(&["--showcmd".to_string(), file[0].clone()], &text).expect_err("an answer");
        prop_assert_eq!(&plan(&shell_words(&shown)[1..], ""), &from_file);
    }

    #[test]
    fn arithmetic_is_correct((text, value) in expression()) {
        let words = ["--name=j", "--bs=1"].map(String::from);
        let words: Vec<_> = words.into_iter().chain([format!("--io_size=(1+{text})")]).collect();
        let found = plan(&words, "");
        match u64::try_from(value + 1) {
            Ok(bytes) if value < i128::from(i64::MAX) => {
                let size = found.expect("a plan").jobs[0].space.io_size;
                prop_assert_eq!(size, Some(Amount::Bytes(bytes)).filter(|_| bytes > 0), "{}", text);
            }
            _ => prop_assert!(found.is_err(), "{}", text),
        }
    }
}
