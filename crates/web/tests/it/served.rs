//! A server on a port of its own, and requests to it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;

use record::{Document, Run};
use store::Store;
use tempfile::TempDir;
use web::{ServeOptions, serve};

use crate::samples;

/// A server with a store; it ends with the tests.
pub struct Served {
    pub host: String,
    key: String,
    directory: TempDir,
}

/// An answer.
#[derive(Debug)]
pub struct Answered {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Served {
    /// Serves a store with these records.
    pub fn with(documents: &[Document]) -> Served {
        let directory = tempfile::tempdir().expect("a directory");
        let path = store_in(directory.path(), documents);
        let (sender, address) = channel();
        // No run is started by a command that does not exist.
        let command = directory.path().join("no-command");
        thread::spawn(move || {
            serve(ServeOptions { store: Some(path), port: 0, command }, |address| {
                sender.send(address.to_string()).expect("a test that waits");
            })
        });
        let address = address.recv().expect("an address");
        let (host, key) = address
            .strip_prefix("http://")
            .and_then(|address| address.split_once("/?key="))
            .expect("an address with a key");
        Served { host: host.into(), key: key.into(), directory }
    }

    pub fn store(&self) -> Store {
        Store::open(Some(&self.directory.path().join("runs.sqlite"))).expect("a store")
    }

    /// The cookie of a browser that opened the address.
    pub fn cookie(&self) -> String {
        let port = self.host.rsplit(':').next().expect("a port");
        format!("Cookie: ssdyno-{port}={}", self.key)
    }

    /// A page, as that browser gets it.
    pub fn get(&self, path: &str) -> Answered {
        let host = format!("Host: {}", self.host);
        self.send(&format!("GET /{path}"), &[&host, &self.cookie()], "")
    }

    /// Sends a form, as a page of the server does.
    pub fn post(&self, path: &str, form: &str) -> Answered {
        let (host, origin) =
            (format!("Host: {}", self.host), format!("Origin: http://{}", self.host));
        self.send(&format!("POST /{path}"), &[&host, &origin, &self.cookie()], form)
    }

    /// Sends any request and reads the answer to its end.
    pub fn send(&self, line: &str, headers: &[&str], body: &str) -> Answered {
        let mut stream = TcpStream::connect(&self.host).expect("connected");
        let headers = headers.join("\r\n");
        let text = format!(
            "{line} HTTP/1.1\r\n{headers}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}",
            length = body.len()
        );
        stream.write_all(text.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let answer = String::from_utf8(answer).expect("text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
        Answered { status, head: head.to_lowercase(), body: body.into() }
    }
}

/// A store with these records in a directory.
pub fn store_in(directory: &Path, documents: &[Document]) -> PathBuf {
    let path = directory.join("runs.sqlite");
    Store::open(Some(&path)).expect("a store").import(documents).expect("imported");
    path
}

/// Records of `drives` drives.
pub fn documents(count: u64, drives: u64) -> Vec<Document> {
    let template = samples::template();
    (0..count).map(|seed| samples::vary(&template, seed, drives)).collect()
}

/// A record with this text wherever a record may have text of others.
pub fn hostile(text: &str) -> Document {
    let mut run: Run = samples::vary(&samples::template(), 7, 1).run().clone();
    run.id = format!("{}-hostile", run.id);
    run.method = text.into();
    run.target.spec = text.into();
    run.environment.host = Some(text.into());
    let drive = run.target.drive.get_or_insert_with(Default::default);
    // Otherwise it would have no history.
    drive.hardware_id = Some("eui.0025385b71b0c0de".into());
    for field in [&mut drive.vendor, &mut drive.model, &mut drive.serial, &mut drive.firmware] {
        *field = Some(text.into());
    }
    run.metrics[0].name = text.into();
    run.metrics[1].unit = record::Unit::Other(text.into());
    run.answer = Some(record::Answer::new(text, text, record::Stamp::Believable));
    let tags = [(text.to_string(), text.to_string())].into();
    run.labels = Some(record::Labels { title: Some(text.into()), note: Some(text.into()), tags });
    Document::from_run(run).expect("a record")
}
