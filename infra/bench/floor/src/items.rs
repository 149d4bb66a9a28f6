//! The items of a turn, with the attributes and about the sizes of those that an ordinary turn writes
//! (`shared/storage/src/item`).

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::{
    model::{Reply, Usage},
    turn::{Turn, TurnId, now},
};

/// An item, or its key.
pub(crate) type Attributes = HashMap<String, AttributeValue>;

/// The longest excerpt of a question or an answer, in bytes.
const EXCERPT_BYTES: usize = 1_024;

/// The attributes of a session that an ordinary one lacks. Each write removes them.
const SESSION_OPTIONAL: [&str; 21] = [
    "NameSource",
    "AgentContextVersion",
    "ConversationContextVersion",
    "Description",
    "Category",
    "Visibility",
    "Edited",
    "Deleted",
    "Quarantine",
    "OpenTurn",
    "Tip",
    "TipSession",
    "ForkedFrom",
    "Cutoff",
    "ChainSolution",
    "StatelessProvider",
    "WorkspaceId",
    "Repo",
    "Language",
    "Costs",
    "Solution",
];

/// The attributes of a head that depend on the turn's phase.
const HEAD_OPTIONAL: [&str; 13] = [
    "GSI1PK",
    "GSI1SK",
    "Due",
    "LeaseEnds",
    "Round",
    "Attempts",
    "Deadline",
    "Reason",
    "AcceptedResults",
    "LastStep",
    "Checkpoint",
    "EndedBy",
    "Meters",
];

/// An update of an item: what it sets, removes and requires.
pub(crate) struct Write {
    pub(crate) key: Attributes,
    pub(crate) update: String,
    pub(crate) condition: Option<String>,
    pub(crate) names: HashMap<String, String>,
    pub(crate) values: Attributes,
}

impl Write {
    /// Sets every attribute of an item, and removes those of `optional` that it lacks.
    pub(crate) fn replace(mut item: Attributes, optional: &[&str]) -> Self {
        let key = ["PK", "SK"].into_iter().filter_map(|name| item.remove_entry(name)).collect();
        let (mut names, mut values, mut sets, mut removes) =
            (HashMap::new(), HashMap::new(), Vec::new(), Vec::new());
        for (index, name) in optional.iter().filter(|name| !item.contains_key(**name)).enumerate() {
            removes.push(format!("#r{index}"));
            names.insert(format!("#r{index}"), (*name).to_owned());
        }
        for (index, (name, value)) in item.into_iter().enumerate() {
            sets.push(format!("#s{index} = :s{index}"));
            names.insert(format!("#s{index}"), name);
            values.insert(format!(":s{index}"), value);
        }
        let mut update = format!("SET {}", sets.join(", "));
        if !removes.is_empty() {
            update += &format!(" REMOVE {}", removes.join(", "));
        }
        Self { key, update, condition: None, names, values }
    }

    /// Adds `name = value` to the condition.
    fn require(mut self, name: &str, value: AttributeValue) -> Self {
        let index = self.names.len();
        let condition = format!("#c{index} = :c{index}");
        self.names.insert(format!("#c{index}"), name.to_owned());
        self.values.insert(format!(":c{index}"), value);
        self.condition = Some(match self.condition {
            Some(earlier) => format!("{earlier} AND {condition}"),
            None => condition,
        });
        self
    }
}

/// Returns the primary key of an item.
pub(crate) fn key(partition: String, sort: String) -> Attributes {
    Attributes::from([("PK".to_owned(), string(partition)), ("SK".to_owned(), string(sort))])
}

/// Returns a string attribute, or an empty text.
pub(crate) fn text<'a>(item: &'a Attributes, name: &str) -> &'a str {
    item.get(name).and_then(|value| value.as_s().ok()).map(String::as_str).unwrap_or_default()
}

/// Returns a number attribute, or zero.
fn integer(item: &Attributes, name: &str) -> u64 {
    let number = item.get(name).and_then(|value| value.as_n().ok());
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}

fn string(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// Returns an item with these attributes.
fn item<const N: usize>(
    partition: String,
    sort: String,
    attributes: [(&str, AttributeValue); N],
) -> Attributes {
    let mut item = key(partition, sort);
    item.insert("V".to_owned(), number(1));
    set(&mut item, attributes);
    item
}

fn set<const N: usize>(item: &mut Attributes, attributes: [(&str, AttributeValue); N]) {
    item.extend(attributes.into_iter().map(|(name, value)| (name.to_owned(), value)));
}

/// Returns the start of a text that the table stores.
pub(crate) fn excerpt(text: &str) -> &str {
    text.get(..text.floor_char_boundary(EXCERPT_BYTES)).unwrap_or_default()
}

fn usage(usage: Usage) -> AttributeValue {
    let counts = [
        ("PromptTokens", usage.input_tokens),
        ("CompletionTokens", usage.output_tokens),
        ("TotalTokens", usage.total_tokens),
        ("CachedTokens", 0),
        ("ReasoningTokens", 0),
    ];
    AttributeValue::M(counts.into_iter().map(|(name, count)| (name.to_owned(), number(count))).collect())
}

/// Returns the session as a turn's start writes it, and the revision that the write requires. Without a stored session,
/// the start creates it.
pub(crate) fn started_session(stored: Option<Attributes>, turn: &Turn) -> (Attributes, Option<u64>) {
    let id = &turn.id;
    let rev = stored.as_ref().map(|stored| integer(stored, "Rev"));
    let mut session = stored.unwrap_or_else(|| {
        item(
            id.partition(),
            "SESSION".to_owned(),
            [
                ("GSI1PK", string(format!("O#{}", id.org))),
                ("Name", string(turn.instruction.get(..60).unwrap_or_default())),
                ("OwnerId", string(&*turn.user)),
                ("OwnerName", string(&*turn.user)),
                ("Created", string(&*turn.created)),
                ("Mode", string("general")),
                ("Usage", usage(Usage::default())),
                ("AgentContextId", string("default")),
                ("ConversationContextId", string("default")),
            ],
        )
    });
    let turns = integer(&session, "TurnCount") + 1;
    set(
        &mut session,
        [
            ("GSI1SK", string(format!("{}#{}", turn.created, id.session))),
            ("Rev", number(rev.unwrap_or_default() + 1)),
            ("LastActivity", string(&*turn.created)),
            ("TurnCount", number(turns)),
            ("OpenTurn", string(&*id.turn)),
            ("LastTurn", string(&*id.turn)),
            ("LastTurnStatus", string("pending")),
            ("LastTurnDate", string(&*turn.created)),
        ],
    );
    (session, rev)
}

/// Returns the write of a session that has this revision.
pub(crate) fn session_write(session: Attributes, rev: u64) -> Write {
    Write::replace(session, &SESSION_OPTIONAL).require("Rev", number(rev))
}

/// Returns the head of a turn that runs.
pub(crate) fn running_head(turn: &Turn, session: &Attributes) -> Attributes {
    let id = &turn.id;
    let mut head = item(
        id.partition(),
        id.head(),
        [
            ("GSI1PK", string("OPEN#07")),
            ("GSI1SK", string(format!("{}#{}#{}#{}", turn.created, id.org, id.session, id.turn))),
            ("Seq", number(integer(session, "TurnCount"))),
            ("Status", string("pending")),
            ("Phase", string("running")),
            ("Owner", string(&*turn.attempt)),
            ("Fingerprint", string(&*turn.fingerprint)),
            ("SubmissionId", string(&*turn.submission)),
            ("RequestedBy", string(&*turn.user)),
            ("Created", string(&*turn.created)),
            ("Mode", string("general")),
            ("Due", string(&*turn.created)),
            ("LeaseEnds", string(&*turn.created)),
            ("Round", number(0)),
            ("Attempts", AttributeValue::L(vec![string(&*turn.attempt)])),
        ],
    );
    match text(session, "ChainResponseId") {
        "" => set(&mut head, [("ReplayReason", string("first_turn"))]),
        response => set(&mut head, [("PreviousResponseId", string(response))]),
    }
    head
}

/// Returns the write that settles a running turn.
pub(crate) fn settlement(mut head: Attributes) -> Write {
    let (phase, owner) = (string("running"), string(text(&head, "Owner")));
    for name in ["LeaseEnds", "Round", "Attempts"] {
        head.remove(name);
    }
    set(
        &mut head,
        [
            ("Phase", string("settled")),
            ("Verdict", string("completed")),
            ("Writer", owner.clone()),
            ("SettledAt", string(now())),
        ],
    );
    Write::replace(head, &HEAD_OPTIONAL).require("Phase", phase).require("Owner", owner)
}

/// Returns the write that makes a settled turn terminal.
pub(crate) fn finalized_head(mut head: Attributes) -> Write {
    let (phase, owner) = (string("settled"), string(text(&head, "Owner")));
    for name in ["GSI1PK", "GSI1SK", "Due"] {
        head.remove(name);
    }
    set(&mut head, [("Status", string("completed")), ("Phase", string("finalized"))]);
    Write::replace(head, &HEAD_OPTIONAL).require("Phase", phase).require("Owner", owner)
}

/// Returns the details of a turn's request.
pub(crate) fn request(turn: &Turn) -> Attributes {
    let id = &turn.id;
    item(
        id.partition(),
        id.request(),
        [
            ("Fingerprint", string(&*turn.fingerprint)),
            ("RequestedById", string(&*turn.user)),
            ("RequestedByName", string(&*turn.user)),
            ("Model", string("scripted")),
            ("Provider", string("127.0.0.1")),
            ("HistoryOwner", string("provider")),
            ("InstructionSummary", string(excerpt(&turn.instruction))),
            ("InstructionSummaryTruncated", AttributeValue::Bool(true)),
            ("RequestJson", string(&*turn.request)),
        ],
    )
}

/// Returns a participant of a session.
pub(crate) fn participant(id: &TurnId, user: &str, active: &str) -> Attributes {
    item(
        id.partition(),
        format!("USER#{user}"),
        [
            ("GSI1PK", string(format!("O#{}#U#{user}", id.org))),
            ("GSI1SK", string(format!("{active}#{}", id.session))),
            ("LastActivity", string(active)),
        ],
    )
}

/// Returns the result of a turn.
pub(crate) fn result(id: &TurnId, reply: &Reply) -> Attributes {
    item(
        id.partition(),
        format!("{}#RESULT", id.head()),
        [
            ("AnswerSummary", string(excerpt(&reply.text))),
            ("AnswerSummaryTruncated", AttributeValue::Bool(true)),
            ("ResponseId", string(&*reply.id)),
            ("Model", string("scripted")),
            ("ResponseModel", string("scripted")),
            ("Provider", string("127.0.0.1")),
            ("ChainMode", string("general")),
            ("ReceivedAt", string(now())),
            ("ChainExpires", string(now())),
            ("Usage", usage(reply.usage)),
            ("ModelCalls", number(1)),
            ("ModelMs", number(10)),
            ("FirstTextMs", number(5)),
        ],
    )
}

/// Returns the session as a turn's finalization writes it.
pub(crate) fn finalized_session(mut session: Attributes, reply: &Reply) -> Write {
    let (rev, settled) = (integer(&session, "Rev"), now());
    session.remove("OpenTurn");
    set(
        &mut session,
        [
            ("Rev", number(rev + 1)),
            ("LastActivity", string(&*settled)),
            ("LastTurnStatus", string("completed")),
            ("LastTurnDate", string(&*settled)),
            ("ChainResponseId", string(&*reply.id)),
            ("ChainModel", string("scripted")),
            ("ChainProvider", string("127.0.0.1")),
            ("ChainMode", string("general")),
            ("ChainExpires", string(settled)),
            ("Usage", usage(reply.usage)),
        ],
    );
    session_write(session, rev)
}

/// Returns the write that adds a turn's usage to its counters.
pub(crate) fn usage_counters(id: &TurnId, user: &str, reply: &Reply) -> Write {
    let day = now().get(..10).unwrap_or_default().to_owned();
    let partition = format!("O#{}#USAGE#{day}", id.org);
    let counters = item(
        partition,
        format!("{user:0>32}#{:0>32}#07", 0),
        [
            ("User", string(user)),
            ("Agent", string("default")),
            ("Model", string("scripted")),
            ("ExpiresAt", number(1_900_000_000)),
        ],
    );
    let mut write = Write::replace(counters, &[]);
    let counts = [
        ("Turns", 1),
        ("Completed", 1),
        ("ModelCalls", 1),
        ("PromptTokens", reply.usage.input_tokens),
        ("CompletionTokens", reply.usage.output_tokens),
        ("TotalTokens", reply.usage.total_tokens),
        ("CachedTokens", 0),
        ("ReasoningTokens", 0),
    ];
    let mut adds = Vec::new();
    for (index, (name, count)) in counts.into_iter().enumerate() {
        adds.push(format!("#a{index} :a{index}"));
        write.names.insert(format!("#a{index}"), name.to_owned());
        write.values.insert(format!(":a{index}"), number(count));
    }
    write.update += &format!(" ADD {}", adds.join(", "));
    write
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_sets_removes_and_requires() {
        let stored = item("p".to_owned(), "s".to_owned(), [("A", string("1"))]);
        let write =
            Write::replace(stored, &["A", "B"]).require("Rev", number(1)).require("Phase", string("x"));
        assert_eq!(write.key, key("p".to_owned(), "s".to_owned()));
        assert_eq!(write.update, "SET #s0 = :s0, #s1 = :s1 REMOVE #r0");
        assert_eq!(write.names.get("#r0").map(String::as_str), Some("B"));
        assert_eq!(write.condition.as_deref(), Some("#c3 = :c3 AND #c4 = :c4"));
    }
}
