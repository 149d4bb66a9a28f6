//! `aptix admin queue` and `aptix admin dead-letters`, on a local cloud and with AWS credentials on a stack.

use std::time::Duration;

use local::{Function, Options};
use reqwest::Method;
use serde_json::{Value, json};

use crate::console::page;
use crate::provider_start::aptix;
use crate::session_edits::session_of;
use crate::support::{PATIENCE, STACK, System, UserPool, options, turn};

impl System {
    /// Runs `aptix admin` on this system's data folder.
    pub async fn admin(&self, arguments: &[&str]) -> String {
        let folder = self.cloud.data_folder().to_str().unwrap();
        let arguments = [&["admin"], arguments, &["--data", folder]].concat();
        let output = aptix(&arguments, &[]).output().await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Puts a message into the dead-letter queue, as SQS does after the last failure. Returns its id.
    async fn bury(&self, body: &Value) -> String {
        self.bury_in(&self.cloud.endpoints().dead_letter_queue, body).await
    }

    async fn bury_in(&self, queue: &str, body: &Value) -> String {
        let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
        let sent = self.cloud.sqs().send_message().queue_url(queue).message_body(body).send().await;
        sent.expect("sent").message_id.expect("an id")
    }
}

fn settled(turn: &Value) -> Value {
    json!({"Kind": "turn_settled", "Org": "acme", "Session": turn["SessionId"], "Turn": turn["TurnId"]})
}

#[tokio::test]
async fn dead_letters_have_reasons_and_are_redriven_and_dropped() {
    let system = System::with(Options { visibility: Some(Duration::from_secs(1)), ..options() }).await;
    let ada = system.client("acme", "ada");
    let (done, open) = (turn("done"), turn("open"));
    ada.execute(&done).await.result();
    system.until_finalized(session_of(&done), 1).await;
    system.cloud.pause_finalizer().await;
    ada.execute(&open).await.result();
    let queue = &system.cloud.endpoints().finalize_queue;
    system.cloud.sqs().purge_queue().queue_url(queue).send().await.expect("a purge");

    let foreign = system.bury(&json!("not a message")).await;
    let gone = system.bury(&settled(&turn("never sent"))).await;
    let finished = system.bury(&settled(&done)).await;
    let left = system.bury(&settled(&open)).await;
    let missing = system.bury(&settled(&json!({"SessionId": done["SessionId"], "TurnId": "none"}))).await;
    let continuation = |turn: &Value| json!({"Kind": "continue_turn", "Org": "acme", "Session": turn["SessionId"], "Turn": turn["TurnId"]});
    let turns = &system.cloud.endpoints().turn_dead_letter_queue;
    let continued = system.bury_in(turns, &continuation(&done)).await;
    let expected = [
        (&continued, "its turn has ended meanwhile"),
        (&foreign, "not a message of its queue"),
        (&gone, "its session was purged"),
        (&finished, "its turn is finalized"),
        (&left, "its turn is settled and not finalized"),
        (&missing, "its session has no such turn"),
    ];
    let report = system.admin(&["queue"]).await;
    assert!(report.contains("dead letters    6 waiting, 0 delayed, 0 in flight\n"), "{report}");
    for _ in 0..2 {
        let listed = system.admin(&["dead-letters", "list"]).await;
        assert_eq!(listed.lines().count(), 2 * expected.len(), "{listed}");
        for (id, reason) in expected {
            let mut lines = listed.lines().skip_while(|line| !line.starts_with(id.as_str())).skip(1);
            let line = lines.next().unwrap_or_default();
            assert!(line.starts_with(&format!("  {reason}")), "{id}: {listed}");
        }
        assert!(
            listed.contains(&format!("org acme  session {}  turn none\n", session_of(&done))),
            "{listed}"
        );
    }

    // The object of the outcome is gone.
    let outcome = system.object(|key| key.contains(session_of(&open)) && key.ends_with("/result.json")).await;
    let object =
        system.cloud.s3().get_object().bucket(system.cloud.bucket()).key(&outcome).send().await.unwrap();
    let bytes = object.body.collect().await.unwrap().into_bytes();
    system.cloud.s3().delete_object().bucket(system.cloud.bucket()).key(&outcome).send().await.unwrap();
    let of_open = ["--org", "acme", "--session", session_of(&open)];
    let listed = system.admin(&[&["dead-letters", "list"], &of_open[..]].concat()).await;
    assert!(listed.contains(&format!("the object {outcome} is missing")), "{listed}");
    let put = system.cloud.s3().put_object().bucket(system.cloud.bucket()).key(&outcome).body(bytes.into());
    put.send().await.unwrap();

    let turn_id = open["TurnId"].as_str().unwrap();
    let redriven =
        system.admin(&[&["dead-letters", "redrive"], &of_open[..], &["--turn", turn_id]].concat()).await;
    assert_eq!(redriven, "Messages moved back: 1.\n");
    system.cloud.resume_finalizer().await;
    system.until_finalized(session_of(&open), 1).await;

    assert_eq!(system.admin(&["dead-letters", "drop"]).await, "Messages deleted: 1.\n");
    assert_eq!(
        system.admin(&["dead-letters", "drop", "--message", &foreign]).await,
        "Messages deleted: 1.\n"
    );
    let listed = system.admin(&["dead-letters", "list"]).await;
    assert_eq!(listed.lines().count(), 6, "{listed}");
    assert!(
        listed.contains(&continued) && listed.contains(&finished) && listed.contains(&missing),
        "{listed}"
    );
    assert_eq!(system.admin(&["dead-letters", "redrive"]).await, "Messages moved back: 3.\n");
    assert_eq!(system.admin(&["dead-letters", "list"]).await, "");
}

#[tokio::test]
async fn console_lists_dead_letters_and_redrives_one_with_a_reason() {
    let system = System::start().await;
    let done = turn("done");
    system.client("acme", "ada").execute(&done).await.result();
    system.until_finalized(session_of(&done), 1).await;
    let (finished, sweep) =
        (system.bury(&settled(&done)).await, system.bury(&json!({"Kind": "sweep"})).await);

    let state = page(&system, Method::GET, "/console/api/queues", String::new()).await.result();
    assert_eq!(state["DeadLetters"], json!({"Waiting": 2, "Delayed": 0, "InFlight": 0}));
    let path = "/console/api/dead-letters";
    let listed = page(&system, Method::GET, path, String::new()).await.result();
    assert_eq!((listed["Items"].as_array().unwrap().len(), &listed["Omitted"]), (2, &json!(0)));
    let find =
        |id: &str| listed["Items"].as_array().unwrap().iter().find(|letter| letter["Id"] == id).unwrap();
    let letter = find(&finished);
    assert_eq!((&letter["Org"], &letter["Session"]), (&json!("acme"), &done["SessionId"]));
    assert!(letter["Reason"].as_str().unwrap().starts_with("its turn is finalized"), "{letter}");
    assert_eq!(find(&sweep).get("Org"), None);

    let redrive = async |body: Value| {
        page(&system, Method::POST, "/console/api/dead-letters/redrive", body.to_string()).await
    };
    for reason in [json!(null), json!(""), json!("two\nlines"), json!("x".repeat(201))] {
        let refused = redrive(json!({"Message": finished, "Reason": reason})).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, "MemberInvalid"), "{}", refused.text);
    }
    let reason = "The index is back.";
    let moved = redrive(json!({"Message": finished, "Reason": reason})).await.result();
    assert_eq!(moved["Count"], 1);
    assert_eq!(redrive(json!({"Message": finished, "Reason": reason})).await.result()["Count"], 0);
    let audited = |line: &Value| line["message"] == "audit" && line["action"] == "redrive";
    let lines = system.logged(Function::TurnFinalizer, "audit", audited).await;
    assert_eq!(
        (&lines[0]["reason"], &lines[0]["session"], &lines[0]["operator"]),
        (&json!(reason), &done["SessionId"], &json!(true))
    );
    let left = page(&system, Method::GET, path, String::new()).await.result();
    assert_eq!(left["Items"].as_array().unwrap().len(), 1);

    // Pages of others and other users of the machine have no access, and the API has no such route.
    for path in ["/console/api/queues", path] {
        let other = [("x-aptix-console", "1"), ("origin", system.cloud.url())];
        assert_eq!(system.anonymous().raw(Method::GET, path, &other, Vec::new()).await.status, 403);
    }
    let op = crate::export::operator(&system, "acme");
    assert_eq!(op.get("/api/ai/agent/dead-letters").await.error(), "RouteNotFound");
}

#[tokio::test]
async fn dead_letters_of_a_stack_need_aws_credentials() {
    let system = System::start().await;
    let pool = UserPool::start("password", &["token"]).await;
    let endpoints = system.cloud.endpoints().clone();
    pool.deploy(&[
        ("TableName", system.cloud.table()),
        ("PayloadBucketName", system.cloud.bucket()),
        ("FinalizeQueueUrl", &endpoints.finalize_queue),
        ("FinalizeDeadLetterQueueUrl", &endpoints.dead_letter_queue),
        ("KnowledgeQueueUrl", &endpoints.knowledge_queue),
        ("KnowledgeDeadLetterQueueUrl", &endpoints.knowledge_dead_letter_queue),
    ]);
    let id = system.bury(&json!({"Kind": "sweep"})).await;
    let secret = std::fs::read_to_string(system.cloud.data_folder().join("aws-secret")).unwrap();
    let run = async |arguments: &[&str], secret: &str| {
        let environment = [
            ("AWS_ENDPOINT_URL", pool.url.as_str()),
            ("AWS_ENDPOINT_URL_DYNAMODB", endpoints.dynamodb.as_str()),
            ("AWS_ENDPOINT_URL_S3", endpoints.s3.as_str()),
            ("AWS_ENDPOINT_URL_SQS", endpoints.sqs.as_str()),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "local-cloud"),
            ("AWS_SECRET_ACCESS_KEY", secret),
        ];
        let mut command = aptix(&[&["admin"], arguments, &["--stack", STACK]].concat(), &environment);
        command.env_remove("AWS_PROFILE");
        let done = tokio::time::timeout(PATIENCE, command.output()).await.expect("an end").unwrap();
        (done.status.code(), String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap())
    };
    let (status, listed, errors) = run(&["dead-letters", "list"], secret.trim()).await;
    assert_eq!(status, Some(0), "{errors}");
    assert!(listed.starts_with(&id) && listed.contains("a sweep, which the next one repeats"), "{listed}");
    let (status, report, errors) = run(&["queue"], secret.trim()).await;
    assert_eq!(status, Some(0), "{errors}");
    assert!(report.contains("knowledge queue 0 waiting, 0 delayed, 0 in flight\n"), "{report}");
    assert!(report.contains("oldest message  17 s\n") && report.contains("overdue turns   0\n"), "{report}");
    let (status, output, errors) = run(&["dead-letters", "redrive"], "another secret").await;
    assert_eq!((status, output.as_str()), (Some(1), ""), "{errors}");
    assert!(errors.contains("Can't use the queue"), "{errors}");
}
