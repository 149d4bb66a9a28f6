//! The plain text encoding: the body is the instruction, ids and hints are `X-Aptix-*` headers.

use std::borrow::Cow;

use crate::{
    error::{Error, ErrorCode},
    request::{
        UserTurn,
        body::{check_body_size, validate},
        envelope,
        json::Json,
    },
};

/// The prefix of the headers, in lowercase.
const PREFIX: &str = "x-aptix-";

/// The headers, without the prefix, and their members. Headers are lines of text, so there are none for files,
/// images and conditions.
pub const HEADERS: &[(&str, &str)] = &[
    ("session-id", "SessionId"),
    ("turn-id", "TurnId"),
    ("solution-context", "SolutionContextText"),
    ("workspace-id", "WorkspaceId"),
    ("repo", "Repo"),
    ("language", "Language"),
    ("streaming", "Streaming"),
    ("agent-context-id", "AgentContextId"),
    ("conversation-context-id", "ConversationContextId"),
];

/// Reads a user turn from a `text/plain` body and all headers of the request.
///
/// Headers without the prefix are ignored, unknown ones with it are rejected, and empty ones count as absent. A
/// byte order mark before the instruction is dropped, because shells write it.
///
/// # Errors
/// Every violation, as for JSON. `Details` names the member that a header holds.
pub fn user_turn<'a>(
    headers: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    body: &[u8],
) -> Result<UserTurn, Vec<Error>> {
    check_body_size(body.len())?;
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let instruction = std::str::from_utf8(body).map_err(|why| {
        let message = format!("The body is not UTF-8 from byte {} on", why.valid_up_to());
        vec![Error::new(ErrorCode::BodyNotText, message)]
    })?;
    let mut members = vec![(Cow::Borrowed("Instruction"), Json::Text(Cow::Borrowed(instruction)))];
    for (header, value) in headers {
        let header = header.to_ascii_lowercase();
        let Some(suffix) = header.strip_prefix(PREFIX) else { continue };
        let value = std::str::from_utf8(value).map_err(|_| {
            let message = format!("The header {header} is not UTF-8");
            vec![Error::new(ErrorCode::MemberInvalid, message).with_details(header.as_str())]
        })?;
        let value = value.trim();
        match HEADERS.iter().find(|(known, _)| *known == suffix) {
            Some((_, member)) => members.push((Cow::Borrowed(member), of_header(member, value))),
            None => members.push((Cow::Owned(name_of(suffix)), Json::Text(Cow::Borrowed(value)))),
        }
    }
    validate(&Json::Object(members), envelope::user_turn)
}

fn of_header<'a>(member: &str, value: &'a str) -> Json<'a> {
    match (member, value) {
        (_, "") => Json::Null,
        ("Streaming", "true") => Json::Bool(true),
        ("Streaming", "false") => Json::Bool(false),
        _ => Json::Text(Cow::Borrowed(value)),
    }
}

/// Returns the member that an unknown header would hold, so that it is rejected by that name. `x-aptix-mode` is
/// server-owned just as `Mode` is.
fn name_of(suffix: &str) -> String {
    suffix
        .split('-')
        .map(|word| {
            let mut chars = word.chars();
            let first = chars.next().map(|c| c.to_ascii_uppercase());
            first.into_iter().chain(chars).collect::<String>()
        })
        .collect()
}
