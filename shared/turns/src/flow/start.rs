//! Start: the transaction that makes a turn exist, and what the turn is set up with.

use agent::outcome::Outcome;
use contracts::request::UserTurn;

use super::{
    Executor,
    attempt::Held,
    lease::Lease,
    outcome, publish,
    write::{self, Written},
};
use crate::ports::{Announcements, Payloads, Store, World};
use crate::refusal::Refusal;
use agent::{
    material,
    model::Model,
    progress::{Plan, Progress, Step},
};
use protocol::{
    session::Session,
    transition::begin::{self, Ask, Closing, Seen},
    turn::Turn,
};

impl<S: Store, P: Payloads, A: Announcements, M: Model, W: World> Executor<S, P, A, M, W> {
    /// Starts the turn, and has `seen` the session as that leaves it; none when somebody else changed the
    /// session first.
    pub(super) async fn begin(
        &self,
        seen: &mut Seen,
        open: Option<Turn>,
        ask: &mut Ask,
        request: &UserTurn,
    ) -> Result<Option<Held>, Refusal> {
        let org = &ask.key.session.org;
        if seen.session.is_none() {
            ask.first_contexts = self.first_contexts(org, &ask.contexts).await?;
        }
        let contexts = seen.session.as_ref().map_or(&ask.first_contexts, |session| &session.contexts);
        let effective = self.effective(org, contexts).await?;
        ask.first_mode = self.design.catalog.first_mode(effective.first_mode.as_deref()).key.clone();
        ask.active_file_refs = self.choose_files(seen.session.as_ref(), request, &effective.budgets).await?;
        ask.upstream = self.design.upstream(&effective);
        let closing = match (&seen.session, open) {
            (Some(session), Some(open)) => match self.close(session, &open).await? {
                Some(closing) => Some(closing),
                None => return Ok(None),
            },
            _ => None,
        };
        let newcomer = self.is_newcomer(seen, ask).await?;
        let asked = self.world.monotonic();
        let owner = self.world.nonce();
        let commit = begin::begin(
            seen.session.as_ref(),
            closing,
            ask,
            owner,
            newcomer,
            self.world.now(),
            &self.timing,
        );
        let Some(turn) = commit.turns.first().map(|change| change.after.clone()) else {
            return Ok(None);
        };
        Ok(match write::commit(&self.store, &self.world, &commit).await? {
            Written::Applied => {
                seen.session = Some(commit.session.after);
                Some(Held { turn, lease: Lease::held_since(asked, &self.timing) })
            }
            Written::Stands(_) => None,
        })
    }

    /// How the open turn is closed on the way, with everything written that has to be there before; none
    /// when it is no longer as it was seen.
    async fn close(&self, session: &Session, open: &Turn) -> Result<Option<Closing>, Refusal> {
        let outcome = outcome::load(&self.payloads, open).await?;
        let closing = Closing::of(
            session,
            open,
            outcome.as_ref().map(Outcome::findings).as_ref(),
            self.world.now(),
            &self.timing,
        );
        let Ok(closing) = closing else { return Ok(None) };
        match closing.ended_before() {
            Some(ended) => {
                publish::details(&self.store, &self.payloads, open, outcome.as_ref(), ended).await?;
            }
            None => publish::activity(&self.store, open).await?,
        }
        Ok(Some(closing))
    }

    async fn is_newcomer(&self, seen: &Seen, ask: &Ask) -> Result<bool, Refusal> {
        match &seen.session {
            None => Ok(true),
            Some(session) if session.owner.id == ask.by.id => Ok(false),
            Some(session) => Ok(!self.store.takes_part(&session.key, &ask.by.id).await?),
        }
    }

    /// A turn's set-up, and no progress yet. What the chain was told comes from the session as it stands
    /// while the turn is open: nothing but the turn's own end changes that.
    pub(super) async fn set_up(
        &self,
        turn: &Turn,
        session: Option<&Session>,
        ask: &Ask,
        request: &UserTurn,
    ) -> Result<Step, Refusal> {
        let contexts = session.map_or(&ask.first_contexts, |session| &session.contexts);
        let effective = self.effective(&turn.key.session.org, contexts).await?;
        let chain = session.and_then(|session| session.chain.as_ref());
        let chain = chain.filter(|_| turn.previous_response_id.is_some());
        let progress = Progress {
            told_mode: chain.and_then(|chain| chain.told_mode.clone()),
            told_solution: chain.and_then(|chain| chain.told_solution),
            warnings: material::warnings(request, &ask.active_file_refs, &effective.budgets),
            ..Progress::default()
        };
        let solution = session.and_then(|session| session.solution.clone());
        Ok(Step {
            plan: Plan {
                solution,
                active_files: ask.active_file_refs.clone(),
                ..self.design.plan(&effective, &turn.mode)
            },
            progress,
        })
    }
}
