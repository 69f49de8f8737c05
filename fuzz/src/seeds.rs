//! Writes the examples of every target to `corpus/TARGET/`, from which the fuzzer starts.

use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    for target in targets::all() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
        fs::create_dir_all(&directory)?;
        for (number, example) in target.corpus.iter().enumerate() {
            fs::write(directory.join(format!("example-{number}")), example)?;
        }
    }
    Ok(())
}
