//! The model provider: the mock model, or an external provider.

use std::net::SocketAddr;

use mock_model::Recorder;

use super::error::{Error, listen};
use crate::listener::Server;
use crate::options::{Model, Options};

/// A running mock model, or the URL of an external provider.
#[derive(Debug)]
pub(crate) struct ModelProvider {
    base_url: String,
    recorder: Option<Recorder>,
    _server: Option<Server>,
}

impl ModelProvider {
    /// Starts the mock model unless the provider is external.
    pub(super) async fn start(address: SocketAddr, options: &Options) -> Result<Self, Error> {
        match &options.model {
            Model::Provider { base_url, .. } | Model::Bedrock { base_url, .. } => {
                Ok(Self { base_url: base_url.clone(), recorder: None, _server: None })
            }
            Model::Mock(profile) => {
                let recorder = Recorder::default();
                let router = mock_model::router(*profile, recorder.clone(), options.mock_wires);
                let server = listen(address).await?.serve(router);
                let base_url = format!("{}/v1", server.url());
                Ok(Self { base_url, recorder: Some(recorder), _server: Some(server) })
            }
        }
    }

    /// Returns the base URL of the API.
    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Returns the requests that the mock model received, or `None` if the provider is external.
    pub(crate) fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }
}
