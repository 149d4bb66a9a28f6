//! `GET …/turns/{TurnId}/stream`: a turn's events, from the first or after the last one seen (AGN-034 §4.7).

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use runtime::{
    Identified, Reply,
    last_event::After,
    path::OfTurn,
    stream::{Seen, Streamed},
};
use turns::{
    stream::{self, Opened, Patience},
    system::System,
};

use crate::app::{App, refused};

pub(crate) async fn stream(
    State(app): State<App>,
    Identified(caller): Identified,
    OfTurn(session, turn): OfTurn,
    After(seen): After,
) -> Result<Response, Reply> {
    let (writer, feed) = stream::open(true, seen);
    let pace = app.pace;
    let reading = Box::pin(async move {
        app.reader.follow(&caller, session, turn, &writer, &System::new(), &app.timing).await
    });
    let patience = Patience { streamed: pace.heartbeat, buffered: pace.patience };
    match feed.answer(reading, patience).await {
        Opened::Streaming(events) => Ok(Streamed::new(events, pace).into_response()),
        Opened::Refused(refusal) => Err(refused(refusal)),
        // What is opened as a stream is answered in no other way.
        Opened::Seen(_) | Opened::Answered(_) | Opened::Late(_) => Ok(Seen.into_response()),
    }
}
