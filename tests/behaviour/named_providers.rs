//! Several providers of one deployment, by the names that contexts call them (docs/guides/providers.md).

use aws_sdk_dynamodb::types::AttributeValue;
use local::Function;
use serde_json::{Value, json};

use crate::provider_start::aptix;
use crate::support::{Client, NamedProvider, System, declaring, history, is_chained, options, turn, turn_in};

/// A turn of this session, on the context `c`.
fn of(session: &str, instruction: &str) -> Value {
    let mut turn = turn_in(session, instruction);
    turn["ConversationContextId"] = json!("c");
    turn
}

async fn says(client: &Client, turn: &Value) -> String {
    client.execute(turn).await.result()["PrimaryOutputText"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn query_key_and_headers_are_sent_as_declared() {
    let (azure, ollama) =
        (NamedProvider::with_profile("azure").await, NamedProvider::with_profile("ollama").await);
    let mut options = declaring(&json!([
        {"Name": "azure", "BaseUrl": format!("{}?api-version=preview", azure.base), "KeyHeader": "api-key",
         "KeySetting": "AZURE_KEY", "Headers": {"OpenAI-Project": "blue"}},
        {"Name": "here", "BaseUrl": format!("{}/", ollama.base), "Identifiers": false},
    ]));
    options.environment.insert("AZURE_KEY".to_owned(), "secret".to_owned());
    let system = System::with(options).await;
    let ada = system.client("acme", "ada");
    for name in ["azure", "here"] {
        system.put_context(json!({"Provider": name})).await;
        assert_eq!(says(&ada, &of(name, "Hello [[script: say \"Yes.\"]]")).await, "Yes.", "{name}");
        assert_eq!(says(&ada, &of(name, "Again [[script: say \"No.\"]]")).await, "No.", "{name}");
    }
    let asked = azure.requests();
    assert_eq!(asked[0]["query"], "api-version=preview");
    let header = |request: &Value, name: &str| request["headers"].get(name).cloned();
    assert_eq!(header(&asked[0], "api-key"), Some(json!("present")));
    assert_eq!(header(&asked[0], "authorization"), None);
    assert_eq!(header(&asked[0], "openai-project"), Some(json!("blue")));
    assert!(is_chained(&azure.calls()[1]) && azure.calls()[0].get("safety_identifier").is_some());
    let keyless = ollama.requests();
    assert_eq!((header(&keyless[0], "api-key"), header(&keyless[0], "authorization")), (None, None));
    assert_eq!(keyless[0]["query"], Value::Null);
    let told = &ollama.calls()[0];
    assert!(told.get("safety_identifier").is_none() && told.get("prompt_cache_key").is_none(), "{told}");
    assert!(system.model_calls().is_empty(), "the default provider was not asked");
}

#[tokio::test]
async fn default_can_be_a_named_provider() {
    let provider = NamedProvider::with_profile("ollama").await;
    let mut options = declaring(&json!([{"Name": "here", "BaseUrl": provider.base}]));
    options.environment.insert("MODEL_PROVIDER".to_owned(), "here".to_owned());
    let system = System::with(options).await;
    assert_eq!(says(&system.client("acme", "ada"), &turn("Hi [[script: say \"Yes.\"]]")).await, "Yes.");
    assert_eq!((provider.calls().len(), system.model_calls().len()), (1, 0));
}

#[tokio::test]
async fn declaration_may_begin_with_a_byte_order_mark() {
    let provider = NamedProvider::with_profile("ollama").await;
    let mut options = declaring(&json!([{"Name": "here", "BaseUrl": provider.base}]));
    let declared = options.environment.get_mut("MODEL_PROVIDERS").unwrap();
    declared.insert(0, '\u{feff}');
    let system = System::with(options).await;
    system.put_context(json!({"Provider": "here"})).await;
    assert_eq!(says(&system.client("acme", "ada"), &of("s", "Hi [[script: say \"Yes.\"]]")).await, "Yes.");
}

/// Runs `aptix admin providers` with these arguments on the data folder of a system.
async fn stored(system: &System, arguments: &[&str]) -> (Option<i32>, String) {
    let folder = system.cloud.data_folder().to_str().unwrap();
    let arguments = [&["admin", "providers"], arguments, &["--data", folder]].concat();
    let output = aptix(&arguments, &[]).output().await.unwrap();
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

#[tokio::test]
async fn list_in_the_table_declares_providers_from_the_next_start() {
    let provider = NamedProvider::with_profile("ollama").await;
    let mut options = options();
    options.environment.insert("MODEL_PROVIDERS".to_owned(), "table".to_owned());
    let system = System::with(options).await;
    let ada = system.client("acme", "ada");
    ada.execute(&turn("Hi")).await.result();
    assert_eq!(stored(&system, &["get"]).await.0, Some(1), "there is none");

    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let list = json!([{"Name": "here", "BaseUrl": provider.base}]);
    for (faulty, fault) in [
        (json!([{"Name": "a b", "BaseUrl": provider.base}]), "MODEL_PROVIDERS[0].Name must have 1 to 64"),
        (json!([list[0], {"Name": "here", "BaseUrl": "x"}]), "MODEL_PROVIDERS[1].Name is already the name"),
        (json!([list[0], {"Name": "b", "BaseUrl": "x"}]), "MODEL_PROVIDERS[1].BaseUrl must be an http"),
        (json!({"here": provider.base}), "MODEL_PROVIDERS must be a JSON list"),
    ] {
        std::fs::write(file.path(), faulty.to_string()).unwrap();
        let (code, output) = stored(&system, &["put", path]).await;
        assert!(code == Some(1) && output.contains(fault), "{output}");
        assert_eq!(stored(&system, &["get"]).await.0, Some(1), "nothing was written");
    }
    std::fs::write(file.path(), list.to_string()).unwrap();
    let (code, output) = stored(&system, &["put", path]).await;
    assert!(code == Some(0) && output.starts_with("Saved 1 model providers."), "{output}");
    let read: Value = serde_json::from_str(&stored(&system, &["get"]).await.1).unwrap();
    assert_eq!(read, list);

    system.put_context(json!({"Provider": "here"})).await;
    system.cloud.crash(Function::Execute);
    assert_eq!(says(&ada, &of("s", "Hi [[script: say \"Yes.\"]]")).await, "Yes.");
    assert_eq!(provider.calls().len(), 1);

    // An unreadable list stops the start, and doesn't send turns to another provider.
    let item = [("PK", "DEPLOYMENT"), ("SK", "MODEL_PROVIDERS")]
        .map(|(name, value)| (name.to_owned(), AttributeValue::S(value.to_owned())));
    let put = system.cloud.dynamodb().put_item().table_name(system.cloud.table());
    put.set_item(Some(item.into())).send().await.unwrap();
    system.cloud.crash(Function::Execute);
    let answer = ada.execute(&of("s", "Hi [[script: say \"No.\"]]")).await;
    assert!(answer.status >= 500, "{}", answer.text);
    assert_eq!((provider.calls().len(), system.model_calls().len()), (1, 1));
    assert_eq!(stored(&system, &["remove"]).await.0, Some(0));
}

#[tokio::test]
async fn response_id_is_never_sent_to_another_provider_on_the_host() {
    let (one, two) =
        (NamedProvider::with_profile("openai").await, NamedProvider::with_profile("openai").await);
    let named =
        |name: &str, base: &str| json!({"Name": name, "BaseUrl": base, "KeySetting": "OPENAI_API_KEY"});
    let system = System::with(declaring(&json!([named("one", &one.base), named("two", &two.base)]))).await;
    let ada = system.client("acme", "ada");
    for (provider, instruction) in
        [("one", "First [[script: say \"One.\"]]"), ("two", "Second [[script: say \"Two.\"]]")]
    {
        system.put_context(json!({"Provider": provider})).await;
        says(&ada, &of("s", instruction)).await;
    }
    system.put_context(json!({})).await;
    says(&ada, &of("s", "Third")).await;
    let (second, third) = (two.calls().remove(0), system.last_call());
    assert!(!is_chained(&second) && !is_chained(&third));
    assert_eq!(history(&second), ["user: First [[script: say \"One.\"]]", "assistant: One."]);
    assert_eq!(history(&third).len(), 4);
}

#[tokio::test]
async fn undeclared_provider_is_refused_on_write_and_named_in_a_turn() {
    let folder = tempfile::tempdir().unwrap();
    let on = |options: local::Options| local::Options {
        data: local::Data::Folder(folder.path().to_owned()),
        ..options
    };
    let provider = NamedProvider::with_profile("ollama").await;
    let request = of("s", "Hello");
    {
        let system = System::with(on(declaring(&json!([{"Name": "here", "BaseUrl": provider.base}])))).await;
        let context =
            json!({"Kind": "conversation", "Id": "c", "Name": "C", "System": "s", "Provider": "there"});
        let refused = system.try_put_contexts("acme", &context).await;
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains("contexts[0].Provider: \"there\""), "{said}");
        assert!(said.contains("whose providers are: here"), "{said}");
        system.put_context(json!({"Provider": "here"})).await;
        system.cloud.shutdown().await;
    }
    let system = System::with(on(options())).await;
    let ada = system.client("acme", "ada");
    let answer = ada.execute(&request).await;
    assert_eq!((answer.status, answer.error().as_str()), (502, "ModelMisconfigured"));
    assert!(answer.text.contains("a model provider that the service does not have"), "{}", answer.text);
    assert_eq!(ada.execute(&request).await.text, answer.text, "a replay");
    let said = "context names an unknown provider";
    system.logged(Function::Execute, said, |line| line["provider"] == "here").await;
    assert!(provider.calls().is_empty() && system.model_calls().is_empty());
}

#[tokio::test]
async fn wrong_provider_settings_stop_the_start_and_are_all_named() {
    let mut options = declaring(&json!([
        {"Name": "a b", "BaseUrl": "localhost:11434", "KeyHeader": "api-key"},
        {"Name": "one", "BaseUrl": "http://localhost/v1", "KeySetting": "NOT_SET", "IdleTimeoutSeconds": 0},
        {"Name": "one", "BaseUrl": "http://localhost/v1"},
        {"Name": "two", "BaseUrl": "http://localhost/v1", "Key": "sk-marker"},
        {"Name": "six", "BaseUrl": "http://localhost/v1", "Headers": {"Authorization": "sk-marker"}},
    ]));
    options.environment.insert("MODEL_PROVIDER".to_owned(), "seven".to_owned());
    let system = System::with(options).await;
    let answer = system.client("acme", "ada").execute(&turn("Hello")).await;
    assert!(answer.status >= 500, "{answer:?}");
    let expected = [
        "MODEL_PROVIDERS[0].Name must have 1 to 64",
        "MODEL_PROVIDERS[0].KeyHeader needs a KeySecretArn or a KeySetting",
        "MODEL_PROVIDERS[0].BaseUrl must be an http or https URL such as https://api.openai.com/v1; it has no scheme",
        "MODEL_PROVIDERS[1].IdleTimeoutSeconds must be 0.1 to 840 seconds",
        "MODEL_PROVIDERS[1].KeySetting must name an environment variable that holds the key; NOT_SET is not set",
        "MODEL_PROVIDERS[2].Name is already the name of another provider",
        "MODEL_PROVIDERS[3]: unknown field `Key`",
        "must be a header with a value that HTTP allows, and none of the service's own",
        "MODEL_PROVIDER must be the Name of a provider in MODEL_PROVIDERS, which has: a b, one, six",
    ];
    let logs = system.until_logs(|logs| expected.iter().all(|fault| logs.contains(fault))).await;
    assert!(!logs.contains("sk-marker"));
}
