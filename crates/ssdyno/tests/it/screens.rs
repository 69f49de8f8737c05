//! Text for people: names whole, numbers short, whatever the width.

use crate::common::{Place, Said};

/// The output at this width.
fn at(place: &Place, width: &str, line: &str) -> String {
    let mut command = place.command(&line.split(' ').collect::<Vec<_>>());
    Said::of(command.env("COLUMNS", width).output().expect("starts")).good().out
}

/// Significant digits of a number such as `0.0120`, `7,090` or `185k`; `None` for other words.
fn digits(word: &str) -> Option<usize> {
    let word = word.trim_start_matches(['(', '[', '+', '-', '~']);
    let number = word.strip_suffix(['k', 'M', 'G']).unwrap_or(word);
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
    let is_number = number.starts_with(|c: char| c.is_ascii_digit()) && number.chars().all(plain);
    let significant = number.trim_start_matches(['0', '.']).chars().filter(char::is_ascii_digit);
    is_number.then(|| significant.count())
}

/// Numbers with a unit that have more than four significant digits.
fn too_exact(text: &str) -> Vec<String> {
    const UNITS: [&str; 11] =
        ["IOPS", "B/s", "kB/s", "MB/s", "GB/s", "ns", "us", "ms", "s", "operations", "times"];
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs = words.windows(2).filter(|pair| {
        let unit = pair[1].trim_end_matches([',', ';', '.', ':', ')', ']']);
        UNITS.contains(&unit) && pair[0].split('-').filter_map(digits).any(|n| n > 4)
    });
    pairs.map(|pair| pair.join(" ")).collect()
}

#[test]
fn digits_are_counted() {
    let words = ["185k", "0.0123", "115632", "147,659", "1.20M", "2010", "q32"];
    let counts = [Some(3), Some(3), Some(6), Some(6), Some(3), Some(4), None];
    assert_eq!(words.map(digits), counts);
    assert_eq!(too_exact("264,970 IOPS within 265k-274k; 1000 MB/s"), ["264,970 IOPS"]);
}

#[test]
fn every_number_has_at_most_four_significant_digits() {
    let place = Place::new();
    let fast = "sim:samsung-980-pro-1t?capacity=2GiB";
    for method in ["quick", "curve", "states", "align", "speed", "mark"] {
        for seed in ["1", "2"] {
            let run = ["run", fast, "-m", method, "--time", "30s", "--seed", seed, "--quiet"];
            let said = place.ssdyno(&run).good();
            assert_eq!(too_exact(&said.out), Vec::<String>::new(), "{method}: {}", said.out);
        }
    }
    for line in ["runs", "compare 1 2", "compare 3 4 --all", "compare 3 4 --markdown"] {
        let text = at(&place, "160", line);
        assert_eq!(too_exact(&text), Vec::<String>::new(), "{line}: {text}");
    }
    for width in ["60", "80"] {
        let text = at(&place, width, "compare 1 2");
        assert!(text.contains("sequential 1 MiB") && !text.contains('…'), "{text}");
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= width.parse().ok(), "{text}");
    }
}

#[test]
fn unlike_work_is_compared_only_if_asked() {
    let place = Place::new();
    let drive = "sim:sd-150x?capacity=64MiB";
    for block in ["4k", "16k", "4k"] {
        let io = ["io", drive, "--bs", block, "--ops", "200", "--quiet"];
        place.ssdyno(&io).good();
    }
    place.ssdyno(&["compare", "1", "2"]).refuses(2, "did unlike work: block size 4 KiB | 16 KiB");
    let said = place.ssdyno(&["compare", "1", "2", "--anyway"]).good().out;
    assert!(said.contains("Unlike work (block size 4 KiB | 16 KiB)."), "{said}");
    assert!(!place.ssdyno(&["compare", "1", "3"]).good().out.contains("Unlike"));
    place.ssdyno(&["run", drive, "-m", "speed", "--quiet"]).good();
    place.ssdyno(&["compare", "1", "4"]).refuses(2, "did unlike work: method io | speed");
}

#[test]
fn a_gate_ends_with_1_if_a_drive_is_slower_by_more_than_is_tolerated() {
    let place = Place::new();
    let drive = "sim:sd-150x?capacity=64MiB";
    for overrides in ["", "&command.read_us=1500"] {
        let target = format!("{drive}{overrides}");
        let io = ["io", &target, "--rw", "randread", "--bs", "4k", "--ops", "400", "--quiet"];
        place.ssdyno(&io).good();
    }
    let gate = |sides: [&str; 2], condition: &str| {
        place.ssdyno(&["compare", sides[0], sides[1], "--fail-if", condition])
    };
    let slower = gate(["1", "2"], "slower=5%");
    assert!(slower.err.contains("is slower by more than 5% at "), "{slower:?}");
    assert_eq!(slower.code, 1, "{slower:?}");
    assert!(gate(["2", "1"], "slower=5%").good().err.contains("gate: passes, none of"));
    gate(["1", "2"], "faster=5%").refuses(2, "must be a tolerated loss, as in slower=5%");
    let json = ["compare", "1", "2", "--fail-if", "slower=5%", "--json"];
    assert_eq!(place.ssdyno(&json).json()["gate"]["slower"][0], "throughput");
}

#[test]
fn a_virtual_drive_is_a_side_of_a_comparison() {
    let place = Place::new();
    let run = ["run", "sim:sd-150x?capacity=64MiB", "--time", "5s", "--seed", "3", "--quiet"];
    place.ssdyno(&run).good();
    let said = place.ssdyno(&["compare", "1", "sim:sd-class2?capacity=64MiB"]).good();
    assert!(said.out.contains("run 2") && said.out.contains(" is faster at "), "{said:?}");
    assert_eq!(place.runs().len(), 2, "its record is kept");
    // Run 3 is iozone, which ignores --time; the option is for align.
    let both = ["run", "sim:sd-150x?capacity=256MiB", "-m", "iozone,align", "--time", "5s"];
    place.ssdyno(&[&both[..], &["--quiet"]].concat()).good();
    place.ssdyno(&["compare", "3", "sim:sd-class2?capacity=256MiB"]).good();
    let alone = place.ssdyno(&["compare", "sim:sd-class2", "1"]);
    alone.refuses(2, "needs a run before it");
    place.ssdyno(&["compare", "pub:001/980-pro", "sim:sd-class2"]).refuses(2, "cannot be repeated");
}

#[test]
fn nothing_is_cut_in_a_pipe_and_no_name_on_a_terminal() {
    let place = Place::new();
    let target = "sim:sd-150x?capacity=128MiB&vary=0&wear=0.25&host=open-firmware-usb";
    place.ssdyno(&["io", target, "--ops", "9", "--quiet"]).good();
    for line in ["drives", "drives show samsung-980-pro-1t", "runs --published", "runs", "methods"]
    {
        let text = place.ssdyno(&line.split(' ').collect::<Vec<_>>()).good().out;
        assert!(!text.contains('…'), "{line}: {text}");
        let drive = "Western Digital PC SN530 256GB";
        assert!(!line.ends_with("published") || text.contains(drive), "{text}");
    }
    for width in ["60", "80", "120"] {
        assert!(at(&place, width, "runs").contains(target), "{width}");
        assert!(at(&place, width, "runs --published").contains("Crucial P2 500GB CT500P2SS"));
        let methods = at(&place, width, "methods");
        let widest = methods.lines().map(|line| line.chars().count()).max();
        assert!(widest <= width.parse().ok(), "{methods}");
    }
    let described = at(&place, "80", "drives -v");
    assert!(described.contains("sd-150x  4.01 GB  sd-high\n") && !described.contains('…'));
}

#[test]
fn published_results_are_sentences_without_keys() {
    let text = Place::new().ssdyno(&["runs", "--published"]).good().out;
    for key in ["(hd", "gbp", "Block:", "Cluster:", "0.00", "Write peak", "Written:"] {
        assert!(!text.contains(key), "{key}: {text}");
    }
}

#[test]
fn zones_reports_that_an_unwritten_drive_was_not_measured() {
    let place = Place::new();
    let zones = |target: &str| {
        place.ssdyno(&["run", target, "-m", "zones", "--time", "9s", "--quiet"]).good().out
    };
    let fresh = zones("sim:indilinx-m225-64?capacity=128MiB");
    assert!(fresh.contains("\nIt held no data: reads at"), "{fresh}");
    assert!(fresh.contains("not the drive: blocks never written were read"), "{fresh}");
    assert!(fresh.contains("?state=used"), "{fresh}");
    let used = zones("sim:indilinx-m225-64?capacity=128MiB&state=used");
    assert!(used.contains("~ predicted") && !used.contains("held no data"), "{used}");
}

#[test]
fn manuals_have_examples() {
    let place = Place::new();
    let text = place.ssdyno(&["man"]).good().out;
    assert!(text.contains(".SH EXAMPLES\n  ssdyno run .") && !text.contains("EXTRA"), "{text}");
}
