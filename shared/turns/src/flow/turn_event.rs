//! The one line about a turn that is over: what became of it, and what it used (docs/logs.md). Ids, counts and
//! durations, no contents (I14).

use agent::outcome::Outcome;
use contracts::ErrorCode;
use protocol::{transition::finalize::Finalized, turn::Verdict};

/// Logs that a turn became terminal: once, by whoever's transaction made it so.
pub(super) fn became_terminal(finalized: &Finalized, outcome: Option<&Outcome>) {
    let (turn, report) = (&finalized.turn.after, &finalized.result.report);
    let Some(settlement) = turn.settlement() else { return };
    let code = match &settlement.verdict {
        Verdict::Completed { .. } => None,
        Verdict::Failed { .. } => outcome.and_then(|outcome| outcome.response.error_code),
        Verdict::Ended(reason) => Some(reason.error().error_code),
    };
    let completed = matches!(settlement.verdict, Verdict::Completed { .. });
    let usage = report.usage.as_ref();
    tracing::info!(
        org = turn.key.session.org.as_str(),
        user = turn.requested_by.as_str(),
        session = turn.key.session.session.as_str(),
        turn = turn.key.turn.as_str(),
        attempt = turn.attempt.as_str(),
        outcome = if completed { "completed" } else { "failed" },
        code = code.map(ErrorCode::as_str),
        streamed = turn.streamed,
        suspensions = turn.round(),
        takeovers = turn.takeovers,
        tool_rounds = report.tool_rounds,
        model = report.answered_by.as_ref().or(report.model.as_ref()),
        provider = report.provider.as_ref(),
        prompt_tokens = usage.map(|usage| usage.prompt_tokens),
        completion_tokens = usage.map(|usage| usage.completion_tokens),
        cached_tokens = usage.and_then(|usage| usage.cached_tokens),
        reasoning_tokens = usage.and_then(|usage| usage.reasoning_tokens),
        cost_micros = report.cost.as_ref().map(|cost| cost.amount.micros()),
        currency = report.cost.as_ref().map(|cost| cost.currency.as_str()),
        model_calls = report.model_calls,
        model_ms = report.model_ms,
        first_text_ms = report.first_text_ms,
        client_tool_ms = report.client_tool_ms,
        server_tool_ms = report.server_tool_ms,
        turn_ms = u64::try_from(turn.created.until(settlement.at).as_millis()).unwrap_or(u64::MAX),
        turns_failed = u64::from(code.is_some_and(is_the_services)),
        "turn"
    );
}

/// Whether a failed turn is the service's failure, or its provider's: users cancel turns and send the next one, and
/// their tools take too long.
fn is_the_services(code: ErrorCode) -> bool {
    !matches!(code, ErrorCode::TurnCancelled | ErrorCode::TurnSuperseded | ErrorCode::ToolDeadlineExpired)
}
