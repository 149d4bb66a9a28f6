//! Builds the next model request: reads the missing parts of the prompt, then composes them.
//!
//! One of them is the history: the completed turns before this one, back to where the prompt begins. With `HistorySummary`
//! the model is asked for a summary of the earlier turns that the request leaves out. That is an ordinary model call: only the
//! turn's owner makes it, it is paid and counted, and a cancel ends it. Its result is part of the turn's next recorded step,
//! so it isn't paid for twice.

use std::time::Duration;

use agent::{
    attachments,
    attempt::{AttemptState, TurnSpec},
    history::{
        AncestryWalk, Exchange, LoadedHistory, Truncation,
        compaction::{self, CompactionRange},
        snapshot,
    },
    model::{Model, Observer},
    outcome::{
        Ending,
        answer::{self, File},
    },
    prompt::{
        self,
        compose::ComposedRequest,
        conversation::{Conversation, LoadedData, MissingData},
    },
};
use contracts::error::causes;
use futures::future::{OptionFuture, join_all, join4, try_join};
use protocol::{
    ancestry::ResolvedParent,
    id::{AttemptId, SessionKey},
    payload::{Kind, Payload},
    session::SolutionContext,
    turn::{Turn, Verdict},
};

use crate::{
    flow::{
        ancestry,
        finish::{
            evidence::{TurnEvidence, WorkRecord},
            outcomes,
        },
        owned_turn::OwnedTurn,
        run::lease::{self, OwnershipLost},
        stored_request,
    },
    ports::{AgentDeps, Deps, PayloadReads, Reads, Timer, Unavailable},
};

/// Composes the next model request. Earlier turns that can't be read are left out with a warning. The turn's own
/// request and the solution context are required.
pub(super) async fn compose(
    deps: &impl AgentDeps,
    owned: &OwnedTurn,
    spec: &TurnSpec,
    state: &mut AttemptState,
    conversation: &mut Conversation,
) -> Result<ComposedRequest, Unavailable> {
    let (store, payloads, turn) = (deps.store(), deps.payloads(), &owned.turn);
    let MissingData { request, history, unanswered, solution } = conversation.missing_data(spec, state);
    let request = OptionFuture::from(request.then(|| stored_request::load(store, payloads, turn)));
    let solution = OptionFuture::from(
        solution.map(|latched| stored_request::load_solution(store, payloads, turn, latched)),
    );
    let exchanges = OptionFuture::from(history.map(|token_budget| {
        let walk = AncestryWalk::new(token_budget, state.history.window.clone())
            .with_cutoff(spec.history.cutoff_depth)
            .without_hidden(spec.history.hidden_depth);
        // Boxed: few requests need the history, and its future would enlarge that of every turn.
        Box::pin(load(deps, turn, walk, spec.prompt.solution.as_ref()))
    }));
    let hidden_depth = spec.history.hidden_depth;
    // Boxed: few turns follow one without an answer.
    let unanswered =
        OptionFuture::from(unanswered.then(|| Box::pin(load_unanswered(deps, turn, hidden_depth))));
    let (request, solution, history, unanswered) = join4(request, solution, exchanges, unanswered).await;
    let (request, solution_text) = (request.transpose()?, solution.transpose()?);
    conversation.loaded.extend(LoadedData { request, solution_text, history, unanswered });
    Ok(prompt::compose::compose(turn, spec, state, conversation, &owned.catalog))
}

/// The most turns without an answer to tell a provider of.
const MAX_UNANSWERED: usize = 8;

/// Loads the turns between the last completed one and this one that called tools and got no answer, oldest first. Those
/// that can't be read are left out: the provider has the rest of the conversation.
async fn load_unanswered(deps: &impl Deps, turn: &Turn, hidden_depth: u64) -> Vec<Exchange> {
    let (mut newest_first, mut next) = (Vec::new(), turn.resolved_parent());
    while let Some(from) =
        next.filter(|next| next.depth > hidden_depth && newest_first.len() < MAX_UNANSWERED)
    {
        let page = ancestry::page(deps.store(), &turn.key.session, from, MAX_CONCURRENT_READS).await;
        let Some((heads, before)) = ok_or_warn(page, contracts::log::HISTORY_UNREADABLE) else { break };
        let unanswered = heads.iter().take_while(|head| completed_by(head).is_none());
        let read = join_all(unanswered.map(|head| load_exchange(deps, head))).await;
        let ends_here = read.len() < heads.len();
        let exchanges =
            read.into_iter().filter_map(|read| ok_or_warn(read, contracts::log::EARLIER_TURN_UNREADABLE)?);
        newest_first.extend(exchanges);
        next = before.filter(|_| !ends_here);
    }
    newest_first.truncate(MAX_UNANSWERED);
    newest_first.reverse();
    newest_first
}

/// The number of turns to read concurrently. Each may be a few megabytes.
const MAX_CONCURRENT_READS: usize = 4;

/// An earlier turn, as far as it can be read.
struct EarlierTurn {
    /// Its depth in the ancestry.
    depth: u64,
    /// Its exchange; none if it has neither an answer nor tool calls.
    exchange: Result<Option<Exchange>, Box<UnreadableTurn>>,
}

/// A turn that can't be read.
struct UnreadableTurn {
    head: Turn,
    error: Unavailable,
}

/// Loads the turns before this one, back to where the history window begins or the token budget ends.
pub(super) async fn load(
    deps: &impl Deps,
    turn: &Turn,
    walk: AncestryWalk,
    latched: Option<&SolutionContext>,
) -> LoadedHistory {
    let mut history = walk_ancestry(deps, &turn.key.session, turn.resolved_parent(), walk).await;
    // The turn that brought the solution context of the system message may lie before those turns.
    let needed = history.window.as_ref().and_then(|window| window.solution.clone());
    let is_loaded = |named: &SolutionContext| {
        history.solution_texts.contains_key(&named.text)
            || latched.is_some_and(|latched| latched.text == named.text)
    };
    if let Some(named) = needed.filter(|named| !is_loaded(named)) {
        let hash = named.text;
        let read = stored_request::load_solution(deps.store(), deps.payloads(), turn, named).await;
        let text = ok_or_warn(read, contracts::log::SOLUTION_CONTEXT_UNREADABLE);
        history.solution_texts.extend(text.map(|text| (hash, text)));
    }
    history
}

/// Walks the ancestry from this turn back, and collects its exchanges.
pub(super) async fn walk_ancestry(
    deps: &impl Deps,
    own: &SessionKey,
    from: Option<ResolvedParent>,
    mut walk: AncestryWalk,
) -> LoadedHistory {
    let mut next = from;
    while let Some(from) = next.filter(|next| next.depth >= walk.oldest_wanted()) {
        let page = load_page(deps, own, from, walk.token_budget()).await;
        let Some((page, before)) = ok_or_warn(page, contracts::log::HISTORY_UNREADABLE) else {
            return walk.finish(Truncation::Unreadable);
        };
        for EarlierTurn { depth, exchange } in page {
            if depth < walk.oldest_wanted() {
                break;
            }
            let exchange = match exchange {
                Ok(exchange) => exchange,
                Err(unreadable) => {
                    let UnreadableTurn { head, error } = *unreadable;
                    tracing::warn!(error = %causes(&error), "{}", contracts::log::EARLIER_TURN_UNREADABLE);
                    walk.skip_unreadable(depth, file_names_of(deps.store(), &head).await);
                    return walk.finish(Truncation::Unreadable);
                }
            };
            if exchange.is_some_and(|exchange| !walk.push(exchange)) {
                return walk.finish(Truncation::TokenBudget);
            }
        }
        next = before;
    }
    walk.finish(Truncation::None)
}

/// Reads one page of the ancestry, newest first, with each turn's exchange. Also returns the predecessor of the
/// page. The page is as long as the snapshot of its newest completed turn, if there is one.
async fn load_page(
    deps: &impl Deps,
    own: &SessionKey,
    from: ResolvedParent,
    token_budget: u32,
) -> Result<(Vec<EarlierTurn>, Option<ResolvedParent>), Unavailable> {
    let (heads, before) = ancestry::page(deps.store(), own, from, MAX_CONCURRENT_READS).await?;
    let answered = heads.iter().position(|head| completed_by(head).is_some());
    let snapshot = match answered.and_then(|at| heads.get(at)) {
        Some(turn) => load_snapshot(deps, turn, token_budget).await,
        None => None,
    };
    // The turns after the snapshot have no answer.
    let rest = answered.filter(|_| snapshot.is_some()).unwrap_or(heads.len());
    let read = join_all(heads.iter().take(rest).map(|head| load_exchange(deps, head))).await;
    let turns = heads.into_iter().zip(read).map(|(head, exchange)| EarlierTurn {
        depth: head.depth(),
        exchange: exchange.map_err(|error| Box::new(UnreadableTurn { head, error })),
    });
    let Some(exchanges) = snapshot else { return Ok((turns.collect(), before)) };
    let before = exchanges.last().and_then(|oldest| oldest.parent.clone());
    let restored = exchanges.into_iter().map(|one| EarlierTurn { depth: one.depth, exchange: Ok(Some(one)) });
    Ok((turns.chain(restored).collect(), before))
}

/// Loads the exchanges of a completed turn and of those before it, newest first, from the snapshot that this turn left.
/// None if there is none to use.
async fn load_snapshot(deps: &impl Deps, turn: &Turn, token_budget: u32) -> Option<Vec<Exchange>> {
    let writer = completed_by(turn)?;
    if !snapshot::may_exist(turn) {
        return None;
    }
    let payload = Payload { turn: turn.key.clone(), kind: Kind::History(writer.clone()) };
    let read = deps.payloads().get(&payload).await;
    let exchanges = read.and_then(|stored| {
        let parsed = stored.map(|stored| snapshot::from_json(&stored, turn, token_budget)).transpose();
        parsed.map_err(|error| Unavailable::unreadable("the history snapshot", error))
    });
    ok_or_warn(exchanges, contracts::log::HISTORY_SNAPSHOT_UNREADABLE).flatten().flatten()
}

/// Returns the attempt that answered a turn; none if the turn has no answer.
fn completed_by(turn: &Turn) -> Option<&AttemptId> {
    match &turn.settlement()?.verdict {
        Verdict::Completed { writer } => Some(writer),
        Verdict::Failed { .. } | Verdict::Ended(_) => None,
    }
}

/// Returns the names of the files of a turn that can't be read otherwise.
async fn file_names_of(store: &impl Reads, turn: &Turn) -> Vec<String> {
    let detail = store.request_detail(&turn.key).await;
    let detail = ok_or_warn(detail, contracts::log::EARLIER_FILES_UNREADABLE).flatten();
    detail.map(|detail| attachments::file_names(&detail.active_file_refs).collect()).unwrap_or_default()
}

/// Loads the exchange of a turn; none if the turn has neither an answer nor tool calls.
async fn load_exchange(deps: &impl Deps, turn: &Turn) -> Result<Option<Exchange>, Unavailable> {
    let inputs = async {
        let request = stored_request::load(deps.store(), deps.payloads(), turn).await?;
        let detail = match request.input_artifacts.is_empty() {
            true => None,
            false => deps.store().request_detail(&turn.key).await?,
        };
        Ok((request, detail.map(|detail| detail.active_file_refs).unwrap_or_default()))
    };
    if let Some(writer) = completed_by(turn) {
        let outcome_read = outcomes::load(deps.payloads(), &turn.key, writer);
        let ((request, files), outcome) = try_join(inputs, outcome_read).await?;
        return Ok(Exchange::new(turn, &request, &files, &outcome));
    }
    // Boxed: few turns end without an answer.
    let evidence = Box::pin(TurnEvidence::load(deps.store(), deps.payloads(), turn)).await?;
    let Some(work) = evidence.work.filter(WorkRecord::has_tool_calls) else { return Ok(None) };
    let (request, files) = inputs.await?;
    Ok(match work {
        WorkRecord::RecoveryPoint(step) => Exchange::from_state(turn, &request, &files, &step.state),
        WorkRecord::Outcome(outcome) => match outcome.ending {
            Ending::Suspended { recovery_point } => {
                Exchange::from_state(turn, &request, &files, &recovery_point.state)
            }
            Ending::Completed { .. } | Ending::Failed { .. } => {
                Exchange::new(turn, &request, &files, &outcome)
            }
        },
    })
}

fn ok_or_warn<T>(read: Result<T, Unavailable>, message: &str) -> Option<T> {
    read.inspect_err(|error| tracing::warn!(error = %causes(error), "{message}")).ok()
}

/// The longest time to wait for a summary. The turn's own answer needs the rest.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Compacts a range of the history. Returns the raw payloads of the model call.
///
/// The part to compact ends before the first turn that the request includes.
pub(super) async fn compact(
    deps: &impl AgentDeps,
    owned: &OwnedTurn,
    spec: &TurnSpec,
    range: CompactionRange,
    state: &mut AttemptState,
    conversation: &Conversation,
) -> Result<Vec<File>, OwnershipLost> {
    let (turn, CompactionRange { first, until, token_budget }) = (&owned.turn, range);
    let included = conversation.loaded.history.iter().flat_map(|history| &history.exchanges);
    let first_included = included.into_iter().find(|exchange| exchange.depth >= until);
    let from = first_included.map_or_else(|| turn.resolved_parent(), |exchange| exchange.parent.clone());
    let walk = AncestryWalk::back_to(first, token_budget).without_hidden(spec.history.hidden_depth);
    let left_out = walk_ancestry(deps, &turn.key.session, from, walk).await;
    if left_out.exchanges.is_empty() {
        // If these turns have no answers, don't look again. If they can't be read now, they may be readable
        // later.
        if left_out.truncation != Truncation::Unreadable {
            state.history.record_compaction(until, None);
        }
        return Ok(Vec::new());
    }
    let request = compaction::request(turn, spec, state.history.summary(), &left_out.exchanges, token_budget);
    lease::ensure_owned(deps, owned).await?;
    let max_wait = MAX_WAIT.min(owned.time_left(deps) / 4);
    let (host, mut on_text) = (deps.host(), |_: &str| {});
    let started = host.monotonic();
    let meter = owned.spending.begin_call(&mut state.totals, spec, &request, None);
    let mut observer =
        Observer::new(&mut on_text).with_raw_payloads(spec.store_raw_payloads).with_meter(meter);
    let reply = deps.model().reply(&request, max_wait, &mut observer).await;
    let duration = host.monotonic().saturating_sub(started);
    state.totals.add_model_call(observer.meter.usage(), duration, None);
    owned.spending.record(&state.totals, spec);
    let summary = match reply {
        Ok(reply) => compaction::summary_from(reply),
        Err(error) => {
            tracing::warn!(%error, "{}", contracts::log::COMPACTION_FAILED);
            None
        }
    };
    state.history.compaction_attempted = true;
    state.history.record_compaction(until, summary);
    Ok(observer.raw.map_or_else(Vec::new, |raw| answer::raw_payloads(turn, state.totals.model_calls, raw)))
}
