//! Who answers: a provider by its name or its address, or the built-in scripted model.

use clap::{Args, ValueEnum};
use local::Model;
use local::provider_trial::try_out;
use scripted_model::Provider;

use crate::Failure;

/// The provider that answers. Of a key alone, `OPENAI_API_KEY`, it is OpenAI; without any of this the scripted model.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// A provider by its name.
    #[arg(long, value_name = "NAME")]
    provider: Option<Preset>,
    /// The base URL of a provider that speaks the Responses API, up to and with /v1. `OPENAI_BASE_URL` in the environment.
    #[arg(long, value_name = "URL")]
    model_base_url: Option<String>,
    /// The model's name. `OPENAI_MODEL` in the environment.
    #[arg(long, value_name = "NAME")]
    model_name: Option<String>,
    /// Whom the scripted model plays: openai, openai-zdr, azure, openrouter, vllm, ollama, lmstudio or llamacpp.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["provider", "model_base_url", "model_name"])]
    scripted_as: Option<Provider>,
}

/// A provider that is known by name: where it is, and where its key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Preset {
    Openai,
    Azure,
    Openrouter,
    Vllm,
    Ollama,
    Lmstudio,
    Llamacpp,
}

/// What is known of a preset.
struct Known {
    /// None where everybody has another.
    base_url: Option<&'static str>,
    /// Where its key is looked for, before `OPENAI_API_KEY`.
    key: Option<&'static str>,
    needs_key: bool,
}

/// A key for servers that ask for none.
const NO_KEY: &str = "none";

impl Preset {
    fn known(self) -> Known {
        let (base_url, key, needs_key) = match self {
            Self::Openai => (Some("https://api.openai.com/v1"), None, true),
            Self::Azure => (None, Some("AZURE_OPENAI_API_KEY"), true),
            Self::Openrouter => (Some("https://openrouter.ai/api/v1"), Some("OPENROUTER_API_KEY"), true),
            Self::Vllm => (Some("http://127.0.0.1:8000/v1"), None, false),
            Self::Ollama => (Some("http://127.0.0.1:11434/v1"), None, false),
            Self::Lmstudio => (Some("http://127.0.0.1:1234/v1"), None, false),
            Self::Llamacpp => (Some("http://127.0.0.1:8080/v1"), None, false),
        };
        Known { base_url, key, needs_key }
    }
}

/// Who answers, and whether that was found out.
#[derive(Debug)]
pub(crate) struct Chosen {
    model: Model,
    /// Its list of models says what may be asked for. Azure's says what could be deployed.
    is_listed: bool,
}

impl ModelArgs {
    /// Who answers. A provider is tried first: what would fail every turn is said now.
    pub(crate) async fn tried(self) -> Result<Model, Failure> {
        let Chosen { model, is_listed } = self.chosen(&|name| std::env::var(name).ok())?;
        if let Model::Provider { base_url, api_key, name } = &model {
            let name = name.as_deref().unwrap_or(settings::OPENAI_MODEL.absent.0);
            try_out(base_url, api_key, is_listed.then_some(name)).await?;
        }
        Ok(model)
    }

    fn chosen(self, environment: &dyn Fn(&str) -> Option<String>) -> Result<Chosen, String> {
        let Self { provider, model_base_url, model_name, scripted_as } = self;
        let variable = |name: &str| environment(name).filter(|value| !value.is_empty());
        if let Some(played) = scripted_as {
            return Ok(Chosen { model: Model::Scripted(played), is_listed: false });
        }
        let key = variable("OPENAI_API_KEY");
        let url = model_base_url.or_else(|| variable("OPENAI_BASE_URL").filter(|_| provider.is_none()));
        // A key alone is OpenAI's, an address alone that of a server without keys.
        let preset = provider.or_else(|| (url.is_none() && key.is_some()).then_some(Preset::Openai));
        let known = preset.map(Preset::known);
        let Some(base_url) = url.or_else(|| Some(known.as_ref()?.base_url?.to_owned())) else {
            return match (preset, model_name) {
                (Some(_), _) => {
                    Err("--provider azure needs --model-base-url: https://NAME.openai.azure.com/openai/v1"
                        .to_owned())
                }
                (None, Some(_)) => {
                    Err("--model-name has no effect on the scripted model: name a provider with --provider, \
                    --model-base-url or OPENAI_API_KEY"
                        .to_owned())
                }
                (None, None) => Ok(Chosen { model: Model::Scripted(Provider::default()), is_listed: false }),
            };
        };
        let own = known.as_ref().and_then(|known| known.key);
        let api_key = match own.and_then(variable).or(key) {
            Some(key) => key,
            None if known.is_some_and(|known| known.needs_key) => {
                return Err(format!(
                    "the provider's key is missing: set {} in the environment",
                    own.unwrap_or("OPENAI_API_KEY")
                ));
            }
            None => NO_KEY.to_owned(),
        };
        let name = model_name.or_else(|| variable("OPENAI_MODEL"));
        let model = Model::Provider { base_url, api_key, name };
        Ok(Chosen { model, is_listed: preset != Some(Preset::Azure) })
    }
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

    /// What a command line and an environment come to: base URL, key and name, or why not.
    fn chosen(
        line: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<(String, String, Option<String>), String> {
        let line = std::iter::once(&"aptix").chain(line);
        let model = Line::try_parse_from(line).map_err(|error| error.to_string())?.model;
        let find = |name: &str| {
            environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Ok(match model.chosen(&find)?.model {
            Model::Provider { base_url, api_key, name } => (base_url, api_key, name),
            Model::Scripted(played) => ("scripted".to_owned(), played.name().to_owned(), None),
        })
    }

    #[test]
    fn a_key_alone_is_openais_and_an_address_alone_a_server_without_keys() {
        let is = |url: &str, key: &str| Ok((url.to_owned(), key.to_owned(), None));
        assert_eq!(chosen(&[], &[]), is("scripted", "openai"));
        assert_eq!(chosen(&[], &[("OPENAI_API_KEY", "")]), is("scripted", "openai"));
        assert_eq!(chosen(&[], &[("OPENAI_API_KEY", "k")]), is("https://api.openai.com/v1", "k"));
        assert_eq!(chosen(&[], &[("OPENAI_BASE_URL", "http://h/v1")]), is("http://h/v1", "none"));
        assert_eq!(
            chosen(&["--provider", "ollama"], &[("OPENAI_BASE_URL", "http://h/v1")]),
            is("http://127.0.0.1:11434/v1", "none")
        );
        assert_eq!(
            chosen(&["--provider", "openrouter"], &[("OPENAI_API_KEY", "k"), ("OPENROUTER_API_KEY", "r")]),
            is("https://openrouter.ai/api/v1", "r")
        );
        assert_eq!(
            chosen(
                &["--provider", "azure", "--model-base-url", "https://n/openai/v1"],
                &[("AZURE_OPENAI_API_KEY", "a")]
            ),
            is("https://n/openai/v1", "a")
        );
        assert_eq!(chosen(&["--scripted-as", "vllm"], &[("OPENAI_API_KEY", "k")]), is("scripted", "vllm"));
    }

    #[test]
    fn what_would_be_ignored_or_is_missing_is_an_error() {
        for (line, why) in [
            (&["--model-name", "m"][..], "--model-name has no effect"),
            (&["--provider", "azure"], "needs --model-base-url"),
            (&["--provider", "openai"], "set OPENAI_API_KEY"),
            (&["--provider", "openrouter"], "set OPENROUTER_API_KEY"),
            (&["--provider", "nobody"], "possible values"),
            (&["--scripted-as", "vllm", "--model-name", "m"], "cannot be used with"),
        ] {
            let refused = chosen(line, &[]).unwrap_err();
            assert!(refused.contains(why), "{line:?}: {refused}");
        }
    }
}
