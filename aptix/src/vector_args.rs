//! Options for the vector database.

use clap::Args;
use local::sources::Server;

/// Options for the vector database [default: the embedded database in the data folder]
#[derive(Debug, Args)]
pub(crate) struct VectorArgs {
    /// URL of Qdrant's gRPC port [default: the embedded engine]
    #[arg(long, env = "QDRANT_URL", value_name = "URL")]
    qdrant: Option<String>,
    /// API key. Read from the environment only, since others can see the command line.
    #[arg(skip = std::env::var("QDRANT_API_KEY").ok())]
    key: Option<String>,
}

impl VectorArgs {
    /// Returns the server, if one is named.
    pub(crate) fn server(self) -> Option<Server> {
        let url = self.qdrant.filter(|url| !url.is_empty())?;
        Some(Server { url, key: self.key.filter(|key| !key.is_empty()) })
    }
}
