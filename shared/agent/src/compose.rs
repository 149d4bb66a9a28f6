//! Compose: the next model request of a turn, from what it was set up with and how far it has come
//! (AGN-003; ruling: system text on a chained request).
//!
//! Where the provider remembers, a request says what is new. Where it does not, the request says everything
//! that was said before, in the same words, and then what is new.

use contracts::{Fingerprint, request::UserTurn};
use protocol::turn::Turn;

use crate::{
    conversation::Conversation,
    known::{self, Known},
    material::Material,
    mode::Catalog,
    model::{Chain, Identifiers, Instruction, Message, Request, Told},
    progress::{Plan, Progress},
    settings::Settings,
    sum_up::Due,
    tool,
};

/// A request, and what the model knows once it was answered.
#[derive(Debug)]
pub struct Composed {
    /// The request.
    pub request: Request,
    /// The solution context that it was then last told.
    pub told_solution: Option<Fingerprint>,
    /// The turns that it leaves out and that are to be summed up first.
    pub due: Option<Due>,
}

/// The next request. What it has to tell is at hand ([`Conversation::missing`]).
pub fn compose(
    turn: &Turn,
    plan: &Plan,
    progress: &mut Progress,
    conversation: &mut Conversation,
    catalog: &Catalog,
) -> Composed {
    let previous = conversation.previous_response_id(plan, progress).map(str::to_owned);
    let (chain, message, known, due) = match previous {
        Some(previous_response_id) => {
            let (message, known) = news(turn, plan, progress, conversation, catalog);
            (Chain::Continues { previous_response_id }, message, known, None)
        }
        None => everything(turn, plan, progress, conversation, catalog),
    };
    let (tools, hosted_tools) = match chain {
        Chain::Continues { .. } if !plan.tools_on_continuation => (Vec::new(), Vec::new()),
        Chain::Continues { .. } | Chain::Initial { .. } => {
            (tool::to_model(&plan.tools), plan.settings.hosted_tools.clone())
        }
    };
    // Without tools there is nothing to choose, and forced again after its results a tool would be called
    // for ever.
    let may_force = progress.rounds == 0 && !tools.is_empty();
    let request = Request {
        provider: plan.provider.clone(),
        model: plan.model.clone(),
        settings: Settings { hosted_tools, ..plan.settings.clone() },
        identifiers: Some(Identifiers::of(turn)),
        store: conversation.is_kept(plan),
        chain,
        message,
        tools,
        tool_choice: plan.tool_choice.clone().filter(|_| may_force),
        reasoning_wanted: conversation.tells_reasoning(plan),
    };
    Composed { request, told_solution: known.solution, due }
}

/// What is new to a provider that remembers the rest.
fn news(
    turn: &Turn,
    plan: &Plan,
    progress: &Progress,
    conversation: &Conversation,
    catalog: &Catalog,
) -> (Message, Known) {
    let mut known = Known { mode: progress.told_mode.clone(), solution: progress.told_solution };
    let solutions = conversation.solutions(plan);
    let latched = plan.solution.as_ref().map(|solution| solution.text);
    let mode = progress.mode(turn);
    let update = [known.learns_mode(mode, catalog), known.learns_solution(latched, &solutions)];
    let message = match progress.last_round() {
        Some(round) => Message { tool_outputs: round.outputs(), ..Message::in_mode(mode) },
        None => opening(mode, conversation.request.as_ref(), plan, progress),
    };
    (Message { update: known::update(update), ..message }, known)
}

/// The conversation from its beginning, the turn so far, and what is new.
fn everything(
    turn: &Turn,
    plan: &Plan,
    progress: &mut Progress,
    conversation: &mut Conversation,
    catalog: &Catalog,
) -> (Chain, Message, Known, Option<Due>) {
    let telling = conversation.telling(turn, plan, progress, catalog);
    let due = conversation.due(plan, progress, &telling);
    let solutions = conversation.solutions(plan);
    let (mut told, mut known, window, kept) = (telling.told, telling.known, telling.window, telling.kept);
    // Where no turn is told, the turns before this message are left out.
    let earlier_block = window.block().filter(|_| told.is_empty());
    let shown = window.solution.as_ref().and_then(|solution| solutions.get(&solution.text));
    let parts = system_parts(turn, plan, &window.mode, shown, catalog);
    if shown.is_none() && told.is_empty() {
        known.solution = None;
    }
    let latched = plan.solution.as_ref().map(|solution| solution.text);
    let update = [known.learns_mode(&turn.mode, catalog), known.learns_solution(latched, &solutions)];
    let opening = opening(&turn.mode, conversation.request.as_ref(), plan, progress);
    let mut message = Message { update: known::update(update), earlier_block, ..opening };
    let rounds = progress.rounds_in(progress.mode(turn));
    for round in &rounds {
        told.push(Told::Said(message));
        told.push(Told::Replied(round.replied(conversation.reader(plan))));
        message = known.learns_results(round, catalog);
    }
    progress.window = kept;
    (Chain::Initial { system: plan.system.clone(), parts, told }, message, known, due)
}

/// What a turn begins with.
fn opening(mode: &str, request: Option<&UserTurn>, plan: &Plan, progress: &Progress) -> Message {
    let Material { files_block, attachments } =
        request.map(|request| Material::of(request, &plan.active_files)).unwrap_or_default();
    let instruction = request.map_or(Instruction::ToolResults, Instruction::of);
    let context_block = progress.context_block.clone();
    Message { instruction, context_block, files_block, attachments, ..Message::in_mode(mode) }
}

/// What the system message says besides the base prompt: the mode's instructions come first, and what
/// else shapes the work follows them (docs/decisions/0006-what-shapes-a-turn-and-where-it-is-said.md).
///
/// It says what held when the telling began, and so it stays as it is: what changed since is told where it
/// changed.
fn system_parts(
    turn: &Turn,
    plan: &Plan,
    mode: &str,
    solution: Option<&String>,
    catalog: &Catalog,
) -> Vec<String> {
    let mut parts = plan.system_parts.clone();
    if let Some(scoped) = parts.first_mut().filter(|_| mode != turn.mode) {
        let began: Vec<String> =
            [catalog.instructions(mode), Some(catalog.block())].into_iter().flatten().collect();
        *scoped = began.join("\n\n");
    }
    let after_mode = 1.min(parts.len());
    parts.splice(after_mode..after_mode, solution.map(|text| known::solution_part(text)));
    parts
}
