//! Credentials and region of the AWS clients, as a server sees them in a request's signature.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::{
    env, fs,
    io::{Read, Write},
    net::TcpListener,
    process::{Command, Stdio},
    thread,
};

use storage::{Clients, Settings};

/// Set in the child process that reads a secret.
const CHILD: &str = "SDK_CONFIG_CHILD";

/// Reads a secret, in a process whose environment the other tests choose. Does nothing in the tests' own process.
#[test]
fn child_reads_a_secret() {
    if env::var_os(CHILD).is_none() {
        return;
    }
    let settings = Settings {
        table: "sessions".to_owned(),
        bucket: "payloads".to_owned(),
        queue_url: "http://127.0.0.1:1/queue".to_owned(),
        path_style: true,
        shards_lists: false,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let text = runtime.block_on(async { Clients::load(&settings).await.secrets.text("key").await.unwrap() });
    assert_eq!(text, "the secret");
}

/// Answers one request with a secret. Returns the signer's scope: key id, date, region and service.
fn signer_of_request(environment: &[(&str, String)]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let (mut request, mut part) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&request).contains("SecretId") {
            let length = stream.read(&mut part).unwrap();
            assert!(length > 0, "the request is incomplete");
            request.extend(part.get(..length).unwrap());
        }
        let body = r#"{"SecretString": "the secret"}"#;
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.1\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        String::from_utf8_lossy(&request).into_owned()
    });
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "child_reads_a_secret"]).env_clear().stdout(Stdio::null());
    child
        .env(CHILD, "1")
        .env("AWS_ENDPOINT_URL_SECRETS_MANAGER", url)
        .env("AWS_EC2_METADATA_DISABLED", "true");
    child.envs(environment.iter().map(|(name, value)| (*name, value)));
    assert!(child.status().unwrap().success());
    let request = server.join().unwrap();
    let (_, credential) = request.split_once("Credential=").unwrap();
    let mut scope = credential.split(',').next().unwrap().split('/');
    [scope.next().unwrap(), scope.nth(1).unwrap()].join(" ")
}

#[test]
fn function_signs_with_the_environment() {
    let environment = [
        ("AWS_ACCESS_KEY_ID", "AKIDROLE"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "eu-north-1"),
    ];
    let environment = environment.map(|(name, value)| (name, value.to_owned()));
    assert_eq!(signer_of_request(&environment), "AKIDROLE eu-north-1");
}

#[test]
fn developer_signs_with_a_profile() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).to_str().unwrap().to_owned()
    };
    let environment = [
        ("AWS_PROFILE", "work".to_owned()),
        ("AWS_CONFIG_FILE", file("config", "[profile work]\nregion = us-west-2\n")),
        (
            "AWS_SHARED_CREDENTIALS_FILE",
            file("credentials", "[work]\naws_access_key_id = AKIDPROFILE\naws_secret_access_key = secret\n"),
        ),
    ];
    assert_eq!(signer_of_request(&environment), "AKIDPROFILE us-west-2");
}

/// Serves credentials at an address, once.
fn credentials_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/credentials", listener.local_addr().unwrap());
    thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let _ = stream.read(&mut [0; 4096]).unwrap();
        let body = r#"{"AccessKeyId": "AKIDCONTAINER", "SecretAccessKey": "secret", "Token": "token",
            "Expiration": "2099-01-01T00:00:00Z"}"#;
        let length = body.len();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
        write!(stream, "{head}\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    });
    url
}

#[test]
fn process_that_lives_long_signs_with_renewed_credentials() {
    let signer = |concurrency: &str| {
        signer_of_request(&[
            ("AWS_ACCESS_KEY_ID", "AKIDROLE".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
            ("AWS_REGION", "eu-north-1".to_owned()),
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", credentials_server()),
            ("AWS_LAMBDA_MAX_CONCURRENCY", concurrency.to_owned()),
        ])
    };
    assert_eq!(signer("64"), "AKIDCONTAINER eu-north-1");
    assert_eq!(signer("1"), "AKIDROLE eu-north-1");
}
