//! The model providers of a deployment, from the function's settings.
//!
//! | setting | meaning |
//! |---|---|
//! | `MODEL_PROVIDERS` | a JSON list of at most 16 providers, each with the members of [`Declared`]: conversation contexts name them |
//! | `MODEL_PROVIDER` | the one of them that a context gets which names none; absent: the one of the `OPENAI_…` settings |
//!
//! Retries, breaker and, where a provider sets none of its own, timeouts are those of the `OPENAI_…` settings; each
//! provider has a breaker of its own.

use std::collections::BTreeMap;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use llm::{ApiKey, Config, client::Timeouts, key::KeyPlace};
use serde::Deserialize;
use serde_json::Value;
use settings::{Env, LONGEST_CALL_SECONDS, LONGEST_CONNECT_SECONDS};
use storage::Secrets;

use crate::{
    key::{ProviderKey, Source},
    reached,
};

const SETTING: &str = settings::MODEL_PROVIDERS.name;
const DEFAULT: &str = settings::MODEL_PROVIDER.name;

/// How many providers a deployment may declare.
const MOST: usize = 16;
/// How many headers of its own a provider may get.
const MOST_HEADERS: usize = 16;
/// How long a name may be.
const LONGEST_NAME: usize = 64;

/// Headers that every request has anyway.
const OURS: [HeaderName; 5] =
    [header::ACCEPT, header::CONTENT_TYPE, header::CONTENT_LENGTH, header::HOST, header::USER_AGENT];

/// A provider in `MODEL_PROVIDERS`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Declared {
    /// What contexts call it.
    name: String,
    /// The API's base URL; `/responses` is added to its path, and a query stays.
    base_url: String,
    /// The header that carries the key as it is; absent: `Authorization: Bearer …`.
    key_header: Option<String>,
    /// The secret with the key.
    key_secret_arn: Option<String>,
    /// The environment variable with the key, on a developer's machine. With neither this nor a secret, requests carry
    /// no key.
    key_setting: Option<String>,
    /// What else every request carries; no place for secrets.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Whether it is told which requests are of one session and of one user, as hashes; absent: it is.
    identifiers: Option<bool>,
    /// Patience for a connection.
    connect_timeout_seconds: Option<f64>,
    /// Patience for a response, and until the model writes.
    first_byte_timeout_seconds: Option<f64>,
    /// Patience for each next byte once the model writes.
    idle_timeout_seconds: Option<f64>,
    /// Patience for a whole call, retries included.
    total_timeout_seconds: Option<f64>,
}

/// How a provider is reached.
#[derive(Debug)]
pub struct Provider {
    /// Where it is, and how it is asked.
    pub config: Config,
    /// Where its key comes from.
    pub key: Source,
}

/// The providers of a deployment.
#[derive(Debug)]
pub struct Settings {
    /// By their names; that of the `OPENAI_…` settings under the empty one, where it is the default.
    pub providers: BTreeMap<String, Provider>,
    /// The name of the one that a context gets which names none.
    pub default: String,
}

impl Settings {
    /// Reads the settings; what is wrong is named when `env` finishes.
    pub fn read(env: &mut Env) -> Self {
        let shared = reached::config(env);
        let mut providers = declared(env, &shared);
        let default = env.read(&settings::MODEL_PROVIDER).unwrap_or_default();
        if default.is_empty() {
            let key = Source::read(env, &settings::OPENAI_API_KEY, &settings::OPENAI_API_KEY_SECRET_ARN);
            providers.insert(String::new(), Provider { config: shared, key });
        } else if !providers.contains_key(&default) {
            let names: Vec<&str> = providers.keys().map(String::as_str).collect();
            env.fault(format!(
                "{DEFAULT} must be the Name of a provider in {SETTING}, which has: {}",
                names.join(", ")
            ));
        }
        Self { providers, default }
    }

    /// The same for whoever only removes what they keep: with no patience of their own, and without the provider of the
    /// `OPENAI_…` settings where those have no key.
    pub fn of_kept(env: &mut Env) -> Self {
        let shared = Config { base: env.read(&settings::OPENAI_BASE_URL), ..Config::default() };
        let mut providers = declared(env, &shared);
        let default = env.read(&settings::MODEL_PROVIDER).unwrap_or_default();
        let key = Source::optional(env, &settings::OPENAI_API_KEY, &settings::OPENAI_API_KEY_SECRET_ARN);
        if let Some(key) = key {
            providers.insert(String::new(), Provider { config: shared, key });
        }
        Self { providers, default }
    }
}

/// The same with keys that can be fetched.
#[derive(Debug)]
pub struct Keyed {
    /// By their names.
    pub providers: BTreeMap<String, (Config, ProviderKey)>,
    /// The name of the one that a context gets which names none.
    pub default: String,
}

impl Settings {
    /// Each provider with its key.
    #[must_use]
    pub fn keyed(self, secrets: &Secrets) -> Keyed {
        let keyed = self
            .providers
            .into_iter()
            .map(|(name, Provider { config, key })| (name, (config, ProviderKey::new(key, secrets.clone()))));
        Keyed { providers: keyed.collect(), default: self.default }
    }
}

impl Keyed {
    /// The provider of contexts that name none.
    #[must_use]
    pub fn of_default(&self) -> Option<(&Config, &ProviderKey)> {
        self.providers.get(&self.default).map(|(config, key)| (config, key))
    }
}

fn declared(env: &mut Env, shared: &Config) -> BTreeMap<String, Provider> {
    let mut providers = BTreeMap::new();
    let Some(text) = env.read(&settings::MODEL_PROVIDERS) else { return providers };
    let list: Vec<Value> = match serde_json::from_str(&text) {
        Ok(list) => list,
        Err(error) => {
            env.fault(format!("{SETTING} must be a JSON list of providers: {error}"));
            return providers;
        }
    };
    if list.len() > MOST {
        env.fault(format!("{SETTING} must have at most {MOST} providers, not {}", list.len()));
    }
    for (number, entry) in list.into_iter().take(MOST).enumerate() {
        let at = format!("{SETTING}[{number}]");
        match serde_json::from_value::<Declared>(entry) {
            Err(error) => env.fault(format!("{at}: {error}")),
            Ok(entry) if providers.contains_key(&entry.name) => {
                env.fault(format!("{at}.Name is the name of another provider too"));
            }
            Ok(entry) => {
                let mut checked = Checked { env: &mut *env, at };
                let (name, provider) = checked.provider(entry, shared);
                providers.insert(name, provider);
            }
        }
    }
    providers
}

/// A provider under check. Faults name the member and its rule, never its value.
struct Checked<'a> {
    env: &'a mut Env,
    at: String,
}

impl Checked<'_> {
    fn provider(&mut self, declared: Declared, shared: &Config) -> (String, Provider) {
        let name_chars = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if !(1..=LONGEST_NAME).contains(&declared.name.len()) || !declared.name.bytes().all(name_chars) {
            self.fault("Name", format_args!("must have 1 to {LONGEST_NAME} letters, digits, _ - or ."));
        }
        let timeouts = self.timeouts(&declared, shared.timeouts);
        let Declared {
            name, base_url, key_header, key_secret_arn, key_setting, headers, identifiers, ..
        } = declared;
        let key = self.key(key_secret_arn, key_setting);
        let config = Config {
            base: base_url,
            key: self.place(&key, key_header),
            headers: self.headers(headers),
            tells_identifiers: identifiers.unwrap_or(true),
            timeouts,
            ..shared.clone()
        };
        if config.provider().is_err() {
            self.fault("BaseUrl", "must be an http or https URL such as https://api.openai.com/v1");
        }
        (name, Provider { config, key })
    }

    fn key(&mut self, secret: Option<String>, setting: Option<String>) -> Source {
        match (secret, setting) {
            (None, None) => Source::Keyless,
            (Some(arn), None) => Source::Secret(arn),
            (None, Some(_)) if self.env.is_on_aws() => {
                self.fault("KeySetting", "is for a developer's machine; on AWS name a KeySecretArn");
                Source::Keyless
            }
            (None, Some(setting)) => match self.env.named(&setting).map(ApiKey::new) {
                Some(key) => Source::Setting(key),
                None => {
                    self.fault("KeySetting", "must name an environment variable that holds the key");
                    Source::Keyless
                }
            },
            (Some(_), Some(_)) => {
                self.fault("KeySetting", "must be left out where there is a KeySecretArn");
                Source::Keyless
            }
        }
    }

    fn place(&mut self, key: &Source, header: Option<String>) -> KeyPlace {
        match (key, header.map(HeaderName::try_from)) {
            (Source::Keyless, None) => KeyPlace::Nowhere,
            (Source::Keyless, Some(_)) => {
                self.fault("KeyHeader", "needs a KeySecretArn or a KeySetting");
                KeyPlace::Nowhere
            }
            (_, None) => KeyPlace::Bearer,
            (_, Some(Ok(header))) if !OURS.contains(&header) => KeyPlace::Header(header),
            (_, Some(_)) => {
                self.fault("KeyHeader", "must be the name of a header for keys, such as api-key");
                KeyPlace::Bearer
            }
        }
    }

    fn headers(&mut self, headers: BTreeMap<String, String>) -> HeaderMap {
        if headers.len() > MOST_HEADERS {
            self.fault("Headers", format_args!("must be at most {MOST_HEADERS}"));
        }
        let mut map = HeaderMap::new();
        for (name, value) in headers.into_iter().take(MOST_HEADERS) {
            match (HeaderName::try_from(&name), HeaderValue::try_from(value)) {
                (Ok(name), Ok(value)) if name != header::AUTHORIZATION && !OURS.contains(&name) => {
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

    fn timeouts(&mut self, declared: &Declared, shared: Timeouts) -> Timeouts {
        let mut seconds = |name, set: Option<f64>, longest, default| match set {
            None => default,
            Some(set) => reached::seconds(set, longest).unwrap_or_else(|bounds| {
                self.fault(name, format_args!("must be {bounds} seconds"));
                default
            }),
        };
        Timeouts {
            connect: seconds(
                "ConnectTimeoutSeconds",
                declared.connect_timeout_seconds,
                LONGEST_CONNECT_SECONDS,
                shared.connect,
            ),
            first_byte: seconds(
                "FirstByteTimeoutSeconds",
                declared.first_byte_timeout_seconds,
                LONGEST_CALL_SECONDS,
                shared.first_byte,
            ),
            idle: seconds(
                "IdleTimeoutSeconds",
                declared.idle_timeout_seconds,
                LONGEST_CALL_SECONDS,
                shared.idle,
            ),
            total: seconds(
                "TotalTimeoutSeconds",
                declared.total_timeout_seconds,
                LONGEST_CALL_SECONDS,
                shared.total,
            ),
        }
    }

    fn fault(&mut self, member: &str, rule: impl std::fmt::Display) {
        self.env.fault(format!("{}.{member} {rule}", self.at));
    }
}
