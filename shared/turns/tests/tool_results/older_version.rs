//! A turn that an older version suspended resumes. Its stored calls have the provider's ids, which the client got too.

use bytes::Bytes;
use serde_json::Value;
use testkit::{
    build,
    client::PendingCalls,
    deployment::{ClientRequest, Deployment, Settings},
};

use super::{calls, error, execute, resume};

/// Rewrites the stored suspensions into the form before calls had ids of this service. Returns the response that the
/// older version sent for the last one.
fn make_old(deployment: &Deployment) -> Vec<u8> {
    let mut sent = Vec::new();
    for stored in deployment.objects.stored().values_mut() {
        let Ok(mut outcome) = serde_json::from_slice::<Value>(stored) else { continue };
        if outcome["Kind"] != "suspended" {
            continue;
        }
        let rounds = &mut outcome["RecoveryPoint"]["State"]["Rounds"];
        let mut given = Vec::new();
        let earlier = rounds.get("Earlier").and_then(Value::as_array).map_or(0, Vec::len);
        let places = (0..earlier).map(|at| format!("/Earlier/{at}")).chain(["/Last".to_owned()]);
        for place in places {
            let round = rounds.pointer_mut(&place).unwrap();
            if let Some(message) = round["Message"].as_object_mut() {
                message.retain(|name, _| !["Wire", "TextParts"].contains(&name.as_str()));
            }
            for call in round["Calls"].as_array_mut().unwrap() {
                let own = call["CallId"].take();
                let provider =
                    call.as_object_mut().unwrap().remove("ProviderId").unwrap_or_else(|| own.clone());
                call["CallId"] = provider.clone();
                given.push((own, provider));
            }
        }
        for call in outcome["Response"]["Body"]["Result"]["ToolCalls"].as_array_mut().unwrap() {
            let (_, provider) = given.iter().find(|(own, _)| *own == call["ToolCallId"]).unwrap();
            call["ToolCallId"] = provider.clone();
        }
        sent = serde_json::to_vec(&outcome["Response"]["Body"]).unwrap();
        *stored = Bytes::from(serde_json::to_vec(&outcome).unwrap());
    }
    sent
}

#[test]
fn turn_suspended_by_an_older_version_resumes() {
    for context in [None, Some(build::LOCAL)] {
        let mut deployment = Deployment::new(Settings::quiet());
        let sent = ClientRequest::new("ann", "s", "t1", "Go calls: sc c").with_contexts(None, context);
        let given = calls(execute(&mut deployment, &sent));
        let old = PendingCalls::parse(&make_old(&deployment)).unwrap();
        assert_ne!(old.ids, given.ids, "the client got the provider's ids");

        // The new version replays the response as it was, and takes results for its calls alone.
        assert_eq!(calls(execute(&mut deployment, &sent)), old);
        resume(&mut deployment, &sent, &given.correct_request("ann")).unwrap_err();
        let next = calls(resume(&mut deployment, &sent, &old.correct_request("ann")));

        // A round of this version, after one of the older version. Both may also come from the older version.
        let next = match context {
            None => next,
            Some(_) => PendingCalls::parse(&make_old(&deployment)).unwrap(),
        };
        let body = resume(&mut deployment, &sent, &next.correct_request("ann")).unwrap();
        assert_eq!(error(&body), None, "{}", String::from_utf8_lossy(&body));
        assert_eq!(deployment.provider.count(), 3, "every call is answered, and nothing is asked twice");

        // The next turn replays both rounds.
        let next = ClientRequest::new("ann", "s", "t2", "And now").with_contexts(None, context);
        assert_eq!(error(&execute(&mut deployment, &next).unwrap()), None);
    }
}
