//! Composes the next model request of a turn from its settings and its state.
//!
//! If the provider stores the conversation, the request contains only what is new. Otherwise it repeats the whole
//! conversation verbatim before that, which keeps the provider's prompt cache warm.

use contracts::request::UserTurn;
use protocol::turn::Turn;

use crate::{
    attachments::Attachments,
    attempt::{
        AttemptState, ToolSpec, TurnSpec,
        prompt_state::{self, PromptState},
    },
    history::{compaction::CompactionRange, unanswered_block},
    mode::Catalog,
    model::{Chain, HistoryItem, Identifiers, Instruction, Message, Request, model_settings::ModelSettings},
    prompt::conversation::Conversation,
    tool,
};

/// A model request, and what the model knows after it.
#[derive(Debug)]
pub struct ComposedRequest {
    /// The request.
    pub request: Request,
    /// The mode and the solution context that the model has after this request.
    pub prompt_state: PromptState,
    /// The omitted turns to summarize before the request is sent.
    pub compaction: Option<CompactionRange>,
}

/// Composes the next request. Everything that [`Conversation::missing_data`] reports must be loaded.
pub fn compose(
    turn: &Turn,
    spec: &TurnSpec,
    state: &mut AttemptState,
    conversation: &mut Conversation,
    catalog: &Catalog,
) -> ComposedRequest {
    let previous = conversation.previous_response_id(state).map(str::to_owned);
    let (chain, message, prompt_state, compaction) = match previous {
        Some(previous_response_id) => {
            let (message, prompt_state) = incremental_message(turn, spec, state, conversation, catalog);
            (Chain::Continues { previous_response_id }, message, prompt_state, None)
        }
        None => full_conversation(turn, spec, state, conversation, catalog),
    };
    // A provider that has the conversation doesn't have the tools that were found since.
    let sends_tools =
        matches!(chain, Chain::Initial { .. }) || spec.tools.on_continuation || !state.found_tools.is_empty();
    let (tools, hosted_tools) = match sends_tools {
        true => {
            let ToolSpec { definitions, remote, choice, .. } = &spec.tools;
            let offered = tool::deferred::offered(definitions, remote, &state.found_tools, choice.as_ref());
            (tool::to_model_tools(&offered), spec.settings.hosted_tools.clone())
        }
        false => (Vec::new(), Vec::new()),
    };
    // Without tools there is no choice, and a tool forced again after its results would be called forever.
    let may_force = state.rounds.count == 0 && !tools.is_empty();
    let request = Request {
        provider: spec.route.provider.clone(),
        model: spec.route.model.clone(),
        settings: ModelSettings {
            hosted_tools,
            web_search: spec.settings.web_search.clone().filter(|_| sends_tools),
            requires_tool: spec.settings.requires_tool && may_force,
            ..spec.settings.clone()
        },
        identifiers: Some(Identifiers::for_turn(turn)),
        store: conversation.provider_stores(),
        chain,
        message,
        tools,
        tool_choice: spec.tools.choice.clone().filter(|_| may_force),
        wants_reasoning: conversation.replays_reasoning(),
    };
    ComposedRequest { request, prompt_state, compaction }
}

/// Returns the new message for a provider that stores the conversation.
fn incremental_message(
    turn: &Turn,
    spec: &TurnSpec,
    state: &AttemptState,
    conversation: &Conversation,
    catalog: &Catalog,
) -> (Message, PromptState) {
    let mut prompt_state = state.prompt.clone();
    let solution_texts = conversation.solution_texts(spec);
    let solution_hash = spec.prompt.solution.as_ref().map(|solution| solution.text);
    let mode = state.effects.mode(turn);
    let update = [
        prompt_state.update_mode(mode, catalog),
        prompt_state.update_solution(solution_hash, &solution_texts),
    ];
    let message = match &state.rounds.last {
        Some(round) => Message {
            tool_outputs: round.outputs(),
            instruction: round.next_instruction(),
            ..Message::in_mode(mode)
        },
        None => Message {
            earlier_turns_block: conversation.loaded.unanswered.as_deref().and_then(unanswered_block),
            ..user_message(mode, conversation.loaded.request.as_ref(), spec, state)
        },
    };
    (Message { update: prompt_state::join_updates(update), ..message }, prompt_state)
}

/// Returns the whole conversation: the earlier turns, this turn so far, and the new message.
fn full_conversation(
    turn: &Turn,
    spec: &TurnSpec,
    state: &mut AttemptState,
    conversation: &mut Conversation,
    catalog: &Catalog,
) -> (Chain, Message, PromptState, Option<CompactionRange>) {
    let rendered = conversation.render_history(turn, spec, state, catalog);
    let compaction = conversation.compaction_range(spec, state, &rendered);
    let solution_texts = conversation.solution_texts(spec);
    let (mut history, mut call_ids) = (rendered.items, rendered.call_ids);
    let mut prompt_state = rendered.prompt_state;
    let (window, next_window) = (rendered.window, rendered.next_window);
    // With an empty history, this message carries the note about the omitted turns.
    let earlier_turns_block = window.earlier_turns_block().filter(|_| history.is_empty());
    let shown_solution = window.solution.as_ref().and_then(|solution| solution_texts.get(&solution.text));
    let parts = build_system_parts(turn, spec, &window.mode, shown_solution, catalog);
    if shown_solution.is_none() && history.is_empty() {
        prompt_state.solution = None;
    }
    let solution_hash = spec.prompt.solution.as_ref().map(|solution| solution.text);
    let update = [
        prompt_state.update_mode(&turn.mode, catalog),
        prompt_state.update_solution(solution_hash, &solution_texts),
    ];
    let first = user_message(&turn.mode, conversation.loaded.request.as_ref(), spec, state);
    let mut message = Message {
        tool_outputs: rendered.tool_outputs,
        update: prompt_state::join_updates(update),
        earlier_turns_block,
        ..first
    };
    let rounds = state.rounds.for_replay(state.effects.mode(turn));
    for round in &rounds {
        history.push(HistoryItem::Message(message));
        let target = conversation.replay_target(spec);
        let (reply, results) = prompt_state.replay_round(round, catalog, (&mut call_ids, target));
        history.push(reply);
        message = results;
    }
    state.history.window = next_window;
    (Chain::Initial { system: spec.prompt.system.clone(), parts, history }, message, prompt_state, compaction)
}

/// Returns the first message of a turn.
fn user_message(mode: &str, request: Option<&UserTurn>, spec: &TurnSpec, state: &AttemptState) -> Message {
    let Attachments { files_block, parts } =
        request.map(|request| Attachments::new(request, &spec.inputs.files)).unwrap_or_default();
    let instruction = request.map_or(Instruction::ToolResults, Instruction::from_request);
    let context_block = state.retrieved.block.clone();
    Message { instruction, context_block, files_block, attachments: parts, ..Message::in_mode(mode) }
}

/// Returns the parts of the system message after the base prompt: the mode's instructions with the solution context,
/// then the usage of the tools (docs/internals/decisions/0006-prompt-layers.md).
///
/// The parts describe the state at the start of the history window, so the message stays the same for the prompt
/// cache. Later changes appear in the message where they happened.
fn build_system_parts(
    turn: &Turn,
    spec: &TurnSpec,
    mode: &str,
    solution: Option<&String>,
    catalog: &Catalog,
) -> Vec<String> {
    let mut parts = spec.prompt.parts.clone();
    if let Some(scoped) = parts.first_mut().filter(|_| mode != turn.mode) {
        let initial_parts: Vec<String> =
            [catalog.instructions(mode), Some(catalog.catalog_block())].into_iter().flatten().collect();
        *scoped = initial_parts.join("\n\n");
    }
    if let Some(block) = solution.map(|text| prompt_state::solution_block(text)) {
        match parts.first_mut() {
            Some(scoped) => *scoped = format!("{scoped}\n\n{block}"),
            None => parts.push(block),
        }
    }
    parts
}
