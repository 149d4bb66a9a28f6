//! Execute: a user turn, from the request to its answer (DESIGN §3).

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use contracts::{Caller, Fingerprint, request::UserTurn};
use futures::future::{join, try_join};

use crate::{
    chain::Upstream,
    flow::{
        Design, Refusal,
        attempt::Held,
        lease::Lease,
        outcome, publish,
        replay::{self, Waited},
        salvage,
        think::Work,
        write::{self, Written},
    },
    id::SessionKey,
    material,
    model::Model,
    outcome::Response,
    payload::{Kind, Payload},
    ports::{Announcements, Payloads, Store, World},
    progress::{Plan, Progress, Step},
    session::{Contexts, Hints, Session, SolutionChange, SolutionContext},
    stream::Live,
    summary,
    timing::Timing,
    transition::{
        begin::{self, Ask, Closing, Decision, Seen},
        take::{self, Purpose},
    },
    turn::{State, Turn},
};

/// How often a start decides anew because somebody else changed the session.
const ROUNDS: usize = 12;

/// Runs user turns.
#[derive(Debug)]
pub struct Executor<S, P, A, M, W> {
    /// The table.
    pub store: S,
    /// The objects.
    pub payloads: P,
    /// The finalize queue.
    pub announcements: A,
    /// The model.
    pub model: M,
    /// Time and chance.
    pub world: W,
    /// Waits and bounds.
    pub timing: Timing,
    /// Modes, tools and default contexts.
    pub design: Arc<Design>,
}

impl<S: Store, P: Payloads, A: Announcements, M: Model, W: World> Executor<S, P, A, M, W> {
    /// Answers a user turn: by running it, or, when it came before, with what it came to.
    ///
    /// `budget` is what is left of the function's own time. `live` receives the answer's text as the
    /// model writes it; what it got is provisional, the returned response counts.
    ///
    /// # Errors
    /// When the request was refused: then no turn was started, or another call works on it.
    pub async fn execute(
        &self,
        caller: &Caller,
        request: &UserTurn,
        budget: Duration,
        live: &Live,
    ) -> Result<Response, Refusal> {
        let stop_at = self.world.monotonic().saturating_add(budget);
        let mut ask = ask(caller, request);
        let (seen, stored) = join(self.look(&ask), self.store_instruction(&ask, request)).await;
        let mut seen = seen?;
        let mut stored = Some(stored);
        for _ in 0..ROUNDS {
            let held = match begin::decide(&seen, &ask, self.world.now(), &self.timing) {
                Decision::Begin | Decision::BeginClosing(_) if stored.is_some() => {
                    // I10: the head that points at the instruction is written after it.
                    stored.take().transpose()?;
                    continue;
                }
                Decision::Begin => {
                    self.begin(&mut seen, None, &mut ask, request).await?.map(|held| (held, None))
                }
                Decision::BeginClosing(open) => {
                    self.begin(&mut seen, Some(open), &mut ask, request).await?.map(|held| (held, None))
                }
                Decision::SalvageFirst(open) => {
                    salvage::salvage(&self.store, &self.payloads, &self.world, &self.timing, &open).await?;
                    None
                }
                Decision::Replay(turn) => return self.replay(&turn, live).await,
                Decision::Wait(turn) => {
                    match replay::wait(&self.store, &self.world, &self.timing, turn, live).await? {
                        Waited::Ready(turn) => return self.replay(&turn, live).await,
                        Waited::Running { retry_after } => {
                            return Err(Refusal::TurnInProgress { retry_after });
                        }
                        Waited::Dead => None,
                    }
                }
                Decision::TakeOver(turn) => {
                    ask.active_file_refs = self.files_of(&turn.key, request).await?;
                    self.take_over(&turn).await?
                }
                Decision::Conflict => return Err(Refusal::TurnIdConflict),
                Decision::Busy { turn, until } => {
                    let retry_after = replay::retry_after(self.world.now().until(until));
                    return Err(Refusal::SessionBusy { turn, retry_after });
                }
                Decision::OtherContexts => return Err(Refusal::OtherContexts),
            };
            if let Some((held, step)) = held {
                let step = match step {
                    Some(step) => step,
                    None => self.set_up(&held.turn, seen.session.as_ref(), &ask, request).await?,
                };
                let request = Some(request).filter(|_| step.progress.response_id.is_none());
                return self.attempt(&held, Work { request, step }, stop_at, live).await;
            }
            seen = self.look(&ask).await?;
        }
        Err(Refusal::Contended)
    }

    /// A turn's set-up, and no progress yet. What the chain was told comes from the session as it stands
    /// while the turn is open: nothing but the turn's own end changes that.
    async fn set_up(
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

    /// Session and turn beside each other; the session's open turn only when there is one.
    async fn look(&self, ask: &Ask) -> Result<Seen, Refusal> {
        let (session, turn) =
            try_join(self.store.session(&ask.key.session), self.store.turn(&ask.key)).await?;
        let open = match session.as_ref().and_then(|session| session.open_turn.clone()) {
            Some(open) if open != ask.key.turn || turn.is_none() => {
                self.store.turn(&ask.key.session.turn(open)).await?
            }
            _ => None,
        };
        Ok(Seen { session, turn, open })
    }

    async fn store_instruction(
        &self,
        ask: &Ask,
        request: &UserTurn,
    ) -> Result<(), crate::ports::Unavailable> {
        let payload = Payload { turn: ask.key.clone(), kind: Kind::Instruction(ask.fingerprint) };
        self.payloads.put(&payload, Bytes::from(request.canonical_json())).await
    }

    /// Starts the turn, and has `seen` the session as that leaves it; none when somebody else changed the
    /// session first.
    async fn begin(
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
            (Some(session), Some(open)) => {
                let outcome = outcome::load(&self.payloads, &open).await?;
                let now = self.world.now();
                let Ok(closing) = Closing::of(session, &open, outcome.as_ref(), now, &self.timing) else {
                    return Ok(None);
                };
                match closing.ended_before() {
                    Some(ended) => {
                        publish::details(&self.store, &self.payloads, &open, outcome.as_ref(), ended).await?;
                    }
                    None => publish::activity(&self.store, &open).await?,
                }
                Some(closing)
            }
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

    async fn is_newcomer(&self, seen: &Seen, ask: &Ask) -> Result<bool, Refusal> {
        match &seen.session {
            None => Ok(true),
            Some(session) if session.owner.id == ask.by.id => Ok(false),
            Some(session) => Ok(!self.store.takes_part(&session.key, &ask.by.id).await?),
        }
    }

    /// Takes over a turn whose attempt died: settles it from an earlier outcome, or goes on with it.
    /// None when there is nothing to work on: looking again tells why.
    pub(super) async fn take_over(&self, dead: &Turn) -> Result<Option<(Held, Option<Step>)>, Refusal> {
        let asked = self.world.monotonic();
        let fence = match take::take(dead, self.world.nonce(), Purpose::Retry, self.world.now(), &self.timing)
        {
            Ok(fence) => fence,
            Err(take::Refused::NoAttemptLeft) => {
                let stands =
                    salvage::salvage(&self.store, &self.payloads, &self.world, &self.timing, dead).await?;
                if let Some(turn) = stands {
                    self.announce(&turn).await;
                }
                return Ok(None);
            }
            Err(take::Refused::Alive { .. } | take::Refused::Illegal(_)) => return Ok(None),
        };
        if let Written::Stands(_) = write::turn(&self.store, &self.world, &fence).await? {
            return Ok(None);
        }
        let held = Held { turn: fence.after, lease: Lease::held_since(asked, &self.timing) };
        let State::Running { stage, .. } = &held.turn.state else {
            return Ok(None);
        };
        let Some((writer, found)) = outcome::find(&self.payloads, &held.turn.key, stage).await? else {
            let step = self.recover(&held.turn).await?;
            return Ok(Some((held, step)));
        };
        // I4, I9: an answer that was durable is used, not bought again.
        if let Ok(change) = salvage::from_outcome(&held.turn, writer, &found, &self.world, &self.timing) {
            write::turn(&self.store, &self.world, &change).await?;
            self.announce(&held.turn).await;
        }
        Ok(None)
    }

    pub(super) async fn replay(&self, turn: &Turn, live: &Live) -> Result<Response, Refusal> {
        live.of(turn);
        let left = match &turn.state {
            State::Running { lease_ends, .. } => self.world.now().until(*lease_ends),
            _ => Duration::ZERO,
        };
        replay::response(&self.payloads, turn)
            .await?
            .ok_or(Refusal::TurnInProgress { retry_after: replay::retry_after(left) })
    }
}

/// What the request asks. Whom it goes to and the first mode follow from its contexts, once they are known.
fn ask(caller: &Caller, request: &UserTurn) -> Ask {
    let contexts = Contexts {
        agent: request.agent_context_id.clone(),
        conversation: request.conversation_context_id.clone(),
    };
    let session = SessionKey { org: caller.org.clone(), session: request.session_id.clone() };
    Ask {
        key: session.turn(request.turn_id.clone()),
        by: caller.user.clone(),
        fingerprint: request.fingerprint(),
        first_contexts: contexts.clone(),
        contexts,
        hints: Hints {
            workspace: request.workspace_id.clone(),
            repo: request.repo.clone(),
            language: request.language.clone(),
        },
        session_name: summary::name_of(request.instruction.as_deref()),
        instruction_summary: summary::summarize(request.instruction.as_deref().unwrap_or_default()),
        active_file_refs: Vec::new(),
        first_mode: String::new(),
        streamed: request.streaming,
        upstream: Upstream::default(),
        solution: solution(request),
    }
}

/// AGN-034 §4.5: a text replaces the session's, an empty one removes it, none leaves it.
fn solution(request: &UserTurn) -> SolutionChange {
    match request.solution_context_text.as_deref() {
        None => SolutionChange::Stays,
        Some(text) if text.trim().is_empty() => SolutionChange::Removed,
        Some(text) => SolutionChange::Replaced(SolutionContext {
            turn: request.turn_id.clone(),
            request: request.fingerprint(),
            text: Fingerprint::of_bytes(text.as_bytes()),
        }),
    }
}
