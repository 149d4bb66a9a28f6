//! Options for the model provider: a preset, a base URL, or the built-in mock model.

use std::path::Path;

use clap::{Args, ValueEnum};
use llm::Wire;
use local::aws_credentials::{default_region, from_default_chain};
use local::model_setup::{self, SavedModel};
use local::preflight::{self, Credential, NO_KEY, check_provider};
use local::signing_scope::SigningScope;
use local::{Model, ProviderChoice};
use mock_model::Provider;

use crate::failure::{Failure, InvalidOption};

/// Options for the model provider. With only `OPENAI_API_KEY` set, it is OpenAI; without any option or variable, the
/// mock model.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// Model provider
    #[arg(long, value_name = "NAME")]
    provider: Option<Preset>,
    /// Base URL of a provider, including `/v1` [env: OPENAI_BASE_URL=]
    #[arg(long, value_name = "URL")]
    model_base_url: Option<String>,
    /// API that the provider offers: responses, chat-completions, anthropic-messages or bedrock-converse. Defaults to the
    /// provider's own [env: OPENAI_WIRE=]
    #[arg(long, value_name = "NAME", value_parser = parse_wire)]
    model_wire: Option<Wire>,
    /// Model name [env: OPENAI_MODEL=]
    #[arg(long, value_name = "NAME")]
    model_name: Option<String>,
    /// Provider profile that the mock model imitates: openai, openai-zdr, azure, openrouter, vllm, ollama, lmstudio
    /// or llamacpp
    #[arg(long, value_name = "NAME", conflicts_with_all = ["provider", "model_base_url", "model_wire", "model_name"])]
    mock_profile: Option<Provider>,
}

/// A preset for a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Preset {
    Openai,
    Azure,
    Openrouter,
    Vllm,
    Ollama,
    Lmstudio,
    Llamacpp,
    Anthropic,
    Gemini,
    Mistral,
    Groq,
    Deepseek,
    Litellm,
    Bedrock,
}

/// Parses the name of a wire.
fn parse_wire(name: &str) -> Result<Wire, String> {
    Wire::from_name(name).ok_or_else(|| format!("must be one of: {}", Wire::ALL.map(Wire::name).join(", ")))
}

/// Defaults of a preset.
struct PresetDefaults {
    /// None if it differs for every account.
    base_url: Option<&'static str>,
    /// Variable with its key, which wins over `OPENAI_API_KEY`.
    key: Option<&'static str>,
    needs_key: bool,
    wire: Wire,
}

impl Preset {
    fn defaults(self) -> PresetDefaults {
        let (base_url, key, needs_key) = match self {
            Self::Openai => (Some("https://api.openai.com/v1"), None, true),
            Self::Azure => (None, Some("AZURE_OPENAI_API_KEY"), true),
            Self::Openrouter => (Some("https://openrouter.ai/api/v1"), Some("OPENROUTER_API_KEY"), true),
            Self::Vllm => (Some("http://127.0.0.1:8000/v1"), None, false),
            Self::Ollama => (Some("http://127.0.0.1:11434/v1"), None, false),
            Self::Lmstudio => (Some("http://127.0.0.1:1234/v1"), None, false),
            Self::Llamacpp => (Some("http://127.0.0.1:8080/v1"), None, false),
            Self::Anthropic => (Some("https://api.anthropic.com/v1"), Some("ANTHROPIC_API_KEY"), true),
            Self::Gemini => {
                let base_url = "https://generativelanguage.googleapis.com/v1beta/openai";
                (Some(base_url), Some("GEMINI_API_KEY"), true)
            }
            Self::Mistral => (Some("https://api.mistral.ai/v1"), Some("MISTRAL_API_KEY"), true),
            Self::Groq => (Some("https://api.groq.com/openai/v1"), Some("GROQ_API_KEY"), true),
            Self::Deepseek => (Some("https://api.deepseek.com/v1"), Some("DEEPSEEK_API_KEY"), true),
            Self::Litellm => (Some("http://127.0.0.1:4000/v1"), Some("LITELLM_API_KEY"), false),
            // Selected before: its requests are signed, and its address has the region.
            Self::Bedrock => (None, None, false),
        };
        let wire = match self {
            Self::Anthropic => Wire::AnthropicMessages,
            Self::Gemini | Self::Mistral | Self::Groq | Self::Deepseek | Self::Litellm => {
                Wire::ChatCompletions
            }
            Self::Openai
            | Self::Azure
            | Self::Openrouter
            | Self::Vllm
            | Self::Ollama
            | Self::Lmstudio
            | Self::Llamacpp
            | Self::Bedrock => Wire::Responses,
        };
        PresetDefaults { base_url, key, needs_key, wire }
    }
}

/// The selected model, before its preflight check.
#[derive(Debug)]
pub(crate) struct Selection {
    model: Model,
    /// Set if the provider lists the models that accept requests. Azure lists models that could be deployed.
    is_listed: bool,
}

impl ModelArgs {
    /// Selects the model, or else the one that the console has set for a data folder.
    pub(crate) async fn resolve_in(self, folder: &Path) -> Result<Model, Failure> {
        let saved = if self.is_set() { None } else { model_setup::read(folder)? };
        let Some(saved) = saved else { return self.resolve().await };
        check_saved(saved).await.map_err(|reason| {
            let file = model_setup::path(folder);
            format!(
                "The model that the console has set can't be used. {reason} Pass --provider, or delete {} to use the mock model.",
                file.display()
            )
            .into()
        })
    }

    /// True if options or the environment select a model or the mock model.
    pub(crate) fn is_set(&self) -> bool {
        let Self { provider, model_base_url, model_wire, model_name, mock_profile } = self;
        let is_variable = |name| std::env::var(name).is_ok_and(|value| !value.is_empty());
        provider.is_some()
            || model_base_url.is_some()
            || model_wire.is_some()
            || model_name.is_some()
            || mock_profile.is_some()
            || ["OPENAI_API_KEY", "OPENAI_BASE_URL"].into_iter().any(is_variable)
    }

    /// Selects the model. A provider gets a preflight check, so that a problem that would fail every turn is reported
    /// now.
    pub(crate) async fn resolve(self) -> Result<Model, Failure> {
        let profile_region = match self.provider {
            Some(Preset::Bedrock) => default_region().await,
            _ => None,
        };
        let environment = |name: &str| match (std::env::var(name), name) {
            (Err(_), "AWS_REGION") => profile_region.clone(),
            (value, _) => value.ok(),
        };
        let Selection { model, is_listed } = self.select(&environment).map_err(InvalidOption::new)?;
        let checked = match &model {
            Model::Mock(_) => Ok(()),
            Model::Provider { wire, base_url, api_key, name } => {
                let name = name.as_deref().unwrap_or(settings::OPENAI_MODEL.presence.0);
                check_provider(*wire, base_url, &Credential::Key(api_key.clone()), name, is_listed).await
            }
            Model::Bedrock { wire, base_url, scope, name } => {
                let credentials = from_default_chain(scope.region().to_owned()).await;
                let credential = Credential::Aws { credentials, scope: scope.clone() };
                check_provider(*wire, base_url, &credential, name, false).await
            }
        };
        match checked {
            Ok(()) => Ok(model),
            Err(error @ (preflight::Error::NoScheme(_) | preflight::Error::InvalidUrl(_))) => {
                Err(InvalidOption::new(error).into())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn select(self, environment: &dyn Fn(&str) -> Option<String>) -> Result<Selection, String> {
        let Self { provider, model_base_url, model_wire, model_name, mock_profile } = self;
        let variable = |name: &str| environment(name).filter(|value| !value.is_empty());
        if let Some(profile) = mock_profile {
            return Ok(Selection { model: Model::Mock(profile), is_listed: false });
        }
        if provider == Some(Preset::Bedrock) {
            let name = model_name.or_else(|| variable("OPENAI_MODEL"));
            let region = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
            return select_bedrock(model_wire.unwrap_or_default(), model_base_url, name, region);
        }
        let key = variable("OPENAI_API_KEY");
        let url = model_base_url.or_else(|| variable("OPENAI_BASE_URL").filter(|_| provider.is_none()));
        // A key alone means OpenAI; a URL alone means a server without keys.
        let preset = provider.or_else(|| (url.is_none() && key.is_some()).then_some(Preset::Openai));
        let defaults = preset.map(Preset::defaults);
        let Some(base_url) = url.or_else(|| Some(defaults.as_ref()?.base_url?.to_owned())) else {
            return match (preset, model_name) {
                (Some(_), _) => {
                    Err("--provider azure needs --model-base-url: https://NAME.openai.azure.com/openai/v1"
                        .to_owned())
                }
                (None, None) if model_wire.is_some() => {
                    Err("--model-wire has no effect on the mock model. Select a provider with --provider or \
                    --model-base-url"
                        .to_owned())
                }
                (None, Some(_)) => {
                    Err("--model-name has no effect on the mock model. Select a provider with --provider, \
                    --model-base-url or OPENAI_API_KEY"
                        .to_owned())
                }
                (None, None) => Ok(Selection { model: Model::Mock(Provider::default()), is_listed: false }),
            };
        };
        let preset_key = defaults.as_ref().and_then(|defaults| defaults.key);
        let api_key = match preset_key.and_then(variable).or(key) {
            Some(key) => key,
            None if defaults.as_ref().is_some_and(|defaults| defaults.needs_key) => {
                return Err(format!(
                    "The provider's key is missing. Set {} in the environment.",
                    preset_key.unwrap_or("OPENAI_API_KEY")
                ));
            }
            None => NO_KEY.to_owned(),
        };
        let name = model_name.or_else(|| variable("OPENAI_MODEL"));
        let wire = match (model_wire, &defaults, variable("OPENAI_WIRE")) {
            (Some(wire), ..) => wire,
            (None, Some(defaults), _) => defaults.wire,
            (None, None, Some(wire)) => parse_wire(&wire).map_err(|rule| format!("OPENAI_WIRE {rule}"))?,
            (None, None, None) => Wire::default(),
        };
        let model = Model::Provider { wire, base_url, api_key, name };
        Ok(Selection { model, is_listed: preset != Some(Preset::Azure) })
    }
}

/// Returns the providers that the console offers: those that are selected by a key or an address.
pub(crate) fn choices() -> Vec<ProviderChoice> {
    let presets = Preset::value_variants().iter().filter(|preset| **preset != Preset::Bedrock);
    let choice = |preset: &Preset| {
        let PresetDefaults { base_url, needs_key, .. } = preset.defaults();
        let name = preset.to_possible_value()?.get_name().to_owned();
        Some(ProviderChoice { name, needs_key, base_url })
    };
    presets.filter_map(choice).collect()
}

/// Checks a model of the console with its provider. The error is a sentence for the page.
pub(crate) async fn check_saved(saved: SavedModel) -> Result<Model, String> {
    let Selection { model, is_listed } = select_saved(saved)?;
    let Model::Provider { wire, base_url, api_key, name } = &model else {
        return Err("Choose a provider.".to_owned());
    };
    let name = name.as_deref().unwrap_or(settings::OPENAI_MODEL.presence.0);
    let credential = Credential::Key(api_key.clone());
    match check_provider(*wire, base_url, &credential, name, is_listed).await {
        Ok(()) => Ok(model),
        Err(preflight::Error::MissingKey(description)) => {
            Err(format!("The provider needs a key. {description}"))
        }
        Err(preflight::Error::RejectedKey { status, code, description }) => {
            Err(format!("The provider rejected the key ({status} {code}). {description}"))
        }
        Err(preflight::Error::UnknownModel { model, available, .. }) => {
            Err(format!("The provider has no model {model:?}. Enter one of: {available}"))
        }
        Err(preflight::Error::RejectedModel { model, description }) => {
            Err(format!("The provider doesn't know the model {model:?}. {description}"))
        }
        Err(error) => Err(error.to_string()),
    }
}

fn select_saved(saved: SavedModel) -> Result<Selection, String> {
    let SavedModel { provider, api_key, base_url, name } = saved;
    let preset = Preset::from_str(&provider, false)
        .ok()
        .filter(|preset| *preset != Preset::Bedrock)
        .ok_or_else(|| format!("The provider {provider:?} can't be set here."))?;
    let defaults = preset.defaults();
    if defaults.needs_key && api_key.is_none() {
        return Err("Enter the provider's key.".to_owned());
    }
    if defaults.base_url.is_none() && base_url.is_none() {
        return Err("Enter the base URL, such as https://NAME.openai.azure.com/openai/v1.".to_owned());
    }
    let environment =
        |name: &str| api_key.clone().filter(|_| name == defaults.key.unwrap_or("OPENAI_API_KEY"));
    let arguments = ModelArgs {
        provider: Some(preset),
        model_base_url: base_url,
        model_wire: None,
        model_name: name,
        mock_profile: None,
    };
    arguments.select(&environment)
}

/// Selects a model of Amazon Bedrock. A host that doesn't name the region, such as a VPC endpoint's, gets the region of
/// the environment.
fn select_bedrock(
    wire: Wire,
    base_url: Option<String>,
    name: Option<String>,
    region: Option<String>,
) -> Result<Selection, String> {
    let name = name.ok_or("--provider bedrock needs --model-name, such as us.openai.gpt-5.6-sol")?;
    let of_url = base_url.as_deref().and_then(SigningScope::of_bedrock_url);
    let scope = of_url.or_else(|| SigningScope::new("bedrock", region.as_deref()?));
    let scope = scope.ok_or("The AWS region is missing. Set AWS_REGION, or a region in the profile.")?;
    let path = match wire {
        Wire::Responses | Wire::ChatCompletions => "/openai/v1",
        Wire::AnthropicMessages => "/anthropic/v1",
        Wire::BedrockConverse => "",
    };
    let base_url =
        base_url.unwrap_or_else(|| format!("https://bedrock-runtime.{}.amazonaws.com{path}", scope.region()));
    Ok(Selection { model: Model::Bedrock { wire, base_url, scope, name }, is_listed: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        model: ModelArgs,
    }

    /// Resolves a command line and an environment to base URL, key and name, or to an error.
    fn select(
        line: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<(String, String, Option<String>), String> {
        let line = std::iter::once(&"aptix").chain(line);
        let model = Line::try_parse_from(line).map_err(|error| error.to_string())?.model;
        let find = |name: &str| {
            environment.iter().find(|(defaults, _)| *defaults == name).map(|(_, value)| (*value).to_owned())
        };
        Ok(match model.select(&find)?.model {
            Model::Provider { wire: _, base_url, api_key, name } => (base_url, api_key, name),
            Model::Bedrock { wire: _, base_url, scope, name } => {
                (base_url, format!("{} {}", scope.service(), scope.region()), Some(name))
            }
            Model::Mock(profile) => ("mock".to_owned(), profile.name().to_owned(), None),
        })
    }

    #[test]
    fn key_alone_selects_openai_and_url_alone_keyless_server() {
        let provider = |url: &str, key: &str| Ok((url.to_owned(), key.to_owned(), None));
        assert_eq!(select(&[], &[]), provider("mock", "openai"));
        assert_eq!(select(&[], &[("OPENAI_API_KEY", "")]), provider("mock", "openai"));
        assert_eq!(select(&[], &[("OPENAI_API_KEY", "k")]), provider("https://api.openai.com/v1", "k"));
        assert_eq!(select(&[], &[("OPENAI_BASE_URL", "http://h/v1")]), provider("http://h/v1", "none"));
        assert_eq!(
            select(&["--provider", "ollama"], &[("OPENAI_BASE_URL", "http://h/v1")]),
            provider("http://127.0.0.1:11434/v1", "none")
        );
        assert_eq!(
            select(&["--provider", "openrouter"], &[("OPENAI_API_KEY", "k"), ("OPENROUTER_API_KEY", "r")]),
            provider("https://openrouter.ai/api/v1", "r")
        );
        assert_eq!(
            select(
                &["--provider", "azure", "--model-base-url", "https://n/openai/v1"],
                &[("AZURE_OPENAI_API_KEY", "a")]
            ),
            provider("https://n/openai/v1", "a")
        );
        assert_eq!(select(&["--mock-profile", "vllm"], &[("OPENAI_API_KEY", "k")]), provider("mock", "vllm"));
    }

    #[test]
    fn saved_model_is_selected_without_the_environment() {
        let saved = |provider: &str, api_key: Option<&str>, base_url: Option<&str>| {
            let text = |value: Option<&str>| value.map(str::to_owned);
            let saved = SavedModel {
                provider: provider.to_owned(),
                api_key: text(api_key),
                base_url: text(base_url),
                name: Some("m".to_owned()),
            };
            match select_saved(saved)?.model {
                Model::Provider { wire, base_url, api_key, name } => {
                    Ok::<_, String>((wire, base_url, api_key, name))
                }
                Model::Mock(_) | Model::Bedrock { .. } => panic!("another model"),
            }
        };
        let name = Some("m".to_owned());
        let url = "https://api.anthropic.com/v1".to_owned();
        let claude = (Wire::AnthropicMessages, url, "k".to_owned(), name.clone());
        assert_eq!(saved("anthropic", Some("k"), None), Ok(claude));
        let local = (Wire::Responses, "http://h/v1".to_owned(), NO_KEY.to_owned(), name);
        assert_eq!(saved("ollama", None, Some("http://h/v1")), Ok(local));
        for (provider, key, fault) in [
            ("openai", None, "key"),
            ("azure", Some("k"), "base URL"),
            ("bedrock", Some("k"), "bedrock"),
            ("x", None, "x"),
        ] {
            assert!(saved(provider, key, None).unwrap_err().contains(fault), "{provider}");
        }
        let choices = choices();
        assert!(choices.iter().any(|choice| choice.name == "lmstudio" && !choice.needs_key));
        assert!(choices.iter().all(|choice| choice.name != "bedrock"));
    }

    #[test]
    fn bedrock_is_selected_by_region_or_address() {
        let selected = |options: &[&str], region: &str| {
            let line = [&["--provider", "bedrock", "--model-name", "m"], options].concat();
            select(&line, &[("AWS_REGION", region), ("OPENAI_API_KEY", "k")])
                .map(|(url, scope, _)| (url, scope))
        };
        let model = |url: &str, scope: &str| Ok((url.to_owned(), scope.to_owned()));
        let runtime = "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1";
        assert_eq!(selected(&[], "us-east-1"), model(runtime, "bedrock us-east-1"));
        let mantle = "https://bedrock-mantle.eu-west-1.api.aws/v1";
        assert_eq!(
            selected(&["--model-base-url", mantle], "us-east-1"),
            model(mantle, "bedrock-mantle eu-west-1")
        );
        let local = "http://127.0.0.1:1/v1";
        assert_eq!(selected(&["--model-base-url", local], "us-east-1"), model(local, "bedrock us-east-1"));
        let claude = "https://bedrock-runtime.us-east-1.amazonaws.com/anthropic/v1";
        assert_eq!(
            selected(&["--model-wire", "anthropic-messages"], "us-east-1"),
            model(claude, "bedrock us-east-1")
        );
        assert_eq!(
            selected(&["--model-wire", "bedrock-converse"], "us-east-1"),
            model("https://bedrock-runtime.us-east-1.amazonaws.com", "bedrock us-east-1")
        );
        assert!(selected(&[], "").unwrap_err().contains("Set AWS_REGION"));
    }

    #[test]
    fn wire_is_the_presets_unless_named() {
        let wire = |line: &[&str], environment: &[(&str, &str)]| {
            let line = std::iter::once(&"aptix").chain(line);
            let model = Line::try_parse_from(line).unwrap().model;
            let find = |name: &str| {
                environment.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
            };
            match model.select(&find).unwrap().model {
                Model::Provider { wire, .. } | Model::Bedrock { wire, .. } => wire,
                Model::Mock(_) => panic!("the mock model"),
            }
        };
        let key = [("OPENAI_API_KEY", "k"), ("OPENAI_WIRE", "chat-completions")];
        assert_eq!(wire(&["--provider", "anthropic"], &key), Wire::AnthropicMessages);
        assert_eq!(wire(&["--provider", "gemini"], &key), Wire::ChatCompletions);
        assert_eq!(wire(&["--provider", "ollama"], &key), Wire::Responses);
        let named = ["--provider", "ollama", "--model-wire", "chat-completions"];
        assert_eq!(wire(&named, &[]), Wire::ChatCompletions);
        assert_eq!(wire(&["--model-base-url", "http://h/v1"], &key), Wire::ChatCompletions);
        let bedrock = ["--provider", "bedrock", "--model-name", "m", "--model-wire", "anthropic-messages"];
        let region = [("AWS_REGION", "us-east-1"), ("OPENAI_WIRE", "chat-completions")];
        assert_eq!(wire(&bedrock, &region), Wire::AnthropicMessages);
        assert_eq!(wire(&bedrock[..4], &region), Wire::Responses);
    }

    #[test]
    fn ignored_or_missing_options_are_errors() {
        for (line, why) in [
            (&["--model-name", "m"][..], "--model-name has no effect"),
            (&["--model-wire", "responses"], "--model-wire has no effect"),
            (&["--provider", "ollama", "--model-wire", "soap"], "must be one of: responses"),
            (&["--provider", "azure"], "needs --model-base-url"),
            (&["--provider", "openai"], "Set OPENAI_API_KEY"),
            (&["--provider", "openrouter"], "Set OPENROUTER_API_KEY"),
            (&["--provider", "bedrock"], "needs --model-name"),
            (&["--provider", "nobody"], "possible values"),
            (&["--mock-profile", "vllm", "--model-name", "m"], "cannot be used with"),
        ] {
            let refused = select(line, &[]).unwrap_err();
            assert!(refused.contains(why), "{line:?}: {refused}");
        }
    }
}
