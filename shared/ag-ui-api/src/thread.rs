//! Finds the session of a thread.

use contracts::id::{SessionId, TurnId};
use protocol::Caller;
use runtime::id_key::IdKeys;
use turns::{
    flow::{DerivedSession, SessionReader, TurnHead},
    ports::{PayloadReads, Reads},
    refusal::Refusal,
};

use crate::{error::ApiError, id};

/// The sessions that a thread may get one after the other. A deleted one takes an id.
const MAX_SESSIONS: u32 = 8;

/// The session of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// The session. It exists, or is the one to begin.
    pub session: SessionId,
    /// True if it exists.
    pub is_known: bool,
    /// The turn of the run that was looked for, if it is there.
    pub run: Option<(TurnId, TurnHead)>,
}

/// Finds the session of a caller's thread, and in it the turn of a run: the session that derives from the thread's id,
/// or one that the caller began over another API, whose id the thread's id is.
///
/// # Errors
/// If the store can't be read, or the thread was deleted too often.
pub async fn find<R: Reads, P: PayloadReads>(
    reader: &SessionReader<R, P>,
    keys: &IdKeys,
    caller: &Caller,
    (thread, run): (&str, &str),
) -> Result<Thread, Refusal> {
    let search = Search { reader, keys, caller, run };
    let mut free = None;
    for ordinal in 0..MAX_SESSIONS {
        let mut is_taken = false;
        for (n, key) in keys.iter().enumerate() {
            let Some(session) = id::session(key, caller, thread, ordinal) else { continue };
            match search.in_session(&session).await? {
                Candidate::Own(run) => return Ok(Thread { session, is_known: true, run }),
                Candidate::Free if n == 0 => free = free.or(Some(session)),
                Candidate::Free => {}
                Candidate::Taken => is_taken = true,
            }
        }
        if !is_taken {
            break;
        }
    }
    if let Ok(session) = SessionId::new(thread)
        && let Candidate::Own(run) = search.in_session(&session).await?
    {
        return Ok(Thread { session, is_known: true, run });
    }
    let session = free.ok_or(Refusal::SessionIdConflict)?;
    Ok(Thread { session, is_known: false, run: None })
}

/// Returns the error of a thread that the caller doesn't have.
#[must_use]
pub fn not_found(thread: &str) -> ApiError {
    ApiError::new(contracts::ErrorCode::SessionNotFound, format!("You have no thread '{thread}'."))
}

/// The state of a session that may be a thread's.
enum Candidate {
    /// There is none.
    Free,
    /// It is deleted, or another user's.
    Taken,
    /// It is the caller's own. Contains the turn of the run.
    Own(Option<(TurnId, TurnHead)>),
}

struct Search<'a, R, P> {
    reader: &'a SessionReader<R, P>,
    keys: &'a IdKeys,
    caller: &'a Caller,
    run: &'a str,
}

impl<R: Reads, P: PayloadReads> Search<'_, R, P> {
    async fn in_session(&self, session: &SessionId) -> Result<Candidate, Refusal> {
        // A run may be older than the current key.
        let turns: Vec<TurnId> =
            self.keys.iter().filter_map(|key| id::turn(key, session, self.run)).collect();
        let ids: Vec<_> = turns.iter().map(|turn| (session.clone(), turn.clone())).collect();
        let states = self.reader.derived_sessions(self.caller, ids).await?;
        for (turn, state) in turns.into_iter().zip(states) {
            match state.state {
                DerivedSession::Free => return Ok(Candidate::Free),
                DerivedSession::Conflict => return Ok(Candidate::Taken),
                DerivedSession::Own(Some(head)) => return Ok(Candidate::Own(Some((turn, head)))),
                DerivedSession::Own(None) => {}
            }
        }
        Ok(Candidate::Own(None))
    }
}
