//! Recover: where the work on a turn goes on, by what is stored of it.

use contracts::{ToolContinuation, response::ToolResult};
use futures::future::try_join_all;

use super::{Executor, outcome};
use crate::ports::{Announcements, Payloads, Store, Unavailable, World};
use agent::{model::Model, progress::Step};
use protocol::{
    id::Owner,
    payload::{Kind, Payload},
    turn::{Stage, State, Turn},
};

/// How many recorded steps are looked for at once.
const STEPS_AT_ONCE: u32 = 8;

impl<S: Store, P: Payloads, A: Announcements, M: Model, W: World> Executor<S, P, A, M, W> {
    /// How far earlier attempts came; none where the work begins with the user's request.
    ///
    /// Only sound for the turn's owner: a slow attempt may still write until it is fenced.
    pub(super) async fn recover(&self, turn: &Turn) -> Result<Option<Step>, Unavailable> {
        let begun = match &turn.answered {
            Some(answered) => {
                let suspended =
                    outcome::written_by(&self.payloads, &turn.key, &answered.suspended_by).await?;
                let results = self.results(turn, &answered.resumed_by).await?;
                suspended.step.map(|step| Step { progress: step.progress.answered(&results), ..step })
            }
            None => None,
        };
        let rounds = begun.as_ref().map_or(0, |step| step.progress.rounds);
        let State::Running { stage, .. } = &turn.state else {
            return Ok(begun);
        };
        Ok(self.last_step(turn, stage, rounds).await?.or(begun))
    }

    /// The furthest recorded step of the newest attempt that recorded any.
    async fn last_step(&self, turn: &Turn, stage: &Stage, rounds: u32) -> Result<Option<Step>, Unavailable> {
        for writer in stage.writers.iter().rev() {
            let mut last = None;
            let mut from = rounds + 1;
            loop {
                let steps = (from..from + STEPS_AT_ONCE).map(|round| self.step(turn, writer, round));
                let found = try_join_all(steps).await?.into_iter().flatten().last();
                if found.is_none() {
                    break;
                }
                last = found;
                from += STEPS_AT_ONCE;
            }
            if last.is_some() {
                return Ok(last);
            }
        }
        Ok(None)
    }

    async fn step(&self, turn: &Turn, writer: &Owner, round: u32) -> Result<Option<Step>, Unavailable> {
        let payload = Payload { turn: turn.key.clone(), kind: Kind::Step(writer.clone(), round) };
        let stored = self.payloads.get(&payload).await?;
        // A step that can't be read is done without: its tools run again.
        Ok(stored.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    async fn results(&self, turn: &Turn, resumed_by: &Owner) -> Result<Vec<ToolResult>, Unavailable> {
        let payload = Payload { turn: turn.key.clone(), kind: Kind::ToolResults(resumed_by.clone()) };
        let missing = |source| Unavailable { what: "the tool results", source };
        let stored =
            self.payloads.get(&payload).await?.ok_or_else(|| missing("they are not there".into()))?;
        let results =
            ToolContinuation::from_canonical(&stored).map_err(|_| missing("they can't be read".into()))?;
        Ok(results.tool_results.into_vec())
    }
}
