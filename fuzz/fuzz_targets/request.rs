//! Parsing of requests in every encoding: any input yields a request or a list of actionable errors.
//!
//! The input is a JSON body, unless it begins with `T` and a line end (headers, a blank line, a text body) or
//! with `M` and a line end (the parts of a form, divided by the control characters RS and US).

#![no_main]

use contracts::{AgentExecuteRequest, Error, InvokeResult, ToolContinuation, UserTurn, encoding::{Encoding, multipart::{self, Part}, text, text_response}, request::limits::MAX_REPORTED_VIOLATIONS};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(rest) = data.strip_prefix(b"T\n") {
        parse_text(rest);
    } else if let Some(rest) = data.strip_prefix(b"M\n") {
        parse_form(rest);
    } else {
        parse_json(data);
    }
});

fn parse_json(body: &[u8]) {
    if let Err(errors) = ToolContinuation::parse(body) {
        assert_actionable(errors);
    }
    match AgentExecuteRequest::parse(body) {
        Ok(AgentExecuteRequest::UserTurn(turn)) => assert_round_trip(&turn),
        Ok(AgentExecuteRequest::ToolContinuation(results)) => {
            let canonical = results.canonical_json();
            let again = ToolContinuation::from_canonical(&canonical).expect("the canonical form is valid");
            assert_eq!(again, results);
            assert_eq!(again.canonical_json(), canonical);
            assert_eq!(again.fingerprint(), results.fingerprint());
        }
        Err(errors) => assert_actionable(errors),
    }
}

fn parse_text(input: &[u8]) {
    let end = input.windows(2).position(|two| two == b"\n\n");
    let (head, body) = end.map_or((input, &[][..]), |end| (&input[..end], &input[end + 2..]));
    let headers: Vec<(&str, &[u8])> = head
        .split(|byte| *byte == b'\n')
        .filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            Some((std::str::from_utf8(&line[..colon]).ok()?, &line[colon + 1..]))
        })
        .collect();
    for (_, value) in &headers {
        let _ = Encoding::from_content_type(std::str::from_utf8(value).ok());
    }
    check(text::user_turn(headers, body));
}

fn parse_form(input: &[u8]) {
    let text = |bytes| std::str::from_utf8(bytes).ok();
    let parts = input.split(|byte| *byte == 0x1E).filter_map(|part| {
        let mut fields = part.splitn(4, |byte| *byte == 0x1F);
        let (name, file_name, content_type) = (fields.next()?, fields.next()?, fields.next()?);
        let some = |bytes: &&[u8]| !bytes.is_empty();
        Some(Part {
            name: text(name)?,
            file_name: Some(file_name).filter(some).and_then(text),
            content_type: Some(content_type).filter(some).and_then(text),
            bytes: fields.next()?,
        })
    });
    check(multipart::user_turn(parts));
}

fn check(read: Result<UserTurn, Vec<Error>>) {
    match read {
        Ok(turn) => assert_round_trip(&turn),
        Err(errors) => assert_actionable(errors),
    }
}

/// Asserts that a stored request reads back as the same turn with the same fingerprint (I9).
fn assert_round_trip(turn: &UserTurn) {
    let canonical = turn.canonical_json();
    let again = UserTurn::from_canonical(&canonical).expect("the canonical form is valid");
    // Streaming is delivery, not part of the request's identity (AGN-034 §4.7).
    let mut expected = turn.clone();
    expected.streaming = false;
    assert_eq!(again, expected);
    assert_eq!(again.canonical_json(), canonical);
    assert_eq!(again.fingerprint(), turn.fingerprint());
}

/// Asserts that there are errors, within the limit, all client errors, in an envelope that can be sent.
fn assert_actionable(errors: Vec<Error>) {
    assert!(!errors.is_empty() && errors.len() <= MAX_REPORTED_VIOLATIONS);
    assert!(errors.iter().all(|error| (400..500).contains(&error.error_code.http_status())));
    let result = InvokeResult::errors(errors);
    assert!(!text_response::plain_text(&result).contains(['\n', '\r']));
}
