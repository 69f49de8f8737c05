//! The events of a run in progress: its page's changing part, twice a second, until it has ended.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, Sse};
use futures_util::stream::{Stream, unfold};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::Server;
use super::answers::is_running;
use crate::names;
use crate::pages::live;

/// Time between events.
const EVERY: Duration = Duration::from_millis(450);

/// What the stream waits for.
enum EventTurn {
    First,
    Next,
    Ended,
}

/// The events of a run.
pub fn stream(
    server: Arc<Server>,
    number: i64,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + Send + 'static> {
    Sse::new(unfold((server, EventTurn::First), move |(server, turn)| async move {
        match turn {
            EventTurn::Ended => return None,
            EventTurn::Next => sleep(EVERY).await,
            EventTurn::First => {}
        }
        let reader = Arc::clone(&server);
        let part = spawn_blocking(move || part(&reader, number)).await.ok().flatten();
        let (event, turn) = match part {
            Some(html) => (Event::default().data(html), EventTurn::Next),
            None => {
                let address = names::html(&names::run(number));
                (Event::default().event("end").data(address), EventTurn::Ended)
            }
        };
        Some((Ok(event), (server, turn)))
    }))
}

/// The changing part of the page; `None` once the run has ended.
fn part(server: &Server, number: i64) -> Option<String> {
    let run = server.store().load(number).ok().filter(is_running)?;
    let moment = server.starter.moment(number);
    Some(live::part(&run, moment.as_ref()).into_string())
}
