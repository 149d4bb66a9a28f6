//! Parameters of paths and queries, and the headers that stand for members in the text shape.

use utoipa::openapi::{
    ObjectBuilder, Ref, RefOr, Required, Schema,
    path::{Parameter, ParameterBuilder, ParameterIn},
    schema::{KnownFormat, SchemaFormat, SchemaType, Type},
};

use crate::{
    id::MAX_ID_CHARS,
    read::TurnStatus,
    request::limits::{
        DEFAULT_PAGE_SIZE, MAX_MODE_CHARS, MAX_PAGE_SIZE, MAX_QUERY_CHARS, MAX_SOLUTION_CONTEXT_CHARS,
    },
    stream::EventId,
};

/// A parameter that an operation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Session,
    Turn,
    Hash,
    Name,
    Words,
    Inline,
    Round,
    Payloads,
    Ids,
    User,
    Status,
    Mode,
    From,
    To,
    Order,
    IncludeDeleted,
    Purge,
    PageSize,
    ContinuationToken,
    LastEventId,
    IfNoneMatch,
    CorrelationId,
    /// `X-Aptix-…`: the header, for the member, of this schema.
    Header(&'static str, &'static str, Kind),
}

/// What a header holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Named(&'static str),
    Text(usize),
    Flag,
}

const HINT: Kind = Kind::Named("Hint");

/// What every operation takes.
pub(super) const OF_EVERY_REQUEST: Takes = Takes::CorrelationId;

/// The headers of a request: where its stream broke off, and those of the text shape, which a test holds
/// to the shape's own table.
pub(super) const OF_REQUEST: &[Takes] = &[
    Takes::LastEventId,
    Takes::Header("X-Aptix-Session-Id", "SessionId", Kind::Named("SessionId")),
    Takes::Header("X-Aptix-Turn-Id", "TurnId", Kind::Named("TurnId")),
    Takes::Header("X-Aptix-Solution-Context", "SolutionContextText", Kind::Text(MAX_SOLUTION_CONTEXT_CHARS)),
    Takes::Header("X-Aptix-Workspace-Id", "WorkspaceId", HINT),
    Takes::Header("X-Aptix-Repo", "Repo", HINT),
    Takes::Header("X-Aptix-Language", "Language", HINT),
    Takes::Header("X-Aptix-Streaming", "Streaming", Kind::Flag),
    Takes::Header("X-Aptix-Agent-Context-Id", "AgentContextId", Kind::Named("AgentContextId")),
    Takes::Header(
        "X-Aptix-Conversation-Context-Id",
        "ConversationContextId",
        Kind::Named("ConversationContextId"),
    ),
];

impl Takes {
    pub(super) fn parameter(self) -> Parameter {
        let (name, place, schema) = match self {
            Self::Session => ("SessionId", ParameterIn::Path, named("SessionId")),
            Self::Turn => ("TurnId", ParameterIn::Path, named("TurnId")),
            Self::Hash => ("Hash", ParameterIn::Path, named("FileAddress")),
            Self::Name => ("Name", ParameterIn::Path, text().min_length(Some(1)).into()),
            Self::Words => ("q", ParameterIn::Query, words().into()),
            Self::Inline => ("inline", ParameterIn::Query, flag().into()),
            Self::Payloads => ("payloads", ParameterIn::Query, payloads().into()),
            Self::Ids => ("ids", ParameterIn::Query, ids().into()),
            Self::Round => ("round", ParameterIn::Query, count().into()),
            Self::User => ("userId", ParameterIn::Query, user().into()),
            Self::Status => ("status", ParameterIn::Query, status().into()),
            Self::Mode => ("mode", ParameterIn::Query, text().max_length(Some(MAX_MODE_CHARS)).into()),
            Self::From => ("from", ParameterIn::Query, instant().into()),
            Self::To => ("to", ParameterIn::Query, instant().into()),
            Self::Order => ("order", ParameterIn::Query, order().into()),
            Self::IncludeDeleted => ("includeDeleted", ParameterIn::Query, flag().into()),
            Self::Purge => ("purge", ParameterIn::Query, flag().into()),
            Self::PageSize => ("pageSize", ParameterIn::Query, page_size().into()),
            Self::ContinuationToken => ("continuationToken", ParameterIn::Query, text().into()),
            Self::LastEventId => ("Last-Event-ID", ParameterIn::Header, event_id().into()),
            Self::IfNoneMatch => ("If-None-Match", ParameterIn::Header, text().into()),
            Self::CorrelationId => ("X-Correlation-ID", ParameterIn::Header, text().into()),
            Self::Header(name, _, Kind::Named(schema)) => (name, ParameterIn::Header, named(schema)),
            Self::Header(name, _, Kind::Text(most)) => {
                (name, ParameterIn::Header, text().max_length(Some(most)).into())
            }
            Self::Header(name, _, Kind::Flag) => (name, ParameterIn::Header, flag().into()),
        };
        let is_required = place == ParameterIn::Path || self == Self::Words;
        let required = if is_required { Required::True } else { Required::False };
        ParameterBuilder::new()
            .name(name)
            .parameter_in(place)
            .required(required)
            .description(Some(self.description()))
            .schema(Some(schema))
            .build()
    }

    fn description(self) -> String {
        match self {
            Self::Session => "The session, as its client minted it (AGN-034 §2.1).".into(),
            Self::Turn => "The turn, as its client minted it; `last` is no turn's id (AGN-033 §3.1).".into(),
            Self::Hash => "SHA-256 of the file's bytes, as the `Url` of a `FileRef` holds it.".into(),
            Self::Name => "The file's `Name`, as a `FileRef` holds it.".into(),
            Self::Words => {
                "The words to look for, at most eight. Case and accents do not matter; a word is found where a word of the \
                 text begins with it."
                    .into()
            }
            Self::Inline => {
                "Whether the answer is to hold the payload itself, of at most 4 MiB; `false` when absent or empty.".into()
            }
            Self::Payloads => {
                "How payloads are held: `inline`, whole, or `links`, as relative URLs of the API. Only what is inline can be \
                 imported."
                    .into()
            }
            Self::Ids => {
                "Under which ids the sessions are made: `keep` for their own, `new` for others, which follow from the document. \
                 Turns keep their ids, which mean something within their session alone."
                    .into()
            }
            Self::Round => {
                "Which of the turn's replies it is about, from 1, as its steps number them; the last model call when absent or \
                 empty."
                    .into()
            }
            Self::User => {
                "Only sessions that this user owns or takes part in, or turns that this user asked; all when absent or empty."
                    .into()
            }
            Self::Status => "Only what stands so: a session by its last turn.".into(),
            Self::Mode => "Only what is in this mode: a session by now, a turn when it began.".into(),
            Self::From => {
                "Only what is no older: a session by its last activity, with `userId` by that user's own; a turn by its \
                 creation."
                    .into()
            }
            Self::To => "Only what is no newer than this instant.".into(),
            Self::Order => "By sequence number: `asc` from the first turn on, `desc` from the last one back.".into(),
            Self::PageSize => {
                "How many items a page holds at most. A list that is narrowed looks at ten times as many at most for one \
                 page, which may then be short or empty: `HasMore` tells."
                    .into()
            }
            Self::IncludeDeleted => {
                "Whether deleted sessions are listed too, to those who took part in them; `false` when absent or empty.".into()
            }
            Self::Purge => "Whether the session is purged, and not kept; `false` when absent or empty.".into(),
            Self::ContinuationToken => {
                "Where to go on: the `ContinuationToken` of the page before. Absent for the first page."
                    .into()
            }
            Self::LastEventId => {
                "The `id` of the last event that the client has: the stream goes on after it. Absent at the \
                 first connection."
                    .into()
            }
            Self::IfNoneMatch => "The `ETag`s of what the client has: where one still holds, the answer is a 304.".into(),
            Self::CorrelationId => {
                "What the client calls the request: it stands in every log line about it. 1 to 128 visible ASCII \
                 characters; anything else counts as absent, and the service names the request itself."
                    .into()
            }
            Self::Header(_, member, _) => {
                let required = if matches!(member, "SessionId" | "TurnId") { "; required there" } else { "" };
                format!("`{member}` of a user turn, read with a `text/plain` body alone{required} (DD-001).")
            }
        }
    }
}

fn named(schema: &str) -> RefOr<Schema> {
    Ref::from_schema_name(schema).into()
}

fn flag() -> ObjectBuilder {
    text().enum_values(Some(["true", "false"]))
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::Type(Type::String))
}

/// As the identity provider minted it; empty counts as absent.
fn user() -> ObjectBuilder {
    text().max_length(Some(MAX_ID_CHARS)).pattern(Some(r"^(?!\.\.?$)[^\x00-\x1f\x7f-\x9f]*$"))
}

fn payloads() -> ObjectBuilder {
    text().enum_values(Some(["inline", "links"])).default(Some("inline".into()))
}

fn ids() -> ObjectBuilder {
    text().enum_values(Some(["keep", "new"])).default(Some("keep".into()))
}

fn words() -> ObjectBuilder {
    text().max_length(Some(MAX_QUERY_CHARS)).pattern(Some(r"[\p{L}\p{N}]"))
}

fn event_id() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::Integer))
        .minimum(Some(0))
        .maximum(Some(EventId::MAX.get()))
}

fn status() -> ObjectBuilder {
    text().enum_values(Some(TurnStatus::ALL.map(TurnStatus::id)))
}

fn order() -> ObjectBuilder {
    text().enum_values(Some(["asc", "desc"])).default(Some("asc".into()))
}

fn instant() -> ObjectBuilder {
    text().format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
}

fn count() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)).maximum(Some(u32::MAX))
}

fn page_size() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::Integer))
        .minimum(Some(1))
        .maximum(Some(MAX_PAGE_SIZE))
        .default(Some(DEFAULT_PAGE_SIZE.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::text::HEADERS;

    #[test]
    fn the_headers_are_those_of_the_text_shape() {
        let documented: Vec<(String, &str)> = OF_REQUEST
            .iter()
            .filter_map(|takes| match takes {
                Takes::Header(name, member, _) => Some((name.to_ascii_lowercase(), *member)),
                _ => None,
            })
            .collect();
        let read: Vec<(String, &str)> =
            HEADERS.iter().map(|(suffix, member)| (format!("x-aptix-{suffix}"), *member)).collect();
        assert_eq!(documented, read);
    }
}
