//! Reads of approvals: the list of those that wait, and one of them.

use std::collections::{BTreeMap, BTreeSet};

use contracts::{
    Timestamp,
    read::{Approval as ApprovalView, ApprovalStatus, ListResponse},
};
use futures::future::try_join_all;
use protocol::{
    Caller,
    approval::{Approval, ApprovalId, Approver},
    id::TurnKey,
};

use crate::{
    approval_view,
    flow::access,
    ports::{Audience, Page, Reads},
    refusal::Refusal,
};

/// Lists the approvals that wait: those that the caller may answer, or with `all` those of the org. Reads the lists of the
/// caller alone.
///
/// # Errors
/// If the caller asks for all and isn't an operator.
pub async fn list_approvals(
    store: &impl Reads,
    caller: &Caller,
    all: bool,
    (page_size, token): (u32, Option<String>),
    now: Timestamp,
) -> Result<ListResponse<ApprovalView>, Refusal> {
    let limit = usize::try_from(page_size).unwrap_or(usize::MAX);
    let audiences = match all {
        true => {
            access::require_operator(caller)?;
            vec![Audience::All]
        }
        false => audiences(caller),
    };
    let lists = audiences
        .iter()
        .map(|audience| store.open_approvals(&caller.org, audience, now, limit, token.clone()));
    let (found, next) = merge(try_join_all(lists).await?, limit);
    let keys: BTreeSet<TurnKey> = found.iter().map(|approval| approval.turn.clone()).collect();
    let keys: Vec<TurnKey> = keys.into_iter().collect();
    let heads: BTreeMap<_, _> =
        store.turns(&keys).await?.into_iter().map(|head| (head.key.clone(), head)).collect();
    let by = Approver::from(caller);
    let waiting = found.iter().filter(|approval| all || approval.rules.admits(&approval.asker, &by));
    let views = waiting.filter_map(|approval| {
        let status = approval_view::status(approval, heads.get(&approval.turn), now);
        (status == ApprovalStatus::Pending).then(|| approval_view::view(approval, status, caller))
    });
    Ok(ListResponse::new(views.collect(), page_size, next))
}

fn audiences(caller: &Caller) -> Vec<Audience> {
    let operators = caller.operator.then_some(Audience::Operators);
    let editors = caller.agent_editor.then_some(Audience::AgentEditors);
    [Audience::User(caller.user.id.clone())].into_iter().chain(operators).chain(editors).collect()
}

/// Merges the pages of several lists in their common order. Returns the place after which the next page begins.
fn merge(pages: Vec<Page<(String, Approval)>>, limit: usize) -> (Vec<Approval>, Option<String>) {
    // Beyond the end of a page that has more, an approval of that list may be missing.
    let known_to = pages.iter().filter_map(|page| page.next.clone()).min();
    let items: BTreeMap<String, Approval> = pages.into_iter().flat_map(|page| page.items).collect();
    let total = items.len();
    let known = items.into_iter().filter(|(place, _)| known_to.as_ref().is_none_or(|end| place <= end));
    let (places, found): (Vec<String>, Vec<Approval>) = known.take(limit).unzip();
    let next = match places.len() < total {
        true => places.last().cloned().or(known_to),
        false => known_to,
    };
    (found, next)
}

/// Reads an approval, for those who may answer it, the user whose turn it is, and operators.
///
/// # Errors
/// If there is none that the caller may see.
pub async fn read_approval(
    store: &impl Reads,
    caller: &Caller,
    id: &str,
    now: Timestamp,
) -> Result<ApprovalView, Refusal> {
    let id = ApprovalId::parse(id).ok_or_else(approval_view::not_found)?;
    let found = store.approval(&caller.org, &id).await?.ok_or_else(approval_view::not_found)?;
    let may_see = caller.operator
        || found.asker == caller.user.id
        || found.rules.admits(&found.asker, &Approver::from(caller));
    if !may_see {
        return Err(approval_view::not_found());
    }
    let head = store.turn(&found.turn).await?;
    Ok(approval_view::view(&found, approval_view::status(&found, head.as_ref(), now), caller))
}
