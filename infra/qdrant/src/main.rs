//! Qdrant's gRPC over its embedded engine: the vector database of the local cloud, as a process of its own.
//!
//! `embedded-qdrant FOLDER` keeps its collections in the folder, listens on a free port of 127.0.0.1, says which one as
//! the first line of its output, and ends when its input does, so that it never outlives its parent process.
//!
//! It implements the part of Qdrant that this project uses: collections, payload indexes, upserts, deletions, queries with
//! prefetches and fusion, scrolling, counting, reading by id. Whatever else the protocol has is refused by name, as
//! not implemented; nothing is ignored that would change a result.
//!
//! Deliberately absent: HNSW graphs (every query compares every vector, which is exact and quick enough for a
//! repository), replication, snapshots, authentication.

mod decode;
mod encode;
mod engine;
mod folder;
mod refusal;
mod service;
mod strict_mode;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use engine::Engine;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = tokio::io::stderr().write_all(format!("error: {error}\n").as_bytes()).await;
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Failure> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.ok_or("missing the folder of the collections; usage: embedded-qdrant FOLDER")?;
    let engine = Arc::new(Engine::open(folder)?);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let mut output = tokio::io::stdout();
    output.write_all(format!("{}\n", listener.local_addr()?.port()).as_bytes()).await?;
    output.flush().await?;
    service::serve(listener, Arc::clone(&engine), input_ended()).await?;
    Ok(())
}

/// Waits for the end of the input: the parent process ended, or closed it.
async fn input_ended() {
    let mut ignored = [0; 64];
    while let Ok(1..) = tokio::io::stdin().read(&mut ignored).await {}
}
