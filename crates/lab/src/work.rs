//! The work of a run as one type: a method, a preparation, an `ssdyno io` workload or a
//! replication.
//!
//! Each is a script on a session; run on a planner, it gives the plan. The constructors are next to
//! their inputs in `io`, `iozone`, `prepare` and `replicate`; those for methods are here.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use methods::{ALL, ICF, IMAGE, IOZONE, Icf, IcfError, IcfScript, Image, LIKE, Like};
use record::{Safety, Unit};
use script::{Declared, MethodInfo, MetricInfo, Options, Session, catalog};

use crate::error::{LabError, Result};
use crate::image::ImageOnDisk;
use crate::like;

/// A script, run or planned depending on the session, which keeps all measurements even after an
/// error.
type Script<'a> = Box<dyn Fn(&mut Session<'_>) -> Result<()> + 'a>;

/// Something to run on a target.
pub struct Work<'a> {
    /// The method or the command.
    pub(crate) info: &'static MethodInfo,
    /// The options that determine it, as given; `None` if unknown.
    pub(crate) options: Option<BTreeMap<String, String>>,
    script: Script<'a>,
}

impl<'a> Work<'a> {
    pub fn method(name: &str, options: &'a Options) -> Result<Work<'a>> {
        Work::of_method(name, Cow::Borrowed(options))
    }

    pub(crate) fn of_method(name: &str, options: Cow<'a, Options>) -> Result<Work<'a>> {
        let method = methods::find(name)?;
        let words = match name {
            // iozone's own options, by letter.
            "iozone" => options.get(&IOZONE).unwrap_or_default().flags(),
            _ => options.given_to(method.options, method.ignores),
        };
        let work = Work::new(method, move |session| Ok(session.run(method, &options)?));
        Ok(work.with_options(words))
    }

    pub(crate) fn new(
        info: &'static MethodInfo,
        script: impl Fn(&mut Session<'_>) -> Result<()> + 'a,
    ) -> Work<'a> {
        Work { info, options: None, script: Box::new(script) }
    }

    /// This work, with the options that determine it.
    pub(crate) fn with_options(self, given: BTreeMap<String, String>) -> Work<'a> {
        Work { options: Some(given), ..self }
    }

    /// The options that determine it, as given; `None` if unknown.
    pub fn options(&self) -> Option<&BTreeMap<String, String>> {
        self.options.as_ref()
    }

    pub(crate) fn run(&self, session: &mut Session<'_>) -> Result<()> {
        (self.script)(session)
    }

    /// Version of its protocol as stored; `None`: version 1.
    pub(crate) fn protocol(&self) -> Option<u32> {
        Some(self.info.protocol).filter(|version| *version > 1)
    }
}

/// Every method, the default one first.
pub fn methods() -> impl Iterator<Item = &'static MethodInfo> {
    ALL.iter().copied()
}

pub fn method(name: &str) -> Result<&'static MethodInfo> {
    Ok(methods::find(name)?)
}

/// The method or the command with this name.
pub fn description(name: &str) -> Result<&'static MethodInfo> {
    match COMMANDS.iter().find(|info| info.name == name) {
        Some(info) => Ok(info),
        None => method(name),
    }
}

/// Commands that store metrics, like methods.
static COMMANDS: [&MethodInfo; 4] = [
    &methods::BY_HAND,
    &methods::PREPARE,
    &MethodInfo {
        name: "fio",
        summary: "fio jobs",
        about: "See ssdyno fio --help.",
        safety: Safety::Destroys,
        writes: "the bytes of the jobs",
        metrics: &[&fio::output::METRICS],
        ..MethodInfo::EMPTY
    },
    &REPLICATE,
];

/// The steps of a published experiment.
pub(crate) static REPLICATE: MethodInfo = MethodInfo {
    name: "replicate",
    summary: "a published experiment, step by step",
    about: "See ssdyno replicate --help. An experiment that is a method has its metrics.",
    safety: Safety::Destroys,
    writes: "the bytes of the steps",
    metrics: &[
        &methods::STEP_METRICS,
        &[
            MetricInfo::new("{step}.time", Unit::Nanoseconds, "time to discard everything"),
            MetricInfo::new(
                "{step}.flash-written",
                Unit::Bytes,
                "bytes that flash programmed during the step for any reason",
            ),
            MetricInfo::new("{step}.temperature", Unit::Celsius, "of the drive, after the step"),
        ],
    ],
    ..MethodInfo::EMPTY
};

/// All methods and commands that store metrics.
pub fn described() -> impl Iterator<Item = &'static MethodInfo> {
    methods().chain(COMMANDS)
}

/// All options that methods declare for the command line, with the names of those methods.
pub fn declared() -> Vec<(&'static dyn Declared, Vec<&'static str>)> {
    catalog::declared(ALL)
}

/// Adds declared options, each a name with its arguments, to those common to all methods. Refuses
/// an option that none of the chosen methods declares.
pub fn options(
    chosen: &[String],
    typed: &[(String, Vec<String>)],
    common: Options,
) -> Result<Options> {
    let methods: Vec<&MethodInfo> =
        chosen.iter().map(|name| methods::find(name)).collect::<std::result::Result<_, _>>()?;
    opened(catalog::options(ALL, &methods, typed, common)?)
}

/// Replaces the names of the user's files, which methods cannot read, by their content.
fn opened(mut options: Options) -> Result<Options> {
    if let Image::Named(name) = options.get(&IMAGE) {
        let image = ImageOnDisk::open(Path::new(&name))?;
        options = options.with(&IMAGE, Image::Opened(Arc::new(image)));
    }
    if let Like::Directory(name) = options.get(&LIKE) {
        options = options.with(&LIKE, Like::Sizes(like::sizes(Path::new(&name))?));
    }
    if let Icf::File(name) = options.get(&ICF) {
        options = options.with(&ICF, Icf::Script(icf(Path::new(&name))?));
    }
    Ok(options)
}

/// Maximum size of an IOMeter configuration, bytes.
const ICF_MAX: u64 = 1 << 20;

fn icf(path: &Path) -> Result<IcfScript> {
    let advised =
        |text: String| LabError::usage(text).advise("a configuration that IOMeter saved (.icf)");
    let file_error = |why: String| advised(format!("--icf {}: {why}", path.display()));
    let size = std::fs::metadata(path).map_err(|error| file_error(error.to_string()))?;
    if !size.is_file() || size.len() > ICF_MAX {
        return Err(file_error("not a file, or larger than 1 MiB".into()));
    }
    let bytes = std::fs::read(path).map_err(|error| file_error(error.to_string()))?;
    methods::parse_icf(&String::from_utf8_lossy(&bytes)).map_err(
        |IcfError { line, text, fault }| {
            advised(format!("{}:{line}: '{text}': {fault}", path.display()))
        },
    )
}
