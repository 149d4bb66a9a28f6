//! Tool calls with what came of them, reply by reply, and how much of them is kept for telling them again.

use std::collections::HashSet;

use contracts::{FileAddress, Timestamp, Usage, read::RanBy, response::ToolOutcome};
use protocol::id::AttemptId;
use serde::{Deserialize, Serialize, de::IgnoredAny};

use crate::{
    model::{FunctionCall, HostedCall, Item, Reasoning, ToolOutput},
    text::{cut, is_cut},
};

/// A call and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct CallRecord {
    /// The id of the call, which no other of its turn has.
    pub call_id: String,
    /// The provider's id of it, where that is another call's too.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provider_id: Option<String>,
    /// The tool.
    pub name: String,
    /// Its arguments as the model wrote them.
    pub arguments: String,
    /// What came of it; none while the client runs it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outcome: Option<ToolOutcome>,
    /// Who answers it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ran_by: Option<RanBy>,
    /// How long that took.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub execution_ms: Option<u64>,
    /// The files that hold what was cut of it.
    #[serde(skip_serializing_if = "WholeCall::is_empty", default)]
    pub whole: WholeCall,
}

/// The files that hold the long values of a call whose own are cut.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct WholeCall {
    /// Its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<FileAddress>,
    /// What came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<FileAddress>,
}

impl WholeCall {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A longer value is kept as a file of its turn too, where its reply says so; in bytes.
pub const LONG_VALUE: usize = 16 << 10;

/// The file that holds a long value.
fn address_of(value: &str) -> Option<FileAddress> {
    (value.len() > LONG_VALUE).then(|| FileAddress::of_bytes(value.as_bytes()))
}

impl CallRecord {
    /// The files that hold its long values.
    #[must_use]
    pub fn files(&self) -> WholeCall {
        let outcome = self.outcome.as_ref().and_then(|outcome| address_of(text_of(outcome)));
        WholeCall {
            arguments: self.whole.arguments.or_else(|| address_of(&self.arguments)),
            outcome: self.whole.outcome.or(outcome),
        }
    }

    /// A call that nobody has run yet.
    #[must_use]
    pub fn open(call: FunctionCall) -> Self {
        Self {
            call_id: call.call_id,
            provider_id: None,
            name: call.name,
            arguments: call.arguments,
            outcome: None,
            ran_by: None,
            execution_ms: None,
            whole: WholeCall::default(),
        }
    }

    /// The call with what came of it; none while it is open.
    #[must_use]
    pub fn output(&self) -> Option<ToolOutput> {
        Some(ToolOutput { call: self.call(), outcome: self.outcome.clone()? })
    }

    /// Gives it an id of its own where its provider's is one of these.
    fn tell_apart(&mut self, taken: &HashSet<String>, place: usize, round: u32) {
        if taken.contains(&self.call_id) {
            let own = (0..=taken.len()).map(|more| format!("call_{round}_{place}_{more}"));
            let free = own.filter(|id| !taken.contains(id)).take(1);
            self.provider_id = free.map(|id| std::mem::replace(&mut self.call_id, id)).next();
        }
    }

    /// The call as its turn and the client know it.
    #[must_use]
    pub fn to_run(&self) -> FunctionCall {
        let (call_id, name) = (self.call_id.clone(), self.name.clone());
        FunctionCall { call_id, name, arguments: self.arguments.clone() }
    }

    /// The call as its provider knows it.
    fn call(&self) -> FunctionCall {
        let call_id = self.provider_id.as_ref().unwrap_or(&self.call_id).clone();
        FunctionCall { call_id, ..self.to_run() }
    }

    /// The call as it is told again: some providers read the arguments of earlier calls and refuse what is
    /// no JSON.
    fn told(&self) -> FunctionCall {
        let is_json = serde_json::from_str::<IgnoredAny>(&self.arguments).is_ok();
        let arguments = match self.arguments.trim() {
            _ if is_json => self.arguments.clone(),
            "" => "{}".to_owned(),
            malformed => serde_json::json!({ "malformed": malformed }).to_string(),
        };
        FunctionCall { arguments, ..self.call() }
    }

    /// The same with long values cut.
    fn brief(&self, most: usize) -> Self {
        Self {
            call_id: self.call_id.clone(),
            provider_id: self.provider_id.clone(),
            name: self.name.clone(),
            arguments: brief_arguments(&self.arguments, most),
            outcome: self.outcome.clone().map(|outcome| match outcome {
                ToolOutcome::ResultJson(json) => ToolOutcome::ResultJson(cut(json, most)),
                ToolOutcome::ErrorMessage(message) => ToolOutcome::ErrorMessage(cut(message, most)),
            }),
            ran_by: self.ran_by,
            execution_ms: self.execution_ms,
            whole: self.files(),
        }
    }

    fn size(&self) -> usize {
        let outcome = self.outcome.as_ref().map_or(0, |outcome| text_of(outcome).len());
        [self.call_id.len(), self.name.len(), self.arguments.len(), outcome].iter().sum()
    }
}

/// Opens the calls of a reply, each with an id that no other call of its turn has: some providers give every reply's
/// calls the same ones, and a client has to tell results that it sends again from those of the next round.
pub fn opened(calls: Vec<FunctionCall>, before: &[Round], round: u32) -> Vec<CallRecord> {
    let ids = before.iter().flat_map(|round| &round.calls).map(|call| call.call_id.clone());
    let mut taken: HashSet<String> = ids.collect();
    let opened = calls.into_iter().enumerate().map(|(place, call)| {
        let mut call = CallRecord::open(call);
        call.tell_apart(&taken, place, round);
        taken.insert(call.call_id.clone());
        call
    });
    opened.collect()
}

/// What came of a call, as it was written.
#[must_use]
pub fn text_of(outcome: &ToolOutcome) -> &str {
    match outcome {
        ToolOutcome::ResultJson(text) | ToolOutcome::ErrorMessage(text) => text,
    }
}

fn brief_arguments(arguments: &str, most: usize) -> String {
    if arguments.len() <= most {
        return arguments.to_owned();
    }
    serde_json::json!({ "cut": cut(arguments.to_owned(), most) }).to_string()
}

/// What a reply that called tools had beside its calls, and who gave it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Beside {
    /// What the model wrote.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The file that holds what was cut of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole_text: Option<FileAddress>,
    /// How it came to its calls, where the provider told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasoning: Vec<Reasoning>,
    /// What the provider's own tools did on the way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosted: Vec<HostedCall>,
    /// The model that was asked.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Its provider.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider: String,
}

impl Beside {
    /// The file that holds its text, where that is long.
    #[must_use]
    pub fn file(&self) -> Option<FileAddress> {
        self.whole_text.or_else(|| address_of(&self.text))
    }

    /// Whether there is anything to keep.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
            && self.whole_text.is_none()
            && self.reasoning.is_empty()
            && self.hosted.is_empty()
    }
}

/// How a reply was come by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Made {
    /// The attempt that asked: what went over the wire, and the step of the reply's calls, lie under its id.
    pub by: AttemptId,
    /// Which attempt of the turn that was, from 1.
    pub attempt: u32,
    /// When the model was asked.
    pub asked: Timestamp,
    /// How long it took, retries included.
    pub ms: u64,
    /// Tokens used.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<Usage>,
    /// Which of the turn's model calls it was.
    pub call: u32,
    /// Whether what went over the wire is kept.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub raw: bool,
    /// Whether its long values are kept as files of the turn.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub long_values: bool,
    /// Which step its calls are recorded as; 0 of a reply without any.
    #[serde(skip_serializing_if = "is_none", default)]
    pub step: u32,
}

fn is_none(step: &u32) -> bool {
    *step == 0
}

/// A model that can read reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader<'a> {
    /// The model.
    pub model: &'a str,
    /// Its provider.
    pub provider: &'a str,
}

/// A reply that called tools, and what came of the calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Round {
    /// What there was beside the calls.
    #[serde(skip_serializing_if = "Beside::is_empty")]
    pub beside: Beside,
    /// The calls in the model's order.
    pub calls: Vec<CallRecord>,
    /// The mode that the request named which brought the results; none when it was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// How the reply was come by; none when it was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
}

impl Round {
    /// What of the reply is told again: reasoning can be read by the model alone that wrote it, and a call
    /// without an output would be refused.
    #[must_use]
    pub fn replied(&self, reader: Option<Reader<'_>>) -> Vec<Item> {
        let Beside { text, reasoning, hosted, model, provider, whole_text: _ } = &self.beside;
        let readable = reader == Some(Reader { model, provider });
        let answered: Vec<_> = self.calls.iter().filter(|call| call.outcome.is_some()).collect();
        let mut items = Vec::new();
        for place in 0..=answered.len() {
            items.extend(on_the_way(reasoning, hosted, place).filter(|_| readable));
            if place == 0 && !text.trim().is_empty() {
                items.push(Item::Text(text.clone()));
            }
            items.extend(answered.get(place).map(|call| Item::Call(call.told())));
        }
        items
    }

    /// The answers to its calls, in the model's order.
    #[must_use]
    pub fn outputs(&self) -> Vec<ToolOutput> {
        self.calls.iter().filter_map(CallRecord::output).collect()
    }

    /// The same with long values cut, and without what only explains it.
    #[must_use]
    pub fn brief(&self) -> Self {
        let text = cut(self.beside.text.clone(), BRIEF_VALUE);
        Self {
            beside: Beside { text, whole_text: self.beside.file(), ..Beside::default() },
            calls: self.calls.iter().map(|call| call.brief(BRIEF_VALUE)).collect(),
            mode: self.mode.clone(),
            made: self.made.clone(),
        }
    }

    /// Whether a value of it was cut.
    #[must_use]
    pub fn is_brief(&self) -> bool {
        let values = self
            .calls
            .iter()
            .flat_map(|call| [Some(call.arguments.as_str()), call.outcome.as_ref().map(text_of)]);
        values.flatten().chain([self.beside.text.as_str()]).any(is_cut)
    }

    /// How many bytes it has.
    #[must_use]
    pub fn size(&self) -> usize {
        let calls: usize = self.calls.iter().map(CallRecord::size).sum();
        let reasoning: usize = self.beside.reasoning.iter().map(Reasoning::size).sum();
        let hosted: usize = self.beside.hosted.iter().map(HostedCall::size).sum();
        self.beside.text.len() + reasoning + hosted + calls
    }
}

/// What led to the call at this place: reasoning, and what the provider's tools did between.
fn on_the_way<'a>(
    reasoning: &'a [Reasoning],
    hosted: &'a [HostedCall],
    place: usize,
) -> impl Iterator<Item = Item> + 'a {
    let after = move |thoughts: usize| {
        let here = move |call: &&HostedCall| call.calls_before == place && call.reasoning_before == thoughts;
        hosted.iter().filter(here).cloned().map(Item::Hosted)
    };
    let thoughts = reasoning.iter().enumerate().filter(move |(_, thought)| thought.calls_before == place);
    let first = reasoning.iter().take_while(|thought| thought.calls_before < place).count();
    let led = thoughts.flat_map(move |(at, thought)| {
        std::iter::once(Item::Reasoning(thought.clone())).chain(after(at + 1))
    });
    after(first).chain(led)
}

/// What a value keeps that can't be kept whole, in bytes.
const BRIEF_VALUE: usize = 4 << 10;

/// How many bytes of a running turn's earlier rounds are kept: more than any model reads at once.
pub const IN_TURN: usize = 8 << 20;

/// How many are kept with the outcome of a completed turn.
pub const COMPLETED: usize = 1 << 20;

/// The newest of these rounds, oldest first, with at most `most` bytes: what does not fit as it is has its
/// long values cut, and from one on that does not fit even so everything older is left out.
#[must_use]
pub fn kept(rounds: Vec<Round>, most: usize) -> Vec<Round> {
    let mut left = most;
    let sized = rounds.into_iter().rev().map_while(|round| {
        let round = if round.size() <= left { round } else { round.brief() };
        left = left.checked_sub(round.size())?;
        Some(round)
    });
    let mut kept: Vec<Round> = sized.collect();
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(id: &str, result: &str) -> CallRecord {
        CallRecord {
            call_id: id.to_owned(),
            provider_id: None,
            name: "look".to_owned(),
            arguments: "{}".to_owned(),
            outcome: Some(ToolOutcome::ResultJson(result.to_owned())),
            ran_by: None,
            execution_ms: None,
            whole: WholeCall::default(),
        }
    }

    fn round(calls: Vec<CallRecord>) -> Round {
        Round { calls, ..Round::default() }
    }

    fn thought(calls_before: usize, id: &str) -> Reasoning {
        Reasoning { calls_before, id: id.to_owned(), summary: Vec::new(), encrypted: "gAAAA".to_owned() }
    }

    fn searched(calls_before: usize, reasoning_before: usize, id: &str) -> HostedCall {
        HostedCall { calls_before, reasoning_before, item: serde_json::json!({ "id": id }) }
    }

    #[test]
    fn a_call_whose_id_its_turn_knows_gets_one_of_its_own() {
        let asked = |id: &str| called(id, "").to_run();
        let before = [round(vec![called("a", ""), called("call_2_0_0", "")])];
        let opened = opened(["a", "a", "b"].map(asked).to_vec(), &before, 2);
        let ids = |of: fn(&CallRecord) -> FunctionCall| opened.iter().map(move |call| of(call).call_id);
        assert_eq!(ids(CallRecord::to_run).collect::<Vec<_>>(), ["call_2_0_1", "call_2_1_0", "b"]);
        assert_eq!(ids(CallRecord::call).collect::<Vec<_>>(), ["a", "a", "b"], "the provider's");
    }

    #[test]
    fn the_newest_rounds_are_whole_the_next_is_cut_and_older_ones_are_left_out() {
        let long = "x".repeat(6_000);
        let rounds: Vec<Round> = (0..4).map(|n| round(vec![called(&format!("c{n}"), &long)])).collect();
        assert_eq!(kept(rounds.clone(), 1 << 20), rounds, "what fits stays as it is");
        let kept = kept(rounds, 16_800);
        let lengths: Vec<usize> = kept.iter().map(Round::size).collect();
        assert_eq!(kept.last().unwrap().calls[0].call_id, "c3");
        assert!(matches!(lengths.as_slice(), [cut, 6_008, 6_008] if *cut < 4_200), "{lengths:?}");
    }

    #[test]
    fn a_long_value_that_is_cut_names_the_file_that_holds_it() {
        let long = "x".repeat(LONG_VALUE + 1);
        let whole = round(vec![called("long", &long), called("short", &"y".repeat(LONG_VALUE))]);
        let cut = whole.brief().brief();
        assert!(cut.is_brief());
        assert_eq!(cut.calls[0].files().outcome, Some(FileAddress::of_bytes(long.as_bytes())));
        assert_eq!(cut.calls[0].files(), whole.calls[0].files());
        assert_eq!(cut.calls[1].files(), WholeCall::default());
    }

    #[test]
    fn arguments_that_are_cut_are_json_still() {
        let mut call = called("c", "1");
        call.arguments = format!("{{\"text\":\"{}\"}}", "ä".repeat(6_000));
        let brief = round(vec![call]).brief();
        let arguments: serde_json::Value = serde_json::from_str(&brief.calls[0].arguments).unwrap();
        assert!(arguments["cut"].as_str().unwrap().contains("[cut here:"));
    }

    #[test]
    fn a_reply_is_told_in_its_order_and_its_reasoning_to_whoever_wrote_it() {
        let beside = Beside {
            whole_text: None,
            text: "Let me look.".to_owned(),
            reasoning: vec![thought(0, "rs_1"), thought(1, "rs_2")],
            hosted: vec![
                searched(0, 0, "ws_0"),
                searched(0, 1, "ws_1"),
                searched(1, 1, "ws_2"),
                searched(2, 2, "ws_3"),
            ],
            model: "m".to_owned(),
            provider: "p".to_owned(),
        };
        let told = Round { beside, calls: vec![called("c1", "1"), called("c2", "2")], ..Round::default() };
        let reader = |provider| Some(Reader { model: "m", provider });
        let names = |items: Vec<Item>| -> Vec<String> {
            let name = |item| match item {
                Item::Text(text) => text,
                Item::Reasoning(reasoning) => reasoning.id,
                Item::Hosted(call) => call.item["id"].as_str().unwrap().to_owned(),
                Item::Call(call) => call.call_id,
            };
            items.into_iter().map(name).collect()
        };
        assert_eq!(
            names(told.replied(reader("p"))),
            ["ws_0", "rs_1", "ws_1", "Let me look.", "c1", "ws_2", "rs_2", "c2", "ws_3"]
        );
        assert_eq!(names(told.replied(reader("q"))), ["Let me look.", "c1", "c2"]);
        let open = Round { calls: vec![CallRecord { outcome: None, ..called("c1", "") }], ..told };
        assert_eq!(names(open.replied(None)), ["Let me look."], "nobody answered the call");
    }
}
