//! Results that come after their deadline, before any sweep has looked.

use std::time::Duration;

use contracts::ErrorCode;
use protocol::{
    timing::Timing,
    turn::{Reason, Verdict},
};
use testkit::{
    client::Mutation,
    deployment::{Deployment, Sent, Settings},
};

use super::{calls, error, execute, resume};

const DEADLINE: Duration = Duration::from_secs(30);

#[test]
fn they_end_the_turn_and_are_answered_as_if_the_sweep_had() {
    let timing = Timing { longest_tool_wait: DEADLINE, ..Timing::default() };
    let mut deployment = Deployment::new(Settings { timing, ..Settings::quiet() });
    let sent = Sent::new("ann", "s", "t1", "Go calls: sc");
    let waits = calls(execute(&mut deployment, &sent));
    deployment.wait(DEADLINE);
    let ended = resume(&mut deployment, &sent, &waits.answered("ann")).unwrap();
    assert_eq!(error(&ended), Some(ErrorCode::ToolDeadlineExpired));
    let head = deployment.table.contents().heads[&sent.turn()].clone();
    assert_eq!(head.settlement().unwrap().verdict, Verdict::Ended(Reason::ToolDeadline));
    assert_eq!(deployment.provider.count(), 1, "the model is not asked again");

    let wrong = testkit::client::mutated(&waits.results("ann"), Mutation::Swapped, 0, &[]);
    let other = wrong.map_or_else(|| waits.answered("ben"), |wrong| waits.request(&wrong));
    assert_eq!(resume(&mut deployment, &sent, &other).unwrap(), ended, "any results hear the same");
    assert_eq!(execute(&mut deployment, &sent).unwrap(), ended, "and so does the user turn");
    deployment.wait(Duration::from_secs(5));
    assert_eq!(deployment.violations(), []);
}
