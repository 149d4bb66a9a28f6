//! The approvals of a round: which of its calls wait for a person, and what may run after the answers.
//!
//! If one call of a reply waits, the service runs none of the reply's calls: so a round has one intent, written after the
//! last answer. The answers can't change once the turn continues, so every attempt reads the same.

use std::collections::BTreeMap;

use agent::{
    attempt::{AttemptState, TurnSpec},
    context::{check_disabled, require_approval},
    tool::{
        ValidRemoteCall,
        approval::{CallApproval, CallFacts, MAX_APPROVALS},
        remote::RemoteTool,
    },
};
use contracts::{Timestamp, id::ConnectionId};
use protocol::{
    approval::{Answer, Approval, ApprovalState, Decision},
    turn::Turn,
};
use serde_json::Value;

use crate::{
    flow::{limits::OrgLimits, owned_turn::OwnedTurn},
    ports::{AgentDeps, Host, Reads, TypedDocuments, Unavailable},
};

/// The result of a call that nobody answered in time.
const EXPIRED: &str =
    "Nobody approved this call in time, so it was not sent. Ask the user before you make it again.";

/// The decision on a round.
pub(super) enum Decided {
    /// It waits for answers.
    Waiting,
    /// Its calls run, apart from those that are refused.
    Run(Verdicts),
}

/// What the answers say of the calls, by the places among the calls of the service.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    /// The calls that aren't sent, with the results for the model.
    pub(super) refused: BTreeMap<usize, String>,
    /// The arguments that people put in the place of the model's.
    pub(super) edited: BTreeMap<usize, String>,
}

/// Decides on the calls of the last round. `places` are those of the service's calls in the round.
///
/// Records the approvals that the calls need when the round runs for the first time.
pub(super) async fn decide(
    deps: &impl AgentDeps,
    owned: &OwnedTurn,
    spec: &TurnSpec,
    state: &mut AttemptState,
    (places, calls): (&[usize], &[ValidRemoteCall<'_>]),
) -> Result<Decided, Unavailable> {
    let now = deps.host().now();
    let asked: Vec<(usize, CallApproval)> = recorded(state, places);
    let intent = owned.open_round.as_ref().filter(|open| open.intent.round == state.rounds.count);
    if asked.is_empty() {
        // A round with an intent has passed the policy.
        return Ok(if intent.is_some() {
            Decided::Run(Verdicts::default())
        } else {
            ask(&owned.turn, state, (places, calls), now)
        });
    }
    let stored = deps.store().approvals(&owned.turn.key).await?;
    let mut answered = Vec::new();
    for (at, asked) in asked {
        let found = stored.iter().find(|stored| stored.id == asked.id);
        match found.map(|found| (found, found.state(now))) {
            None | Some((_, ApprovalState::Pending)) => return Ok(Decided::Waiting),
            Some((found, state)) => answered.push((at, found.clone(), state)),
        }
    }
    let mut verdicts = Verdicts::default();
    let mut rules = None;
    for (at, approval, state) in answered {
        let may_be_sent = intent.is_some_and(|open| open.intent.call(index(at)).is_some());
        let refused = match (&approval.answer, state) {
            (Some(Answer { decision: Decision::Denied { reason }, by, .. }), _) => {
                Some(denied(&by.user.name, reason.as_deref()))
            }
            (Some(answer @ Answer { decision: Decision::Approved { arguments }, .. }), _) => {
                verdicts.edited.extend(arguments.clone().map(|arguments| (at, arguments)));
                match may_be_sent {
                    // The check was made before the intent.
                    true => None,
                    false => {
                        let rules = match &mut rules {
                            Some(rules) => rules,
                            rules => rules.insert(Rules::load(deps, owned).await?),
                        };
                        let tool =
                            spec.tools.remote.iter().find(|tool| tool.definition.name == approval.call.tool);
                        rules.fault(deps, &owned.turn, (tool, &approval, answer), now).await?
                    }
                }
            }
            (None, _) => {
                let (turn, tool) = (approval.turn.turn.as_str(), approval.call.tool.as_str());
                tracing::warn!(
                    turn,
                    tool,
                    approval = approval.id.as_str(),
                    "{}",
                    contracts::log::APPROVAL_EXPIRED
                );
                Some(EXPIRED.to_owned())
            }
        };
        verdicts.refused.extend(refused.map(|why| (at, why)));
    }
    Ok(Decided::Run(verdicts))
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Returns the approvals that the round has asked for.
fn recorded(state: &AttemptState, places: &[usize]) -> Vec<(usize, CallApproval)> {
    let calls = state.rounds.calls();
    let approval =
        |(at, place): (usize, &usize)| Some((at, (**calls.get(*place)?.approval.as_ref()?).clone()));
    places.iter().enumerate().filter_map(approval).collect()
}

/// Evaluates the policies, and records the approvals that the calls need.
fn ask(
    turn: &Turn,
    state: &mut AttemptState,
    (places, calls): (&[usize], &[ValidRemoteCall<'_>]),
    now: Timestamp,
) -> Decided {
    let needed: Vec<(usize, CallApproval)> = calls
        .iter()
        .filter(|call| call.tool.terms.approval.is_some())
        .filter_map(|call| {
            let record = state.rounds.calls().get(*places.get(call.at)?)?;
            let earlier = earlier_calls(state, call.tool, (places, call.at));
            let facts = CallFacts {
                user: &turn.requested_by,
                arguments: &call.arguments,
                earlier: earlier.as_deref(),
            };
            Some((call.at, call.tool.needed_approval(&turn.key, &record.call_id, &facts, now)?))
        })
        .collect();
    if needed.is_empty() {
        return Decided::Run(Verdicts::default());
    }
    if needed.len() > MAX_APPROVALS {
        let why = format!(
            "One reply may make at most {MAX_APPROVALS} calls that a person has to approve, so this one was not sent. Make \
             fewer at a time."
        );
        let refused = needed.into_iter().map(|(at, _)| (at, why.clone())).collect();
        return Decided::Run(Verdicts { refused, edited: BTreeMap::new() });
    }
    for (at, approval) in needed {
        let place = places.get(at).copied().unwrap_or(usize::MAX);
        if let Some(record) = state.rounds.calls_mut().get_mut(place) {
            record.approval = Some(Box::new(approval));
        }
    }
    Decided::Waiting
}

/// Returns the arguments of the earlier calls of a tool in the turn. `None` if the turn doesn't know all of them any more.
fn earlier_calls(
    state: &AttemptState,
    tool: &RemoteTool,
    (places, at): (&[usize], usize),
) -> Option<Vec<Value>> {
    let rounds = &state.rounds;
    let known = u32::try_from(rounds.earlier.len()).ok()?.checked_add(1)?;
    (known == rounds.count).then_some(())?;
    let before = places.iter().take(at).filter_map(|place| rounds.calls().get(*place));
    let calls = rounds.earlier.iter().flat_map(|round| &round.calls).chain(before);
    let of_tool = calls.filter(|call| call.name == tool.definition.name);
    Some(of_tool.map(|call| serde_json::from_str(&call.arguments).unwrap_or_default()).collect())
}

fn denied(by: &str, reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("{by} denied this call, so it was not sent. The reason: {reason}"),
        None => format!("{by} denied this call, so it was not sent. Don't make it again."),
    }
}

/// The rules of an org at the time at which a turn continues.
struct Rules {
    limits: OrgLimits,
    /// The rule that stops the turn's effects altogether.
    stop: Option<String>,
}

impl Rules {
    async fn load(deps: &impl AgentDeps, owned: &OwnedTurn) -> Result<Self, Unavailable> {
        let (store, turn) = (deps.store(), &owned.turn);
        let limits = OrgLimits::load(store, &turn.key.session.org).await?;
        let session = store.session(&turn.key.session).await?;
        let stop = match &session {
            Some(session) => {
                let (key, user) = (&turn.key.session, &turn.requested_by);
                let subjects = limits.subjects(store, key, user, &session.contexts).await?;
                limits.check_disabled(&subjects).err().map(|restriction| format!("{restriction}."))
            }
            None => Some("The session is gone.".to_owned()),
        };
        Ok(Self { limits, stop })
    }

    /// Returns the reason for which an approved call isn't sent after all.
    async fn fault(
        &self,
        deps: &impl AgentDeps,
        turn: &Turn,
        (tool, approval, answer): (Option<&RemoteTool>, &Approval, &Answer),
        now: Timestamp,
    ) -> Result<Option<String>, Unavailable> {
        let refused = |why: &str| Ok(Some(format!("{why} The call was approved, but it was not sent.")));
        if let Some(stop) = &self.stop {
            return refused(stop);
        }
        if approval.expires <= now {
            return refused("The approval has expired.");
        }
        let settings = &self.limits.settings;
        if check_disabled(&settings.disabled, &answer.by.user.id, &[]).is_err() {
            return refused("The user who approved it is disabled.");
        }
        let Some(tool) = tool.filter(|tool| is_approved(tool, approval)) else {
            return refused("The approval is for another call.");
        };
        let current = match tool.connection.parse::<ConnectionId>() {
            Ok(id) => deps.store().connection(&turn.key.session.org, &id).await?,
            Err(_) => None,
        };
        let current = current.and_then(|(connection, version)| {
            let own = connection.tool(tool.tool_name())?;
            Some(connection.remote_tool(own, version))
        });
        let Some(mut current) = current.filter(|current| current.calls_the_same(tool)) else {
            return refused("The connection has changed since the approval was asked for.");
        };
        require_approval(settings, &mut current);
        let rules = current.terms.approval.as_ref().map(|policy| policy.answer_rules());
        if rules.as_ref().is_some_and(|rules| !rules.admits(&turn.requested_by, &answer.by)) {
            return refused("The user who approved it may not approve such calls any more.");
        }
        let is_edited = matches!(&answer.decision, Decision::Approved { arguments: Some(_) });
        if is_edited && rules.is_some_and(|rules| !rules.may_edit) {
            return refused("The arguments may not be changed any more.");
        }
        Ok(None)
    }
}

/// True if the approval is for a call of this tool, as the turn has it.
fn is_approved(tool: &RemoteTool, approval: &Approval) -> bool {
    let arguments = serde_json::from_str(&approval.call.arguments).unwrap_or_default();
    tool.exact_call(&arguments) == approval.call
}
