//! A data folder of another version of `aptix` is refused at the start.

use std::process::{Output, Stdio};

use local::{Data, Options};
use tokio::{process::Command, time::timeout};

use crate::support::{PATIENCE, System, options};

/// Starts `aptix` on a data folder that it has to refuse.
async fn refusal(data: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aptix"));
    command.env_remove("OPENAI_API_KEY").env_remove("OPENAI_BASE_URL");
    command.args(["up", "--data", data, "--port", "0"]).stdin(Stdio::null()).kill_on_drop(true);
    let ended = timeout(PATIENCE, command.output()).await.expect("it was not refused");
    let Output { status, stdout, stderr } = ended.unwrap();
    assert_eq!((status.code(), stdout), (Some(1), Vec::new()));
    String::from_utf8(stderr).unwrap()
}

#[tokio::test]
async fn data_folder_of_other_format_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("cloud");
    let system = System::with(Options { data: Data::Folder(data.clone()), ..options() }).await;
    system.cloud.shutdown().await;
    let marker = data.join("format");
    let path = data.to_str().unwrap();
    for (format, written, advice) in [
        (None, "an older version of aptix (format 1;", "Delete it, or pass --data FOLDER"),
        (Some("2"), "an older version of aptix (format 2;", "Delete it, or pass --data FOLDER"),
        (Some("5"), "a newer version of aptix (format 5;", "Update aptix, or pass --data FOLDER"),
    ] {
        match format {
            Some(format) => std::fs::write(&marker, format).unwrap(),
            None => std::fs::remove_file(&marker).unwrap(),
        }
        let error = refusal(path).await;
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(
            error.starts_with(&format!("error: The data folder {path} was written by {written}")),
            "{error}"
        );
        assert!(error.contains(advice), "{error}");
    }
}
