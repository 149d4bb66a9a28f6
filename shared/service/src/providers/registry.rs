//! The registry of model providers, from the function's settings.
//!
//! | setting | meaning |
//! |---|---|
//! | `MODEL_PROVIDERS` | a JSON list of at most 16 providers, each with the members of [`ProviderEntry`], or `table` for the list that the table has. Conversation contexts refer to them by name |
//! | `MODEL_PROVIDER` | the provider of contexts that name none. If absent, the provider of the `OPENAI_…` settings |
//!
//! The `OPENAI_…` settings define the retries, the breaker and the default timeouts. Each provider has its own breaker.

use std::collections::BTreeMap;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use llm::{ApiKey, Config, ToolType, Wire, client::Timeouts, key::KeyLocation, signing_scope::SigningScope};
use serde::Deserialize;
use serde_json::Value;
use settings::{Env, MAX_CALL_SECONDS, MAX_CONNECT_SECONDS};
use storage::{Clients, Secrets};
use turns::ports::Unavailable;

use super::{
    client_config,
    key::{CachedKey, KeyConfig},
};

const SETTING: &str = settings::MODEL_PROVIDERS.name;
const DEFAULT: &str = settings::MODEL_PROVIDER.name;

/// The value of the setting for the list in the table.
pub const IN_TABLE: &str = "table";

/// The most providers of a deployment.
const MAX_PROVIDERS: usize = 16;
/// The most additional headers of a provider.
const MAX_HEADERS: usize = 16;
/// The most bytes of a name.
const MAX_NAME_BYTES: usize = 64;

/// Headers that the client sets itself.
const RESERVED_HEADERS: [HeaderName; 5] =
    [header::ACCEPT, header::CONTENT_TYPE, header::CONTENT_LENGTH, header::HOST, header::USER_AGENT];

/// An entry of `MODEL_PROVIDERS`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct ProviderEntry {
    /// The name that contexts refer to.
    name: String,
    /// The API's base URL. Requests append the wire's operation, such as `/responses`, to its path and keep its query.
    base_url: String,
    /// The API that the provider offers.
    #[serde(default)]
    wire: Wire,
    /// The authentication. Defaults to a key, if one is set.
    #[serde(default)]
    auth: Auth,
    /// The service that a signature names. Defaults to a Bedrock host's service.
    aws_service: Option<String>,
    /// The region that a signature names. Defaults to a Bedrock host's region.
    aws_region: Option<String>,
    /// The header with the bare key. Defaults to the wire's: `Authorization: Bearer …`, or `x-api-key`.
    key_header: Option<String>,
    /// The ARN of the secret with the key.
    key_secret_arn: Option<String>,
    /// The environment variable with the key, on a developer's machine. Without this and a secret, requests have no key.
    key_setting: Option<String>,
    /// Additional headers of every request. Not for secrets.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Set to send hashes that identify the session and the user. Defaults to true, and to false for `chat-completions`.
    identifiers: Option<bool>,
    /// The types of tools besides functions that clients may bring. Defaults to `custom` at OpenAI and Azure.
    tool_types: Option<Vec<ToolType>>,
    /// The timeout for connecting.
    connect_timeout_seconds: Option<f64>,
    /// The timeout for the first byte, and between bytes until the model writes text.
    first_byte_timeout_seconds: Option<f64>,
    /// The timeout between bytes once the model writes text.
    idle_timeout_seconds: Option<f64>,
    /// The timeout of the whole call, retries included.
    total_timeout_seconds: Option<f64>,
}

/// The authentication of a provider's requests.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Auth {
    /// A key in a header.
    #[default]
    Bearer,
    /// A signature with the AWS credentials of the function's role.
    AwsSigv4,
}

/// The configuration of a provider.
#[derive(Debug)]
pub struct Provider {
    /// The client configuration.
    pub config: Config,
    /// The origin of the key.
    pub key: KeyConfig,
}

/// The providers of a deployment.
#[derive(Debug)]
pub struct Settings {
    /// The providers by name. The provider of the `OPENAI_…` settings has the empty name, if it is the default.
    pub providers: BTreeMap<String, Provider>,
    /// The name of the default provider.
    pub default: String,
}

/// Replaces `table` by the list that the table has, or by an empty one. Returns the clients that this took: without it, they are
/// loaded once every setting is known to be valid.
///
/// # Errors
/// Fails if the table can't be reached. A function then doesn't start: without the list, turns would fail, or reach
/// another provider.
pub async fn load_stored(env: &mut Env, storage: &storage::Settings) -> Result<Option<Clients>, Unavailable> {
    let setting = &settings::MODEL_PROVIDERS;
    if env.get(setting.name).is_none_or(|value| value.trim() != IN_TABLE) {
        return Ok(None);
    }
    let clients = Clients::load(storage).await;
    let stored = clients.table.model_providers().await?;
    env.replace(setting, stored.unwrap_or_else(|| "[]".to_owned()));
    Ok(Some(clients))
}

/// Checks a list of providers as a function would, on AWS or on a developer's machine.
///
/// # Errors
/// Every fault of the list.
pub fn check(list: &str, on_aws: bool) -> Result<(), settings::Invalid> {
    let mut env = match on_aws {
        true => Env::from_vars([("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand")]),
        false => Env::from_process(),
    };
    env.replace(&settings::MODEL_PROVIDERS, list.to_owned());
    read_entries(&mut env, &Config::default());
    env.finish()
}

impl Settings {
    /// Reads the settings. Invalid ones are reported when `env` finishes.
    pub fn read(env: &mut Env) -> Self {
        let shared = client_config::read(env);
        let mut providers = read_entries(env, &shared);
        let default = env.read(&settings::MODEL_PROVIDER).unwrap_or_default();
        if default.is_empty() {
            let key =
                KeyConfig::required(env, &settings::OPENAI_API_KEY, &settings::OPENAI_API_KEY_SECRET_ARN);
            providers.insert(String::new(), Provider { config: shared, key });
        } else if !providers.contains_key(&default) {
            let names: Vec<&str> = providers.keys().map(String::as_str).collect();
            env.add_fault(format!(
                "{DEFAULT} must be the Name of a provider in {SETTING}, which has: {}",
                names.join(", ")
            ));
        }
        Self { providers, default }
    }

    /// Reads the settings of `turn-finalizer`, which deletes stored responses and asks for titles: with default timeouts,
    /// and without the provider of the `OPENAI_…` settings if it has no key.
    pub fn read_for_finalizer(env: &mut Env) -> Self {
        let wire = client_config::wire(env);
        let shared = Config { base_url: env.read(&settings::OPENAI_BASE_URL), ..Config::for_wire(wire) };
        let mut providers = read_entries(env, &shared);
        let default = env.read(&settings::MODEL_PROVIDER).unwrap_or_default();
        let key = KeyConfig::optional(env, &settings::OPENAI_API_KEY, &settings::OPENAI_API_KEY_SECRET_ARN);
        if let Some(key) = key {
            providers.insert(String::new(), Provider { config: shared, key });
        }
        Self { providers, default }
    }
}

/// The providers of a deployment, with their keys.
#[derive(Debug, Clone)]
pub struct ResolvedProviders {
    /// The providers by name.
    pub providers: BTreeMap<String, (Config, CachedKey)>,
    /// The name of the default provider.
    pub default: String,
}

impl Settings {
    /// Adds a cached key to each provider.
    #[must_use]
    pub fn with_keys(self, secrets: &Secrets) -> ResolvedProviders {
        let resolved = self
            .providers
            .into_iter()
            .map(|(name, Provider { config, key })| (name, (config, CachedKey::new(key, secrets.clone()))));
        ResolvedProviders { providers: resolved.collect(), default: self.default }
    }
}

impl ResolvedProviders {
    /// Fetches all keys in the background.
    pub fn prefetch_keys(&self) {
        self.providers.values().for_each(|(_, key)| key.prefetch());
    }

    /// Returns the provider of contexts that name none.
    #[must_use]
    pub fn default_provider(&self) -> Option<(&Config, &CachedKey)> {
        self.providers.get(&self.default).map(|(config, key)| (config, key))
    }
}

fn read_entries(env: &mut Env, shared: &Config) -> BTreeMap<String, Provider> {
    let mut providers = BTreeMap::new();
    let credentials_url = env.read(&settings::PROVIDER_CREDENTIALS_URL);
    let Some(text) = env.read(&settings::MODEL_PROVIDERS) else { return providers };
    let list: Vec<Value> = match serde_json::from_str(&text) {
        Ok(list) => list,
        Err(error) => {
            env.add_fault(format!("{SETTING} must be a JSON list of providers: {error}"));
            return providers;
        }
    };
    if list.len() > MAX_PROVIDERS {
        env.add_fault(format!("{SETTING} must have at most {MAX_PROVIDERS} providers, not {}", list.len()));
    }
    for (number, entry) in list.into_iter().take(MAX_PROVIDERS).enumerate() {
        let path = format!("{SETTING}[{number}]");
        match serde_json::from_value::<ProviderEntry>(entry) {
            Err(error) => env.add_fault(format!("{path}: {error}")),
            Ok(entry) if providers.contains_key(&entry.name) => {
                env.add_fault(format!("{path}.Name is already the name of another provider"));
            }
            Ok(entry) => {
                let credentials_url = credentials_url.clone();
                let mut validator = EntryValidator { env: &mut *env, path, credentials_url };
                let (name, provider) = validator.provider(entry, shared);
                providers.insert(name, provider);
            }
        }
    }
    providers
}

/// True if a text is written like a variable, and so is no key by mistake.
fn is_variable_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// A validator of one entry. Its errors name the member and its rule, never its value.
struct EntryValidator<'a> {
    env: &'a mut Env,
    path: String,
    /// The address of the AWS credentials on a developer's machine.
    credentials_url: Option<String>,
}

impl EntryValidator<'_> {
    fn provider(&mut self, entry: ProviderEntry, shared: &Config) -> (String, Provider) {
        let name_chars = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if !(1..=MAX_NAME_BYTES).contains(&entry.name.len()) || !entry.name.bytes().all(name_chars) {
            self.fault("Name", format_args!("must have 1 to {MAX_NAME_BYTES} letters, digits, _ - or ."));
        }
        let timeouts = self.timeouts(&entry, shared.timeouts);
        let defaults = Config::for_wire(entry.wire);
        let (key, key_location) = match entry.auth {
            Auth::Bearer => self.bearer(&entry, defaults.key_location),
            Auth::AwsSigv4 => (KeyConfig::Aws(self.credentials_url.clone()), self.signature(&entry)),
        };
        if entry.wire != Wire::Responses && entry.tool_types.as_ref().is_some_and(|tools| !tools.is_empty()) {
            self.fault("ToolTypes", "needs Wire responses");
        }
        let ProviderEntry { name, base_url, wire, headers, identifiers, tool_types, .. } = entry;
        let config = Config {
            base_url,
            wire,
            key_location,
            headers: self.headers(headers),
            tool_types,
            send_identifiers: identifiers.unwrap_or(defaults.send_identifiers),
            timeouts,
            ..shared.clone()
        };
        if config.provider_host().is_err() {
            let rule = "must be an http or https URL such as https://api.openai.com/v1";
            match config.base_url.contains("://") {
                true => self.fault("BaseUrl", rule),
                false => self.fault("BaseUrl", format_args!("{rule}; it has no scheme")),
            }
        }
        (name, Provider { config, key })
    }

    fn bearer(&mut self, entry: &ProviderEntry, default: KeyLocation) -> (KeyConfig, KeyLocation) {
        for (member, value) in [("AwsService", &entry.aws_service), ("AwsRegion", &entry.aws_region)] {
            if value.is_some() {
                self.fault(member, "needs Auth aws-sigv4");
            }
        }
        let key = self.key(entry.key_secret_arn.clone(), entry.key_setting.clone());
        let location = self.key_location(&key, entry.key_header.clone(), default);
        (key, location)
    }

    /// Reads the scope of signatures from the entry, or else from a host of Bedrock. A host with another service than the
    /// entry's would refuse every request.
    fn signature(&mut self, entry: &ProviderEntry) -> KeyLocation {
        let key_members = [
            ("KeySecretArn", &entry.key_secret_arn),
            ("KeySetting", &entry.key_setting),
            ("KeyHeader", &entry.key_header),
        ];
        for (member, value) in key_members {
            if value.is_some() {
                self.fault(member, "must be left out where Auth is aws-sigv4");
            }
        }
        let ProviderEntry { aws_service: service, aws_region: region, base_url, .. } = entry;
        let host = Config { base_url: base_url.clone(), ..Config::default() }.provider_host().ok();
        let of_host = host.as_deref().and_then(SigningScope::of_bedrock_host);
        let known = of_host.as_ref().map(|scope| (scope.service(), scope.region()));
        let service = service.as_deref().or(known.map(|(service, _)| service));
        let region = region.as_deref().or(known.map(|(_, region)| region));
        if let (Some((expected, _)), Some(service)) = (known, service)
            && service != expected
        {
            self.fault("AwsService", format_args!("must be {expected} for this host"));
        }
        let scope = service.zip(region).and_then(|(service, region)| SigningScope::new(service, region));
        scope.map_or_else(
            || {
                self.fault(
                    "Auth",
                    "aws-sigv4 needs AwsService, such as bedrock, and AwsRegion for this host",
                );
                KeyLocation::Absent
            },
            KeyLocation::Signature,
        )
    }

    fn key(&mut self, secret: Option<String>, setting: Option<String>) -> KeyConfig {
        match (secret, setting) {
            (None, None) => KeyConfig::Keyless,
            (Some(arn), None) => KeyConfig::Secret(arn),
            (None, Some(_)) if self.env.is_on_aws() => {
                self.fault("KeySetting", "is for a developer's machine; on AWS name a KeySecretArn");
                KeyConfig::Keyless
            }
            (None, Some(setting)) => match self.env.get(&setting).map(ApiKey::new) {
                Some(key) => KeyConfig::Setting(key),
                None => {
                    let rule = "must name an environment variable that holds the key";
                    match is_variable_name(&setting) {
                        true => self.fault("KeySetting", format_args!("{rule}; {setting} is not set")),
                        false => self.fault("KeySetting", rule),
                    }
                    KeyConfig::Keyless
                }
            },
            (Some(_), Some(_)) => {
                self.fault("KeySetting", "must be left out where there is a KeySecretArn");
                KeyConfig::Keyless
            }
        }
    }

    fn key_location(&mut self, key: &KeyConfig, header: Option<String>, default: KeyLocation) -> KeyLocation {
        match (key, header.map(HeaderName::try_from)) {
            (KeyConfig::Keyless, None) => KeyLocation::Absent,
            (KeyConfig::Keyless, Some(_)) => {
                self.fault("KeyHeader", "needs a KeySecretArn or a KeySetting");
                KeyLocation::Absent
            }
            (_, None) => default,
            (_, Some(Ok(header))) if !RESERVED_HEADERS.contains(&header) => KeyLocation::Header(header),
            (_, Some(_)) => {
                self.fault("KeyHeader", "must be the name of a header for keys, such as api-key");
                KeyLocation::Bearer
            }
        }
    }

    fn headers(&mut self, headers: BTreeMap<String, String>) -> HeaderMap {
        if headers.len() > MAX_HEADERS {
            self.fault("Headers", format_args!("must be at most {MAX_HEADERS}"));
        }
        let mut map = HeaderMap::new();
        for (name, value) in headers.into_iter().take(MAX_HEADERS) {
            match (HeaderName::try_from(&name), HeaderValue::try_from(value)) {
                (Ok(name), Ok(value)) if name != header::AUTHORIZATION && !RESERVED_HEADERS.contains(&name) => {
                    map.insert(name, value);
                }
                _ => self.fault(
                    "Headers",
                    format_args!("{name:?} must be a header with a value that HTTP allows, and none of the service's own"),
                ),
            }
        }
        map
    }

    fn timeouts(&mut self, entry: &ProviderEntry, shared: Timeouts) -> Timeouts {
        let mut seconds = |name, set: Option<f64>, longest, default| match set {
            None => default,
            Some(set) => client_config::parse_seconds(set, longest).unwrap_or_else(|bounds| {
                self.fault(name, format_args!("must be {bounds} seconds"));
                default
            }),
        };
        Timeouts {
            connect: seconds(
                "ConnectTimeoutSeconds",
                entry.connect_timeout_seconds,
                MAX_CONNECT_SECONDS,
                shared.connect,
            ),
            first_byte: seconds(
                "FirstByteTimeoutSeconds",
                entry.first_byte_timeout_seconds,
                MAX_CALL_SECONDS,
                shared.first_byte,
            ),
            idle: seconds("IdleTimeoutSeconds", entry.idle_timeout_seconds, MAX_CALL_SECONDS, shared.idle),
            total: seconds(
                "TotalTimeoutSeconds",
                entry.total_timeout_seconds,
                MAX_CALL_SECONDS,
                shared.total,
            ),
        }
    }

    fn fault(&mut self, member: &str, rule: impl std::fmt::Display) {
        self.env.add_fault(format!("{}.{member} {rule}", self.path));
    }
}
