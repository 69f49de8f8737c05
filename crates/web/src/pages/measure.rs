//! Starts a run: of a method that reads, or that uses a scratch file in a directory; of one that
//! destroys if the serial number of the device is given, as the command asks for it. Methods that
//! borrow are left to the command.

use maud::html;
use record::Safety;

use super::machine;
use crate::frame::Venue;
use crate::names;

/// Methods that need more than a target.
const NOT_OFFERED: [&str; 1] = ["command"];

/// The method that is selected at first.
const USUAL: &str = "quick";

/// Prefixes of targets that are more than read: a drive that is detached from the kernel.
const NOT_ACCEPTED: [&str; 2] = ["pci:", "-"];

/// The methods offered.
fn methods() -> impl Iterator<Item = &'static lab::MethodInfo> {
    let methods = lab::work::methods();
    methods.filter(|method| method.safety != Safety::Borrows && !NOT_OFFERED.contains(&method.name))
}

/// Why these words start nothing here; `None` if they do. `serial` permits overwriting.
pub fn refusal(target: &str, method: &str, serial: &str) -> Option<String> {
    if target.is_empty() {
        return Some("name a directory, a file, a device or a virtual drive".into());
    }
    if NOT_ACCEPTED.iter().any(|prefix| target.starts_with(prefix)) {
        return Some(format!("'{target}' is not measured from here"));
    }
    let Some(method) = methods().find(|info| info.name == method) else {
        return Some(format!("'{method}' is not started from here: use the command"));
    };
    (method.safety == Safety::Destroys && serial.is_empty()).then(|| {
        format!("{} overwrites everything on a device: give its serial number", method.name)
    })
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
                        @for method in methods() {
                            option value=(method.name) selected[method.name == USUAL] {
                                (method.name) ": " (method.summary)
                                @if method.safety == Safety::Destroys { " (overwrites)" }
                            }
                        }
                    }
                }
                label {
                    "Serial number, to permit overwriting: everything on the device is lost"
                    input type="text" name="destroy" autocomplete="off" placeholder="none: the device is only read";
                }
                p { button type="submit" { "Start" } }
            }
        }
        p.note {
            "Without a serial number, devices are only read; in a directory, a scratch file is used and removed. "
            "The page of this machine shows the serial number, or the size in bytes, that confirms a device. "
            "Methods that borrow blocks are not started here, but by " code { "ssdyno run --borrow" } "."
        }
    };
    venue.page("measure", Vec::new(), &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_permitted_is_started() {
        assert_eq!(refusal("/mnt/disk", "quick", ""), None);
        assert_eq!(refusal("/dev/sdb", "authentic", ""), None);
        assert_eq!(refusal("/dev/sdb", "sustain", "S6Z1NJ0W"), None);
        for (target, method, serial) in [
            ("", "quick", ""),
            ("pci:0000:01:00.0", "quick", "S6Z1NJ0W"),
            ("--destroy=S6Z1NJ0W", "quick", ""),
            ("/dev/sdb", "sustain", ""),
            ("/dev/sdb", "speed", "S6Z1NJ0W"),
            ("/mnt/disk", "command", ""),
            ("/mnt/disk", "nonsense", ""),
        ] {
            assert!(refusal(target, method, serial).is_some(), "{target} {method} {serial}");
        }
    }
}
