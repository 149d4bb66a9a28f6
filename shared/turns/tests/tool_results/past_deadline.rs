//! Results that arrive after their deadline, before a sweep.

use std::time::Duration;

use contracts::ErrorCode;
use protocol::{
    timing::Timing,
    turn::{EndReason, Verdict},
};
use testkit::{
    client::Mutation,
    deployment::{ClientRequest, Deployment, Settings},
};

use super::{calls, error, execute, resume};

const DEADLINE: Duration = Duration::from_secs(30);

#[test]
fn late_results_end_the_turn_like_the_sweep() {
    let timing = Timing { max_tool_wait: DEADLINE, ..Timing::default() };
    let mut deployment = Deployment::new(Settings { timing, ..Settings::quiet() });
    let sent = ClientRequest::new("ann", "s", "t1", "Go calls: sc");
    let pending = calls(execute(&mut deployment, &sent));
    deployment.wait(DEADLINE);
    let ended = resume(&mut deployment, &sent, &pending.correct_request("ann")).unwrap();
    assert_eq!(error(&ended), Some(ErrorCode::ToolDeadlineExpired));
    let head = deployment.table.contents().heads[&sent.turn()].clone();
    assert_eq!(head.settlement().unwrap().verdict, Verdict::Ended(EndReason::ToolDeadline));
    assert_eq!(deployment.provider.count(), 1, "the model is not asked again");

    let wrong = testkit::client::mutate(&pending.results("ann"), Mutation::Swapped, 0, &[]);
    let other = wrong.map_or_else(|| pending.correct_request("ben"), |wrong| pending.request(&wrong));
    assert_eq!(resume(&mut deployment, &sent, &other).unwrap(), ended, "any results hear the same");
    assert_eq!(execute(&mut deployment, &sent).unwrap(), ended, "and so does the user turn");
    deployment.wait(Duration::from_secs(5));
    assert_eq!(deployment.violations(), []);
}
