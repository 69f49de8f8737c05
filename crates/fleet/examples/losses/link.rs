//! A link on the loopback that can be partitioned: it passes bytes on, holds them back, or cuts every
//! connection and takes no new one.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::Result;

/// What a link does with what comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It passes it on.
    Whole,
    /// It keeps it until the link is whole again: nobody hears of an end.
    Stalled,
    /// It ends connections.
    Cut,
}

/// A link to a port of the loopback, with a port of its own.
pub struct Link {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    ways: Mutex<Ways>,
    changes: Condvar,
}

struct Ways {
    state: LinkState,
    open: Vec<TcpStream>,
}

impl Shared {
    fn ways(&self) -> MutexGuard<'_, Ways> {
        self.ways.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the link passes bytes on or is cut.
    fn pass(&self) -> LinkState {
        let mut ways = self.ways();
        while ways.state == LinkState::Stalled {
            ways = self.changes.wait(ways).unwrap_or_else(PoisonError::into_inner);
        }
        ways.state
    }
}

impl Link {
    /// A link to this port.
    pub fn to(target: u16) -> Result<Link> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let ways = Mutex::new(Ways { state: LinkState::Whole, open: Vec::new() });
        let shared = Arc::new(Shared { ways, changes: Condvar::new() });
        let inner = Arc::clone(&shared);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                // A connection that fails is one that was cut.
                let _ = connect(&inner, near, target);
            }
        });
        Ok(Link { port, shared })
    }

    /// Its own port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether it is whole.
    pub fn is_whole(&self) -> bool {
        self.shared.ways().state == LinkState::Whole
    }

    /// Changes what it does.
    pub fn set(&self, state: LinkState) {
        let mut ways = self.shared.ways();
        ways.state = state;
        if state == LinkState::Cut {
            for stream in ways.open.drain(..) {
                // It may have ended.
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        self.shared.changes.notify_all();
    }
}

fn connect(shared: &Arc<Shared>, near: TcpStream, target: u16) -> Result<()> {
    let mut ways = shared.ways();
    if ways.state == LinkState::Cut {
        return Ok(());
    }
    let far = TcpStream::connect(("127.0.0.1", target))?;
    // Those that have ended have no other side.
    ways.open.retain(|stream| stream.peer_addr().is_ok());
    ways.open.extend([near.try_clone()?, far.try_clone()?]);
    drop(ways);
    for (from, to) in [(near.try_clone()?, far.try_clone()?), (far, near)] {
        let shared = Arc::clone(shared);
        thread::spawn(move || copy(&shared, from, to));
    }
    Ok(())
}

fn copy(shared: &Shared, mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if shared.pass() == LinkState::Cut || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
