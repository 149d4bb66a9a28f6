//! An earlier turn.

use contracts::{
    Fingerprint,
    read::AgentSessionActiveFileRef,
    request::{ChatMessage, UserTurn},
    response::ToolOutcome,
};
use protocol::{
    ancestry::ResolvedParent,
    session::SolutionContext,
    turn::{EndReason, Turn, Verdict},
};
use serde::{Deserialize, Serialize};

use super::ancestry::{self, RenderedAncestry};
use crate::{
    attachments::{self, Attachments},
    attempt::{
        AttemptState,
        history_window::HistoryWindow,
        prompt_state::{self, PromptState, SolutionTexts},
    },
    mode::Catalog,
    model::{HistoryItem, Instruction, Message, ReplyItem, TextPart},
    outcome::Outcome,
    text::{indent, tokens},
    tool::{
        results_block,
        rounds::{CallIds, ReplayTarget, Round},
    },
};

/// Estimated overhead of a message besides its texts, in tokens.
const MESSAGE_OVERHEAD_TOKENS: u32 = 8;

/// The result of a call whose turn ended first. The client may have run it.
const NO_RESULT: &str = "The turn ended before a result came. The call may have run.";

/// An earlier turn, for a replay: a completed one, or one that called tools and got no answer. The brief form has only the names of its files, no chunks from retrieval, and
/// truncated values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Exchange {
    /// The turn's depth in the ancestry.
    pub depth: u64,
    /// The turn that it continues.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parent: Option<ResolvedParent>,
    /// The mode at its start.
    pub mode: String,
    /// Text hash of the solution context at its start.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub solution: Option<Fingerprint>,
    /// The solution context that its own request supplied.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub supplied_solution: Option<(SolutionContext, String)>,
    /// The history window of its requests. A snapshot has only the newest turn's.
    #[serde(skip)]
    pub window: Option<HistoryWindow>,
    /// Names of its files, for a warning that they are not repeated.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub files: Vec<String>,
    /// The messages that its client brought, which come before its own.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    ancestry: Vec<ChatMessage>,
    instruction: Instruction,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    attachments: Option<Attachments>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    context_block: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    names_block: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    rounds: Vec<Round>,
    /// The answer, or a note that there is none.
    answer: String,
    /// The parts of the answer, if one of them has a phase.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    answer_parts: Vec<TextPart>,
    /// True if the turn ended without an answer.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub is_unanswered: bool,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    chain_mode: Option<String>,
    brief_tokens: u32,
    full_tokens: u32,
}

impl Exchange {
    /// Creates the exchange of a turn from its outcome. `None` if the turn has neither an answer nor tool calls. `refs`
    /// determine which of its files the model got.
    #[must_use]
    pub fn new(
        turn: &Turn,
        request: &UserTurn,
        refs: &[AgentSessionActiveFileRef],
        outcome: &Outcome,
    ) -> Option<Self> {
        let work = match outcome.response.answer_text() {
            None => TurnWork::unanswered(turn, outcome.rounds(), outcome.report.chain_solution)?,
            Some(answer) => TurnWork {
                answer,
                answer_parts: outcome.answer_parts().to_vec(),
                is_unanswered: false,
                rounds: outcome.rounds(),
                context_block: outcome.context_block().map(str::to_owned),
                solution: outcome.report.chain_solution,
                chain_mode: outcome.report.chain_mode.clone(),
                window: outcome.history_window().cloned(),
            },
        };
        Some(Self::from_work(turn, request, refs, work))
    }

    /// Creates the exchange of a turn that was ended from outside, from its last recorded state. `None` without tool
    /// calls.
    #[must_use]
    pub fn from_state(
        turn: &Turn,
        request: &UserTurn,
        refs: &[AgentSessionActiveFileRef],
        state: &AttemptState,
    ) -> Option<Self> {
        let work = TurnWork::unanswered(turn, state.rounds_for_outcome(), state.prompt.solution)?;
        Some(Self::from_work(turn, request, refs, work))
    }

    fn from_work(
        turn: &Turn,
        request: &UserTurn,
        refs: &[AgentSessionActiveFileRef],
        work: TurnWork,
    ) -> Self {
        let TurnWork {
            answer,
            answer_parts,
            is_unanswered,
            rounds,
            context_block,
            solution,
            chain_mode,
            window,
        } = work;
        let (attachments, names_block) =
            (Attachments::new(request, refs), attachments::names_block(request, refs));
        let instruction = Instruction::from_request(request);
        let texts =
            [Some(answer.as_str()), request.instruction.as_deref(), request.solution_context_text.as_deref()];
        let text_tokens: u32 =
            texts.into_iter().flatten().map(tokens).sum::<u32>().saturating_add(2 * MESSAGE_OVERHEAD_TOKENS);
        let ancestry_tokens = ancestry::estimate(&request.ancestry);
        let text_tokens = text_tokens.saturating_add(ancestry_tokens);
        let context_tokens = context_block.as_deref().map_or(0, tokens);
        let brief_rounds: u32 = rounds.iter().map(|round| round_tokens(&round.brief())).sum();
        let full_rounds: u32 = rounds.iter().map(round_tokens).sum();
        let supplied_solution = request.solution_context_text.clone().filter(|text| !text.trim().is_empty());
        Self {
            depth: turn.depth(),
            parent: turn.resolved_parent(),
            mode: turn.mode.clone(),
            solution,
            supplied_solution: supplied_solution.map(|text| {
                let context = SolutionContext {
                    session: Some(turn.key.session.session.clone()),
                    turn: turn.key.turn.clone(),
                    request: turn.fingerprint,
                    submission_id: turn.submission_id.clone(),
                    text: Fingerprint::hash_bytes(text.as_bytes()),
                };
                (context, text)
            }),
            window,
            files: attachments::display_names(request, refs),
            ancestry: request.ancestry.clone(),
            instruction,
            brief_tokens: text_tokens
                .saturating_add(names_block.as_deref().map_or(0, tokens))
                .saturating_add(brief_rounds),
            full_tokens: text_tokens
                .saturating_add(attachments.tokens())
                .saturating_add(context_tokens)
                .saturating_add(full_rounds),
            attachments: Some(attachments),
            context_block,
            names_block,
            rounds,
            answer,
            answer_parts,
            is_unanswered,
            chain_mode,
        }
    }

    /// Estimates its tokens, in full or in brief.
    #[must_use]
    pub fn tokens(&self, full: bool) -> u32 {
        if full { self.full_tokens.max(self.brief_tokens) } else { self.brief_tokens }
    }

    /// Drops the oldest of the messages that its client brought, so that it has about so many tokens less.
    #[must_use]
    pub fn with_less_ancestry(mut self, excess: u32) -> Self {
        let before = ancestry::estimate(&self.ancestry);
        let newest = ancestry::newest(&self.ancestry, before.saturating_sub(excess)).to_vec();
        let dropped = before.saturating_sub(ancestry::estimate(&newest));
        self.ancestry = newest;
        self.brief_tokens = self.brief_tokens.saturating_sub(dropped);
        self.full_tokens = self.full_tokens.saturating_sub(dropped);
        self
    }

    /// Keeps only the brief form, if there is no budget for more.
    #[must_use]
    pub fn into_brief(self) -> Self {
        Self {
            attachments: None,
            context_block: None,
            rounds: self.rounds.iter().map(Round::brief).collect(),
            ..self
        }
    }

    /// Returns the turn as plain text for compaction: the instruction, the tool calls and the answer. Long values are
    /// shortened as in `[TOOL_RESULTS]`.
    #[must_use]
    pub fn to_transcript(&self) -> String {
        let instruction = match &self.instruction {
            Instruction::User(text) => text.as_str(),
            Instruction::FilesAlone | Instruction::ToolResults => "(no words)",
        };
        let files = (!self.files.is_empty()).then(|| format!("Files: {}", self.files.join(", ")));
        let tools: Vec<String> =
            self.rounds.iter().filter_map(|round| results_block(&round.outputs())).collect();
        let tools = (!tools.is_empty()).then(|| format!("Tools:\n{}", indent(&tools.join("\n"))));
        let section = |who: &str, text: &str| Some(format!("{who}:\n{}", indent(text)));
        let parts = [section("User", instruction), files, tools, section("Assistant", &self.answer)];
        format!("Turn {}\n{}", self.depth, parts.into_iter().flatten().collect::<Vec<_>>().join("\n"))
    }

    /// Renders the turn's messages and replies, in order.
    pub(super) fn render(
        &self,
        full: bool,
        prompt_state: &mut PromptState,
        solution_texts: &SolutionTexts,
        catalog: &Catalog,
        (ids, target): (&mut CallIds, ReplayTarget<'_>),
    ) -> Vec<HistoryItem> {
        let mode = prompt_state.update_mode(&self.mode, catalog);
        let solution = prompt_state.update_solution(self.solution, solution_texts);
        // The text may be gone. Later turns still get only what differs from this context.
        prompt_state.solution = self.solution;
        let attachments = self.attachments.as_ref().filter(|_| full);
        // An exchange without attachments is in brief form already.
        let has_long = self.attachments.is_some() && !full;
        let (files_block, parts) = match attachments {
            Some(attachments) => (attachments.files_block.clone(), attachments.parts.clone()),
            None => (self.names_block.clone(), Vec::new()),
        };
        let RenderedAncestry { mut items, tool_outputs } =
            ancestry::render(&self.ancestry, &self.mode, &mut *ids);
        items.push(HistoryItem::Message(Message {
            tool_outputs,
            instruction: self.instruction.clone(),
            context_block: self.context_block.clone().filter(|_| full),
            files_block,
            attachments: parts,
            update: prompt_state::join_updates([mode, solution]),
            ..Message::in_mode(&self.mode)
        }));
        for round in &self.rounds {
            let brief = has_long.then(|| round.brief());
            let round = brief.as_ref().unwrap_or(round);
            let (reply, results) = prompt_state.replay_round(round, catalog, (&mut *ids, target));
            items.extend([reply, HistoryItem::Message(results)]);
        }
        if let Some(mode) = &self.chain_mode {
            prompt_state.mode = Some(mode.clone());
        }
        items.extend((!self.answer.trim().is_empty()).then(|| HistoryItem::Reply(self.answer_items())));
        items
    }

    /// Returns the messages of the answer: one for each part.
    fn answer_items(&self) -> Vec<ReplyItem> {
        if self.answer_parts.is_empty() {
            return vec![ReplyItem::text(self.answer.as_str())];
        }
        TextPart::split(&self.answer_parts, &self.answer)
            .filter(|(_, text)| !text.trim().is_empty())
            .map(|(part, text)| ReplyItem::Text { text: text.to_owned(), phase: part.phase })
            .collect()
    }
}

/// Renders the block about turns without an answer, oldest first, for a provider that stores the conversation and so
/// knows nothing of them. `None` without such turns.
#[must_use]
pub fn unanswered_block(exchanges: &[Exchange]) -> Option<String> {
    let transcripts: Vec<String> = exchanges.iter().map(Exchange::to_transcript).collect();
    (!transcripts.is_empty()).then(|| format!("[EARLIER_TURNS]\n\n{}", transcripts.join("\n\n")))
}

/// The part of an earlier turn that comes from its outcome.
struct TurnWork {
    answer: String,
    answer_parts: Vec<TextPart>,
    is_unanswered: bool,
    rounds: Vec<Round>,
    context_block: Option<String>,
    solution: Option<Fingerprint>,
    chain_mode: Option<String>,
    window: Option<HistoryWindow>,
}

impl TurnWork {
    /// Returns the work of a turn without an answer. `None` without tool calls: nothing happened then.
    fn unanswered(turn: &Turn, mut rounds: Vec<Round>, solution: Option<Fingerprint>) -> Option<Self> {
        let mut calls = rounds.iter_mut().flat_map(|round| &mut round.calls).peekable();
        calls.peek()?;
        for call in calls {
            call.outcome.get_or_insert_with(|| ToolOutcome::ErrorMessage(NO_RESULT.to_owned()));
        }
        let cause = match &turn.settlement()?.verdict {
            Verdict::Ended(EndReason::Cancelled) => "the user cancelled it",
            Verdict::Ended(EndReason::Superseded) => "the user sent the next message instead of tool results",
            Verdict::Ended(EndReason::ToolDeadline) => "the tool results came too late",
            Verdict::Ended(EndReason::Abandoned | EndReason::StorageUnavailable)
            | Verdict::Failed { .. }
            | Verdict::Completed { .. } => "it failed",
        };
        Some(Self {
            answer: format!(
                "[NO_ANSWER]\nThis turn ended without an answer: {cause}. Its tool calls ran, and their effects remain."
            ),
            answer_parts: Vec::new(),
            is_unanswered: true,
            rounds,
            context_block: None,
            solution,
            chain_mode: None,
            window: None,
        })
    }
}

/// Estimates the tokens of a round. Its results and arguments appear a second time in the block, shortened.
fn round_tokens(round: &Round) -> u32 {
    let bytes = round.size().saturating_add(round.calls.len().saturating_mul(MAX_BLOCK_ENTRY_BYTES));
    u32::try_from(bytes.div_ceil(3)).unwrap_or(u32::MAX).saturating_add(2 * MESSAGE_OVERHEAD_TOKENS)
}

/// Approximate maximum size of a call's entry in the block, in bytes.
const MAX_BLOCK_ENTRY_BYTES: usize = 512;
