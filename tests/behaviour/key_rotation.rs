//! `aptix admin rotate-key`, and page tokens over a rotation.

use contracts::paths::SESSIONS;
use local::{Data, Options};

use crate::support::{ACCOUNT_STACK, Account, Answer, Client, System, options, turn};

/// Starts a system on this folder whose page tokens have these keys.
async fn system(folder: &std::path::Path, keys: &str) -> System {
    let environment = [("PAGE_TOKEN_KEY".to_owned(), keys.to_owned())].into();
    System::with(Options { data: Data::Folder(folder.to_owned()), environment, ..options() }).await
}

async fn page(client: &Client, token: &str) -> Answer {
    client.get(&format!("{SESSIONS}?pageSize=1&continuationToken={token}")).await
}

#[tokio::test]
async fn page_token_from_before_a_rotation_works_until_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let before = system(folder.path(), "first").await;
    let ada = before.client("acme", "ada");
    for _ in 0..3 {
        ada.execute(&turn("hello")).await.result();
    }
    let first = ada.get(&format!("{SESSIONS}?pageSize=1")).await.result();
    let token = first["ContinuationToken"].as_str().unwrap().to_owned();
    let second = page(&ada, &token).await.result();
    before.cloud.shutdown().await;

    let rotated = system(folder.path(), "second,first").await;
    let ada = rotated.client("acme", "ada");
    let again = page(&ada, &token).await.result();
    assert_eq!(again["Items"], second["Items"]);
    let fresh = again["ContinuationToken"].as_str().unwrap().to_owned();
    assert_ne!(Some(fresh.as_str()), second["ContinuationToken"].as_str(), "the new key seals");
    page(&ada, &fresh).await.result();
    rotated.cloud.shutdown().await;

    let later = system(folder.path(), "third,second").await;
    let ada = later.client("acme", "ada");
    page(&ada, &fresh).await.result();
    let refused = page(&ada, &token).await;
    assert_eq!((refused.status, refused.error().as_str()), (400, "ParameterInvalid"));
}

#[tokio::test]
async fn command_line_rotates_the_key_of_a_stack_once_per_deployment() {
    let system = System::start().await;
    let account = Account::start(&system).await;
    let rotate = ["admin", "rotate-key", "--stack", ACCOUNT_STACK];
    let (status, output, errors) = account.run(&rotate).await;
    assert_eq!((status, errors.as_str()), (Some(0), ""));
    assert!(output.contains("sam deploy --stack-name agent-dev --parameter-overrides Revision="), "{output}");
    let keys = account.page_token_keys();
    let (new, previous) = keys.split_once(',').unwrap();
    assert_eq!((new.len(), previous), (43, "key-1"));
    assert!(!output.contains(new), "no key is printed");

    let (status, output, errors) = account.run(&rotate).await;
    assert_eq!((status, output.as_str()), (Some(1), ""));
    assert!(errors.contains("Deploy it first"), "{errors}");
    assert_eq!(account.page_token_keys(), keys);

    account.change(|facts| facts.deployed_keys.clone_from(&facts.page_token_keys));
    assert_eq!(account.run(&rotate).await.0, Some(0));
    let later = account.page_token_keys();
    assert!(later.ends_with(&format!(",{new}")) && !later.contains("key-1"), "{later}");
}
