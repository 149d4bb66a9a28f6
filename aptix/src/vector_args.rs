//! Which vector database is used, on the command line.

use clap::Args;
use local::sources::Server;

/// The vector database; the embedded one, in the data folder, if none is named.
#[derive(Debug, Args)]
pub(crate) struct VectorArgs {
    /// The URL of a Qdrant's gRPC port.
    #[arg(long, env = "QDRANT_URL", value_name = "URL")]
    qdrant: Option<String>,
    /// Its key. Only from the environment, since others can see a command line.
    #[arg(skip = std::env::var("QDRANT_API_KEY").ok())]
    key: Option<String>,
}

impl VectorArgs {
    /// The server, if one is named.
    pub(crate) fn server(self) -> Option<Server> {
        let url = self.qdrant.filter(|url| !url.is_empty())?;
        Some(Server { url, key: self.key.filter(|key| !key.is_empty()) })
    }
}
