//! The server's share of a model reply's calls, and what they change.

use std::time::Duration;

use contracts::{ContentHash, response::FileRef};

use super::Executor;
use crate::ports::{Announcements, Payloads, Store, Unavailable, World};
use agent::{
    model::{FunctionCall, Model},
    progress::{Plan, Progress},
    tool::{self, AvailableMode, Effect, Executed, ExecutedBy, Facts, Limits, PublishFile},
};
use protocol::{
    link,
    payload::{Kind, Payload},
    turn::Turn,
};

impl<S: Store, P: Payloads, A: Announcements, M: Model, W: World> Executor<S, P, A, M, W> {
    /// Runs what the server runs, refuses what fits no tool, and leaves the client's calls open.
    ///
    /// No tool outlasts `deadline`, which is what the turn has left.
    pub(super) async fn run_tools(
        &self,
        turn: &Turn,
        plan: &Plan,
        calls: Vec<FunctionCall>,
        mut progress: Progress,
        deadline: Duration,
    ) -> Progress {
        let limits = Limits::default().within(deadline);
        let by = tool::answerers(&plan.tools, &calls, &limits);
        let is_ours = |(call, by)| (by == &ExecutedBy::Server).then_some(call);
        let ours: Vec<FunctionCall> = calls.iter().zip(&by).filter_map(is_ours).cloned().collect();
        progress.begin_round(calls.into_iter());
        let facts = self.facts(progress.mode(turn));
        let ran = tool::run_all(&self.design.tools, &plan.tools, &ours, &facts, &limits, &self.world);
        let mut performed = Vec::new();
        for ran in ran.await {
            performed.push(self.perform(turn, ran, &mut progress).await);
        }
        let before = progress.staged_mode.clone();
        let (staged, warning) = tool::fold_mode(before.clone(), &performed, self.world.now());
        if staged != before {
            progress.warnings.extend(warning.inspect(|warning| tracing::warn!(warning)));
            progress.warnings.extend(staged.as_ref().and_then(tool::branch_note));
        }
        progress.staged_mode = staged;
        progress.tool_results.extend(performed.iter().map(Executed::result));
        // By place, not by id: ids are the model's words, and two calls may have the same.
        let places = progress.calls.iter_mut().zip(by).filter(|(_, by)| *by == ExecutedBy::Server);
        for ((called, _), ran) in places.zip(performed) {
            called.outcome = Some(ran.outcome);
        }
        progress
    }

    fn facts(&self, mode: &str) -> Facts {
        let offered = self.design.catalog.modes().filter(|mode| mode.is_offered());
        let modes = offered.map(|mode| AvailableMode {
            key: mode.key.clone(),
            display_name: mode.display_name.clone(),
            when_to_use: mode.when_to_use.clone(),
        });
        Facts { mode: mode.to_owned(), modes: modes.collect() }
    }

    /// Does what a tool wants done; the call counts as failed if that can't be.
    async fn perform(&self, turn: &Turn, ran: Executed, progress: &mut Progress) -> Executed {
        for effect in &ran.effects {
            match effect {
                // The turn's modes are folded over all of a reply's calls.
                Effect::StageMode(_) => {}
                Effect::Warn(warning) => progress.warnings.push(warning.clone()),
                Effect::PublishFile(file) => match self.publish(turn, file).await {
                    Ok(file) => progress.files.push(file),
                    Err(error) => {
                        tracing::warn!(%error, source = %error.source, "a published file could not be stored");
                        return ran.into_failed("The file could not be stored. Try again.");
                    }
                },
            }
        }
        ran
    }

    /// Stores a file under its content's hash: storing it again changes nothing.
    async fn publish(&self, turn: &Turn, file: &PublishFile) -> Result<FileRef, Unavailable> {
        let (hash, name) = (ContentHash::of_bytes(&file.bytes), file.name.to_string());
        let url = link::file(&turn.key, &hash, &name);
        let kind = Kind::File { hash, name: name.clone() };
        self.payloads.put(&Payload { turn: turn.key.clone(), kind }, file.bytes.clone()).await?;
        Ok(FileRef {
            name,
            mime_type: file.media_type.clone(),
            url,
            size_bytes: u64::try_from(file.bytes.len()).unwrap_or(u64::MAX),
            content_hash: hash,
            description: file.description.clone(),
            content_expires: None,
        })
    }
}
