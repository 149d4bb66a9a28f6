//! Reads a session: in full, its summary, and the progress of its purge.

use contracts::{
    id::SessionId,
    read::{AgentSession, AgentSessionSummary, PurgeReport},
    request::limits::MAX_PAGE_SIZE,
};
use futures::future::{try_join, try_join3};
use protocol::{Caller, id::SessionKey, session::SessionRole, turn::State};

use crate::{
    flow::{
        access,
        finish::evidence,
        read::{
            documents,
            session_reader::{SessionReader, WithWarnings, parse_sequence},
        },
    },
    ports::{Order, PayloadReads, Reads},
    refusal::Refusal,
    view,
};

/// The most mode changes in a session's detail.
const MODE_PAGE_SIZE: u32 = 100;

/// The most participants in a session's detail.
const MAX_PARTICIPANTS: usize = 100;

/// The page of turns to read with a session.
#[derive(Debug, Clone, Copy)]
pub struct TurnsPage<'a> {
    /// The order of the turns.
    pub order: Order,
    /// The most turns to return.
    pub size: u32,
    /// The token with which the previous page ended.
    pub token: Option<&'a str>,
}

impl Default for TurnsPage<'_> {
    /// The first page.
    fn default() -> Self {
        Self { order: Order::default(), size: MAX_PAGE_SIZE, token: None }
    }
}

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// Reads a session with a page of its turns.
    ///
    /// # Errors
    /// If this caller has no such session, or the token isn't from this list.
    pub async fn session(
        &self,
        caller: &Caller,
        id: SessionId,
        page: TurnsPage<'_>,
    ) -> Result<WithWarnings<AgentSession>, Refusal> {
        let (shown, role) = self.read_session(caller, id, page).await?;
        access::audit_read(caller, role);
        Ok(shown)
    }

    /// Reads a session with a page of its turns, and the caller's role. The caller of this function logs the read.
    pub(crate) async fn read_session(
        &self,
        caller: &Caller,
        id: SessionId,
        TurnsPage { order, size, token }: TurnsPage<'_>,
    ) -> Result<(WithWarnings<AgentSession>, SessionRole), Refusal> {
        let after = parse_sequence(token)?;
        let limit = usize::try_from(size).unwrap_or(usize::MAX);
        let key = SessionKey { org: caller.org.clone(), session: id };
        // The rest is read after the check: how much there is to read would tell of a hidden session.
        let found = self.store.session(&key).await?;
        let visible = access::visible(&self.store, caller, &key, found).await?;
        let (mut session, role) = visible.ok_or(Refusal::SessionNotFound)?;
        let (records, modes, participants) = try_join3(
            // One item more than the page shows if another page follows.
            self.store.records(&key, after, order, limit.saturating_add(1)),
            self.mode_page(caller, &key, None, MODE_PAGE_SIZE, Vec::new()),
            self.store.participants(&key, MAX_PARTICIPANTS),
        )
        .await?;
        let (mut modes, mut participants, mut projected) = (modes, participants, None);
        if let Some(projection) = Box::pin(self.projection_of(&session)).await? {
            modes = self.mode_page(caller, &key, None, MODE_PAGE_SIZE, projection.mode_changes).await?;
            let turn = &projection.turn;
            for part in participants.iter_mut().filter(|part| part.user == turn.requested_by) {
                part.last_activity = part.last_activity.max(turn.created);
            }
            session = projection.session;
            projected = projection.report.map(|report| (projection.turn.key, report));
        }
        let more = records.len() > limit;
        let mut turns = Vec::with_capacity(records.len().min(limit));
        for record in records.iter().take(limit) {
            let report = match &projected {
                // The projection has loaded its evidence already.
                Some((turn, report))
                    if matches!(record.turn.state, State::Settled(_)) && record.turn.key == *turn =>
                {
                    report.clone()
                }
                _ => evidence::load_report(&self.store, &self.payloads, record).await?,
            };
            turns.push(view::turn(record, &report, caller.operator));
        }
        let next = turns.last().filter(|_| more).map(|turn| turn.sequence_number.to_string());
        let WithWarnings { result: names, warnings } =
            documents::load_names(&self.store, caller, [&session.contexts]).await;
        let shown = view::session(&session, &names, modes, &participants, turns, next);
        Ok((WithWarnings { result: shown, warnings }, role))
    }

    /// Reads a session with its first page of turns.
    ///
    /// # Errors
    /// If this caller has no such session.
    pub async fn session_with_first_turns(
        &self,
        caller: &Caller,
        id: SessionId,
    ) -> Result<WithWarnings<AgentSession>, Refusal> {
        self.session(caller, id, TurnsPage::default()).await
    }

    /// Reads the summary of a session, as lists show it.
    ///
    /// # Errors
    /// If this caller has no such session.
    pub async fn session_summary(
        &self,
        caller: &Caller,
        id: SessionId,
    ) -> Result<WithWarnings<AgentSessionSummary>, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session: id };
        let found = self.store.session(&key).await?;
        let is_visible = access::sees(&self.store, caller, &key, found.as_ref()).await?;
        let session = found.filter(|_| is_visible).ok_or(Refusal::SessionNotFound)?;
        let session = self.project_all(vec![session], false).await?.pop().ok_or(Refusal::SessionNotFound)?;
        let WithWarnings { result: names, warnings } =
            documents::load_names(&self.store, caller, [&session.contexts]).await;
        Ok(WithWarnings { result: view::session_summary(&session, &names), warnings })
    }

    /// Reports the progress of a session's purge.
    ///
    /// # Errors
    /// If the caller has no such session, or it isn't being purged.
    pub async fn purge(&self, caller: &Caller, id: SessionId) -> Result<PurgeReport, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session: id };
        let (session, record) = try_join(self.store.session(&key), self.store.purge(&key)).await?;
        let purged = session.filter(|session| session.is_purged() && session.is_administered_by(caller));
        match (purged, record) {
            (Some(session), Some(record)) => Ok(view::purge(&session, record, caller.operator)),
            _ => Err(Refusal::SessionNotFound),
        }
    }
}
