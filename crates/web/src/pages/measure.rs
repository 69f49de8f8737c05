//! Starts a run that changes nothing on a device: a method that reads, or that uses a scratch file
//! in a directory. Methods that destroy or borrow are left to the command, which asks for the serial
//! number.

use maud::html;
use record::Safety;

use super::machine;
use crate::frame::Venue;
use crate::names;

/// Methods that need more than a target.
const NOT_OFFERED: [&str; 1] = ["command"];

/// Prefixes of targets that are more than read: a drive that is detached from the kernel.
const NOT_ACCEPTED: [&str; 2] = ["pci:", "-"];

/// The methods offered, each with its question.
pub fn methods() -> Vec<(&'static str, &'static str)> {
    let methods = lab::work::methods().filter(|method| {
        matches!(method.safety, Safety::Reads | Safety::Scratch)
            && !NOT_OFFERED.contains(&method.name)
    });
    methods.map(|method| (method.name, method.summary)).collect()
}

/// Why these words start nothing here; `None` if they do.
pub fn refusal(target: &str, method: &str) -> Option<String> {
    if target.is_empty() {
        return Some("name a directory, a file, a device or a virtual drive".into());
    }
    if NOT_ACCEPTED.iter().any(|prefix| target.starts_with(prefix)) {
        return Some(format!("'{target}' is not measured from here"));
    }
    let is_offered = methods().iter().any(|(name, _)| *name == method);
    (!is_offered).then(|| format!("'{method}' is not started from here: use the command"))
}

/// The form; `refused` is why the last one started nothing.
pub fn page(venue: &Venue, refused: Option<&str>, running: Option<i64>) -> String {
    let token = match venue {
        Venue::Server { token } => token.as_str(),
        Venue::Site => "",
    };
    let body = html! {
        h1 { "Measure" }
        @if let Some(reason) = refused { p.refused role="alert" { (emit::plain(reason)) } }
        @if let Some(number) = running {
            p { a href=(names::html(&names::live(number))) { "Run " (number) } " is in progress. Two runs at once would measure each other." }
        } @else {
            form.measure action="start" method="post" {
                input type="hidden" name="token" value=(token);
                label {
                    "Directory, file, device or virtual drive"
                    input type="text" name="target" list="targets" required placeholder="/mnt/disk";
                }
                datalist id="targets" {
                    @for (path, words) in machine::targets() { option value=(path) { (emit::plain(&words)) } }
                }
                label {
                    "Method"
                    select name="method" {
                        @for (name, question) in methods() { option value=(name) { (name) ": " (question) } }
                    }
                }
                p { button type="submit" { "Start" } }
            }
        }
        p.note {
            "Devices are only read; in a directory, a scratch file is used and removed. Methods that destroy or "
            "borrow data are not started here: " code { "ssdyno run" } " asks for the serial number."
        }
    };
    venue.page("measure", Vec::new(), &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_nothing_is_started() {
        assert_eq!(refusal("/mnt/disk", "quick"), None);
        assert_eq!(refusal("/dev/sdb", "authentic"), None);
        for (target, method) in [
            ("", "quick"),
            ("pci:0000:01:00.0", "quick"),
            ("--destroy=S6Z1NJ0W", "quick"),
            ("/dev/sdb", "sustain"),
            ("/dev/sdb", "speed"),
            ("/mnt/disk", "command"),
            ("/mnt/disk", "nonsense"),
        ] {
            assert!(refusal(target, method).is_some(), "{target} {method}");
        }
    }
}
