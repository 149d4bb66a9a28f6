//! The expected first model call of a turn, which its head shows from its start on. If the process dies before it can
//! tell more, this is what the turn has spent.

use agent::{attachments, attempt::Totals, context::ResolvedContext, mode::Catalog, text::estimate_tokens};
use contracts::request::UserTurn;
use protocol::{session::ChainHead, spent::Spent, transition::begin::Setup};

/// Estimates the call from what is known before the start: the prompt, the tools of the client, the request, and the
/// conversation that the provider has stored. Other earlier turns and search results are not read yet.
pub(super) fn expected_call(
    effective: &ResolvedContext,
    catalog: &Catalog,
    mode: &str,
    setup: &Setup,
    chain: Option<&ChainHead>,
    request: &UserTurn,
) -> Spent {
    let tools = effective.client_tools.iter().map(|tool| {
        let schema = tool.parameters.to_string().len();
        tool.name.len().saturating_add(tool.description.len()).saturating_add(schema)
    });
    let texts = [
        effective.system.len(),
        catalog.instructions(mode).map_or(0, |text| text.len()),
        request.instruction.as_ref().map_or(0, |text| text.len()),
    ];
    let bytes = tools.chain(texts).fold(0, usize::saturating_add);
    let input_tokens = estimate_tokens(u64::try_from(bytes).unwrap_or(u64::MAX))
        .saturating_add(attachments::estimated_tokens(request, &setup.files))
        .saturating_add(chain.map_or(0, |chain| chain.context_tokens))
        .max(1);
    Totals { next_input_tokens: input_tokens, ..Totals::default() }.spent(&effective.route)
}
