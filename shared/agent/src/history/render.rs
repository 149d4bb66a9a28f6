//! Renders the earlier turns for a request.

use contracts::request::ChatMessage;
use protocol::session::SolutionContext;

use super::{
    Exchange, LoadedHistory, Truncation,
    ancestry::{self, RenderedAncestry},
    fit,
};
use crate::{
    attempt::{
        history_window::{HistorySummary, HistoryWindow},
        prompt_state::PromptState,
    },
    mode::Catalog,
    model::{HistoryItem, ToolOutput},
    tool::rounds::{CallIds, ReplayTarget},
};

/// The turn and the model to render the earlier turns for.
#[derive(Debug, Clone, Copy)]
pub struct RenderTarget<'a> {
    /// The turn's depth in its ancestry.
    pub depth: u64,
    /// The mode at its start.
    pub mode: &'a str,
    /// The current solution context.
    pub solution: Option<&'a SolutionContext>,
    /// The model that gets the turns.
    pub model: ReplayTarget<'a>,
    /// Token budget for the earlier turns.
    pub token_budget: u32,
    /// The messages that the turn's client brought. They come after the earlier turns.
    pub ancestry: &'a [ChatMessage],
    /// The latest summary of the turns before the window.
    pub summary: Option<&'a HistorySummary>,
    /// True if only the names of files are included, because the provider can't read one of them.
    pub omits_files: bool,
}

/// The earlier turns, rendered for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedHistory {
    /// Messages and replies, in order.
    pub items: Vec<HistoryItem>,
    /// The results of the last reply's calls, which the turn's own message brings.
    pub tool_outputs: Vec<ToolOutput>,
    /// The call ids in them.
    pub call_ids: CallIds,
    /// Estimated tokens of the items.
    pub tokens: u32,
    /// The state of the prompt after them.
    pub prompt_state: PromptState,
    /// The history window of the request.
    pub window: HistoryWindow,
    /// The window that the next turn starts from. It is the previous one if a turn couldn't be read, because that
    /// turn may be readable later.
    pub next_window: Option<HistoryWindow>,
    /// Files that the previous request still included, by path and hash.
    pub omitted_files: Vec<String>,
}

/// Renders the earlier turns for a request.
#[must_use]
pub fn render(history: &LoadedHistory, target: RenderTarget<'_>, catalog: &Catalog) -> RenderedHistory {
    let LoadedHistory { exchanges, truncation, window: previous, solution_texts, excluded, .. } = history;
    let starts_at_window = *truncation != Truncation::TokenBudget;
    let brought = ancestry::newest(target.ancestry, target.token_budget);
    let brought_tokens = ancestry::estimate(brought);
    let token_budget = target.token_budget.saturating_sub(brought_tokens);
    let fitted = fit::fit(exchanges, previous.as_ref(), starts_at_window, token_budget, target.depth);
    let fitted =
        if target.omits_files { fit::FittedWindow { full_from: target.depth, ..fitted } } else { fitted };
    let included = || exchanges.iter().filter(|exchange| exchange.depth >= fitted.from);
    let window = match previous.as_ref().filter(|previous| previous.from == fitted.from) {
        Some(previous) => HistoryWindow { full_from: fitted.full_from, ..previous.clone() },
        None => HistoryWindow {
            full_from: fitted.full_from,
            ..new_window(included().next(), fitted.from, history, target)
        },
    };
    let previously_full = previous.as_ref().map_or(0, |previous| previous.full_from);
    let excluded = excluded.iter().map(|(depth, files)| (*depth, files));
    let files: Vec<_> =
        excluded.chain(exchanges.iter().map(|exchange| (exchange.depth, &exchange.files))).collect();
    let files_in = |turns: std::ops::Range<u64>| {
        let files = files.iter().filter(move |(depth, _)| turns.contains(depth));
        files.flat_map(|(_, files)| (*files).clone())
    };
    let omitted_files = files_in(previously_full..fitted.full_from).collect();
    let window = HistoryWindow { summary: target.summary.cloned().or(window.summary.clone()), ..window };
    let window = window.with_omitted_files(files_in(0..fitted.from));
    let mut prompt_state = PromptState {
        mode: Some(window.mode.clone()),
        solution: window.solution.as_ref().map(|solution| solution.text),
    };
    let (mut items, mut call_ids) = (Vec::new(), CallIds::default());
    for exchange in included() {
        let full = exchange.depth >= fitted.full_from;
        items.extend(exchange.render(
            full,
            &mut prompt_state,
            solution_texts,
            catalog,
            (&mut call_ids, target.model),
        ));
    }
    let RenderedAncestry { items: brought, tool_outputs } =
        ancestry::render(brought, target.mode, &mut call_ids);
    items.extend(brought);
    if let Some(HistoryItem::Message(first)) = items.first_mut() {
        first.earlier_turns_block = window.earlier_turns_block();
    }
    RenderedHistory {
        items,
        tool_outputs,
        call_ids,
        tokens: fitted.tokens.saturating_add(brought_tokens),
        prompt_state,
        next_window: match truncation {
            Truncation::Unreadable => previous.clone(),
            Truncation::None | Truncation::WindowStart | Truncation::TokenBudget => Some(window.clone()),
        },
        window,
        omitted_files,
    }
}

/// Creates a window that starts with this turn. Its system message has the mode and the solution context at that
/// point.
fn new_window(
    first: Option<&Exchange>,
    from: u64,
    history: &LoadedHistory,
    target: RenderTarget<'_>,
) -> HistoryWindow {
    let (mode, solution) = match first {
        Some(exchange) => (exchange.mode.as_str(), exchange.solution),
        None => (target.mode, target.solution.map(|solution| solution.text)),
    };
    let supplied = history.exchanges.iter().filter_map(|exchange| exchange.supplied_solution.as_ref());
    let previous = history.window.as_ref().and_then(|window| window.solution.as_ref());
    let mut candidates = supplied.map(|(context, _)| context).chain(target.solution).chain(previous);
    HistoryWindow {
        from,
        full_from: from,
        mode: mode.to_owned(),
        solution: candidates.find(|context| Some(context.text) == solution).cloned(),
        files: history.window.as_ref().map(|previous| previous.files.clone()).unwrap_or_default(),
        summary: history.window.as_ref().and_then(|previous| previous.summary.clone()),
    }
}
