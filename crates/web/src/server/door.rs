//! Who comes in. The server is reached by every program and every web page that runs on this
//! machine, so it checks:
//!
//! - the name it was called by (`Host`): a foreign name that resolves to this machine is how a web page
//!   gets past the browser's rule of origins (DNS rebinding);
//! - the page that calls (`Origin`): only its own;
//! - a key, printed once with the address and kept by the browser in a cookie: other users of the
//!   machine do not read the records;
//! - for every change, a token that only its own pages contain.

use anyhow::{Context, Result};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};

use super::answers::Reply;

/// The name of the key in the first address.
const KEY: &str = "key";

/// The checks of one server.
#[derive(Debug)]
pub struct Door {
    port: u16,
    key: String,
    token: String,
}

impl Door {
    /// A door with a new key.
    pub fn new(port: u16) -> Result<Door> {
        Ok(Door { port, key: secret()?, token: secret()? })
    }

    /// The address to open, with the key.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/?{KEY}={}", self.port, self.key)
    }

    /// The token of forms.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Whether a form comes from a page of this server.
    pub fn has_token(&self, form: &[(String, String)]) -> bool {
        form.iter().any(|(name, value)| name == "token" && is_equal(value, &self.token))
    }

    /// The answer to a request that does not come in, or that brings the key in its address.
    pub fn admit(&self, head: &Parts) -> Option<Reply> {
        if let Some(reason) = self.objection(&head.method, &head.headers) {
            return Some(Reply::refused(StatusCode::FORBIDDEN, reason));
        }
        let query = head.uri.query().unwrap_or_default();
        let key_given = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == KEY);
        if key_given.is_some_and(|(_, value)| is_equal(&value, &self.key)) {
            let cookie =
                format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie(), self.key);
            let reply = Reply::see(&without_key(head.uri.path(), query));
            return Some(reply.with(header::SET_COOKIE, cookie));
        }
        if self.has_cookie(&head.headers) {
            return None;
        }
        let reason = "open the address that 'ssdyno web' printed: it has the key";
        Some(Reply::refused(StatusCode::FORBIDDEN, reason))
    }

    /// Why a request is foreign; `None` if it may be our own.
    fn objection(&self, method: &Method, headers: &HeaderMap) -> Option<&'static str> {
        if !matches!(*method, Method::GET | Method::HEAD | Method::POST) {
            return Some("only GET, HEAD and POST are answered");
        }
        let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        if !sole(headers, header::HOST).is_some_and(|host| hosts.iter().any(|name| name == host)) {
            return Some("called by a foreign name");
        }
        let origins = hosts.map(|host| format!("http://{host}"));
        let is_own = |origin: &str| origins.iter().any(|name| name == origin);
        match (headers.contains_key(header::ORIGIN), sole(headers, header::ORIGIN)) {
            // Browsers name it with every form.
            (false, _) if *method == Method::POST => Some("a change without an origin"),
            (true, origin) if !origin.is_some_and(is_own) => Some("called by a foreign page"),
            _ => None,
        }
    }

    /// Cookies are shared by all ports, so each server has its own.
    fn cookie(&self) -> String {
        format!("ssdyno-{}", self.port)
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let cookies =
            headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == self.cookie() && is_equal(value, &self.key))
    }
}

/// The address of the same page without the key. It stays on this server, whatever the path is.
fn without_key(path: &str, query: &str) -> String {
    let mut rest = form_urlencoded::Serializer::new(String::new());
    rest.extend_pairs(form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name != KEY));
    let (path, rest) = (path.trim_start_matches('/'), rest.finish());
    if rest.is_empty() { format!("/{path}") } else { format!("/{path}?{rest}") }
}

/// The value of a header that is there once.
fn sole(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())?.to_str().ok()
}

/// Compares secrets in a time that does not depend on the venue of a difference.
fn is_equal(a: &str, b: &str) -> bool {
    let differences = a.bytes().zip(b.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    a.len() == b.len() && differences == 0
}

/// 32 hexadecimal digits from the kernel.
#[cfg(target_os = "linux")]
fn secret() -> Result<String> {
    let mut bytes = [0; 16];
    let length = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty());
    let is_full = length.context("no random numbers")? == bytes.len();
    anyhow::ensure!(is_full, "too few random numbers");
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A server needs the kernel's random numbers.
#[cfg(not(target_os = "linux"))]
fn secret() -> Result<String> {
    None.context("ssdyno web needs Linux")
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn status(
        door: &Door,
        method: &str,
        uri: &str,
        headers: &[(&str, &str)],
    ) -> Option<StatusCode> {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).expect("a request").into_parts();
        door.admit(&head).map(|reply| reply.status)
    }

    const HOST: (&str, &str) = ("host", "127.0.0.1:8080");
    const ORIGIN: (&str, &str) = ("origin", "http://127.0.0.1:8080");

    #[test]
    fn only_own_pages_with_the_key_come_in() {
        let door = Door::new(8080).expect("a door");
        let cookie = format!("a=b; ssdyno-8080={}", door.key);
        let cookie = ("cookie", cookie.as_str());
        assert_eq!(status(&door, "GET", "/", &[HOST, cookie]), None);
        assert_eq!(status(&door, "GET", "/", &[("host", "localhost:8080"), cookie]), None);
        assert_eq!(status(&door, "POST", "/start", &[HOST, ORIGIN, cookie]), None);
        let address = door.address();
        let path = address.strip_prefix("http://127.0.0.1:8080").expect("an address");
        assert_eq!(status(&door, "GET", path, &[HOST]), Some(StatusCode::SEE_OTHER));
        let refused = Some(StatusCode::FORBIDDEN);
        let foreign: [&[(&str, &str)]; 10] = [
            &[HOST],
            &[HOST, ("cookie", "ssdyno-8080=0123456789abcdef0123456789abcdef")],
            &[("cookie", cookie.1)],
            &[("host", "evil.example:8080"), cookie],
            &[("host", "127.0.0.1"), cookie],
            &[("host", "127.0.0.1:8081"), cookie],
            &[HOST, ("host", "evil.example"), cookie],
            &[HOST, ("origin", "http://evil.example"), cookie],
            &[HOST, ("origin", "null"), cookie],
            &[HOST, ("origin", "http://127.0.0.1:8081"), cookie],
        ];
        for headers in foreign {
            assert_eq!(status(&door, "GET", "/", headers), refused, "{headers:?}");
        }
        assert_eq!(status(&door, "POST", "/start", &[HOST, cookie]), refused, "no origin");
        assert_eq!(status(&door, "DELETE", "/", &[HOST, cookie]), refused);
        assert_eq!(status(&door, "GET", "/?key=", &[HOST]), refused);
    }

    #[test]
    fn the_key_leaves_the_address_and_the_rest_stays() {
        assert_eq!(without_key("/", "key=1"), "/");
        assert_eq!(without_key("//foreign.example/", "key=1"), "/foreign.example/");
        let query = "run=1&key=2&run=3";
        assert_eq!(without_key("/compare.html", query), "/compare.html?run=1&run=3");
    }

    #[test]
    fn a_change_has_the_token() {
        let door = Door::new(8080).expect("a door");
        let form = |value: &str| vec![("token".to_string(), value.to_string())];
        assert!(door.has_token(&form(door.token())));
        assert_ne!(door.token(), door.key);
        for value in ["", &door.key, &door.token()[1..]] {
            assert!(!door.has_token(&form(value)), "{value}");
        }
        assert!(!door.has_token(&[]));
    }
}
