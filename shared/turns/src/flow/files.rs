//! The files of a turn: chosen at its start, beside what the session's previous turn carried.

use contracts::{read::AgentSessionActiveFileRef, request::UserTurn};

use super::Executor;
use crate::ports::{Announcements, Payloads, Store, World};
use crate::refusal::Refusal;
use agent::{context::Budgets, material, model::Model};
use protocol::{id::TurnKey, session::Session};

impl<S: Store, P: Payloads, A: Announcements, M: Model, W: World> Executor<S, P, A, M, W> {
    /// Which of the request's files go to the model, for the next turn of the session.
    pub(super) async fn choose_files(
        &self,
        session: Option<&Session>,
        request: &UserTurn,
        budgets: &Budgets,
    ) -> Result<Vec<AgentSessionActiveFileRef>, Refusal> {
        let before = match session {
            Some(session) => self.files_of(&session.key.turn(session.last_turn.id.clone()), request).await?,
            None => Vec::new(),
        };
        Ok(material::choose(request, budgets, &before))
    }

    /// What a turn's start chose. It is looked up for a request alone that brings files itself.
    pub(super) async fn files_of(
        &self,
        turn: &TurnKey,
        request: &UserTurn,
    ) -> Result<Vec<AgentSessionActiveFileRef>, Refusal> {
        if request.input_artifacts.is_empty() {
            return Ok(Vec::new());
        }
        let asked = self.store.asked(turn).await?;
        Ok(asked.map(|asked| asked.active_file_refs).unwrap_or_default())
    }
}
