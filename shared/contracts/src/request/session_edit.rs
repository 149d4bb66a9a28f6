//! Changes to a session's name, description, category or visibility.

use super::{
    body::{parse_body, validate},
    field_table::{Field, Scenario, read_object},
    json::Json,
    limits::{MAX_CATEGORY_CHARS, MAX_DESCRIPTION_CHARS, MAX_SESSION_NAME_CHARS},
    value::{name, text, word},
    violations::{Location, Violations},
};
use crate::{
    error::{Error, ErrorCode},
    read::Visibility,
};

/// Changes to a session. Created only by parsing, so there is at least one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionEdit {
    /// The new name.
    pub name: Option<String>,
    /// The new description. An empty text removes it.
    pub description: Option<String>,
    /// The new category. An empty text removes it.
    pub category: Option<String>,
    /// The new visibility.
    pub visibility: Option<Visibility>,
    /// The version of the agent context to pin the session to. 0 removes the pin.
    pub agent_context_version: Option<u32>,
    /// The version of the conversation context to pin the session to. 0 removes the pin.
    pub conversation_context_version: Option<u32>,
}

const FIELDS: &[Field<SessionEdit>] = &[
    Field::optional("Name", |json, at, edit, violations| {
        edit.name = name(json, MAX_SESSION_NAME_CHARS, at, violations).map(str::to_owned);
    }),
    Field::optional("Description", |json, at, edit, violations| {
        edit.description =
            text(json, MAX_DESCRIPTION_CHARS, at, violations).map(|text| text.trim().to_owned());
    }),
    Field::optional("Category", |json, at, edit, violations| {
        edit.category = category(json, at, violations);
    }),
    Field::optional("Visibility", |json, at, edit, violations| {
        edit.visibility = word(json, &Visibility::ALL, at, violations);
    }),
    Field::optional("AgentContextVersion", |json, at, edit, violations| {
        edit.agent_context_version = version(json, at, violations);
    }),
    Field::optional("ConversationContextVersion", |json, at, edit, violations| {
        edit.conversation_context_version = version(json, at, violations);
    }),
];

impl SessionEdit {
    /// Parses a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order. Never empty.
    ///
    /// # Examples
    ///
    /// ```
    /// use contracts::{read::Visibility, request::SessionEdit};
    ///
    /// let edit = SessionEdit::parse(br#"{"Name": "Leases", "Visibility": "participants"}"#).expect("a change");
    /// assert_eq!(edit.name.as_deref(), Some("Leases"));
    /// assert_eq!((edit.description, edit.visibility), (None, Some(Visibility::Participants)));
    ///
    /// let errors = SessionEdit::parse(br#"{}"#).expect_err("nothing is to be changed");
    /// assert!(errors[0].message.contains("Name, Description, Category, Visibility"));
    /// ```
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_body(body)?, edit)
    }
}

fn edit(json: &Json<'_>, violations: &mut Violations) -> Option<SessionEdit> {
    let mut edit = SessionEdit::default();
    read_object(json, FIELDS, Scenario::UserTurn, &Location::ROOT, &mut edit, violations);
    if violations.is_clean() && edit == SessionEdit::default() {
        let rule = "must hold at least one of Name, Description, Category, Visibility, AgentContextVersion and \
            ConversationContextVersion";
        violations.add(ErrorCode::MemberRequired, &Location::ROOT, rule);
    }
    Some(edit)
}

/// Reads the number of a version, or 0.
fn version(json: &Json<'_>, at: &Location<'_>, violations: &mut Violations) -> Option<u32> {
    let number = match json {
        Json::Integer(number) => u32::try_from(*number).ok(),
        _ => None,
    };
    if number.is_none() {
        violations.invalid(at, format_args!("must be the number of a version, or 0 for the live one"));
    }
    number
}

/// Reads one line, or an empty text.
fn category(json: &Json<'_>, at: &Location<'_>, violations: &mut Violations) -> Option<String> {
    match text(json, MAX_CATEGORY_CHARS, at, violations)?.trim() {
        "" => Some(String::new()),
        _ => name(json, MAX_CATEGORY_CHARS, at, violations).map(str::to_owned),
    }
}
