//! How an object of the contract is described, as a table of members, and read by it.
//!
//! Each object has one table. Everything that holds for any member (spelling, duplicates, presence,
//! unknown names) is decided here once; a row adds the name and how the value is read.

use strsim::damerau_levenshtein;

use super::{
    json::Json,
    report::{At, Report},
    server_owned,
};
use crate::error::ErrorCode;

/// What a body is for: one of the two request scenarios, told apart by the presence of `ToolResults` (AGN-034 §2,
/// §3), or what another path takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scenario {
    UserTurn,
    ToolContinuation,
    Rerun,
    Fork,
    Feedback,
}

impl Scenario {
    fn name(self) -> &'static str {
        match self {
            Self::UserTurn => "a user turn",
            Self::ToolContinuation => "a tool continuation",
            Self::Rerun => "a rerun",
            Self::Fork => "a fork",
            Self::Feedback => "a feedback",
        }
    }
}

/// Whether a member must, may or must not be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Required,
    Optional,
    Forbidden,
}

/// Puts a value into the draft of its object, or says what is wrong with it.
pub(crate) type Read<D> = fn(&Json<'_>, &At<'_>, &mut D, &mut Report);

/// One row of a table.
pub(crate) struct Member<D> {
    /// The name as the contract spells it.
    pub(crate) name: &'static str,
    user_turn: Presence,
    tool_continuation: Presence,
    read: Read<D>,
}

impl<D> Member<D> {
    /// A row of the envelope, where presence depends on the scenario.
    pub(crate) const fn new(
        name: &'static str,
        user_turn: Presence,
        tool_continuation: Presence,
        read: Read<D>,
    ) -> Self {
        Self { name, user_turn, tool_continuation, read }
    }

    /// A row of an object within the envelope that has to be there.
    pub(crate) const fn required(name: &'static str, read: Read<D>) -> Self {
        Self::new(name, Presence::Required, Presence::Required, read)
    }

    /// A row of an object within the envelope that may be left out.
    pub(crate) const fn optional(name: &'static str, read: Read<D>) -> Self {
        Self::new(name, Presence::Optional, Presence::Optional, read)
    }

    /// Whether the member must, may or must not be there.
    pub(crate) fn presence(&self, scenario: Scenario) -> Presence {
        match scenario {
            Scenario::UserTurn | Scenario::Rerun | Scenario::Fork | Scenario::Feedback => self.user_turn,
            Scenario::ToolContinuation => self.tool_continuation,
        }
    }
}

/// Whether `spelling` is the PascalCase name or its camelCase twin (ruling: names on the wire).
pub(crate) fn is_spelling_of(name: &str, spelling: &str) -> bool {
    let mut left = name.chars();
    let mut right = spelling.chars();
    match (left.next(), right.next()) {
        (Some(a), Some(b)) => (a == b || a.to_ascii_lowercase() == b) && left.as_str() == right.as_str(),
        _ => false,
    }
}

/// The values under a name, in either spelling, before the object is read as a whole.
pub(crate) fn peek<'j>(json: &'j Json<'j>, name: &str) -> impl Iterator<Item = &'j Json<'j>> {
    let members = match json {
        Json::Object(members) => members.as_slice(),
        _ => &[],
    };
    members.iter().filter(move |(spelling, _)| is_spelling_of(name, spelling)).map(|(_, value)| value)
}

/// Reads an object by its table.
///
/// A member that is null counts as absent: serializers in the field write null for what was never
/// set. A name that the contract does not know, or that the server owns, is refused whatever its
/// value. What is missing is reported after what is there, since it has no place in the document.
pub(crate) fn read_object<D>(
    json: &Json<'_>,
    table: &[Member<D>],
    scenario: Scenario,
    at: &At<'_>,
    draft: &mut D,
    report: &mut Report,
) {
    let Json::Object(members) = json else {
        return report.invalid(at, format_args!("must be an object, not {}", json.kind()));
    };
    let mut seen: Vec<(&str, &str)> = Vec::new();
    let mut present: Vec<&str> = Vec::new();
    for (spelling, value) in members {
        let Some(row) = table.iter().find(|row| is_spelling_of(row.name, spelling)) else {
            refuse_unknown(spelling, table, at, report);
            continue;
        };
        let here = at.member(row.name);
        if let Some((_, first)) = seen.iter().find(|(name, _)| *name == row.name) {
            report.add(
                ErrorCode::MemberDuplicated,
                &here,
                format_args!("is given twice, as {first} and as {spelling}; send it once"),
            );
            continue;
        }
        seen.push((row.name, spelling));
        if matches!(value, Json::Null) {
            continue;
        }
        present.push(row.name);
        match row.presence(scenario) {
            Presence::Forbidden => report.add(
                ErrorCode::MemberForbidden,
                &here,
                format_args!("is forbidden in {}; leave it out", scenario.name()),
            ),
            Presence::Required | Presence::Optional => (row.read)(value, &here, draft, report),
        }
    }
    for row in table {
        if row.presence(scenario) == Presence::Required && !present.contains(&row.name) {
            refuse_absent(row, scenario, at, report);
        }
    }
}

fn refuse_absent<D>(row: &Member<D>, scenario: Scenario, at: &At<'_>, report: &mut Report) {
    let here = at.member(row.name);
    if at.is_root() {
        let text = format_args!("is required in {}; it is absent or null", scenario.name());
        report.add(ErrorCode::MemberRequired, &here, text);
    } else {
        report.add(ErrorCode::MemberRequired, &here, "is required; it is absent or null");
    }
}

fn refuse_unknown<D>(spelling: &str, table: &[Member<D>], at: &At<'_>, report: &mut Report) {
    let here = at.member(spelling);
    if at.is_root() && server_owned::owns(spelling) {
        return report.add(
            ErrorCode::MemberForbidden,
            &here,
            "is owned by the server and may never be sent; leave it out",
        );
    }
    match meant(spelling, table) {
        Some(name) => {
            report.add(
                ErrorCode::MemberUnknown,
                &here,
                format_args!("is not a member of the contract, {name} is"),
            );
        }
        None => report.add(ErrorCode::MemberUnknown, &here, "is not a member of the contract; leave it out"),
    }
}

/// The most letters that a name differs in from the one that was meant, swapped neighbours counted once.
const TYPO: usize = 2;

/// The member that a name was meant for: the same but for its style, or with a typo in it.
fn meant<D>(spelling: &str, table: &[Member<D>]) -> Option<&'static str> {
    let alike = server_owned::letters(spelling);
    let distance = |row: &Member<D>| damerau_levenshtein(&server_owned::letters(row.name), &alike);
    let nearest = table.iter().map(|row| (distance(row), row.name)).min_by_key(|(distance, _)| *distance)?;
    // A short name is near to many.
    (nearest.0 <= TYPO.min(nearest.1.len() / 3)).then_some(nearest.1)
}
