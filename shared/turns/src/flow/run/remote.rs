//! Runs a round's calls of remote tools: records those with effects before the first is sent, sends each at most once, and
//! stores each result as soon as it is there (rule 14).
//!
//! The round is durable before the intent, and the intent before the first call. Without the round, a takeover would ask the
//! model again, which makes other calls. Without the intent, it wouldn't know what may have been sent. A call without an
//! effect needs neither: a takeover runs it again.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use agent::{
    attempt::{AttemptState, RecoveryPoint, TurnSpec, millis},
    model::FunctionCall,
    tool::{
        Limits, RemoteRunner, ToolError, ToolSuccess, ValidRemoteCall,
        remote::{
            CancelSignal, Cancellation, EffectClass, ProgressSink, RemoteCall, RemoteOutcome, RemoteTools,
        },
    },
};
use bytes::Bytes;
use contracts::error::causes;
use futures::future::{BoxFuture, Either, select};
use protocol::{
    change::Condition,
    cost::Cost,
    effect::{AfterTakeover, IntendedCall, Intent},
    payload::{Kind, Payload},
};

use serde_json::json;

use crate::{
    flow::{
        finish::effects,
        owned_turn::OwnedTurn,
        run::{
            approvals::Verdicts,
            lease::{self, Interruption},
        },
        write::{self, Tried},
    },
    ports::{AgentDeps, Deps, Host, Payloads, Reads, Store, Timer, WriteError},
    stream::Writer,
};

/// The times that a call is offered to its target while ownership can't be confirmed.
const MAX_OFFERS: u32 = 3;

/// The time that a call may take beyond its limit, which its implementor keeps.
const TIMEOUT_MARGIN: Duration = Duration::from_secs(5);

/// The most lines of progress of a call that go to the client.
const MAX_PROGRESS: u32 = 100;

/// The result of a call that another attempt may have sent.
const INTERRUPTED: &str = "The work on this call was interrupted before its result was stored.";

/// The result of a call that equals one with an unknown outcome.
const BLOCKED: &str = "An equal call of this session has an unknown outcome, so this one was not sent. A person has to \
     resolve that one first.";

/// A round whose remote calls run.
pub(super) struct RemoteRound<'a, D> {
    deps: &'a D,
    owned: &'a OwnedTurn,
    stream: &'a Writer,
    /// The calls of the server in the reply.
    calls: &'a [FunctionCall],
    number: u32,
    limits: &'a Limits,
    /// The calls that people don't allow, by their places, with the results for the model.
    refused: BTreeMap<usize, String>,
    /// The calls whose arguments people changed.
    edited: BTreeMap<usize, String>,
    /// The calls with effects that this attempt may send. `None` if the round has none.
    intent: Option<Intent>,
    /// The results that are stored already, by the places of their calls.
    results: BTreeMap<u32, RemoteOutcome>,
    /// True if another attempt wrote the intent.
    is_taken_over: bool,
    /// The tools of the calls whose outcome is unknown.
    unknown: Mutex<Vec<String>>,
    /// The calls that their targets got, or may have got: the tool, and its price unless the target refused the call.
    made: Mutex<Vec<(String, Option<Cost>)>>,
    /// The first reason for which the ledger couldn't be written.
    interruption: Mutex<Option<Interruption>>,
}

impl<'a, D: AgentDeps> RemoteRound<'a, D> {
    /// Records the calls with effects among the round's valid remote calls, or continues the round that another attempt
    /// left.
    pub(super) async fn open(
        (deps, owned, stream): (&'a D, &'a OwnedTurn, &'a Writer),
        (spec, state): (&TurnSpec, &AttemptState),
        (server_calls, calls): (&'a [FunctionCall], &[ValidRemoteCall<'_>]),
        (limits, Verdicts { refused, edited }): (&'a Limits, Verdicts),
    ) -> Result<Self, Interruption> {
        let number = state.rounds.count;
        let mut round = Self {
            deps,
            owned,
            stream,
            calls: server_calls,
            number,
            limits,
            refused,
            edited,
            intent: None,
            results: BTreeMap::new(),
            is_taken_over: false,
            unknown: Mutex::default(),
            made: Mutex::default(),
            interruption: Mutex::default(),
        };
        if let Some(open) = owned.open_round.as_ref().filter(|open| open.intent.round == number) {
            round.intent = Some(open.intent.clone());
            round.results.clone_from(&open.results);
            round.is_taken_over = true;
            return Ok(round);
        }
        let intended: Vec<IntendedCall> = calls.iter().filter_map(|call| round.intended(call)).collect();
        if !intended.is_empty() {
            let step = RecoveryPoint { spec: spec.clone(), state: state.clone() };
            let body = Bytes::from(serde_json::to_vec(&step).unwrap_or_default());
            put(deps, owned, Kind::Round(owned.turn.attempt.clone(), number), body).await?;
            let (turn, attempt) = (owned.turn.key.clone(), owned.turn.attempt.clone());
            let intent = Intent { turn, round: number, attempt, at: deps.host().now(), calls: intended };
            round.intent = write_intent(deps, owned, intent).await?;
        }
        Ok(round)
    }

    /// Adds a warning for each call whose outcome is unknown.
    ///
    /// # Errors
    /// Fails if an outcome couldn't be stored, or the turn has another owner. The turn doesn't continue from this round
    /// then.
    pub(super) fn finish(self, state: &mut AttemptState) -> Result<(), Interruption> {
        if let Some(interruption) = self.interruption.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(interruption);
        }
        for (tool, price) in self.made.into_inner().unwrap_or_else(PoisonError::into_inner) {
            state.totals.add_tool_call(&tool, price.as_ref());
        }
        for tool in self.unknown.into_inner().unwrap_or_else(PoisonError::into_inner) {
            state.effects.warn(&effects::unknown_warning(&tool));
        }
        Ok(())
    }

    /// Returns a call as its intent has it. `None` for a call without effect.
    fn intended(&self, call: &ValidRemoteCall<'_>) -> Option<IntendedCall> {
        let ValidRemoteCall { at, tool, arguments } = call;
        (tool.class.has_intent() && !self.refused.contains_key(at)).then(|| IntendedCall {
            index: u32::try_from(*at).unwrap_or(u32::MAX),
            tool: tool.definition.name.clone(),
            connection: tool.connection.clone(),
            revision: tool.revision,
            key: tool.key(&self.owned.turn.key, self.number, *at, arguments),
            hash: tool.call_hash(arguments),
            is_keyed: tool.class == EffectClass::Keyed,
        })
    }

    /// Returns the outcome of a call with an effect: the stored one, that of its target, or none that anybody knows.
    async fn run_intended(&self, call: &ValidRemoteCall<'_>) -> Result<RemoteOutcome, Interruption> {
        let index = u32::try_from(call.at).unwrap_or(u32::MAX);
        let intended = self.intent.as_ref().and_then(|intent| Some((intent, intent.call(index)?)));
        let Some((intent, intended)) = intended else {
            return Ok(RemoteOutcome::NotSent(BLOCKED.to_owned()));
        };
        if let Some(result) = self.results.get(&index) {
            if let RemoteOutcome::Unknown(_) = result {
                self.warn_of(&intended.tool);
            }
            return Ok(result.clone());
        }
        let may_send = !self.is_taken_over
            || intent.after_takeover(intended, self.deps.host().now()) == AfterTakeover::Repeat;
        // From here to the stored result, an attempt that loses the turn is kept alive for a while.
        let _in_flight = self.owned.begin_remote_call();
        let outcome = match may_send {
            true => self.send(call, &intended.key).await?,
            false => self.look_up(call, &intended.key).await,
        };
        let outcome = match outcome {
            // It says nothing of the attempt before, which may have been performed.
            RemoteOutcome::NotSent(_) | RemoteOutcome::Refused(_) if self.is_taken_over => {
                self.look_up(call, &intended.key).await
            }
            known => known,
        };
        let outcome = match outcome {
            RemoteOutcome::Unknown(why) => {
                self.mark_unknown(intent, intended).await?;
                RemoteOutcome::Unknown(format!(
                    "{why} Its outcome is unknown: it may have been performed, or may still be. It was not repeated. \
                     Don't make the call again, and tell the user."
                ))
            }
            known => known,
        };
        let kind = Kind::EffectResult(self.owned.turn.attempt.clone(), self.number, index);
        put(self.deps, self.owned, kind, Bytes::from(outcome.to_json())).await?;
        Ok(outcome)
    }

    /// Confirms ownership again and again until the call is sent, and never ends. Names, connections and sessions of a far
    /// target take longer than a confirmation lasts. A target that is near costs no request.
    async fn confirm_until(&self, sent: &AtomicBool) {
        let lasts = self.deps.timing().ownership_check_ttl;
        loop {
            self.deps.host().sleep(lasts / 2).await;
            if sent.load(Ordering::Relaxed) || lease::check_briefly(self.deps, self.owned).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Returns the outcome of a call that another attempt may have sent: the one that its target shows, if its connection
    /// names a way to look it up.
    async fn look_up(&self, call: &ValidRemoteCall<'_>, key: &str) -> RemoteOutcome {
        let Self { deps, limits, .. } = *self;
        let timeout = limits.timeout;
        let request = self.request(call, key);
        let running = pin!(deps.remote_tools().look_up(request));
        let over = pin!(deps.host().sleep(timeout.saturating_add(TIMEOUT_MARGIN)));
        let found = match select(running, over).await {
            Either::Left((found, _)) => found,
            Either::Right(_) => None,
        };
        found.map_or_else(|| RemoteOutcome::Unknown(INTERRUPTED.to_owned()), RemoteOutcome::Done)
    }

    /// Stores that the outcome of a call is unknown, so that an equal call of the session is refused (E4).
    async fn mark_unknown(&self, intent: &Intent, call: &IntendedCall) -> Result<(), Interruption> {
        let Self { deps, owned, .. } = self;
        let unknown = [intent.unknown(call, deps.host().now())];
        let (store, turn, attempt) = (deps.store(), &owned.turn.key, &owned.turn.attempt);
        // Repeating the write is safe, so an unknown result needs no read-back.
        write::decide(deps.host(), || async {
            let failed = match store.put_unknown_effects(turn, attempt, &unknown).await {
                Err(WriteError::ConditionFailed) => store.turn(turn).await?,
                written => return Ok(Tried::from(written)),
            };
            match Condition::same_owner(&owned.turn).holds(failed.as_ref()) {
                true => Ok(Tried::Conflict),
                false => Err(Interruption::OwnershipLost),
            }
        })
        .await?;
        effects::log_unknown(&unknown);
        self.warn_of(&call.tool);
        Ok(())
    }

    fn warn_of(&self, tool: &str) {
        self.unknown.lock().unwrap_or_else(PoisonError::into_inner).push(tool.to_owned());
    }

    /// Counts a call by its outcome. One whose outcome is unknown may have been performed, so it counts as spent.
    fn count(&self, call: &ValidRemoteCall<'_>, outcome: &RemoteOutcome) {
        let price = match outcome {
            RemoteOutcome::NotSent(_) => return,
            RemoteOutcome::Refused(_) => None,
            RemoteOutcome::Done(_) | RemoteOutcome::Unknown(_) => call.tool.terms.price.clone(),
        };
        let made = (call.tool.definition.name.clone(), price);
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(made);
    }

    /// Logs a call, and completes its span. Neither has arguments or a result.
    fn log(&self, call: &ValidRemoteCall<'_>, outcome: &RemoteOutcome, started: Duration) {
        let Self { deps, owned, number, .. } = self;
        let (tool, turn) = (call.tool, &owned.turn);
        let result_bytes = match outcome {
            RemoteOutcome::Done(success) => Some(success.result.to_string().len()),
            RemoteOutcome::Refused(_) | RemoteOutcome::NotSent(_) | RemoteOutcome::Unknown(_) => None,
        };
        let span = tracing::Span::current();
        span.record("tool_outcome", outcome.as_str());
        if !matches!(outcome, RemoteOutcome::Done(_)) {
            span.record("error.type", outcome.as_str());
        }
        if let Some(bytes) = result_bytes {
            span.record("result_bytes", bytes);
        }
        tracing::info!(
            turn = turn.key.turn.as_str(),
            attempt = turn.attempt.as_str(),
            round = number,
            tool = tool.tool_name(),
            connection = tool.connection,
            connection_version = tool.revision,
            class = tool.class.as_str(),
            outcome = outcome.as_str(),
            tool_ms = millis(deps.host().monotonic().saturating_sub(started)),
            result_bytes,
            "{}",
            contracts::log::TOOL_CALLED
        );
    }

    /// Sends a call whose result nobody needs once the turn is lost. If the turn has ended, the target has a moment to be told.
    async fn send_unrecorded(
        &self,
        call: &ValidRemoteCall<'_>,
        key: &str,
    ) -> Result<RemoteOutcome, Interruption> {
        // An attempt that loses the turn is kept alive to tell the target.
        let _in_flight = self.owned.begin_remote_call();
        let host = self.deps.host();
        let is_lost = pin!(async {
            while !self.owned.is_lost() {
                host.sleep(END_POLL_INTERVAL).await;
            }
            if self.owned.is_ended() {
                host.sleep(CANCEL_TIMEOUT).await;
            }
        });
        match select(pin!(self.send(call, key)), is_lost).await {
            Either::Left((sent, _)) => sent,
            Either::Right(_) => Err(Interruption::OwnershipLost),
        }
    }

    /// Returns a call without anybody who follows it.
    fn request<'c>(&'c self, call: &'c ValidRemoteCall<'_>, key: &'c str) -> RemoteCall<'c> {
        let turn = &self.owned.turn;
        RemoteCall {
            org: &turn.key.session.org,
            user: &turn.requested_by,
            token: self.owned.scope.token_of(&turn.requested_by),
            tool: call.tool,
            arguments: &call.arguments,
            key,
            timeout: self.limits.timeout,
            progress: ProgressSink::default(),
            cancel: CancelSignal::default(),
        }
    }

    /// Sends a call at most once. Ownership is confirmed right before the request is written.
    async fn send(&self, call: &ValidRemoteCall<'_>, key: &str) -> Result<RemoteOutcome, Interruption> {
        let Self { deps, owned, limits, .. } = *self;
        let timeout = limits.timeout;
        let left = AtomicU32::new(MAX_PROGRESS);
        let progress = |line: String| {
            let count = |left: u32| left.checked_sub(1);
            if let (Ok(_), Some(made)) =
                (left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count), self.calls.get(call.at))
            {
                self.stream.tool_progress(&owned.turn, self.number, made, line);
            }
        };
        for _ in 0..MAX_OFFERS {
            lease::ensure_owned(deps, owned).await?;
            let (sent, declined) = (AtomicBool::new(false), AtomicBool::new(false));
            let may_send = || {
                let may_send = lease::may_send(deps, owned);
                let flag = if may_send { &sent } else { &declined };
                flag.store(true, Ordering::Relaxed);
                may_send
            };
            let progress = ProgressSink::new(&progress);
            let cancel = CancelSignal::new(self);
            let request = RemoteCall { progress, cancel, ..self.request(call, key) };
            let running = pin!(deps.remote_tools().call(request, &may_send));
            let over = pin!(deps.host().sleep(timeout.saturating_add(TIMEOUT_MARGIN)));
            let confirming = pin!(self.confirm_until(&sent));
            let outcome = match select(running, select(over, confirming)).await {
                Either::Left((outcome, _)) => outcome,
                Either::Right(_) if sent.load(Ordering::Relaxed) => {
                    RemoteOutcome::Unknown("The target did not answer in time.".to_owned())
                }
                Either::Right(_) => RemoteOutcome::NotSent("The target can't be reached.".to_owned()),
            };
            if sent.load(Ordering::Relaxed) || !declined.load(Ordering::Relaxed) {
                return Ok(outcome);
            }
        }
        Ok(RemoteOutcome::NotSent("The call could not be sent in time. Nothing was performed.".to_owned()))
    }
}

impl<D: AgentDeps> RemoteRunner for RemoteRound<'_, D> {
    async fn run(&self, call: ValidRemoteCall<'_>) -> Result<ToolSuccess, ToolError> {
        if let Some(why) = self.refused.get(&call.at) {
            return Err(ToolError::Refused(why.clone()));
        }
        let started = self.deps.host().monotonic();
        let outcome = match call.tool.class.has_intent() {
            true => self.run_intended(&call).await,
            false => {
                let key = call.tool.key(&self.owned.turn.key, self.number, call.at, &call.arguments);
                self.send_unrecorded(&call, &key).await
            }
        };
        outcome
            .inspect(|outcome| {
                self.count(&call, outcome);
                self.log(&call, outcome, started);
            })
            .unwrap_or_else(|interruption| {
                let mut first = self.interruption.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(interruption);
                // Nobody sees it: the attempt ends.
                RemoteOutcome::NotSent(INTERRUPTED.to_owned())
            })
            .into_result()
            .map(|success| match self.edited.get(&call.at) {
                // The model asked for something else.
                Some(_) => ToolSuccess {
                    result: json!({ "edited_arguments": call.arguments, "result": success.result }),
                    ..success
                },
                None => success,
            })
    }
}

/// The time for telling a target that its call is cancelled.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// The interval at which a call that its target can stop looks for the end of its turn.
const END_POLL_INTERVAL: Duration = Duration::from_millis(100);

impl<D: AgentDeps> Cancellation for RemoteRound<'_, D> {
    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            while !self.owned.is_ended() {
                self.deps.host().sleep(END_POLL_INTERVAL).await;
            }
        })
    }
}

/// Writes an intent. Returns it without the calls that equal one with an unknown outcome, and `None` if no call is left.
async fn write_intent(
    deps: &impl Deps,
    owned: &OwnedTurn,
    intent: Intent,
) -> Result<Option<Intent>, Interruption> {
    write::decide_with(deps.host(), intent, |mut intent| async move {
        let tried = try_intent(deps, owned, &mut intent).await;
        (intent, tried)
    })
    .await
}

/// Tries once to write an intent. After a failed condition or a lost reply, what is stored decides (I11).
async fn try_intent(
    deps: &impl Deps,
    owned: &OwnedTurn,
    intent: &mut Intent,
) -> Result<Tried<Option<Intent>>, Interruption> {
    let (store, turn) = (deps.store(), &owned.turn);
    if intent.calls.is_empty() {
        return Ok(Tried::Done(None));
    }
    let failed = match store.put_intent(intent).await {
        Ok(()) => return Ok(Tried::Done(Some(intent.clone()))),
        Err(WriteError::Contended) => return Ok(Tried::Conflict),
        Err(WriteError::ConditionFailed) => Tried::Conflict,
        Err(WriteError::Unknown(source)) => Tried::Unknown(source),
    };
    let stored = match store.newest_intent(&turn.key).await {
        Ok(stored) => stored.filter(|stored| stored.round == intent.round),
        Err(error) => return Ok(Tried::Unknown(error.source)),
    };
    if let Some(stored) = stored {
        // A taker that finds an intent continues from its round, so no owner gets here with another's.
        return match stored.attempt == turn.attempt {
            true => Ok(Tried::Done(Some(stored))),
            false => Err(Interruption::OwnershipLost),
        };
    }
    let head = match store.turn(&turn.key).await {
        Ok(head) => head,
        Err(error) => return Ok(Tried::Unknown(error.source)),
    };
    if !Condition::same_owner(turn).holds(head.as_ref()) {
        return Err(Interruption::OwnershipLost);
    }
    let blocking = match store.unknown_effects(&turn.key.session, &intent.hashes()).await {
        Ok(unknown) => unknown.into_iter().map(|effect| effect.call.hash).collect::<BTreeSet<_>>(),
        Err(error) => return Ok(Tried::Unknown(error.source)),
    };
    if blocking.is_empty() {
        return Ok(failed);
    }
    intent.calls.retain(|call| !blocking.contains(&call.hash));
    Ok(Tried::Progress)
}

/// Stores an object that the ledger needs, while the lease lasts. An attempt that has lost its turn stores the results of
/// calls on their way until it is dropped.
async fn put(deps: &impl Deps, owned: &OwnedTurn, kind: Kind, body: Bytes) -> Result<(), Interruption> {
    let (host, payload) = (deps.host(), Payload { turn: owned.turn.key.clone(), kind });
    loop {
        let Err(error) = deps.payloads().put(&payload, body.clone()).await else { return Ok(()) };
        tracing::warn!(error = %causes(&error), "{}", contracts::log::EFFECT_NOT_RECORDED);
        let pause = host.jitter(Duration::from_secs(1));
        if owned.lease.remaining(host) <= pause {
            return Err(error.into());
        }
        host.sleep(pause).await;
    }
}
