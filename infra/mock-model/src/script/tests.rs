use super::*;

fn one(steps: &str) -> Reply {
    let replies = read(&format!("Please. [[script: {steps}]] Thanks.")).unwrap().unwrap();
    assert_eq!(replies.len(), 1);
    replies.into_iter().next().unwrap()
}

fn steps(text: &str) -> Vec<Step> {
    one(text).steps
}

#[test]
fn instruction_without_a_directive_has_no_script() {
    assert_eq!(read("Tell me about [[script]]s."), Ok(None));
}

#[test]
fn steps_are_separated_by_semicolons_or_line_ends() {
    let say = |text: &str| Step::Say(text.to_owned());
    assert_eq!(steps("say \"a;]]\"; say \"b\"\n\n say \"c\" ;"), [say("a;]]"), say("b"), say("c")]);
    assert_eq!(steps(""), []);
}

#[test]
fn arguments_are_optional_json() {
    let call = |arguments| Step::Call { name: "look".to_owned(), arguments };
    assert_eq!(steps(r#"call look {"a":[[1]]}"#), [call(json!({ "a": [[1]] }))]);
    assert_eq!(steps("call look; call look\ncall look"), [call(json!({})), call(json!({})), call(json!({}))]);
}

#[test]
fn durations_have_units_and_a_maximum() {
    let hang = |text: &str| steps(&format!("hang {text}"));
    assert_eq!(hang("20ms"), [Step::Hang(Duration::from_millis(20))]);
    assert_eq!(hang("5s"), [Step::Hang(Duration::from_secs(5))]);
    assert_eq!(hang("2m"), [Step::Hang(Duration::from_secs(120))]);
    for text in ["hang", "hang 5", "hang s", "hang 16m", "hang 99999999999999999999s"] {
        assert!(read(&format!("[[script: {text}]]")).is_err(), "{text}");
    }
}

#[test]
fn a_status_has_its_options_in_any_order() {
    let reply = one(r#"status 429 times 2 header a "b c" code slow chained type t for big retry-after 1.5"#);
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let status = Status {
        status: 429,
        code: Some("slow".to_owned()),
        kind: Some("t".to_owned()),
        headers: vec![header("a", "b c"), header("retry-after", "1.5")],
        times: Some(2),
        chained: true,
        only: Some("big".to_owned()),
        ..Status::default()
    };
    assert_eq!(reply.statuses, [status]);
}

#[test]
fn ends_and_cuts_have_defaults() {
    assert_eq!(one("fail").end, End::Fail("server_error".to_owned()));
    assert_eq!(one("error slow").end, End::Error("slow".to_owned()));
    assert_eq!(one("incomplete").end, End::Incomplete("max_output_tokens".to_owned()));
    let cut = Cut { after: 5, unit: Unit::Events, reset: false };
    assert_eq!(one("cut after 5 events").cut, Some(cut));
    let cut = Cut { after: 9, unit: Unit::Bytes, reset: true };
    assert_eq!(one("reset after 9 bytes").cut, Some(cut));
}

#[test]
fn then_starts_another_reply() {
    let replies = read("[[script: call a; then; call b; then; say \"c\"]]").unwrap().unwrap();
    assert_eq!(replies.len(), 3);
}

#[test]
fn oversized_scripts_are_refused() {
    let calls = "call a;".repeat(65);
    let many = "malformed;".repeat(300);
    for text in [
        "words 100001",
        r#"repeat "abc" 9999999"#,
        r#"repeat "abcdefgh" 400000; repeat "abcdefgh" 400000"#,
        calls.as_str(),
        many.as_str(),
    ] {
        assert!(read(&format!("[[script: {text}]]")).is_err());
    }
}
