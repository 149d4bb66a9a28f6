//! Maps approvals to the API.

use contracts::{
    Error, ErrorCode, Timestamp,
    read::{Approval as ApprovalView, ApprovalStatus, EntityHeader, Waiting, WaitingApproval},
};
use protocol::{
    Caller,
    approval::{Answer, Approval, ApprovalState, Approver, Decision},
    link,
    turn::Turn,
};

use crate::refusal::Refusal;

/// The refusal of an approval that doesn't exist, or that the caller may not see.
pub(crate) fn not_found() -> Refusal {
    Error::from(ErrorCode::ApprovalNotFound).with_details("ApprovalId").into()
}

/// Returns the status. An approval of a turn that has ended is closed. Without a head, its turn still waits.
pub(crate) fn status(approval: &Approval, head: Option<&Turn>, now: Timestamp) -> ApprovalStatus {
    match approval.state(now) {
        ApprovalState::Approved => ApprovalStatus::Approved,
        ApprovalState::Denied => ApprovalStatus::Denied,
        ApprovalState::Expired => ApprovalStatus::Expired,
        ApprovalState::Pending if head.is_some_and(|head| head.settlement().is_some()) => {
            ApprovalStatus::Closed
        }
        ApprovalState::Pending => ApprovalStatus::Pending,
    }
}

/// Returns what the API shows of an approval.
pub(crate) fn view(approval: &Approval, status: ApprovalStatus, caller: &Caller) -> ApprovalView {
    let Approval { id, turn, round, call_id, call, asker, rules, created, expires, answer } =
        approval.clone();
    let (edited, reason) = match answer.as_ref().map(|answer| answer.decision.clone()) {
        Some(Decision::Approved { arguments }) => (arguments, None),
        Some(Decision::Denied { reason }) => (None, reason),
        None => (None, None),
    };
    let may_answer = status == ApprovalStatus::Pending && rules.admits(&asker, &Approver::from(caller));
    ApprovalView {
        approval_id: id.as_str().to_owned(),
        status,
        session_id: turn.session.session,
        turn_id: turn.turn,
        round,
        tool_call_id: call_id,
        hash: call.hash(),
        tool: call.tool,
        connection_id: call.connection,
        connection_version: call.revision,
        arguments_json: call.arguments,
        edited_arguments_json: edited,
        asked_by_user_id: asker,
        may_answer,
        may_edit: rules.may_edit,
        creation_date: created,
        expires_date: expires,
        answered_by_user: answer.as_ref().map(|Answer { by, .. }| EntityHeader::from(&by.user)),
        answered_date: answer.as_ref().map(|answer| answer.at),
        reason,
    }
}

/// Returns what a turn waits for.
pub(crate) fn waiting(approvals: &[Approval]) -> Waiting {
    let open = approvals.iter().filter(|approval| approval.answer.is_none());
    Waiting {
        approvals: open
            .map(|approval| WaitingApproval {
                approval_id: approval.id.as_str().to_owned(),
                url: link::approval(approval.id.as_str()),
                tool: approval.call.tool.clone(),
                tool_call_id: approval.call_id.clone(),
                expires_date: approval.expires,
            })
            .collect(),
    }
}
