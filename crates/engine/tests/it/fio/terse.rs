//! Terse output: it has as many fields as fio's, and equal values where both must agree.

use std::process::Command;

use fio::output;

/// Numbers of the fields that depend neither on speed nor on fio's version, counted from 1 as in fio:
/// version of the layout, name, group, error, and KiB read.
const EXACT: [usize; 5] = [1, 3, 4, 5, 6];

#[test]
fn fields_stand_where_fio_has_them() {
    for version in [3, 4, 5] {
        for words in ["--rw=randrw --rwmixread=50", "--rw=write --bs=64k", "--rw=read --numjobs=2"]
        {
            let dir = tempfile::tempdir().expect("a directory");
            let file = dir.path().join("f").display().to_string();
            let words = format!("--name=a --filename={file} --size=1m {words}");
            let ours = super::common::runs(&words, |ran| output::terse(ran, version));
            let said = Command::new("fio")
                .args(words.split(' '))
                .args(["--minimal", &format!("--terse-version={version}")])
                .current_dir(dir.path())
                .output();
            let Ok(said) = said else {
                println!("skipped: fio is not installed");
                return;
            };
            let fios = String::from_utf8_lossy(&said.stdout).into_owned();
            assert_eq!(ours.lines().count(), fios.lines().count(), "{words}");
            for (ours, fios) in ours.lines().zip(fios.lines()) {
                let [ours, fios]: [Vec<&str>; 2] = [ours, fios].map(|l| l.split(';').collect());
                assert_eq!(ours.len(), fios.len(), "{words}\n{ours:?}\n{fios:?}");
                for field in EXACT.map(|number| number - 1) {
                    // Each tool draws a mix from its own generator.
                    if !(field == 5 && words.contains("rwmixread")) {
                        assert_eq!(ours[field], fios[field], "{words}, field {}", field + 1);
                    }
                }
                for (number, (o, f)) in (1..).zip(ours.iter().zip(&fios)) {
                    let form =
                        |text: &str| (text.contains('='), text.ends_with('%'), text.contains('.'));
                    let name = |text: &str| text.parse::<f64>().is_err() && !text.ends_with('%');
                    let (o_form, f_form) = (form(o), form(f));
                    let percentile = o_form.0 && f_form.0;
                    assert!(
                        o_form == f_form || percentile || name(o),
                        "{words}, field {number}: '{o}', fio's '{f}'"
                    );
                }
            }
        }
    }
}
