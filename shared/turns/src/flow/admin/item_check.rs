//! Checks of the items of an export, member by member: nothing that the service's own writes would not write.
//!
//! A type is taken apart as a whole, so a new member needs a rule here before it compiles. Figures and times have bounds,
//! because sums, orders and deadlines depend on them.

use std::time::Duration;

use contracts::{
    Timestamp, Usage,
    id::ModeKey,
    read::{AgentSessionActiveFileRef, AgentSessionChunkRef},
    request::limits::{
        MAX_ARTIFACTS, MAX_CATEGORY_CHARS, MAX_DESCRIPTION_CHARS, MAX_HINT_CHARS, MAX_LABEL_CHARS,
        MAX_NOTE_CHARS, MAX_RATING, MAX_RETENTION_DAYS, MAX_SAFE_INTEGER, MAX_SESSION_NAME_CHARS,
    },
};
use protocol::{
    ancestry::RerunOf,
    caller::User,
    cost::{Amount, Cost},
    detail::{FallbackAttempt, Feedback, ModeChange, ModeChangePosition, Participant, Report, RequestDetail},
    effect::{IntendedCall, Intent},
    id::AttemptId,
    session::{Session, SolutionContext},
    spent::{PendingUsage, Spent},
    tool_use::ToolUse,
    turn::{MAX_TAKEOVERS, State, Turn},
};

use crate::{
    flow::admin::document_check::{Fault, fault},
    ports::ArchiveItem,
};

/// The most characters of a user's display name.
const MAX_USER_NAME_CHARS: usize = 1_024;
/// The most characters of an id or a name of a provider, and of what it calls its model or its response.
const MAX_PROVIDER_CHARS: usize = 1_024;
/// The most characters of an attempt's id.
const MAX_ATTEMPT_CHARS: usize = 64;
/// The most characters of an excerpt, a path, a warning or an error.
const MAX_LONG_CHARS: usize = 65_536;
/// The most entries of a list.
const MAX_ENTRIES: usize = 1_024;
/// The most tokens of one turn. The longest turns of the largest models have a tenth of it.
const MAX_TOKENS: u64 = 1_000_000_000;
/// The highest cost of one turn, in whole units of a currency.
const MAX_COST: u64 = 1_000_000;
/// The most model calls, rounds or steps of one turn.
const MAX_CALLS: u32 = 10_000;
/// The longest time that a turn can take, with every wait for its client's tools.
const MAX_DURATION: Duration = Duration::from_secs(2 * 366 * 24 * 60 * 60);
/// The time by which the exporting service's clock may be ahead.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(24 * 60 * 60);

/// The check of one item.
pub(super) struct ItemCheck<'a> {
    /// The location of the item in the document.
    at: &'a str,
    now: Timestamp,
}

impl<'a> ItemCheck<'a> {
    /// Creates the check of the item at this location.
    pub(super) fn new(at: &'a str, now: Timestamp) -> Self {
        Self { at, now }
    }

    fn fault(&self, member: &str, rule: impl Into<String>) -> Fault {
        fault(format!("{}.{member}", self.at), rule)
    }

    fn text(&self, member: &str, text: &str, most: usize) -> Result<(), Fault> {
        match text.chars().count() {
            length if length > most => {
                Err(self.fault(member, format!("has {length} characters, and at most {most} are allowed")))
            }
            _ => Ok(()),
        }
    }

    fn texts<T: AsRef<str>>(&self, member: &str, texts: &[T], most: usize) -> Result<(), Fault> {
        self.entries(member, texts.len(), MAX_ENTRIES)?;
        texts.iter().try_for_each(|text| self.text(member, text.as_ref(), most))
    }

    fn entries(&self, member: &str, entries: usize, most: usize) -> Result<(), Fault> {
        match entries > most {
            true => Err(self.fault(member, format!("has {entries} entries, and at most {most} are allowed"))),
            false => Ok(()),
        }
    }

    fn figure(&self, member: &str, figure: impl Into<u64>, most: impl Into<u64>) -> Result<(), Fault> {
        let (figure, most) = (figure.into(), most.into());
        match figure > most {
            true => Err(self.fault(member, format!("is {figure}, and at most {most} is allowed"))),
            false => Ok(()),
        }
    }

    fn time(&self, member: &str, time: Timestamp) -> Result<(), Fault> {
        self.time_within(member, time, MAX_CLOCK_SKEW)
    }

    fn time_within(&self, member: &str, time: Timestamp, ahead: Duration) -> Result<(), Fault> {
        match time > self.now.after(ahead) {
            true => Err(self.fault(member, format!("is in the future: {time}"))),
            false => Ok(()),
        }
    }

    /// An attempt's id is part of the keys of objects.
    fn attempt(&self, member: &str, id: &AttemptId) -> Result<(), Fault> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let id = id.as_str();
        match (1..=MAX_ATTEMPT_CHARS).contains(&id.len()) && id.chars().all(is_plain) {
            true => Ok(()),
            false => {
                let rule = format!("must have 1 to {MAX_ATTEMPT_CHARS} ASCII letters, digits, - and _");
                Err(self.fault(member, rule))
            }
        }
    }

    fn mode(&self, member: &str, key: &str) -> Result<(), Fault> {
        let parsed = ModeKey::new(key);
        parsed.map(drop).map_err(|error| self.fault(member, format!("is not the key of a mode: {error}")))
    }

    fn user(&self, member: &str, User { id: _, name }: &User) -> Result<(), Fault> {
        self.text(member, name, MAX_USER_NAME_CHARS)
    }

    /// Checks a session. Whatever names another item is checked with all of them.
    pub(super) fn session(&self, session: &Session) -> Result<(), Fault> {
        let Session {
            key: _,
            rev,
            name,
            name_source: _,
            description,
            category,
            visibility: _,
            edited,
            deleted,
            quarantine,
            owner,
            created,
            last_activity,
            turn_count,
            open_turn: _,
            last_turn,
            tip: _,
            forked_from,
            cutoff: _,
            // An import takes no response chain along.
            chain: _,
            stateless_provider,
            mode,
            // Summed up from the turns and their feedback.
            usage: _,
            costs: _,
            ratings: _,
            contexts: _,
            hints,
            solution,
        } = session;
        let most = MAX_SAFE_INTEGER.unsigned_abs();
        self.figure("Rev", *rev, most)?;
        self.figure("TurnCount", *turn_count, most)?;
        self.text("Name", name, MAX_SESSION_NAME_CHARS)?;
        self.text("Description", description.as_deref().unwrap_or_default(), MAX_DESCRIPTION_CHARS)?;
        self.text("Category", category.as_deref().unwrap_or_default(), MAX_CATEGORY_CHARS)?;
        self.user("OwnerName", owner)?;
        self.time("Created", *created)?;
        self.time("LastActivity", *last_activity)?;
        edited.map_or(Ok(()), |edited| self.time("Edited", edited))?;
        if let Some(deletion) = deleted {
            let days = u64::try_from(MAX_RETENTION_DAYS).unwrap_or_default().saturating_add(1);
            self.time("Deleted.At", deletion.at)?;
            let longest = Duration::from_secs(days.saturating_mul(24 * 60 * 60));
            self.time_within("Deleted.RetainedUntil", deletion.retained_until, longest)?;
        }
        quarantine.as_ref().map_or(Ok(()), |quarantine| self.time("Quarantine.At", quarantine.at))?;
        last_turn.as_ref().map_or(Ok(()), |last| self.time("LastTurnDate", last.at))?;
        if let Some(origin) = forked_from {
            self.figure("ForkedFrom.Depth", origin.depth, most)?;
        }
        self.text(
            "StatelessProvider",
            stateless_provider.as_deref().unwrap_or_default(),
            MAX_PROVIDER_CHARS,
        )?;
        self.mode("Mode", mode)?;
        let named = [("WorkspaceId", &hints.workspace), ("Repo", &hints.repo), ("Language", &hints.language)];
        for (member, hint) in named {
            self.text(member, hint.as_deref().unwrap_or_default(), MAX_HINT_CHARS)?;
        }
        let submission =
            solution.as_ref().and_then(|SolutionContext { submission_id, .. }| submission_id.as_ref());
        submission.map_or(Ok(()), |id| self.attempt("Solution.SubmissionId", id))
    }

    /// Checks an item other than the session.
    pub(super) fn part(&self, item: &ArchiveItem) -> Result<(), Fault> {
        match item {
            ArchiveItem::Session(session) => self.session(session),
            ArchiveItem::Turn(turn) => self.turn(turn),
            ArchiveItem::Request(request) => self.request(request),
            ArchiveItem::Result(result) => self.report(&result.report),
            ArchiveItem::Participant(Participant { session: _, user: _, name, last_activity }) => {
                self.text("Name", name.as_deref().unwrap_or_default(), MAX_USER_NAME_CHARS)?;
                self.time("LastActivity", *last_activity)
            }
            ArchiveItem::Feedback(feedback) => self.feedback(feedback),
            ArchiveItem::ModeChange(change) => self.mode_change(change),
            ArchiveItem::Intent(intent) => self.intent(intent),
        }
    }

    fn turn(&self, turn: &Turn) -> Result<(), Fault> {
        let Turn {
            key: _,
            sequence: _,
            fingerprint: _,
            submission_id,
            requested_by: _,
            created,
            mode,
            parent: _,
            base_depth: _,
            chain,
            attempt,
            due,
            streamed: _,
            takeovers,
            suspended_by,
            accepted_results,
            ended_by: _,
            last_step,
            checkpoint: _,
            spent,
            // See `meters_of`.
            meters: _,
            is_imported: _,
            is_unstored: _,
            answer: _,
            state,
        } = turn;
        self.time("Created", *created)?;
        self.mode("Mode", mode)?;
        let previous = chain.previous_response_id().unwrap_or_default();
        self.text("PreviousResponseId", previous, MAX_PROVIDER_CHARS)?;
        self.attempt("Owner", attempt)?;
        self.figure("Takeovers", *takeovers, MAX_TAKEOVERS)?;
        for (member, id) in [("SubmissionId", submission_id), ("SuspendedBy", suspended_by)] {
            id.as_ref().map_or(Ok(()), |id| self.attempt(member, id))?;
        }
        if let Some(accepted) = accepted_results {
            self.figure("AcceptedResults.Round", accepted.round, MAX_CALLS)?;
            self.attempt("AcceptedResults.SuspendedBy", &accepted.suspended_by)?;
            self.attempt("AcceptedResults.ResumedBy", &accepted.resumed_by)?;
        }
        if let Some(step) = last_step {
            self.figure("LastStep.Step", step.step, MAX_CALLS)?;
            self.attempt("LastStep.By", &step.attempt)?;
        }
        spent.as_ref().map_or(Ok(()), |spent| self.spent(spent))?;
        let settlement = match state {
            State::Settled(settlement) => settlement,
            State::Finalized(settlement) if due.is_none() => settlement,
            State::Finalized(_) => return Err(self.fault("Due", "is set, and the turn is terminal")),
            // Refused with all turns of the session.
            State::Running { .. } | State::AwaitingTools { .. } => return Ok(()),
        };
        self.time("SettledAt", settlement.at)?;
        settlement.verdict.writer().map_or(Ok(()), |writer| self.attempt("Writer", writer))
    }

    fn intent(&self, intent: &Intent) -> Result<(), Fault> {
        let Intent { turn: _, round, attempt, at, calls } = intent;
        self.figure("Round", *round, MAX_CALLS)?;
        self.attempt("Attempt", attempt)?;
        self.time("At", *at)?;
        self.entries("Calls", calls.len(), MAX_ENTRIES)?;
        for IntendedCall { index, tool, connection, revision: _, key, hash: _, is_keyed: _ } in calls {
            self.figure("Calls.Index", *index, MAX_CALLS)?;
            for (member, text) in [("Calls.Tool", tool), ("Calls.Connection", connection), ("Calls.Key", key)]
            {
                self.text(member, text, MAX_LABEL_CHARS)?;
            }
        }
        Ok(())
    }

    fn request(&self, request: &RequestDetail) -> Result<(), Fault> {
        let RequestDetail {
            key: _,
            fingerprint: _,
            requested_by,
            upstream,
            instruction_summary,
            instruction_summary_truncated: _,
            active_file_refs,
            rerun_of,
            inline_json: _,
        } = request;
        self.user("RequestedByName", requested_by)?;
        self.text("Model", &upstream.model, MAX_PROVIDER_CHARS)?;
        self.text("Provider", &upstream.provider, MAX_PROVIDER_CHARS)?;
        self.text("InstructionSummary", instruction_summary, MAX_LONG_CHARS)?;
        self.entries("ActiveFileRefs", active_file_refs.len(), MAX_ARTIFACTS)?;
        for AgentSessionActiveFileRef { path, size_bytes, .. } in active_file_refs {
            self.text("ActiveFileRefs.Path", path, MAX_LONG_CHARS)?;
            self.figure("ActiveFileRefs.SizeBytes", *size_bytes, MAX_SAFE_INTEGER.unsigned_abs())?;
        }
        match rerun_of {
            Some(RerunOf { turn: _, model: Some(model) }) => {
                self.text("RerunOf.Model", model, MAX_PROVIDER_CHARS)
            }
            _ => Ok(()),
        }
    }

    /// Checks a report, of a result item or of an object that a finalization reads it from.
    pub(super) fn report(&self, report: &Report) -> Result<(), Fault> {
        let Report {
            answer_summary,
            answer_summary_truncated: _,
            partial_answer,
            response_id,
            imported_response_id,
            model_request,
            model,
            response_model,
            provider,
            fallbacks,
            stateless_provider,
            chain_mode,
            chain_solution: _,
            received_at,
            // Only the id of a response continues a chain, and an import takes none along.
            chain_expires: _,
            usage,
            estimated_tokens,
            context_tokens,
            cost,
            cost_is_partial: _,
            last_raw_payload,
            model_calls,
            model_ms,
            first_text_ms,
            client_tool_ms,
            server_tool_ms,
            tools,
            tool_rounds,
            chunk_refs,
            warnings,
            error_code: _,
            errors,
        } = report;
        let previous = model_request.as_ref().and_then(|request| request.previous_response_id.as_ref());
        for (member, text) in [
            ("ResponseId", response_id.as_ref()),
            ("ImportedId", imported_response_id.as_ref()),
            ("ModelRequest.PreviousResponseId", previous),
            ("Model", model.as_ref()),
            ("ResponseModel", response_model.as_ref()),
            ("Provider", provider.as_ref()),
            ("StatelessProvider", stateless_provider.as_ref()),
            ("ChainMode", chain_mode.as_ref()),
        ] {
            self.text(member, text.map_or("", String::as_str), MAX_PROVIDER_CHARS)?;
        }
        self.text("AnswerSummary", answer_summary.as_deref().unwrap_or_default(), MAX_LONG_CHARS)?;
        let partial = partial_answer.as_ref().map_or("", |partial| &partial.text);
        self.text("PartialAnswer.Text", partial, MAX_LONG_CHARS)?;
        received_at.map_or(Ok(()), |received| self.time("ReceivedAt", received))?;
        usage.map_or(Ok(()), |usage| self.usage(usage))?;
        self.figure("EstimatedTokens", *estimated_tokens, MAX_TOKENS)?;
        self.figure("ContextTokens", *context_tokens, MAX_TOKENS)?;
        cost.as_ref().map_or(Ok(()), |cost| self.cost(cost))?;
        for (member, number) in
            [("LastRawPayload", last_raw_payload), ("ModelCalls", model_calls), ("ToolRounds", tool_rounds)]
        {
            self.figure(member, number.unwrap_or_default(), MAX_CALLS)?;
        }
        let longest = u64::try_from(MAX_DURATION.as_millis()).unwrap_or(u64::MAX);
        for (member, time) in [
            ("ModelMs", model_ms),
            ("FirstTextMs", first_text_ms),
            ("ClientToolMs", client_tool_ms),
            ("ServerToolMs", server_tool_ms),
        ] {
            self.figure(member, time.unwrap_or_default(), longest)?;
        }
        self.entries("Tools", tools.len(), MAX_ENTRIES)?;
        for (tool, ToolUse { calls, cost }) in tools {
            self.text("Tools", tool, MAX_LABEL_CHARS)?;
            self.figure("Tools.Calls", *calls, MAX_CALLS)?;
            cost.as_ref().map_or(Ok(()), |cost| self.cost(cost))?;
        }
        self.entries("Fallbacks", fallbacks.len(), MAX_ENTRIES)?;
        for FallbackAttempt { model, provider, reason: _ } in fallbacks {
            self.text("Fallbacks.Model", model, MAX_PROVIDER_CHARS)?;
            self.text("Fallbacks.Provider", provider, MAX_PROVIDER_CHARS)?;
        }
        self.entries("ChunkRefs", chunk_refs.len(), MAX_ENTRIES)?;
        for AgentSessionChunkRef { chunk_id, path, repo, section, .. } in chunk_refs {
            self.text("ChunkRefs.ChunkId", chunk_id, MAX_PROVIDER_CHARS)?;
            self.text("ChunkRefs.Path", path, MAX_LONG_CHARS)?;
            self.text("ChunkRefs.Repo", repo.as_deref().unwrap_or_default(), MAX_PROVIDER_CHARS)?;
            self.text("ChunkRefs.Section", section.as_deref().unwrap_or_default(), MAX_PROVIDER_CHARS)?;
        }
        self.texts("Warnings", warnings, MAX_LONG_CHARS)?;
        self.texts("Errors", errors, MAX_LONG_CHARS)
    }

    fn spent(&self, spent: &Spent) -> Result<(), Fault> {
        let Spent { usage, estimated_tokens, model_calls, cost, cost_is_partial: _, model, pending, .. } =
            spent;
        self.usage(*usage)?;
        self.figure("Spent.EstimatedTokens", *estimated_tokens, MAX_TOKENS)?;
        self.figure("Spent.ModelCalls", *model_calls, MAX_CALLS)?;
        cost.as_ref().map_or(Ok(()), |cost| self.cost(cost))?;
        if let Some(PendingUsage { response, estimate, prices: _ }) = pending.as_deref() {
            self.text(
                "Spent.Pending.Provider",
                response.provider.as_deref().unwrap_or_default(),
                MAX_PROVIDER_CHARS,
            )?;
            self.text("Spent.Pending.ResponseId", &response.response_id, MAX_PROVIDER_CHARS)?;
            self.usage(estimate.usage)?;
            self.figure("Spent.Pending.EstimatedTokens", estimate.estimated_tokens, MAX_TOKENS)?;
        }
        self.text("Spent.Model", model.as_deref().unwrap_or_default(), MAX_PROVIDER_CHARS)
    }

    fn usage(&self, usage: Usage) -> Result<(), Fault> {
        let Usage {
            prompt_tokens,
            completion_tokens,
            total_tokens,
            cached_tokens,
            cache_write_tokens,
            reasoning_tokens,
        } = usage;
        for (member, tokens) in [
            ("PromptTokens", Some(prompt_tokens)),
            ("CompletionTokens", Some(completion_tokens)),
            ("TotalTokens", Some(total_tokens)),
            ("CachedTokens", cached_tokens),
            ("CacheWriteTokens", cache_write_tokens),
            ("ReasoningTokens", reasoning_tokens),
        ] {
            self.figure(&format!("Usage.{member}"), tokens.unwrap_or_default(), MAX_TOKENS)?;
        }
        Ok(())
    }

    fn cost(&self, Cost { amount, currency }: &Cost) -> Result<(), Fault> {
        if *amount > Amount::from_micros(MAX_COST.saturating_mul(1_000_000)) {
            let rule = format!("is {amount}, and at most {MAX_COST} is allowed");
            return Err(self.fault("Cost.Amount", rule));
        }
        match currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
            true => Ok(()),
            false => Err(self.fault("Cost.Currency", "must be three capital letters (ISO 4217)")),
        }
    }

    fn feedback(&self, feedback: &Feedback) -> Result<(), Fault> {
        let Feedback { turn: _, by, rating, label, note, created, at } = feedback;
        if !(1..=MAX_RATING).contains(rating) {
            return Err(self.fault("Rating", format!("must be a whole number from 1 to {MAX_RATING}")));
        }
        self.user("ByName", by)?;
        self.text("Label", label.as_deref().unwrap_or_default(), MAX_LABEL_CHARS)?;
        self.text("Note", note.as_deref().unwrap_or_default(), MAX_NOTE_CHARS)?;
        self.time("Created", *created)?;
        self.time("At", *at)
    }

    fn mode_change(&self, change: &ModeChange) -> Result<(), Fault> {
        let ModeChange { key: _, position, previous, new, reason, branch: _, at, by: _ } = change;
        // The sequence number is that of the turn, and the number has 8 bits.
        let ModeChangePosition { sequence: _, number: _ } = position;
        self.mode("Previous", previous)?;
        self.mode("New", new)?;
        self.text("Reason", reason, MAX_LONG_CHARS)?;
        self.time("At", *at)
    }
}
