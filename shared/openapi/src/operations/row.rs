//! A row of the tables: one operation.

use contracts::error::ErrorCode;
use utoipa::openapi::path::HttpMethod;

use crate::parameters::Param;

/// An operation.
pub(crate) struct Row {
    pub(crate) id: &'static str,
    pub(crate) method: HttpMethod,
    pub(crate) path: &'static str,
    pub(crate) tag: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) description: &'static str,
    pub(crate) parameters: &'static [Param],
    pub(crate) body: Option<Body>,
    pub(crate) response: ResponseKind,
    /// Operations that a client can call next, with parameters from the response.
    pub(crate) links: &'static [Link],
    pub(crate) errors: &'static [&'static [ErrorCode]],
}

/// The kind of a request body.
#[derive(Clone, Copy)]
pub(crate) enum Body {
    /// An execute request of either scenario, in any encoding.
    Execute,
    /// Tool results, as JSON.
    ToolResults,
    /// Exported sessions: one document, or one per line.
    Exports,
    /// A context, as JSON.
    Context,
    /// A JSON body with the schema of this name.
    Json(&'static str),
}

/// The kind of a successful response.
#[derive(Clone, Copy)]
pub(crate) enum ResponseKind {
    /// An `InvokeResult` with the schema of this name.
    Json(&'static str),
    /// A cacheable `InvokeResult`, valid for ever or until revalidated.
    Cacheable(&'static str),
    /// An `InvokeResult` with a turn's answer, the event stream if the turn is streamed, or only the text for
    /// `Accept: text/plain`.
    Turn,
    /// An `InvokeResult` with the schema of this name, or its rows for `Accept: text/csv`.
    Report(&'static str),
    /// A download without the envelope, with the schema of this name.
    Document(&'static str),
    /// JSON Lines as a download, each line with the schema of this name.
    Lines(&'static str),
    /// The event stream of a turn.
    Stream,
    /// A redirect, or the link as JSON. With `inline` the payload itself, which is cacheable.
    Link,
}

/// A link to another operation, with the locations of its parameters in the response.
pub(crate) struct Link {
    pub(crate) operation: &'static str,
    pub(crate) parameters: &'static [(&'static str, &'static str)],
}
