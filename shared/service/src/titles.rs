//! Titles of sessions, from the functions' settings: the model that writes them for orgs whose settings name none.

use contracts::request::TitleSettings;
use llm::client::ConfigError;
use settings::Env;
use turns::flow::Titles;

use crate::{
    model_clients::{self, ModelClients},
    providers::{self, ResolvedProviders},
};

/// Titles by the production model.
pub type ProductionTitles = Titles<ModelClients>;

/// The settings of titles.
#[derive(Debug)]
pub struct Settings {
    default: TitleSettings,
}

impl Settings {
    /// Reads the settings. Invalid ones are reported when `env` finishes.
    pub fn read(env: &mut Env, providers: &providers::Settings) -> Self {
        let default = TitleSettings {
            model: env.read(&settings::TITLE_MODEL),
            provider: env.read(&settings::TITLE_PROVIDER),
        };
        if default.provider.as_ref().is_some_and(|name| !providers.providers.contains_key(name)) {
            env.add_fault(format!(
                "{} must be the Name of a provider in {}",
                settings::TITLE_PROVIDER.name,
                settings::MODEL_PROVIDERS.name
            ));
        }
        Self { default }
    }

    /// Connects the model that writes titles. Its calls are never retried: a title isn't worth a second one.
    ///
    /// # Errors
    /// The invalid setting.
    pub fn connect(self, mut providers: ResolvedProviders) -> Result<ProductionTitles, ConfigError> {
        for (config, _) in providers.providers.values_mut() {
            config.retry.retries = 0;
        }
        let (providers, model) = model_clients::connect(providers)?;
        Ok(Titles { model, providers, default: self.default })
    }
}
