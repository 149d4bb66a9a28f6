//! `GET …/turns/{TurnId}/stream`: streams the events of a turn, from the first or after `Last-Event-ID`.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use runtime::{
    AuthenticatedCaller, Reply,
    last_event::LastEventId,
    path::TurnPath,
    stream::{EventStream, NoContent},
};
use turns::{
    stream::{self, ResponseStart, StartTimeouts},
    system::System,
};

use crate::app::{App, error_reply};

pub(crate) async fn stream(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    TurnPath(session, turn): TurnPath,
    LastEventId(last_event_id): LastEventId,
) -> Result<Response, Reply> {
    let (writer, feed) = stream::open(true, last_event_id);
    let keep_alive = app.keep_alive;
    let reading = Box::pin(async move {
        app.reader.follow(&caller, session, turn, &writer, &System::new(), &app.timing).await
    });
    let timeouts = StartTimeouts { streamed: keep_alive.heartbeat, buffered: keep_alive.whitespace_after };
    match feed.start(reading, timeouts).await {
        ResponseStart::Streaming(events) => Ok(EventStream::new(events, keep_alive).into_response()),
        ResponseStart::Refused(refusal) => Err(error_reply(refusal)),
        // A feed that is opened as a stream has no other result.
        ResponseStart::AlreadyDelivered(_) | ResponseStart::Complete(_) | ResponseStart::Pending(_) => {
            Ok(NoContent.into_response())
        }
    }
}
