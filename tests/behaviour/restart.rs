//! State outlives the process.

use crate::support::{System, session_path, turn, turn_in};

#[tokio::test]
async fn restart_on_the_same_folder_keeps_all_data() {
    let folder = tempfile::tempdir().unwrap();
    let options = || local::Options {
        data: local::Data::Folder(folder.path().to_owned()),
        ..crate::support::options()
    };
    let request = turn("remember me");
    let before = {
        let system = System::with(options()).await;
        let ada = system.client("acme", "ada");
        let answer = ada.execute(&request).await;
        ada.execute(&turn_in(request["SessionId"].as_str().unwrap(), "and me")).await.result();
        system.cloud.shutdown().await;
        answer
    };
    let system = System::with(options()).await;
    let ada = system.client("acme", "ada");
    assert_eq!(ada.execute(&request).await.text, before.text, "a replay is byte for byte the same");
    let session = ada.get(&session_path(&request)).await.result();
    assert_eq!(session["TurnCount"], 2);
    let third = ada.execute(&turn_in(request["SessionId"].as_str().unwrap(), "and now?")).await.result();
    assert!(
        third["PrimaryOutputText"].as_str().unwrap().contains("2 turns of this chain came before")
            || third["PrimaryOutputText"].as_str().unwrap().contains("turns"),
        "{third}"
    );
    assert_eq!(system.model_calls().len(), 1, "the replay asked no model");
}
