//! Builds the next model request: reads the missing parts of the prompt, then composes them.

use agent::{
    attachments,
    attempt::{
        AttemptState, TurnSpec,
        conversation::{Conversation, LoadedData, MissingData},
    },
    history::{AncestryWalk, Exchange, LoadedHistory, Truncation},
    prompt::compose::{ComposedRequest, compose},
};
use contracts::{error::causes, request::UserTurn};
use futures::future::{OptionFuture, join_all, join3, try_join};
use protocol::{
    ancestry::ResolvedParent,
    id::SessionKey,
    payload::{Kind, Payload},
    session::SolutionContext,
    turn::{Turn, Verdict},
};

use crate::flow::{ancestry, executor::Executor, finish::outcomes};
use crate::ports::{AgentDeps, PayloadReads, Reads, Unavailable};

/// The number of turns to read concurrently. Each may be a few megabytes.
const MAX_CONCURRENT_READS: usize = 4;

/// An earlier turn's exchange of request and answer; none if it has no answer.
type ExchangeResult = Result<Option<Exchange>, Unavailable>;

impl<D: AgentDeps> Executor<D> {
    /// Composes the next model request. Earlier turns that can't be read are left out with a warning. The turn's own
    /// request and the solution context are required.
    pub(in crate::flow) async fn compose(
        &self,
        turn: &Turn,
        spec: &TurnSpec,
        state: &mut AttemptState,
        conversation: &mut Conversation,
    ) -> Result<ComposedRequest, Unavailable> {
        let MissingData { request, history, solution } = conversation.missing_data(spec, state);
        let request = OptionFuture::from(request.then(|| self.load_request(turn)));
        let solution = OptionFuture::from(solution.map(|latched| self.load_solution(turn, latched)));
        let history = OptionFuture::from(history.map(|token_budget| {
            let walk = AncestryWalk::new(token_budget, state.history.window.clone())
                .with_cutoff(spec.history.cutoff_depth);
            // Boxed: few requests need the history, and its future would enlarge that of every turn.
            Box::pin(self.load_history(turn, walk, spec.prompt.solution.as_ref()))
        }));
        let (request, solution, history) = join3(request, solution, history).await;
        let (request, solution_text) = (request.transpose()?, solution.transpose()?);
        conversation.loaded.extend(LoadedData { request, solution_text, history });
        Ok(compose(turn, spec, state, conversation, &self.deps.config().catalog))
    }

    /// Loads the completed turns before this one, back to where the history window begins or the token budget ends.
    async fn load_history(
        &self,
        turn: &Turn,
        walk: AncestryWalk,
        latched: Option<&SolutionContext>,
    ) -> LoadedHistory {
        let mut history = self.walk_history(&turn.key.session, turn.resolved_parent(), walk).await;
        // The turn that brought the solution context of the system message may lie before those turns.
        let needed = history.window.as_ref().and_then(|window| window.solution.clone());
        let is_loaded = |named: &SolutionContext| {
            history.solution_texts.contains_key(&named.text)
                || latched.is_some_and(|latched| latched.text == named.text)
        };
        if let Some(named) = needed.filter(|named| !is_loaded(named)) {
            let hash = named.text;
            let read = self.load_solution(turn, named).await;
            let text = ok_or_warn(read, contracts::log::SOLUTION_CONTEXT_UNREADABLE);
            history.solution_texts.extend(text.map(|text| (hash, text)));
        }
        history
    }

    /// Walks the ancestry from this turn back, and collects the completed turns.
    pub(in crate::flow) async fn walk_history(
        &self,
        own: &SessionKey,
        from: Option<ResolvedParent>,
        mut walk: AncestryWalk,
    ) -> LoadedHistory {
        let mut next = from;
        while let Some(from) = next.filter(|next| next.depth >= walk.oldest_wanted()) {
            let Some((page, before)) =
                ok_or_warn(self.history_page(own, from).await, contracts::log::HISTORY_UNREADABLE)
            else {
                return walk.finish(Truncation::Unreadable);
            };
            for (head, exchange) in page {
                if head.depth() < walk.oldest_wanted() {
                    break;
                }
                let Some(exchange) = ok_or_warn(exchange, contracts::log::EARLIER_TURN_UNREADABLE) else {
                    walk.skip_unreadable(head.depth(), self.file_names_of(&head).await);
                    return walk.finish(Truncation::Unreadable);
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
    /// page.
    async fn history_page(
        &self,
        own: &SessionKey,
        from: ResolvedParent,
    ) -> Result<(Vec<(Turn, ExchangeResult)>, Option<ResolvedParent>), Unavailable> {
        let (heads, before) = ancestry::page(self.deps.store(), own, from, MAX_CONCURRENT_READS).await?;
        let read = join_all(heads.iter().map(|head| self.load_exchange(head))).await;
        Ok((heads.into_iter().zip(read).collect(), before))
    }

    /// Returns the names of the files of a turn that can't be read otherwise.
    async fn file_names_of(&self, turn: &Turn) -> Vec<String> {
        let detail = self.deps.store().request_detail(&turn.key).await;
        let detail = ok_or_warn(detail, contracts::log::EARLIER_FILES_UNREADABLE).flatten();
        detail.map(|detail| attachments::file_names(&detail.active_file_refs).collect()).unwrap_or_default()
    }

    /// Loads the exchange of a completed turn; none if the turn has no answer.
    async fn load_exchange(&self, turn: &Turn) -> Result<Option<Exchange>, Unavailable> {
        let Some(Verdict::Completed { writer }) = turn.settlement().map(|settlement| &settlement.verdict)
        else {
            return Ok(None);
        };
        let outcome_read = outcomes::load(self.deps.payloads(), &turn.key, writer);
        let inputs = async {
            let request = self.load_request(turn).await?;
            let detail = match request.input_artifacts.is_empty() {
                true => None,
                false => self.deps.store().request_detail(&turn.key).await?,
            };
            Ok((request, detail.map(|detail| detail.active_file_refs).unwrap_or_default()))
        };
        let ((request, files), outcome) = try_join(inputs, outcome_read).await?;
        Ok(Exchange::new(turn, &request, &files, &outcome))
    }

    /// Loads the text of a solution context from the request that brought it.
    async fn load_solution(&self, turn: &Turn, named: SolutionContext) -> Result<String, Unavailable> {
        let kind = Kind::Instruction(named.stored_request());
        let own = &turn.key.session;
        let session = SessionKey {
            org: own.org.clone(),
            session: named.session.unwrap_or_else(|| own.session.clone()),
        };
        let payload = Payload { turn: session.turn(named.turn), kind };
        let text = self.read_request(&payload).await?.solution_context_text;
        text.ok_or_else(|| Unavailable { what: "the solution context", source: "it is missing".into() })
    }

    /// Loads the request that started a turn, as stored.
    pub(in crate::flow) async fn load_request(&self, turn: &Turn) -> Result<UserTurn, Unavailable> {
        let kind = Kind::Instruction(turn.stored_request());
        self.read_request(&Payload { turn: turn.key.clone(), kind }).await
    }

    async fn read_request(&self, payload: &Payload) -> Result<UserTurn, Unavailable> {
        let missing = |source| Unavailable { what: "a stored request", source };
        let stored =
            self.deps.payloads().get(payload).await?.ok_or_else(|| missing("it is missing".into()))?;
        UserTurn::from_canonical(&stored).map_err(|_| missing("it can't be read".into()))
    }
}

fn ok_or_warn<T>(read: Result<T, Unavailable>, message: &str) -> Option<T> {
    read.inspect_err(|error| tracing::warn!(error = %causes(error), "{message}")).ok()
}
