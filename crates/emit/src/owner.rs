//! Another user's rights. In another user's directory, root acts as that user: whatever the user
//! moves or links meanwhile, root can do no more there than the user could, and new files belong
//! to the user.

use std::io;

use rustix::process::{Gid, Uid, getegid, geteuid, getgroups};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// The group of a user without an account, as on most systems (`nogroup`).
const NO_GROUP: u32 = 65534;

/// A user other than root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    uid: Uid,
    gid: Gid,
}

impl Owner {
    /// The user with this number, and the user's own group.
    pub(crate) fn from_uid(uid: Uid) -> Owner {
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let gid = group_in(&accounts, uid.as_raw())
            .or_else(|| variable("SUDO_GID").filter(|_| variable("SUDO_UID") == Some(uid.as_raw())))
            .unwrap_or(NO_GROUP);
        Owner { uid, gid: Gid::from_raw(gid) }
    }

    /// Does some work with this user's rights. They are those of the calling thread alone.
    ///
    /// # Errors
    /// If the kernel does not let this process act as the user; nothing was done.
    pub fn act<T>(self, work: impl FnOnce() -> T) -> io::Result<T> {
        let _acting = Acting::begin(self).map_err(|error| {
            let uid = self.uid.as_raw();
            let text = format!(
                "this root may not act as user {uid}, to whom a directory on the way belongs \
                 ({error}); try: a directory of its own, or without the user namespace"
            );
            io::Error::new(error.kind(), text)
        })?;
        Ok(work())
    }
}

/// Whether this process has power over other users' files. The only user of a user namespace
/// (`unshare -r`) is called root there, but the kernel permits it no more than outside.
pub(crate) fn is_over_others() -> bool {
    // Without /proc, as in every process that is root outside of namespaces.
    geteuid().is_root()
        && std::fs::read_to_string("/proc/self/uid_map").map_or(true, |map| !is_alone(&map))
}

/// Whether the lines of uid_map (user_namespaces(7)) have one user, who is not root outside.
fn is_alone(map: &str) -> bool {
    let fields: Vec<&str> = map.split_whitespace().collect();
    matches!(fields[..], ["0", outside, "1"] if outside != "0")
}

/// Number of the user who became root by sudo, if that is another one.
pub(crate) fn invoking_user() -> Option<u32> {
    variable("SUDO_UID").filter(|uid| *uid != 0)
}

fn variable(name: &str) -> Option<u32> {
    std::env::var(name).ok()?.parse().ok()
}

/// The group of a user in the lines of passwd(5).
fn group_in(accounts: &str, uid: u32) -> Option<u32> {
    let fields = accounts.lines().map(|line| line.split(':').skip(2));
    let mut numbers = fields.map(|mut fields| [fields.next(), fields.next()]);
    let [_, gid] = numbers.find(|[user, _]| user.and_then(|u| u.parse().ok()) == Some(uid))?;
    gid?.parse().ok()
}

/// The time during which the thread has another user's rights.
struct Acting {
    groups: Vec<Gid>,
    gid: Gid,
}

impl Acting {
    fn begin(owner: Owner) -> io::Result<Acting> {
        let acting = Acting { groups: getgroups()?, gid: getegid() };
        // The user comes last: later, the thread may no longer change groups.
        set_thread_groups(&[owner.gid])?;
        set_thread_res_gid(None, owner.gid, None)?;
        set_thread_res_uid(None, owner.uid, None)?;
        Ok(acting)
    }
}

impl Drop for Acting {
    /// Takes root's rights back, which the saved user permits. A failure leaves fewer rights.
    fn drop(&mut self) {
        let _ = set_thread_res_uid(None, Uid::ROOT, None);
        let _ = set_thread_res_gid(None, self.gid, None);
        let _ = set_thread_groups(&self.groups);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_the_fourth_field_of_the_account() {
        let accounts = "root:x:0:0:root:/root:/bin/sh\nmail:x:8:12::/:\nbroken\n";
        assert_eq!(group_in(accounts, 8), Some(12));
        assert_eq!(group_in(accounts, 9), None);
    }

    #[test]
    fn root_of_a_namespace_with_one_user_is_that_user() {
        assert!(is_alone("         0       1000          1\n"));
        for root in ["0 0 4294967295\n", "0 0 1\n", "0 1000 1\n1 100000 65536\n", ""] {
            assert!(!is_alone(root), "{root}");
        }
    }

    #[test]
    fn a_thread_acts_as_another_user_and_takes_its_rights_back() {
        let user = || (rustix::process::geteuid(), getegid(), getgroups().expect("groups"));
        let before = user();
        let other = Owner { uid: Uid::from_raw(1234), gid: Gid::from_raw(1235) };
        match other.act(user) {
            Ok(during) => assert_eq!(during, (other.uid, other.gid, vec![other.gid])),
            Err(why) => println!("skipped: {why}"),
        }
        assert_eq!(user(), before);
    }
}
