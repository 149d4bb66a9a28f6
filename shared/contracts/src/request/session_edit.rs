//! Changes to a session's name, description, category or visibility.

#[cfg(feature = "openapi")]
use super::schemas;
use super::{
    body::{json_request, parse_body, validate},
    field_table::{Field, Scenario, Slot, documented, read_object, slot},
    json::Json,
    kind::{Kind, SESSION_NAME, Words, text, version, word},
    limits::{MAX_CATEGORY_CHARS, MAX_DESCRIPTION_CHARS},
    value,
    violations::{Location, Violations},
};
use crate::{
    error::{Error, ErrorCode},
    read::Visibility,
    schema::Schema,
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
    Field::optional("Name", "Display name.", slot!(SESSION_NAME, SessionEdit, name)),
    Field::optional(
        "Description",
        "Description. An empty text removes it.",
        &Slot(text(MAX_DESCRIPTION_CHARS), |edit: &mut SessionEdit, text| {
            edit.description = text.map(|text| text.trim().to_owned());
        }),
    ),
    Field::optional(
        "Category",
        "Category, one line. An empty text removes it.",
        slot!(CATEGORY, SessionEdit, category),
    ),
    Field::optional("Visibility", "Visibility within the org.", slot!(VISIBILITY, SessionEdit, visibility)),
    Field::optional(
        "AgentContextVersion",
        "Version of the agent context to pin the session to. 0 removes the pin. For operators and agent editors.",
        slot!(VERSION, SessionEdit, agent_context_version),
    ),
    Field::optional(
        "ConversationContextVersion",
        "Version of the conversation context to pin the session to. 0 removes the pin. For operators and agent \
        editors.",
        slot!(VERSION, SessionEdit, conversation_context_version),
    ),
];

impl Words for Visibility {
    const WORDS: &[(&str, Self)] = &Self::ALL;
}

const VISIBILITY: Kind<Visibility> = word(Schema::of::<Visibility>("Visibility"));

/// The number of a version, or 0.
const VERSION: Kind<u32> = Kind {
    shape: version(0),
    read: |shape, json, at, violations| {
        let number = shape.integer(json);
        if number.is_none() {
            violations.invalid(at, format_args!("must be the number of a version, or 0 for the live one"));
        }
        number
    },
};

/// One line, or an empty text.
const CATEGORY: Kind<String> = Kind {
    shape: text(MAX_CATEGORY_CHARS).shape,
    read: |shape, json, at, violations| match value::text(json, shape.max(), at, violations)?.trim() {
        "" => Some(String::new()),
        _ => value::name(json, shape.max(), at, violations).map(str::to_owned),
    },
};

documented!(
    SessionEdit,
    "SessionEdit",
    {
        let description = "Changes to a session: at least one member.";
        let mut object = schemas::object(description, FIELDS, Scenario::UserTurn);
        object.min_properties = Some(1);
        utoipa::openapi::Schema::Object(object).into()
    },
    |all| schemas::collect(FIELDS, all)
);

json_request!(SessionEdit);

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
