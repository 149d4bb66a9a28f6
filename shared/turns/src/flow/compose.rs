//! Compose: reads what the next model request has to tell, then has it composed.

use agent::{
    compose::{Composed, compose},
    conversation::{Conversation, Missing},
    history::{Earlier, Exchange, LeftOut, Walk},
    material,
    progress::{Plan, Progress},
};
use contracts::{error::causes, request::UserTurn};
use futures::future::{OptionFuture, join_all, join3, try_join};
use protocol::{
    id::SessionKey,
    line::Predecessor,
    payload::{Kind, Payload},
    session::SolutionContext,
    turn::{Turn, Verdict},
};

use super::{executor::Executor, line, outcomes};
use crate::ports::{AgentDeps, PayloadReads, Reads, Unavailable};

/// How many turns are read at once: each may be some megabytes.
const AT_ONCE: usize = 4;

/// An earlier turn as it is told; none when it has no answer.
type Read = Result<Option<Exchange>, Unavailable>;

impl<D: AgentDeps> Executor<D> {
    /// The next request. Earlier turns that can't be read are left out of it, which its user is told; without
    /// the turn's own question or the solution context there is none.
    pub(super) async fn compose(
        &self,
        turn: &Turn,
        plan: &Plan,
        progress: &mut Progress,
        conversation: &mut Conversation,
    ) -> Result<Composed, Unavailable> {
        let Missing { request, earlier, solution } = conversation.missing(plan, progress);
        let request = OptionFuture::from(request.then(|| self.request_of(turn)));
        let solution = OptionFuture::from(solution.map(|latched| self.solution_of(turn, latched)));
        let earlier = OptionFuture::from(earlier.map(|room| {
            let walk = Walk::new(room, progress.window.clone()).since(plan.cut_place);
            // Boxed: few requests tell what came before, and each turn's future would be as large as theirs.
            Box::pin(self.earlier(turn, walk, plan.solution.as_ref()))
        }));
        let (request, solution, earlier) = join3(request, solution, earlier).await;
        conversation.request = request.transpose()?.or(conversation.request.take());
        conversation.solution = solution.transpose()?.or(conversation.solution.take());
        conversation.earlier = earlier.or(conversation.earlier.take());
        Ok(compose(turn, plan, progress, conversation, &self.deps.config().catalog))
    }

    /// The completed turns before this one, back to where their telling begins or has no room.
    async fn earlier(&self, turn: &Turn, walk: Walk, latched: Option<&SolutionContext>) -> Earlier {
        let mut earlier = self.walk(&turn.key.session, turn.predecessor(), walk).await;
        // What the system message tells was brought by a turn that may lie before those.
        let began_with = earlier.window.as_ref().and_then(|window| window.solution.clone());
        let is_at_hand = |named: &SolutionContext| {
            earlier.solutions.contains_key(&named.text)
                || latched.is_some_and(|latched| latched.text == named.text)
        };
        if let Some(named) = began_with.filter(|named| !is_at_hand(named)) {
            let hash = named.text;
            let read = self.solution_of(turn, named).await;
            let text = logged(read, "a solution context can't be read");
            earlier.solutions.extend(text.map(|text| (hash, text)));
        }
        earlier
    }

    /// The completed turns of a line of this session, from this one back.
    pub(super) async fn walk(&self, own: &SessionKey, from: Option<Predecessor>, mut walk: Walk) -> Earlier {
        let mut next = from;
        while let Some(from) = next.filter(|next| next.place >= walk.first()) {
            let Some((page, before)) =
                logged(self.page(own, from).await, "the session's history can't be read")
            else {
                return walk.ended(LeftOut::Unreadable);
            };
            for (head, exchange) in page {
                if head.place() < walk.first() {
                    break;
                }
                let Some(exchange) = logged(exchange, "an earlier turn can't be read") else {
                    walk.miss(head.place(), self.names_of_files(&head).await);
                    return walk.ended(LeftOut::Unreadable);
                };
                if exchange.is_some_and(|exchange| !walk.take(exchange)) {
                    return walk.ended(LeftOut::NoRoom);
                }
            }
            next = before;
        }
        walk.ended(LeftOut::Nothing)
    }

    /// A few turns of a line from this one back, newest first, each as it is told where it can be read; and the turn
    /// before them.
    async fn page(
        &self,
        own: &SessionKey,
        from: Predecessor,
    ) -> Result<(Vec<(Turn, Read)>, Option<Predecessor>), Unavailable> {
        let (heads, before) = line::back_from(self.deps.store(), own, from, AT_ONCE).await?;
        let read = join_all(heads.iter().map(|head| self.exchange(head))).await;
        Ok((heads.into_iter().zip(read).collect(), before))
    }

    /// What the files are called that came with a turn which can't be read otherwise.
    async fn names_of_files(&self, turn: &Turn) -> Vec<String> {
        let detail = self.deps.store().request_detail(&turn.key).await;
        let detail = logged(detail, "the files of an earlier turn can't be named").flatten();
        detail.map(|detail| material::names_of_files(&detail.active_file_refs).collect()).unwrap_or_default()
    }

    /// A turn as it is told; none when it has no answer.
    async fn exchange(&self, turn: &Turn) -> Result<Option<Exchange>, Unavailable> {
        let Some(Verdict::Completed { writer }) = turn.settlement().map(|settlement| &settlement.verdict)
        else {
            return Ok(None);
        };
        let written = outcomes::written_by(self.deps.payloads(), &turn.key, writer);
        let asked = async {
            let request = self.request_of(turn).await?;
            let detail = match request.input_artifacts.is_empty() {
                true => None,
                false => self.deps.store().request_detail(&turn.key).await?,
            };
            Ok((request, detail.map(|detail| detail.active_file_refs).unwrap_or_default()))
        };
        let ((request, files), outcome) = try_join(asked, written).await?;
        Ok(Exchange::of(turn, &request, &files, &outcome))
    }

    /// The text of a solution context, from the request that brought it.
    async fn solution_of(&self, turn: &Turn, named: SolutionContext) -> Result<String, Unavailable> {
        let kind = Kind::Instruction(named.stored_request());
        let own = &turn.key.session;
        let session = SessionKey {
            org: own.org.clone(),
            session: named.session.unwrap_or_else(|| own.session.clone()),
        };
        let payload = Payload { turn: session.turn(named.turn), kind };
        let text = self.request_at(&payload).await?.solution_context_text;
        text.ok_or_else(|| Unavailable { what: "the solution context", source: "it is not there".into() })
    }

    /// The request that a turn was started with, as it was stored.
    pub(super) async fn request_of(&self, turn: &Turn) -> Result<UserTurn, Unavailable> {
        let kind = Kind::Instruction(turn.stored_request());
        self.request_at(&Payload { turn: turn.key.clone(), kind }).await
    }

    async fn request_at(&self, payload: &Payload) -> Result<UserTurn, Unavailable> {
        let missing = |source| Unavailable { what: "a stored request", source };
        let stored =
            self.deps.payloads().get(payload).await?.ok_or_else(|| missing("it is not there".into()))?;
        UserTurn::from_canonical(&stored).map_err(|_| missing("it can't be read".into()))
    }
}

fn logged<T>(read: Result<T, Unavailable>, what: &str) -> Option<T> {
    read.inspect_err(|error| tracing::warn!(error = %causes(error), "{what}")).ok()
}
