//! The HTTP status of an error for clients that didn't write it with this service in mind.

use contracts::ErrorCode;

/// Returns the status by which SDKs and agents of other APIs decide whether to repeat a request.
///
/// They repeat 408, 409, 429 and 5xx, some agents without an end. So an error that no repetition mends has another status
/// here than in the Aptix API, where the code tells.
#[must_use]
pub const fn client_status(code: ErrorCode) -> u16 {
    match code {
        ErrorCode::ModelRateLimited => 429,
        ErrorCode::ModelNotFound => 404,
        // The key is the service's. 401 would make clients ask their user for another one.
        ErrorCode::ModelMisconfigured => 403,
        ErrorCode::ModelRejected
        | ErrorCode::ToolRoundsExceeded
        | ErrorCode::TurnCancelled
        | ErrorCode::TurnSuperseded
        | ErrorCode::TurnNotCompleted
        | ErrorCode::TurnNotAwaitingTools
        | ErrorCode::ToolResultsMismatch
        | ErrorCode::SessionContextMismatch
        | ErrorCode::SessionDeleted
        | ErrorCode::SessionQuarantined
        | ErrorCode::ApprovalAnswered
        | ErrorCode::ApprovalExpired
        | ErrorCode::ApprovalClosed
        | ErrorCode::ApprovalMismatch
        | ErrorCode::ApprovalEditNotAllowed
        | ErrorCode::KnowledgeFull
        | ErrorCode::KnowledgeNotConfigured => 400,
        other => other.http_status(),
    }
}

#[cfg(test)]
mod tests {
    use contracts::error::Retry;

    use super::*;

    #[test]
    fn what_no_repetition_mends_has_a_status_that_nobody_repeats() {
        // Those whose status is fixed by OpenAI's API, and one that a deployment mends.
        let fixed = [
            ErrorCode::ModelQuotaExceeded,
            ErrorCode::TurnIdConflict,
            ErrorCode::SessionIdConflict,
            ErrorCode::DataTooNew,
        ];
        for code in ErrorCode::ALL {
            let is_repeated = matches!(client_status(*code), 408 | 409 | 429 | 500..);
            match code.retry() {
                Retry::Never => assert_eq!(is_repeated, fixed.contains(code), "{code}"),
                Retry::SameRequest => assert!(is_repeated, "{code}"),
                Retry::NewTurn => {}
            }
        }
    }
}
