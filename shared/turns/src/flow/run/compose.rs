//! Builds the next model request: reads the missing parts of the prompt, then composes them.

use agent::{
    attempt::{AttemptState, TurnSpec},
    history::AncestryWalk,
    prompt::{
        self,
        compose::ComposedRequest,
        conversation::{Conversation, LoadedData, MissingData},
    },
};
use futures::future::{OptionFuture, join3};

use crate::flow::{owned_turn::OwnedTurn, run::history, stored_request};
use crate::ports::{AgentDeps, Unavailable};

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
    let MissingData { request, history, solution } = conversation.missing_data(spec, state);
    let request = OptionFuture::from(request.then(|| stored_request::load(store, payloads, turn)));
    let solution = OptionFuture::from(
        solution.map(|latched| stored_request::load_solution(store, payloads, turn, latched)),
    );
    let exchanges = OptionFuture::from(history.map(|token_budget| {
        let walk = AncestryWalk::new(token_budget, state.history.window.clone())
            .with_cutoff(spec.history.cutoff_depth)
            .without_hidden(spec.history.hidden_depth);
        // Boxed: few requests need the history, and its future would enlarge that of every turn.
        Box::pin(history::load(deps, turn, walk, spec.prompt.solution.as_ref()))
    }));
    let (request, solution, history) = join3(request, solution, exchanges).await;
    let (request, solution_text) = (request.transpose()?, solution.transpose()?);
    conversation.loaded.extend(LoadedData { request, solution_text, history });
    Ok(prompt::compose::compose(turn, spec, state, conversation, &owned.catalog))
}
