//! `GET …/turns`, `…/turns/last`, `…/turns/{TurnId}`, `…/turns/{TurnId}/summary` (DD-003), `…/turns/{TurnId}/steps`, and `…/turns/{TurnId}/feedback`.

use axum::extract::State;
use contracts::read::TurnStatus;
use runtime::{
    Identified, IfNoneMatch, Keep, Reply,
    path::{OfSession, OfTurn},
};

use crate::{
    app::{App, refused},
    parameters::{LastQuery, PageQuery, TurnsQuery},
};

pub(crate) async fn list(
    State(app): State<App>,
    Identified(caller): Identified,
    OfSession(session): OfSession,
    TurnsQuery(wanted, page): TurnsQuery,
) -> Result<Reply, Reply> {
    let place = app.place(&caller, &page)?;
    let turns = app.reader.turns(&caller, session, &wanted, page.size, place.as_deref()).await;
    let mut turns = turns.map_err(refused)?;
    app.seal(&caller, &page.list, &mut turns.continuation_token);
    Ok(Reply::ok(turns))
}

pub(crate) async fn last(
    State(app): State<App>,
    Identified(caller): Identified,
    OfSession(session): OfSession,
    LastQuery(status): LastQuery,
    had: IfNoneMatch,
) -> Result<Reply, Reply> {
    let turn = app.reader.last_turn(&caller, session, status).await.map_err(refused)?;
    // Another turn may be the last tomorrow.
    Ok(Reply::ok(turn).kept(Keep::UntilAsked, &had))
}

pub(crate) async fn turn(
    State(app): State<App>,
    Identified(caller): Identified,
    OfTurn(session, turn): OfTurn,
    had: IfNoneMatch,
) -> Result<Reply, Reply> {
    let turn = app.reader.turn(&caller, session, turn).await.map_err(refused)?;
    let keep = keep(turn.status);
    Ok(Reply::ok(turn).kept(keep, &had))
}

pub(crate) async fn summary(
    State(app): State<App>,
    Identified(caller): Identified,
    OfTurn(session, turn): OfTurn,
    had: IfNoneMatch,
) -> Result<Reply, Reply> {
    let summary = app.reader.turn_summary(&caller, session, turn).await.map_err(refused)?;
    let keep = keep(summary.status);
    Ok(Reply::ok(summary).kept(keep, &had))
}

/// A turn that is decided never changes (I2), whether or not its session shows it yet.
fn keep(status: TurnStatus) -> Keep {
    match status {
        TurnStatus::Pending => Keep::UntilAsked,
        TurnStatus::Completed | TurnStatus::Failed => Keep::ForEver,
    }
}

pub(crate) async fn steps(
    State(app): State<App>,
    Identified(caller): Identified,
    OfTurn(session, turn): OfTurn,
    PageQuery(page): PageQuery,
) -> Result<Reply, Reply> {
    let place = app.place(&caller, &page)?;
    let steps = app.reader.turn_steps(&caller, session, turn, page.size, place.as_deref()).await;
    let mut steps = steps.map_err(refused)?;
    app.seal(&caller, &page.list, &mut steps.continuation_token);
    Ok(Reply::ok(steps))
}

pub(crate) async fn feedback(
    State(app): State<App>,
    Identified(caller): Identified,
    OfTurn(session, turn): OfTurn,
    PageQuery(page): PageQuery,
) -> Result<Reply, Reply> {
    let place = app.place(&caller, &page)?;
    let said = app.reader.feedback(&caller, session, turn, page.size, place.as_deref()).await;
    let mut said = said.map_err(refused)?;
    app.seal(&caller, &page.list, &mut said.continuation_token);
    Ok(Reply::ok(said))
}
