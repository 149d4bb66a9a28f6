//! The definition of a connection.

use contracts::{Fingerprint, id::ConnectionId};
use protocol::cost::Amount;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{FunctionArn, InvalidFunctionArn};
use crate::{
    members::{Count, Fits, Strings, Typed, deprecation, line, table, text, words},
    tool::{approval::ApprovalPolicy, remote::EffectClass},
};

/// The maximum length of `Name`.
const MAX_NAME_CHARS: usize = 128;
/// The maximum length of `Url`.
const MAX_URL_CHARS: usize = 1_024;
/// The maximum number of tools of a connection.
const MAX_TOOLS: Count = Count(512, "tools");
/// The maximum number of agents, and the length of their ids.
const AGENTS: Strings<crate::members::Text> = Strings(Count(64, "agents"), line(128));
/// The maximum length of a tool's description. Servers write long ones.
const MAX_DESCRIPTION_CHARS: usize = 16_384;
/// The maximum length of `Path`.
const MAX_PATH_CHARS: usize = 1_024;
/// The maximum length of `RemoteName`.
const MAX_REMOTE_NAME_CHARS: usize = 256;
/// The maximum number of names in `Query`, and their length.
const QUERY: Strings<crate::members::Text> = Strings(Count(32, "names"), line(128));
/// `TimeoutSeconds`. A function runs for at most 15 minutes.
const TIMEOUT_SECONDS: std::ops::RangeInclusive<u32> = 1..=300;

/// `MaxCallsPerTurn`.
const MAX_CALLS: std::ops::RangeInclusive<u32> = 1..=1_000;

/// The currency of a price.
const CURRENCY: Fits = Fits {
    schema: || json!({ "pattern": "^[A-Z]{3}$" }),
    fits: |currency| currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_uppercase()),
    fault: || "must be an ISO 4217 code, such as EUR".to_owned(),
};

/// The default of `TimeoutSeconds`.
const fn default_timeout_seconds() -> u32 {
    30
}

/// The name of a header that a connection may set.
const HEADER: Fits = Fits {
    schema: || json!({ "pattern": "^[A-Za-z0-9-]{1,64}$" }),
    fits: |name| {
        let is_name = (1..=64).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        // Those that say how a message is framed, whom it is for, or who speaks for whom.
        const RESERVED: [&str; 14] = [
            "accept-encoding",
            "connection",
            "content-encoding",
            "content-length",
            "content-type",
            "cookie",
            "expect",
            "host",
            "keep-alive",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "proxy-authorization",
        ];
        is_name && !RESERVED.contains(&name.to_ascii_lowercase().as_str())
    },
    fault: || {
        "must be a header of 1 to 64 letters, digits and hyphens, and none that HTTP itself needs".to_owned()
    },
};

/// The maximum length of `Audience`.
const MAX_AUDIENCE_CHARS: usize = 256;

/// The ARN of a function.
const FUNCTION_ARN: Fits = Fits {
    schema: || json!({ "pattern": FunctionArn::PATTERN }),
    fits: |arn| arn.parse::<FunctionArn>().is_ok(),
    fault: || InvalidFunctionArn.to_string(),
};

/// A part of a signature's scope.
const SIGNING_NAME: Fits = Fits {
    schema: || json!({ "pattern": "^[a-z0-9-]{1,64}$" }),
    fits: |name| {
        let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=64).contains(&name.len()) && name.bytes().all(is_allowed)
    },
    fault: || "must be 1 to 64 lowercase letters, digits and hyphens".to_owned(),
};

/// The hash of a tool as its server has it.
const HASH: Fits = Fits {
    schema: || json!({ "pattern": "^[0-9a-f]{64}$" }),
    fits: |hash| hash.parse::<Fingerprint>().is_ok(),
    fault: || "must be 64 hexadecimal digits. Omit it: a refresh sets it".to_owned(),
};

table! {
    /// A connection: a server, and those of its tools that agents may call.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Connection as "Connection" {
        /// The id, with which the names of its tools begin.
        pub id: ConnectionId,
        /// The name for people.
        pub name: String = line(MAX_NAME_CHARS),
        /// The replacement to use. Set it to deprecate the document.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub deprecated: Option<String> = deprecation(),
        /// The protocol of the server.
        pub protocol: Protocol,
        /// The URL of the server. The paths of HTTP tools follow it. Required, except for `lambda`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub url: Option<String> = line(MAX_URL_CHARS),
        /// The ARN of the function, of a version or of an alias. Only for `lambda`, and required there.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub function_arn: Option<String> = FUNCTION_ARN,
        /// The URL of the OpenAPI document. Only for `openapi`, and only a refresh reads it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub document_url: Option<String> = line(MAX_URL_CHARS),
        /// The way to authenticate. Absent: none.
        #[serde(default)]
        pub authentication: Authentication,
        /// The ids of the agents that may use it. Absent: all agents of the org.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub agents: Option<Vec<String>> = AGENTS,
        /// The time until a call is given up, in seconds.
        #[serde(default = "default_timeout_seconds")]
        pub timeout_seconds: u32 = TIMEOUT_SECONDS,
        /// The tools. Others of the server can't be called.
        #[serde(default)]
        pub tools: Vec<ConnectionTool> = MAX_TOOLS,
    }
}

table! {
    /// The way to authenticate at a server. The secret is stored apart from the document.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Authentication as "Authentication" {
        /// The way.
        pub scheme: Scheme,
        /// The header that has the secret. Only for `header`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub header: Option<String> = HEADER,
        /// The AWS service that a signature is for, such as `lambda`. Only for `sigv4`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub service: Option<String> = SIGNING_NAME,
        /// The AWS region that a signature is for. Only for `sigv4`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub region: Option<String> = SIGNING_NAME,
        /// The audience, or the client, of the tokens that the server accepts. Only for `caller`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub audience: Option<String> = line(MAX_AUDIENCE_CHARS),
    }
}

table! {
    /// A tool of a connection.
    #[derive(Debug, Clone, PartialEq)]
    pub struct ConnectionTool as "ConnectionTool" {
        /// The name. A model sees it after the connection's id and two underscores.
        pub name: String = crate::members::PROVIDER_NAME,
        /// A description for the model.
        pub description: String = text(MAX_DESCRIPTION_CHARS),
        /// The JSON Schema of its arguments: an object.
        pub parameters: Value,
        /// What a second call would do.
        #[serde(default)]
        pub class: EffectClass,
        /// The method of an HTTP tool.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub method: Option<HttpMethod>,
        /// The path of an HTTP tool, after the connection's URL. `{name}` stands for an argument.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub path: Option<String> = text(MAX_PATH_CHARS),
        /// The arguments that an HTTP tool sends in the query. `GET` and `DELETE` send all there.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        pub query: Vec<String> = QUERY,
        /// The path of a `GET` that finds a call of an HTTP tool by its key, which stands in it as `{key}`. A result that was
        /// lost is looked up there. The call has its key then, whatever its class.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub lookup_path: Option<String> = text(MAX_PATH_CHARS),
        /// The header that has the key of a call of class `keyed`. Absent: `Idempotency-Key`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub key_header: Option<String> = HEADER,
        /// The name of the tool at an MCP server or in a function, if it differs.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub remote_name: Option<String> = line(MAX_REMOTE_NAME_CHARS),
        /// The price of a call. It counts like the cost of tokens.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub price: Option<CallPrice>,
        /// The most calls in a turn.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub max_calls_per_turn: Option<u32> = MAX_CALLS,
        /// The calls that a person has to approve. Absent: none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub approval: Option<ApprovalPolicy>,
        /// The hash of the server's tool that an operator accepted. While the server has another one, nothing is sent.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub hash: Option<String> = HASH,
    }
}

table! {
    /// The price of a call.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct CallPrice as "CallPrice" {
        /// The amount, such as `"0.05"`.
        pub amount: Amount,
        /// The currency's ISO 4217 code.
        pub currency: String = CURRENCY,
    }
}

words!(Protocol, Scheme, HttpMethod, EffectClass);

/// The protocol of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// An HTTP API.
    Http,
    /// An HTTP API with an OpenAPI document.
    Openapi,
    /// MCP over streamable HTTP.
    Mcp,
    /// A Lambda function, invoked by its ARN.
    Lambda,
}

/// A way to authenticate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// None.
    #[default]
    None,
    /// `Authorization: Bearer SECRET`.
    Bearer,
    /// A header with the secret.
    Header,
    /// A signature with the AWS credentials of the deployment.
    Sigv4,
    /// `Authorization: Bearer` with the token of the caller, while the caller's own request works on the turn.
    Caller,
}

/// The method of an HTTP tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    /// GET.
    Get,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// PATCH.
    Patch,
    /// DELETE.
    Delete,
}

impl HttpMethod {
    /// Returns the method's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// True if the arguments are sent as a JSON body.
    #[must_use]
    pub fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

impl Authentication {
    /// True if a request needs the connection's secret.
    #[must_use]
    pub fn needs_secret(&self) -> bool {
        matches!(self.scheme, Scheme::Bearer | Scheme::Header)
    }
}

impl Connection {
    /// True if the agent with this id may use it.
    #[must_use]
    pub fn admits(&self, agent: &str) -> bool {
        self.agents.as_ref().is_none_or(|agents| agents.iter().any(|admitted| admitted == agent))
    }

    /// Returns the URL of the server. Empty for a function.
    #[must_use]
    pub fn server_url(&self) -> &str {
        self.url.as_deref().unwrap_or_default()
    }

    /// Returns the tool of this name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&ConnectionTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

impl ConnectionTool {
    /// Returns the name of the tool at its server.
    #[must_use]
    pub fn server_name(&self) -> &str {
        self.remote_name.as_deref().unwrap_or(&self.name)
    }

    /// Returns the hash of what a server says of the tool. Its name in the connection, its class and the rest that an
    /// operator decides aren't part of it.
    #[must_use]
    pub fn server_hash(&self) -> String {
        let said = json!([
            "aptix-tool-1",
            self.server_name(),
            self.description,
            self.parameters,
            self.method,
            self.path,
            self.query,
        ]);
        let canonical = serde_json_canonicalizer::to_string(&said).unwrap_or_else(|_| said.to_string());
        Fingerprint::hash_bytes(canonical.as_bytes()).to_string()
    }
}

impl Typed for ConnectionId {
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[a-z][a-z0-9-]{0,31}$" })
    }
}
