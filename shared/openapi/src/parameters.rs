//! Path, query and header parameters, including the headers that hold members in the plain text encoding.

use utoipa::openapi::{
    ObjectBuilder, Ref, RefOr, Required, Schema,
    path::{Parameter, ParameterBuilder, ParameterIn},
    schema::{KnownFormat, SchemaFormat, SchemaType, Type},
};

use contracts::{
    id::MAX_ID_CHARS,
    read::{TurnStatus, UsageGrouping},
    request::limits::{
        DEFAULT_PAGE_SIZE, MAX_CATEGORY_CHARS, MAX_MODE_CHARS, MAX_PAGE_SIZE, MAX_QUERY_CHARS,
        MAX_SOLUTION_CONTEXT_CHARS,
    },
    stream::EventId,
};

/// A parameter of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Param {
    Session,
    Turn,
    Hash,
    Name,
    Query,
    Inline,
    Round,
    Payloads,
    Ids,
    By,
    User,
    Status,
    Mode,
    Category,
    From,
    To,
    Order,
    IncludeDeleted,
    Purge,
    PageSize,
    ContinuationToken,
    LastEventId,
    IfNoneMatch,
    IfMatch,
    Context,
    ModeKey,
    Version,
    CorrelationId,
    /// An `X-Aptix-…` header: its name, its member, and its schema.
    Header(&'static str, &'static str, HeaderKind),
}

/// The value of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderKind {
    Named(&'static str),
    Text(usize),
    Flag,
}

const HINT: HeaderKind = HeaderKind::Named("Hint");

/// The parameter that every operation takes.
pub(crate) const EVERY_OPERATION: Param = Param::CorrelationId;

/// The headers of an execute request: the position in its stream, and those of the plain text encoding, which a
/// test compares with the encoding's own table.
pub(crate) const EXECUTE_HEADERS: &[Param] = &[
    Param::LastEventId,
    Param::Header("X-Aptix-Session-Id", "SessionId", HeaderKind::Named("SessionId")),
    Param::Header("X-Aptix-Turn-Id", "TurnId", HeaderKind::Named("TurnId")),
    Param::Header(
        "X-Aptix-Solution-Context",
        "SolutionContextText",
        HeaderKind::Text(MAX_SOLUTION_CONTEXT_CHARS),
    ),
    Param::Header("X-Aptix-Workspace-Id", "WorkspaceId", HINT),
    Param::Header("X-Aptix-Repo", "Repo", HINT),
    Param::Header("X-Aptix-Language", "Language", HINT),
    Param::Header("X-Aptix-Streaming", "Streaming", HeaderKind::Flag),
    Param::Header("X-Aptix-Agent-Context-Id", "AgentContextId", HeaderKind::Named("AgentContextId")),
    Param::Header(
        "X-Aptix-Conversation-Context-Id",
        "ConversationContextId",
        HeaderKind::Named("ConversationContextId"),
    ),
];

impl Param {
    pub(crate) fn parameter(self) -> Parameter {
        let (name, place, schema) = match self {
            Self::Session => ("SessionId", ParameterIn::Path, named("SessionId")),
            Self::Turn => ("TurnId", ParameterIn::Path, named("TurnId")),
            Self::Hash => ("Hash", ParameterIn::Path, named("FileAddress")),
            Self::Name => ("Name", ParameterIn::Path, text().min_length(Some(1)).into()),
            Self::Query => ("q", ParameterIn::Query, words().into()),
            Self::Inline => ("inline", ParameterIn::Query, flag().into()),
            Self::Payloads => ("payloads", ParameterIn::Query, payloads().into()),
            Self::Ids => ("ids", ParameterIn::Query, ids().into()),
            Self::By => ("by", ParameterIn::Query, grouping().into()),
            Self::Round => ("round", ParameterIn::Query, count().into()),
            Self::User => ("userId", ParameterIn::Query, user().into()),
            Self::Status => ("status", ParameterIn::Query, status().into()),
            Self::Mode => ("mode", ParameterIn::Query, text().max_length(Some(MAX_MODE_CHARS)).into()),
            Self::Category => {
                ("category", ParameterIn::Query, text().max_length(Some(MAX_CATEGORY_CHARS)).into())
            }
            Self::From => ("from", ParameterIn::Query, instant().into()),
            Self::To => ("to", ParameterIn::Query, instant().into()),
            Self::Order => ("order", ParameterIn::Query, order().into()),
            Self::IncludeDeleted => ("includeDeleted", ParameterIn::Query, flag().into()),
            Self::Purge => ("purge", ParameterIn::Query, flag().into()),
            Self::PageSize => ("pageSize", ParameterIn::Query, page_size().into()),
            Self::ContinuationToken => ("continuationToken", ParameterIn::Query, text().into()),
            Self::LastEventId => ("Last-Event-ID", ParameterIn::Header, event_id().into()),
            Self::IfNoneMatch => ("If-None-Match", ParameterIn::Header, text().into()),
            Self::IfMatch => ("If-Match", ParameterIn::Header, text().into()),
            Self::Context => ("ContextId", ParameterIn::Path, named("AgentContextId")),
            Self::ModeKey => ("ModeKey", ParameterIn::Path, mode_key().into()),
            Self::Version => ("Version", ParameterIn::Path, count().into()),
            Self::CorrelationId => ("X-Correlation-ID", ParameterIn::Header, text().into()),
            Self::Header(name, _, HeaderKind::Named(schema)) => (name, ParameterIn::Header, named(schema)),
            Self::Header(name, _, HeaderKind::Text(most)) => {
                (name, ParameterIn::Header, text().max_length(Some(most)).into())
            }
            Self::Header(name, _, HeaderKind::Flag) => (name, ParameterIn::Header, flag().into()),
        };
        let is_required = place == ParameterIn::Path || self == Self::Query;
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
            Self::Session => "Id of the session, chosen by the client.".into(),
            Self::Turn => "Id of the turn, chosen by the client. `last` is reserved.".into(),
            Self::Hash => "SHA-256 of the file's bytes, as in the `Url` of a `FileRef`.".into(),
            Self::Name => "Name of the file, as in a `FileRef`.".into(),
            Self::Query => {
                "Words to search for, at most eight. Case and accents are ignored. A word matches at the \
                beginning of a word in the text."
                    .into()
            }
            Self::Inline => {
                "Set to `true` to return the payload itself, if it is at most 4 MiB. Default: `false`.".into()
            }
            Self::Payloads => {
                "`inline` to embed full payloads, `links` for URLs relative to the API's base URL. Only inline \
                payloads can be imported."
                    .into()
            }
            Self::Ids => {
                "Ids of the imported sessions: `keep` for the original ids, `new` for new ones, which are \
                derived from the document. Turns keep their ids, which are unique only within their session."
                    .into()
            }
            Self::By => "Property by which usage is grouped.".into(),
            Self::Round => {
                "Number of the model reply, from 1, as in the turn's steps. Default: the last model call."
                    .into()
            }
            Self::User => {
                "Only sessions that this user owns or takes part in, or turns of this user. Default: all. Of usage \
                and budgets, others than operators get their own alone."
                    .into()
            }
            Self::Status => "Only turns with this status, or sessions whose last turn has it.".into(),
            Self::Mode => "Only sessions that are in this mode, or turns that began in it.".into(),
            Self::Category => "Only sessions of this category, in exactly this spelling.".into(),
            Self::From => {
                "Only items from this time on: a session by its last activity (with `userId`, by that user's \
                activity), a turn by its creation. Usage is by whole days, in UTC."
                    .into()
            }
            Self::To => "Only items up to this time.".into(),
            Self::Order => "Order by sequence number: `asc` starts with the first turn, `desc` with the last.".into(),
            Self::PageSize => {
                "Maximum number of items on a page. A filtered list examines at most ten times as many items \
                per page, so a page may be short or empty; check `HasMore`."
                    .into()
            }
            Self::IncludeDeleted => {
                "Set to `true` to include deleted sessions that the caller took part in. Default: `false`.".into()
            }
            Self::Purge => "Set to `true` to purge the session instead of keeping it for a while. Default: \
                `false`.".into(),
            Self::ContinuationToken => {
                "`ContinuationToken` of the previous page. Omit it for the first page."
                    .into()
            }
            Self::LastEventId => {
                "`id` of the last event that the client received. The stream resumes after it. Omit it on the \
                first connection."
                    .into()
            }
            Self::IfNoneMatch => "`ETag`s of the client's cached responses. If one is still valid, the \
                response is a 304. On a write only `*`, which requires that the resource doesn't exist.".into(),
            Self::IfMatch => "`ETag` that the resource must have, or `*` if it must only exist. Otherwise the \
                response is a 412, and nothing is changed.".into(),
            Self::Context => "Id of the context, chosen by the org.".into(),
            Self::ModeKey => "Key of the mode, as sessions show it.".into(),
            Self::Version => "Number of the version, from 1.".into(),
            Self::CorrelationId => {
                "Correlation id of the request, which is added to all its log lines. 1 to 128 visible ASCII \
                characters. Any other value is ignored, and the service generates an id."
                    .into()
            }
            Self::Header(_, member, _) => {
                let required = if matches!(member, "SessionId" | "TurnId") { ", required" } else { "" };
                format!("`{member}` of a user turn. Only with a `text/plain` body{required}.")
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

/// A user id, as the identity provider issues it. Empty counts as absent.
fn user() -> ObjectBuilder {
    text().max_length(Some(MAX_ID_CHARS)).pattern(Some(r"^(?!\.\.?$)[^\x00-\x1f\x7f-\x9f]*$"))
}

fn payloads() -> ObjectBuilder {
    text().enum_values(Some(["inline", "links"])).default(Some("inline".into()))
}

fn ids() -> ObjectBuilder {
    text().enum_values(Some(["keep", "new"])).default(Some("keep".into()))
}

fn grouping() -> ObjectBuilder {
    let names = UsageGrouping::ALL.map(UsageGrouping::name);
    text().enum_values(Some(names)).default(Some(UsageGrouping::default().name().into()))
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

fn mode_key() -> ObjectBuilder {
    text().max_length(Some(64)).pattern(Some("^[a-z][a-z0-9]*(_[a-z0-9]+)*$"))
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
    use contracts::encoding::text::HEADERS;

    #[test]
    fn headers_match_text_encoding() {
        let documented: Vec<(String, &str)> = EXECUTE_HEADERS
            .iter()
            .filter_map(|takes| match takes {
                Param::Header(name, member, _) => Some((name.to_ascii_lowercase(), *member)),
                _ => None,
            })
            .collect();
        let read: Vec<(String, &str)> =
            HEADERS.iter().map(|(suffix, member)| (format!("x-aptix-{suffix}"), *member)).collect();
        assert_eq!(documented, read);
    }
}
