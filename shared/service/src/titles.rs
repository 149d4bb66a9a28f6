//! Titles of sessions, from the functions' settings: the model that writes them for orgs whose settings name none.

use contracts::request::TitleSettings;
use llm::client::ConfigError;
use settings::Env;
use turns::{flow::Titler, ports::Deps};

use crate::{
    model_clients::{self, ModelClients},
    providers::{self, ResolvedProviders},
};

/// A writer of titles, with the production model.
pub type ProductionTitler<D> = Titler<D, ModelClients>;

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

    /// Creates the writer of titles. Its model calls are never retried: a title isn't worth a second one.
    ///
    /// # Errors
    /// The invalid setting.
    pub fn titler<D: Deps>(
        self,
        deps: D,
        mut providers: ResolvedProviders,
    ) -> Result<ProductionTitler<D>, ConfigError> {
        for (config, _) in providers.providers.values_mut() {
            config.retry.retries = 0;
        }
        let (ids, model) = model_clients::connect(providers)?;
        Ok(Titler::new(deps, model, ids, self.default))
    }
}
