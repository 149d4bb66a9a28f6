//! Applies the effects of server tools.

use agent::{
    attempt::{AttemptState, TurnSpec},
    outcome::answer,
    retrieval::SEARCH_SKIPPED,
    tool::{self, Effect, ExecutedCall, PublishFile, ToolError},
};
use contracts::{error::causes, response::FileRef};
use protocol::turn::Turn;

use crate::flow::{owned_turn::OwnedTurn, retrieval::search::RetrievalSkipped, run::source_search};
use crate::ports::{AgentDeps, Clock, Payloads, Unavailable};

/// Applies the effects of a tool call. The call fails if an effect can't be applied.
pub(super) async fn apply(
    deps: &impl AgentDeps,
    owned: &OwnedTurn,
    spec: &TurnSpec,
    mut executed: ExecutedCall,
    state: &mut AttemptState,
) -> ExecutedCall {
    let turn = &owned.turn;
    for effect in std::mem::take(&mut executed.effects) {
        match effect {
            Effect::SearchSources(query) => {
                let time_left = owned.time_left(deps);
                match Box::pin(source_search::search(
                    deps,
                    turn,
                    spec.inputs.sources.as_ref(),
                    &query,
                    time_left,
                ))
                .await
                {
                    Ok((result, warnings)) => {
                        state.add_chunks(result.refs);
                        warnings.iter().for_each(|warning| state.effects.warn(&warning.to_string()));
                        executed = executed.with_result(&result.result);
                    }
                    Err(RetrievalSkipped) => {
                        state.effects.warn(SEARCH_SKIPPED);
                        return executed.into_failed(&ToolError::Unavailable("The index").to_string());
                    }
                }
            }
            Effect::StageMode(change) => {
                if !state.effects.stage_mode(change.into_staged(deps.host().now())) {
                    return executed.into_failed(&tool::mode_change_limit_message());
                }
            }
            Effect::Warn(warning) => state.effects.warnings.push(warning),
            Effect::PublishFile(file) => match publish_file(deps.payloads(), turn, &file).await {
                Ok(file) => state.effects.files.push(file),
                Err(error) => {
                    tracing::warn!(error = %causes(&error), "{}", contracts::log::PUBLISHED_FILE_NOT_STORED);
                    return executed.into_failed("The file could not be stored. Try again.");
                }
            },
        }
    }
    executed
}

/// Stores a published file under its content's hash, which is idempotent.
async fn publish_file(
    payloads: &impl Payloads,
    turn: &Turn,
    file: &PublishFile,
) -> Result<FileRef, Unavailable> {
    let (stored, file) = answer::published_file(&turn.key, file);
    payloads.put_file(&stored).await?;
    Ok(file)
}
