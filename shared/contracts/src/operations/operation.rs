//! A row of the tables: one operation.

use std::collections::BTreeMap;

use super::parameters::{Parameter, ParameterLocation};
use crate::{error::ErrorCode, schema::Schema};

/// An operation of the API.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// Unique name, in camelCase. Clients name their methods after it.
    pub id: &'static str,
    /// The method.
    pub method: Method,
    /// Path template, with parameters in braces.
    pub path: &'static str,
    /// Subject, one of [`super::TAGS`].
    pub tag: &'static str,
    /// Title of a few words.
    pub summary: &'static str,
    /// Description for callers, as Markdown.
    pub description: &'static str,
    /// Parameters in the path, the query and the headers.
    pub parameters: &'static [Parameter],
    /// Body of the request.
    pub body: Option<Body>,
    /// Successful response.
    pub response: ResponseKind,
    /// Operations that a client can call next, with parameters from the response.
    pub links: &'static [Link],
    /// Groups of error codes. Statuses follow from the codes.
    pub errors: &'static [&'static [ErrorCode]],
}

impl Operation {
    /// The function that serves the operation.
    #[must_use]
    pub fn function(&self) -> Function {
        Function::serving(self.method, self.path)
    }

    /// Returns the names of the query parameters. Requests with others are refused.
    pub fn query(&self) -> impl Iterator<Item = &'static str> {
        let of_query =
            self.parameters.iter().filter(|parameter| parameter.location == ParameterLocation::Query);
        of_query.map(|parameter| parameter.name)
    }

    /// Returns the error codes by status, in catalogue order.
    #[must_use]
    pub fn error_codes(&self) -> BTreeMap<u16, Vec<ErrorCode>> {
        let mut statuses: BTreeMap<u16, Vec<ErrorCode>> = BTreeMap::new();
        for code in ErrorCode::ALL.iter().filter(|code| self.errors.iter().any(|group| group.contains(code)))
        {
            statuses.entry(code.http_status()).or_default().push(*code);
        }
        statuses
    }

    /// True if a write evaluates preconditions. Others refuse them, since a client that sends one relies on it.
    #[must_use]
    pub fn takes_preconditions(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.name == Parameter::IF_MATCH.name)
    }
}

/// A request method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Reads the headers alone.
    Head,
    /// Creates or replaces.
    Put,
    /// Does anything else.
    Post,
    /// Deletes.
    Delete,
    /// Changes some members.
    Patch,
}

impl Method {
    /// The name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Put => "PUT",
            Self::Post => "POST",
            Self::Delete => "DELETE",
            Self::Patch => "PATCH",
        }
    }
}

/// A Lambda function behind the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// Starts user turns and handles every other write.
    Execute,
    /// Continues turns with tool results. It is apart so that its concurrency can be reserved: a turn that waits for
    /// its tools must not queue behind new turns.
    ToolContinuation,
    /// Reads.
    SessionRead,
}

impl Function {
    /// Returns the function that serves a route: the method decides, except for tool results.
    #[must_use]
    pub fn serving(method: Method, path: &str) -> Self {
        match method {
            Method::Get | Method::Head => Self::SessionRead,
            _ if path == super::SUBMIT_TOOL_RESULTS.path => Self::ToolContinuation,
            Method::Put | Method::Post | Method::Delete | Method::Patch => Self::Execute,
        }
    }

    /// The name of its package.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Execute => "execute",
            Self::ToolContinuation => "tool-continuation",
            Self::SessionRead => "session-read",
        }
    }
}

/// The kind of a request body.
#[derive(Debug, Clone, Copy)]
pub enum Body {
    /// An execute request of either scenario, in any encoding.
    Execute,
    /// Tool results, as JSON.
    ToolResults,
    /// Exported sessions: one document, or one per line.
    Exports,
    /// A context, as JSON.
    Context,
    /// A JSON body.
    Json(Schema),
}

/// The kind of a successful response.
#[derive(Debug, Clone, Copy)]
pub enum ResponseKind {
    /// An `InvokeResult`.
    Json(Schema),
    /// A cacheable `InvokeResult`, valid for ever or until revalidated.
    Cacheable(Schema),
    /// An `InvokeResult` with a turn's answer, the event stream if the turn is streamed, or only the text for
    /// `Accept: text/plain`.
    Turn,
    /// An `InvokeResult`, or its rows for `Accept: text/csv`.
    Report(Schema),
    /// A download without the envelope.
    Document(Schema),
    /// JSON Lines as a download, each line with this schema.
    Lines(Schema),
    /// The event stream of a turn.
    Stream,
    /// A redirect, or the link as JSON. With `inline` the payload itself, which is cacheable.
    Link,
}

/// A link to another operation, with the locations of its parameters in the response.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// Id of the operation.
    pub operation: &'static str,
    /// Names of its parameters, and their values as runtime expressions.
    pub parameters: &'static [(&'static str, &'static str)],
}

/// Defines operations as constants, and `OPERATIONS` as the list of them.
macro_rules! operations {
    ($($name:ident = $operation:expr),+ $(,)?) => {
        $(
            #[doc = concat!("Row of the operation `", stringify!($name), "`.")]
            pub const $name: Operation = $operation;
        )+

        pub(super) const OPERATIONS: &[&Operation] = &[$(&$name),+];
    };
}

pub(super) use operations;
