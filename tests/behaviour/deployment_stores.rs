//! `aptix contexts` and `aptix gc` on a deployment: with a table, a bucket and AWS credentials, and no data folder.

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use serde_json::{Value, json};

use crate::provider_start::aptix;
use crate::support::{PATIENCE, POOL, STACK, System, UserPool, in_context};

/// Id of the access key of commands in a local cloud.
const ACCESS_KEY: &str = "local-cloud";

impl System {
    /// Runs a command with the endpoints and the credentials of this system in the environment of AWS tools. `endpoint` is
    /// that of every other service.
    async fn with_credentials(&self, arguments: &[&str], endpoint: &str) -> (Option<i32>, String, String) {
        let secret = std::fs::read_to_string(self.cloud.data_folder().join("aws-secret")).unwrap();
        let endpoints = self.cloud.endpoints();
        let environment = [
            ("AWS_ENDPOINT_URL", endpoint),
            ("AWS_ENDPOINT_URL_DYNAMODB", endpoints.dynamodb.as_str()),
            ("AWS_ENDPOINT_URL_S3", endpoints.s3.as_str()),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
            ("AWS_SECRET_ACCESS_KEY", secret.trim()),
        ];
        let mut command = aptix(arguments, &environment);
        command.env_remove("AWS_PROFILE").env_remove("MODEL_PROVIDERS");
        let done = tokio::time::timeout(PATIENCE, command.output()).await.expect("an end").unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    }

    /// Stores an object that no item refers to, and returns its key.
    async fn orphan(&self) -> String {
        let key = format!("acme/s/never-begun/{}/a1/instruction.json", "0".repeat(64));
        let put = self.cloud.s3().put_object().bucket(self.cloud.bucket()).key(&key);
        put.body(b"left behind".to_vec().into()).send().await.expect("it is stored");
        key
    }

    /// Creates a table without items.
    async fn empty_table(&self, name: &str) {
        let attribute = |name: &str| {
            let attribute = AttributeDefinition::builder().attribute_name(name);
            attribute.attribute_type(ScalarAttributeType::S).build().unwrap()
        };
        let key = |name: &str, kind| {
            KeySchemaElement::builder().attribute_name(name).key_type(kind).build().unwrap()
        };
        let table =
            self.cloud.dynamodb().create_table().table_name(name).billing_mode(BillingMode::PayPerRequest);
        let table = table.attribute_definitions(attribute("PK")).attribute_definitions(attribute("SK"));
        let table = table.key_schema(key("PK", KeyType::Hash)).key_schema(key("SK", KeyType::Range));
        table.send().await.expect("it is created");
    }
}

#[tokio::test]
async fn contexts_of_deployment_are_managed_with_aws_credentials() {
    let system = System::start().await;
    let pool = UserPool::start("password", &["token"]).await;
    let (table, bucket) = (system.cloud.table(), system.cloud.bucket());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("brief.json");
    let context = json!({"Kind": "conversation", "Id": "brief", "Name": "Brief", "System": "Be brief."});
    std::fs::write(&file, context.to_string()).unwrap();

    let put = ["contexts", "put", file.to_str().unwrap(), "--org", "acme", "--table", table];
    let (status, output, errors) = system.with_credentials(&put, &pool.url).await;
    assert_eq!((status, output.as_str()), (Some(0), "Saved for acme: conversation brief\n"), "{errors}");
    let mut turn = in_context("hello");
    turn["ConversationContextId"] = "brief".into();
    system.client("acme", "ada").execute(&turn).await.result();
    assert!(system.model_calls()[0].to_string().contains("Be brief."));

    pool.deploy(&[
        ("ApiUrl", system.cloud.url()),
        ("UserPoolId", POOL),
        ("TableName", table),
        ("PayloadBucketName", bucket),
    ]);
    let list = ["contexts", "list", "--org", "acme", "--stack", STACK];
    let (status, output, errors) = system.with_credentials(&list, &pool.url).await;
    assert_eq!(status, Some(0), "{errors}");
    assert!(output.starts_with("conversation") && output.contains("brief"), "{output}");
    let get = ["contexts", "get", "brief", "--org", "acme", "--stack", STACK];
    let (status, output, errors) = system.with_credentials(&get, &pool.url).await;
    assert_eq!(status, Some(0), "{errors}");
    let found: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(found[0]["System"], "Be brief.");

    let absent = ["contexts", "list", "--org", "acme", "--table", "absent"];
    let (status, _, errors) = system.with_credentials(&absent, &pool.url).await;
    assert_eq!(status, Some(1));
    assert!(errors.starts_with("error: Can't reach the table absent"), "{errors}");
}

#[tokio::test]
async fn gc_of_deployment_removes_only_unreferenced_objects() {
    let system = System::start().await;
    let pool = UserPool::start("password", &["token"]).await;
    let (table, bucket) = (system.cloud.table(), system.cloud.bucket());
    let turn = crate::support::turn("hello");
    system.client("acme", "ada").execute(&turn).await.result();
    let session = turn["SessionId"].as_str().unwrap();
    system.until_finalized(session, 1).await;
    let before = system.objects().await;
    let key = system.orphan().await;

    let (status, output, errors) = system.with_credentials(&["gc", "--table", table], &pool.url).await;
    assert_eq!((status, output.as_str()), (Some(2), ""), "{errors}");
    let gc = ["gc", "--table", table, "--bucket", bucket, "--older-than", "0"];
    let (status, output, errors) = system.with_credentials(&gc, &pool.url).await;
    assert_eq!(status, Some(0), "{errors}");
    assert!(output.starts_with(&format!("{key}\n1 of ")), "{output}");
    let removed = system.with_credentials(&[&gc[..], &["--remove"]].concat(), &pool.url).await;
    assert_eq!(removed.0, Some(0), "{}", removed.2);
    assert_eq!(system.objects().await, before);

    system.orphan().await;
    pool.deploy(&[("ApiUrl", system.cloud.url()), ("TableName", table), ("PayloadBucketName", bucket)]);
    let gc = ["gc", "--stack", STACK, "--older-than", "0", "--remove"];
    let (status, output, errors) = system.with_credentials(&gc, &pool.url).await;
    assert_eq!(status, Some(0), "{errors}");
    assert!(output.contains("1 of "), "{output}");
    assert_eq!(system.objects().await, before);
}

#[tokio::test]
async fn gc_with_table_of_another_deployment_deletes_nothing() {
    let system = System::start().await;
    let turn = crate::support::turn("hello");
    system.client("acme", "ada").execute(&turn).await.result();
    system.until_finalized(turn["SessionId"].as_str().unwrap(), 1).await;
    let before = system.objects().await;
    assert!(!before.is_empty());
    system.empty_table("another").await;
    let bucket = system.cloud.bucket();
    let gc = ["gc", "--table", "another", "--bucket", bucket, "--older-than", "0", "--remove"];
    let (status, output, errors) = system.with_credentials(&gc, "http://127.0.0.1:9").await;
    assert_eq!((status, output.as_str()), (Some(1), ""), "{errors}");
    assert!(errors.contains("Nothing was deleted: no item refers to any of the"), "{errors}");
    assert_eq!(system.objects().await, before);
}
