//! Logs the one event of a finished turn: its outcome and usage (docs/reference/logs.md). It contains ids, counts and
//! durations, but no content (I14).

use agent::outcome::Outcome;
use contracts::ErrorCode;
use protocol::{transition::finalize::Finalization, turn::Verdict};

/// Logs that a turn became terminal: once, by the writer whose transaction made it so.
pub(crate) fn log_terminal(finalized: &Finalization, outcome: Option<&Outcome>) {
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
        model = report.response_model.as_ref().or(report.model.as_ref()),
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
        turns_failed = u64::from(code.is_some_and(is_service_failure)),
        "{}",
        contracts::log::TURN
    );
}

/// True if the failure is the service's or its provider's. Cancelled and superseded turns, expired client tools and
/// turns over a budget aren't.
fn is_service_failure(code: ErrorCode) -> bool {
    use ErrorCode as Code;
    !matches!(
        code,
        Code::TurnCancelled | Code::TurnSuperseded | Code::ToolDeadlineExpired | Code::TurnOverBudget
    )
}
