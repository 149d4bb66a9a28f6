//! Reads the changes of a session's mode.

use std::collections::HashMap;

use contracts::{
    id::SessionId,
    read::{ListResponse, ModeChange},
};
use futures::{StreamExt, TryStreamExt, stream};
use protocol::{
    Caller,
    caller::User,
    detail::{ModeChange as StoredChange, ModeChangePosition},
    id::{SessionKey, TurnKey},
};

use crate::{
    flow::read::session_reader::{MAX_CONCURRENT_READS, SessionReader},
    ports::{PayloadReads, Reads, Unavailable},
    refusal::Refusal,
    view::{self, Names},
};

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// Lists the changes of a session's mode, newest first.
    ///
    /// # Errors
    /// If this caller has no such session, or the token isn't from this list.
    pub async fn mode_history(
        &self,
        caller: &Caller,
        id: SessionId,
        page_size: u32,
        token: Option<&str>,
    ) -> Result<ListResponse<ModeChange>, Refusal> {
        let before = token.map(str::parse).transpose().map_err(|_| Refusal::invalid_continuation_token())?;
        let key = SessionKey { org: caller.org.clone(), session: id };
        // The history is read after the check: how much there is to read would tell of a hidden session.
        let found = self.store.session(&key).await?;
        let session = self.visible(caller, &key, found).await?.ok_or(Refusal::SessionNotFound)?;
        let projection = Box::pin(self.projection_of(&session)).await?;
        let unstored = projection.map(|projection| projection.mode_changes).unwrap_or_default();
        Ok(self.mode_page(caller, &key, before, page_size, unstored).await?)
    }

    /// Reads a page of mode changes. The name of the user who made a change comes from the request of that turn.
    /// `unstored` are changes that aren't stored yet.
    pub(super) async fn mode_page(
        &self,
        caller: &Caller,
        session: &SessionKey,
        before: Option<ModeChangePosition>,
        page_size: u32,
        unstored: Vec<StoredChange>,
    ) -> Result<ListResponse<ModeChange>, Unavailable> {
        let limit = usize::try_from(page_size).unwrap_or(usize::MAX);
        // One item more than the page shows if another page follows.
        let mut changes = self.store.mode_history(session, before, limit.saturating_add(1)).await?;
        // Changes of a turn that was finalized meanwhile are stored already.
        let is_of_page = |change: &StoredChange| {
            before.is_none_or(|before| change.position < before)
                && changes.iter().all(|known| known.position != change.position)
        };
        let unstored: Vec<_> = unstored.into_iter().rev().filter(is_of_page).collect();
        changes.splice(..0, unstored);
        let more = changes.len() > limit;
        changes.truncate(limit);
        let next = changes.last().filter(|_| more).map(|last| last.position.to_string());
        // The changes of one turn are adjacent.
        let mut turns: Vec<TurnKey> = changes.iter().map(|change| change.key.clone()).collect();
        turns.dedup();
        let requests = stream::iter(turns).map(|turn| async move {
            self.store
                .request_detail(&turn)
                .await
                .map(|detail| detail.map(|detail| (turn, detail.requested_by)))
        });
        let by: Vec<Option<(TurnKey, User)>> =
            requests.buffer_unordered(MAX_CONCURRENT_READS).try_collect().await?;
        let by: HashMap<TurnKey, User> = by.into_iter().flatten().collect();
        let names = Names { org: caller.org_name.clone(), ..Names::default() };
        let items = changes.into_iter().map(|change| {
            let user = by.get(&change.key).cloned();
            view::mode_entry(change, user.as_ref(), &names)
        });
        Ok(ListResponse::new(items.collect(), page_size, next))
    }
}
