//! `aptix index` and `aptix search` with `--stack`: servers, keys and org come from the deployment.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use crate::support::{ACCOUNT_STACK, Account, System};

/// Stores a sign-in to the stack, as a user of this org.
fn sign_in(account: &Account, org: &str) {
    let token = format!("e30.{}.x", URL_SAFE_NO_PAD.encode(json!({"custom:org": org}).to_string()));
    let sign_in = json!({
        "ApiUrl": "http://127.0.0.1:9", "Stack": ACCOUNT_STACK, "User": "ada", "Token": token, "ExpiresAt": 0,
        "Refresh": {"Kind": "cognito", "Endpoint": "http://127.0.0.1:9", "ClientId": "c", "RefreshToken": "r"},
    });
    let folder = account.home.path().join("aptix/sign-ins");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("api.json"), sign_in.to_string()).unwrap();
}

#[tokio::test]
async fn sources_of_a_stack_are_indexed_and_searched_for_the_own_org() {
    let system = System::start().await;
    let account = Account::start(&system).await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("lease.md"), "# Lease\n\nA lease is a right to work on a turn.\n")
        .unwrap();
    let index = ["index", folder.path().to_str().unwrap(), "--repo", "core", "--stack", ACCOUNT_STACK];
    let (status, _, errors) = account.run(&index).await;
    assert_eq!(status, Some(2));
    assert!(errors.contains("Deploy it with QdrantUrl"), "{errors}");

    let qdrant = system.cloud.qdrant().await.unwrap().to_owned();
    account.change(|facts| {
        facts.parameters.insert("QdrantUrl", qdrant);
        facts.parameters.insert("QdrantCollection", "handbook".to_owned());
    });
    let (status, _, errors) = account.run(&index).await;
    assert_eq!(status, Some(2));
    assert!(errors.contains("Name the org with --org"), "{errors}");
    sign_in(&account, "acme");
    let (status, output, errors) = account.run(&index).await;
    assert_eq!(status, Some(0), "{output}{errors}");
    assert!(!system.points("handbook").await.is_empty(), "the stack names the collection");
    let search = ["search", "lease", "--stack", ACCOUNT_STACK];
    let (status, output, errors) = account.run(&search).await;
    assert_eq!(status, Some(0), "{errors}");
    assert!(output.contains("lease.md"), "{output}");
    let (status, output, _) = account.run(&[&search[..], &["--org", "other"]].concat()).await;
    assert!(status == Some(0) && !output.contains("lease.md"), "another org finds nothing: {output}");
}
