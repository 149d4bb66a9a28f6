//! Decides on the answer to a request: a refusal, or a plan to play. Its only side effect is on the memory.

use std::time::Duration;

use axum::http::HeaderMap;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::bill::Bill;
use crate::deviations::Deviation;
use crate::id::Issued;
use crate::memory::{Memory, Stored};
use crate::plan::{self, Emission, Plan};
use crate::play::SILENCE;
use crate::provider::{Chain, Profile};
use crate::refusal::Refusal;
use crate::reply::{End, Reply, Status, Step};
use crate::request::ModelRequest;
use crate::script;
use crate::wire::Wire;

/// The response to send.
#[derive(Debug)]
pub(crate) enum Answer {
    /// A scripted HTTP error.
    Refused(Refusal),
    /// The connection closes without a response.
    Dropped,
    /// Events, and the response that is stored.
    Streamed(Vec<Emission>, Bill, Option<Stored>),
    /// The plain response, after the time that its events would take.
    Buffered { response: Value, takes: Duration, bill: Bill },
}

/// Decides on the answer, and how long to wait before it.
pub(crate) fn decide(
    profile: &'static Profile,
    wire: &Wire,
    memory: &Memory,
    headers: &HeaderMap,
    body: &Value,
) -> Result<(Duration, Answer), Refusal> {
    (wire.authorize)(profile, headers)?;
    let asked = (wire.read)(profile, body)?;
    check_is_there(profile, memory, &asked)?;
    let mut replies = replies(memory, &asked)?.into_iter();
    let reply = replies.next().unwrap_or_else(|| unscripted(&asked));
    if let Some(kind) = unoffered(&asked, &reply) {
        let message = format!("The script has the model use a tool that is not offered: {kind}.");
        return Err(Refusal::invalid("invalid_script", "tools", message).into_invalid_request());
    }
    let answer = if drops(memory, &asked, &reply) {
        Answer::Dropped
    } else if let Some(refusal) = due(memory, wire, &asked, &reply) {
        Answer::Refused(refusal)
    } else {
        let issued = issue(&asked, &reply);
        memory.keep_then(issued.response(), replies.collect());
        let plan = (wire.lay_out)(&asked, &reply, issued);
        let stores = wire.stores && asked.store && matches!(profile.chain, Chain::Supported(_));
        let stored = stores.then(|| Stored { id: issued.response(), outlives: reply.outlives });
        played(&asked, &reply, plan, stored)
    };
    Ok((reply.delay, answer))
}

/// Removes a stored response.
pub(crate) fn remove(
    profile: &'static Profile,
    memory: &Memory,
    headers: &HeaderMap,
    id: &str,
) -> Result<(), Refusal> {
    profile.authorize(headers)?;
    let is_stored =
        matches!(profile.chain, Chain::Supported(_)) && Issued::read(id).is_some_and(|issued| issued.stored);
    if is_stored && memory.remove(id) {
        return Ok(());
    }
    Err(not_found(id))
}

/// Returns a stored response that can be read.
pub(crate) fn read(
    profile: &'static Profile,
    memory: &Memory,
    headers: &HeaderMap,
    id: &str,
) -> Result<Value, Refusal> {
    profile.authorize(headers)?;
    memory.readable(id).ok_or_else(|| not_found(id))
}

fn not_found(id: &str) -> Refusal {
    let message = format!("Response with id '{id}' not found.");
    Refusal { status: 404, code: None, param: None, ..Refusal::invalid("", "", message) }
}

/// Refuses to continue from a removed response.
fn check_is_there(profile: &Profile, memory: &Memory, asked: &ModelRequest) -> Result<(), Refusal> {
    match (&profile.chain, asked.previous.map(Issued::response)) {
        (Chain::Supported(lost), Some(id)) if memory.is_removed(&id) => Err(lost.refusal(&id, "")),
        _ => Ok(()),
    }
}

/// Returns a hosted tool that the reply uses and the request does not offer.
fn unoffered<'a>(asked: &ModelRequest, reply: &'a Reply) -> Option<&'a str> {
    reply.steps.iter().find_map(|step| match step {
        Step::Hosted { kind, .. } if !asked.offers(kind) => Some(kind.as_str()),
        _ => None,
    })
}

fn played(asked: &ModelRequest, reply: &Reply, plan: Plan, stored: Option<Stored>) -> Answer {
    let bill = Bill::of(asked, reply);
    match &reply.end {
        _ if asked.stream && reply.silent => Answer::Streamed(vec![Emission::Pause(SILENCE)], bill, stored),
        _ if asked.stream && !reply.has(&Deviation::Json) => Answer::Streamed(plan.emissions, bill, stored),
        End::Error(code) => {
            let code = Some(code.clone());
            Answer::Refused(refusal(&Status { status: 500, code, ..Status::default() }))
        }
        _ => Answer::Buffered {
            response: plan.response,
            bill,
            takes: match reply.silent {
                true => SILENCE,
                false => plan::duration(&plan.emissions),
            },
        },
    }
}

/// Returns the replies of the directive, or those that an earlier directive left for the tool results.
fn replies(memory: &Memory, asked: &ModelRequest) -> Result<Vec<Reply>, Refusal> {
    let read = match script::read(&asked.instruction) {
        Ok(None) if asked.wants_title() => script::read_titled(&asked.earlier),
        Ok(None) => script::read_earlier(&asked.earlier),
        read => read,
    };
    let scripted = read.map_err(|unreadable| {
        Refusal::invalid("invalid_script", "input", unreadable.to_string()).into_invalid_request()
    })?;
    if let Some(replies) = scripted {
        return Ok(unanswered(replies, asked));
    }
    let brings_results = !asked.outputs.is_empty();
    let previous = asked.previous.filter(|_| brings_results);
    let left = previous.and_then(|previous| memory.then(&previous.response()));
    Ok(left.unwrap_or_default())
}

/// Returns the remaining steps of a directive for a request with the whole conversation, its calls and their results
/// too: the replies that made them came before.
fn unanswered(replies: Vec<Reply>, asked: &ModelRequest) -> Vec<Reply> {
    let mut outputs_left = if asked.previous.is_none() { asked.outputs.len() } else { 0 };
    let mut is_answered = |reply: &Reply| {
        let calls = usize::from(plan::calls(reply));
        let all = (1..=outputs_left).contains(&calls);
        outputs_left = outputs_left.saturating_sub(calls);
        all
    };
    replies.into_iter().skip_while(|reply| is_answered(reply)).collect()
}

/// Returns the reply without a script: an echo, or a call of the forced tool.
fn unscripted(asked: &ModelRequest) -> Reply {
    let call = asked.forced_tool.clone().map(|name| Step::Call { name, arguments: json!({}) });
    Reply { steps: call.into_iter().collect(), ..Reply::default() }
}

fn drops(memory: &Memory, asked: &ModelRequest, reply: &Reply) -> bool {
    reply.drops.is_some_and(|drops| match drops.times {
        None => true,
        Some(times) => memory.spend(&format!("{} drop", same(asked)), times),
    })
}

fn due(memory: &Memory, wire: &Wire, asked: &ModelRequest, reply: &Reply) -> Option<Refusal> {
    let overflow = wire.overflow.or(asked.profile.overflow);
    let is_due = |(index, status): &(usize, &Status)| {
        let is_meant = |only: &String| *only == asked.model || only == asked.profile.name;
        let applies = (!status.chained || asked.previous.is_some())
            && status.only.as_ref().is_none_or(is_meant)
            && status.over.is_none_or(|over| plan::input_words(asked) > over)
            && (!status.overflow || overflow.is_some());
        applies
            && match status.times {
                None => true,
                Some(times) => memory.spend(&format!("{} {index}", same(asked)), times),
            }
    };
    let mut statuses = reply.statuses.iter().enumerate();
    let (_, status) = statuses.find(is_due)?;
    let overflow = overflow.filter(|_| status.overflow);
    Some(overflow.map_or_else(|| refusal(status), |words| words.refusal("", "")))
}

/// Identity of a request, equal for repeats of it.
fn same(asked: &ModelRequest) -> String {
    let digest = Sha256::digest(Value::Object(asked.body.clone()).to_string());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Creates a scripted error.
pub(crate) fn refusal(status: &Status) -> Refusal {
    let kind = Refusal::kind_of(status.status);
    Refusal {
        status: status.status,
        kind: status.kind.as_deref().unwrap_or(kind).into(),
        code: status.code.as_deref().map(Into::into),
        param: status.param.as_deref().map(Into::into),
        message: status.message.as_deref().unwrap_or("The script asked for this error.").to_owned(),
        headers: status.headers.clone(),
        layout: None,
        invalid_request: false,
    }
}

fn issue(asked: &ModelRequest, reply: &Reply) -> Issued {
    let before = asked.previous.map_or(0, |previous| previous.turns);
    let turn = u16::from(asked.outputs.is_empty());
    let issued = Issued::new(before.saturating_add(turn), plan::calls(reply), asked.store);
    reply.id.map_or(issued, |number| issued.numbered(number))
}
