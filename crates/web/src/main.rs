//! `ssdyno-web`: the program that `ssdyno web` and `ssdyno site` start. Addresses and counts go to
//! stdout, failures to stderr.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use store::Store;
use web::{ServeOptions, SiteCounts, serve, write_site};

/// The records of ssdyno as pages.
#[derive(Debug, Parser)]
#[command(name = "ssdyno-web", version, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Serve the pages on 127.0.0.1
    Serve {
        /// Port; 0 for a free one
        #[arg(long, default_value_t = 0)]
        port: u16,
        /// File of the records
        #[arg(long)]
        store: Option<PathBuf>,
        /// The command that starts runs
        #[arg(long)]
        command: PathBuf,
    },
    /// Write the pages as files
    Site {
        directory: PathBuf,
        /// File of the records
        #[arg(long)]
        store: Option<PathBuf>,
    },
}

/// I/O failed: the exit code of the command for it.
const IO: u8 = 4;

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ssdyno: {}", emit::one_line(&format!("{error:#}")));
            ExitCode::from(IO)
        }
    }
}

fn run(task: Task) -> Result<()> {
    match task {
        Task::Serve { port, store, command } => {
            serve(ServeOptions { store, port, command }, |address| {
                println!("{address}");
                eprintln!("open this address in a browser of this machine; Ctrl-C ends it");
            })
        }
        Task::Site { directory, store } => {
            let mut store = Store::open_existing(store.as_deref())?;
            let SiteCounts { records, drives, models, files } = write_site(&mut store, &directory)?;
            let list = directory.join("index.html").display().to_string();
            println!("{}", emit::plain(&list));
            eprintln!("{files} files: {records} records, {drives} drives, {models} models");
            Ok(())
        }
    }
}
