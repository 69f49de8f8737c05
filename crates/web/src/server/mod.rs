//! The server: on 127.0.0.1 alone, on one thread; the store and the drives are read on others, so
//! that a device that does not answer delays only its own page.
//!
//! `door.rs` decides who comes in, `answers.rs` which page is meant, `start.rs` starts runs by the
//! command, as its user would, `events.rs` follows them.

mod answers;
mod door;
mod events;
mod start;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use store::Store;
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;

use self::answers::Reply;
use self::door::Door;
use self::start::Starter;
use crate::frame::Venue;
use crate::names;

/// Most bytes of a form.
const FORM_MAX: usize = 64 << 10;

/// What the server needs to begin.
#[derive(Debug)]
pub struct ServeOptions {
    /// The store; the user's own by default.
    pub store: Option<PathBuf>,
    /// The port; 0 for a free one.
    pub port: u16,
    /// The command that starts runs.
    pub command: PathBuf,
}

/// The state that all requests share.
struct Server {
    store: Mutex<Store>,
    venue: Venue,
    door: Door,
    starter: Starter,
}

impl Server {
    /// The store, also after a request that panicked: SQLite has rolled its transaction back.
    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves until the process is ended. `announce` gets the address to open.
pub fn serve(options: ServeOptions, announce: impl FnOnce(&str)) -> Result<()> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let store = Store::open(options.store.as_deref())?;
    runtime.block_on(async {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let listener = TcpListener::bind(address).await;
        let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
        let port = listener.local_addr()?.port();
        let door = Door::new(port)?;
        announce(&door.address());
        let path = store.path().to_path_buf();
        let server = Server {
            venue: Venue::Server { token: door.token().to_string() },
            door,
            starter: Starter::new(options.command, path),
            store: Mutex::new(store),
        };
        let router = Router::new().fallback(answer).with_state(Arc::new(server));
        axum::serve(listener, router).await.context("the server ended")
    })
}

/// Answers any request.
async fn answer(State(server): State<Arc<Server>>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let pass = server.door.admit(&head);
    if let Some(reply) = pass {
        return respond(reply);
    }
    let name = head.uri.path().trim_start_matches('/').to_string();
    let watched_run = name.strip_suffix(".events").and_then(|name| names::number(name, "live"));
    if let (Some(number), &Method::GET) = (watched_run, &head.method) {
        return with_headers(events::stream(server, number).into_response());
    }
    let query = pairs(head.uri.query().unwrap_or_default().as_bytes());
    let is_post = head.method == Method::POST;
    let form = if is_post {
        match to_bytes(body, FORM_MAX).await {
            Ok(bytes) => pairs(&bytes),
            Err(_) => {
                return respond(Reply::refused(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "the form is too long",
                ));
            }
        }
    } else {
        Vec::new()
    };
    let work = move || {
        if is_post { server.change(&name, &form) } else { server.read(&name, &query) }
    };
    let reply = spawn_blocking(work).await;
    respond(reply.unwrap_or_else(|_| {
        Reply::refused(StatusCode::INTERNAL_SERVER_ERROR, "this page could not be made")
    }))
}

/// The pairs of an address or a form.
fn pairs(text: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(text).into_owned().collect()
}

fn respond(reply: Reply) -> Response {
    let Reply { status, kind, further, body } = reply;
    let mut response = (status, [(header::CONTENT_TYPE, kind)], body).into_response();
    for (name, value) in further {
        if let Ok(value) = value.parse() {
            response.headers_mut().insert(name, value);
        }
    }
    with_headers(response)
}

/// Headers of every answer. A page may be in no frame, and is not kept by the browser. Without an
/// origin, a form could not be told from a foreign one, so the referrer is kept for this origin.
fn with_headers(mut response: Response) -> Response {
    let headers = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, header::HeaderValue::from_static(value));
    }
    response
}
