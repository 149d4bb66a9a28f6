//! A change of what a session is called, and of who may see it (DD-002A, DD-003).

use super::{
    checked,
    json::Json,
    limits::{MAX_DESCRIPTION_CHARS, MAX_SESSION_NAME_CHARS},
    report::{At, Report},
    table::{Member, Scenario, read_object},
    value::{line, text, word},
    within_limit,
};
use crate::{
    error::{Error, ErrorCode},
    read::Visibility,
};

/// What is to be changed of a session. Only parsing makes one, so there is always something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionEdit {
    /// What people call it.
    pub name: Option<String>,
    /// What it is about; an empty text removes it.
    pub description: Option<String>,
    /// Who may see it.
    pub visibility: Option<Visibility>,
}

const MEMBERS: &[Member<SessionEdit>] = &[
    Member::optional("Name", |json, at, edit, report| {
        edit.name = line(json, MAX_SESSION_NAME_CHARS, at, report).map(|name| name.trim().to_owned());
    }),
    Member::optional("Description", |json, at, edit, report| {
        edit.description = text(json, MAX_DESCRIPTION_CHARS, at, report).map(|text| text.trim().to_owned());
    }),
    Member::optional("Visibility", |json, at, edit, report| {
        edit.visibility = word(json, &Visibility::ALL, at, report);
    }),
];

impl SessionEdit {
    /// Reads a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order; never none.
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
    /// assert!(errors[0].message.contains("Name, Description and Visibility"));
    /// ```
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        checked(&within_limit(body)?, edit)
    }
}

fn edit(json: &Json<'_>, report: &mut Report) -> Option<SessionEdit> {
    let mut edit = SessionEdit::default();
    read_object(json, MEMBERS, Scenario::UserTurn, &At::ROOT, &mut edit, report);
    if report.is_clean() && edit == SessionEdit::default() {
        let rule = "must hold at least one of Name, Description and Visibility";
        report.add(ErrorCode::MemberRequired, &At::ROOT, rule);
    }
    Some(edit)
}
