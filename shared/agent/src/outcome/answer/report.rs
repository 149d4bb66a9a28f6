//! The report of an attempt.

use contracts::Timestamp;
use protocol::detail::{ModelRequestInfo, OutcomeSummary, Report};

use crate::attempt::{AttemptState, RecoveryPoint, TurnSpec};

impl RecoveryPoint {
    /// Returns the summary for a finalization if the turn got no further. It omits everything that requires an
    /// answer.
    #[must_use]
    pub fn outcome_summary(&self) -> OutcomeSummary {
        let received = self.state.chain.reply.as_ref().map(|reply| reply.received_at);
        let report = attempt_report(&self.state, &self.spec, received);
        OutcomeSummary { report, modes: Vec::new() }
    }
}

pub(super) fn report(state: &AttemptState, spec: &TurnSpec, received: Timestamp) -> Report {
    attempt_report(state, spec, Some(received))
}

fn attempt_report(state: &AttemptState, spec: &TurnSpec, received: Option<Timestamp>) -> Report {
    let AttemptState { chain, prompt, totals, effects, .. } = state;
    let reply = chain.reply.as_ref();
    Report {
        response_id: chain.response_id.clone(),
        model_request: chain.response_id.as_ref().map(|_| ModelRequestInfo {
            previous_response_id: reply.and_then(|reply| reply.previous_response_id.clone()),
        }),
        model: Some(spec.route.model.clone()),
        response_model: reply.and_then(|reply| reply.response_model.clone()),
        provider: reply.map(|reply| reply.provider.clone()),
        fallbacks: chain.fallback_attempts.clone(),
        stateless_provider: chain.stateless_first_provider().cloned(),
        chain_mode: prompt.mode.clone(),
        chain_solution: prompt.solution,
        received_at: received,
        usage: totals.usage,
        estimated_tokens: totals.estimated_tokens,
        context_tokens: totals.context_tokens,
        cost: totals.cost(spec.route.prices.as_ref()),
        cost_is_partial: totals.cost_is_partial(spec.route.prices.as_ref()),
        last_raw_payload: spec.store_raw_payloads.then_some(totals.model_calls),
        model_calls: Some(totals.model_calls).filter(|calls| *calls > 0),
        model_ms: Some(totals.model_time.total_ms).filter(|_| !totals.model_time.is_zero()),
        first_text_ms: totals.model_time.first_text_ms,
        client_tool_ms: Some(totals.client_tool_ms).filter(|millis| *millis > 0),
        server_tool_ms: effects.ran_server_tools().then_some(totals.server_tool_ms),
        tools: totals.tools.clone(),
        tool_rounds: Some(state.rounds.count).filter(|rounds| *rounds > 0),
        chunk_refs: state.retrieved.chunk_refs.clone(),
        warnings: effects.warnings.clone(),
        ..Report::default()
    }
}
