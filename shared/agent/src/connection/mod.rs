//! Connections: the servers whose tools an org's agents may call.
//!
//! A [`Connection`] is a document of the org, with versions like a context. It names a server, the way to authenticate
//! there, the agents that may use it, and its tools as data. An agent or a conversation context names tools by
//! [`ToolName`], and a turn gets them as [`RemoteTool`](crate::tool::remote::RemoteTool). Deliberately absent: secrets,
//! which are stored elsewhere, and requests.

mod check;
mod definition;
mod function_arn;
mod path_template;
mod refresh;
mod resolve;
mod secret;
mod tool_name;

pub(crate) use check::check;
pub use definition::{Authentication, CallPrice, Connection, ConnectionTool, HttpMethod, Protocol, Scheme};
pub use function_arn::{FunctionArn, FunctionParts, InvalidFunctionArn};
pub use path_template::{PathTemplate, Segment};
pub use refresh::{Comparison, Difference, Listing, Offer, OfferedTool, ToolOffers, UnknownTool, compare};
pub use resolve::{ConnectionTarget, model_name};
pub use secret::{ConnectionSecret, ConnectionSecrets, SecretsUnavailable};
pub(crate) use tool_name::TOOL_NAMES;
pub use tool_name::{InvalidToolName, MAX_NAMED_TOOLS, ToolName};
