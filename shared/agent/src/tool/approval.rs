//! The approval policy of a tool: which of its calls a person has to approve, and who may.
//!
//! A condition compares one value with a constant, so its evaluation is bounded. A condition that can't be evaluated asks.

use std::cmp::Ordering;

use contracts::{Timestamp, id::UserId};
use protocol::approval::{AnswerRules, ApprovalId, ApproverRole, ExactCall};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    fault::FaultCollector,
    members::{Count, Strings, Typed, line, table, text, words},
};

/// The most calls of a reply that may wait for an approval.
pub const MAX_APPROVALS: usize = 8;
/// The most conditions of a policy.
const MAX_CONDITIONS: Count = Count(16, "conditions");
/// The most roles.
const MAX_ROLES: Count = Count(3, "roles");
/// The most named users, and the length of their ids.
const USERS: Strings<crate::members::Text> = Strings(Count(5, "users"), line(128));
/// The maximum length of a JSON pointer.
const MAX_POINTER_CHARS: usize = 256;
/// The maximum size of a condition's value, as JSON.
const MAX_VALUE_BYTES: usize = 1_024;
/// `ExpiresAfterSeconds`: at most a week.
const EXPIRES_AFTER: std::ops::RangeInclusive<u32> = 1..=604_800;

const fn default_expires_after() -> u32 {
    86_400
}

fn default_roles() -> Vec<ApproverRole> {
    vec![ApproverRole::Asker]
}

table! {
    /// Which calls of a tool a person has to approve, and who may.
    #[derive(Debug, Clone, PartialEq)]
    pub struct ApprovalPolicy as "ApprovalPolicy" {
        /// The calls that wait.
        pub policy: ApprovalMode,
        /// The conditions of `when`. A call waits if one of them holds, or can't be evaluated.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        pub when: Vec<ApprovalCondition> = MAX_CONDITIONS,
        /// The roles whose users may answer. Absent: the asker.
        #[serde(default = "default_roles")]
        pub roles: Vec<ApproverRole> = MAX_ROLES,
        /// The ids of users who may answer.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        pub users: Vec<String> = USERS,
        /// True if the asker may not answer, whatever the roles.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        pub four_eyes: bool,
        /// True if an approval may change the arguments.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        pub may_edit: bool,
        /// The time to answer, in seconds.
        #[serde(default = "default_expires_after")]
        pub expires_after_seconds: u32 = EXPIRES_AFTER,
    }
}

table! {
    /// A comparison of a value of a call with a constant.
    #[derive(Debug, Clone, PartialEq)]
    pub struct ApprovalCondition as "ApprovalCondition" {
        /// The value.
        pub of: ConditionSubject,
        /// The JSON pointer of an argument, such as `/amount`. For `argument` and `sum`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub argument: Option<String> = text(MAX_POINTER_CHARS),
        /// The comparison.
        pub operator: ConditionOperator,
        /// The constant.
        pub value: ConditionValue,
    }
}

words!(ApprovalMode, ApproverRole, ConditionSubject, ConditionOperator);

/// The calls of a tool that wait for an approval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// None.
    #[default]
    Never,
    /// All.
    Always,
    /// Those for which a condition holds.
    When,
}

/// The value that a condition compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConditionSubject {
    /// An argument of the call.
    Argument,
    /// The id of the user whose turn it is.
    User,
    /// The number of calls of the tool in the turn, this one included.
    Calls,
    /// The sum of a number over the calls of the tool in the turn, this one included.
    Sum,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConditionOperator {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Greater, of numbers.
    Greater,
    /// Less, of numbers.
    Less,
    /// One of the values of a list.
    In,
    /// None of the values of a list.
    NotIn,
    /// A text that contains the value.
    Contains,
}

/// The constant of a condition: any JSON value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConditionValue(pub Value);

impl Typed for ConditionValue {
    fn schema() -> Value {
        json!({})
    }

    fn check(&self, at: &str, faults: &mut FaultCollector) {
        let fits = self.0.to_string().len() <= MAX_VALUE_BYTES;
        faults.require(fits, at, format_args!("must have at most {MAX_VALUE_BYTES} bytes"));
    }
}

/// The facts on which a policy depends.
#[derive(Debug, Clone, Copy)]
pub struct CallFacts<'a> {
    /// The user whose turn it is.
    pub user: &'a UserId,
    /// The arguments.
    pub arguments: &'a Value,
    /// The arguments of the earlier calls of the tool in the turn. `None` if not all of them are known.
    pub earlier: Option<&'a [Value]>,
}

impl ApprovalPolicy {
    /// The policy that asks the asker for every call.
    #[must_use]
    pub fn always() -> Self {
        Self {
            policy: ApprovalMode::Always,
            when: Vec::new(),
            roles: default_roles(),
            users: Vec::new(),
            four_eyes: false,
            may_edit: false,
            expires_after_seconds: default_expires_after(),
        }
    }

    /// True if a person has to approve the call.
    #[must_use]
    pub fn asks(&self, facts: &CallFacts<'_>) -> bool {
        match self.policy {
            ApprovalMode::Never => false,
            ApprovalMode::Always => true,
            ApprovalMode::When => self.when.iter().any(|condition| condition.holds(facts).unwrap_or(true)),
        }
    }

    /// Returns the rules of an answer.
    #[must_use]
    pub fn answer_rules(&self) -> AnswerRules {
        AnswerRules {
            roles: self.roles.clone(),
            // Ids that no user can have admit nobody.
            users: self.users.iter().filter_map(|user| user.parse().ok()).collect(),
            four_eyes: self.four_eyes,
            may_edit: self.may_edit,
        }
    }

    /// Checks what no rule of a single member says. `at` is the path of the policy.
    pub(crate) fn check_rules(&self, at: &str, faults: &mut FaultCollector) {
        let has_conditions = !self.when.is_empty();
        faults.require(
            has_conditions == (self.policy == ApprovalMode::When),
            format!("{at}.When"),
            "is required for the policy when, and for no other",
        );
        for (n, user) in self.users.iter().enumerate() {
            faults.require(
                user.parse::<UserId>().is_ok(),
                format!("{at}.Users[{n}]"),
                "must be the id of a user",
            );
        }
        let others = self.roles.iter().any(|role| *role != ApproverRole::Asker) || !self.users.is_empty();
        faults.require(
            if self.four_eyes { others } else { others || !self.roles.is_empty() },
            format!("{at}.Roles"),
            "must name somebody who may answer, or Users must; with FourEyes, somebody besides the asker",
        );
        for (n, condition) in self.when.iter().enumerate() {
            condition.check_rules(&format!("{at}.When[{n}]"), faults);
        }
    }
}

impl ApprovalCondition {
    /// Returns true if the condition holds, and `None` if it can't be evaluated.
    fn holds(&self, facts: &CallFacts<'_>) -> Option<bool> {
        let pointer = self.argument.as_deref();
        let user;
        let number;
        let found = match self.of {
            ConditionSubject::Argument => facts.arguments.pointer(pointer?)?,
            ConditionSubject::User => {
                user = Value::from(facts.user.as_str());
                &user
            }
            ConditionSubject::Calls => {
                number = Value::from(facts.earlier?.len().saturating_add(1));
                &number
            }
            ConditionSubject::Sum => {
                let pointer = pointer?;
                let calls = facts.earlier?.iter().chain([facts.arguments]);
                let sum = calls.map(|call| call.pointer(pointer)?.as_f64()).sum::<Option<f64>>()?;
                number = Value::from(Some(sum).filter(|sum| sum.is_finite())?);
                &number
            }
        };
        self.operator.compare(found, &self.value.0)
    }

    fn check_rules(&self, at: &str, faults: &mut FaultCollector) {
        let needs_pointer = matches!(self.of, ConditionSubject::Argument | ConditionSubject::Sum);
        let is_pointer = self.argument.as_ref().is_none_or(|pointer| pointer.starts_with('/'));
        faults.require(is_pointer, format!("{at}.Argument"), "must be a JSON pointer, such as /amount");
        faults.require(
            needs_pointer == self.argument.is_some(),
            format!("{at}.Argument"),
            "is required for argument and sum, and for nothing else",
        );
        let value = &self.value.0;
        let (fits, rule) = match self.operator {
            ConditionOperator::Equal | ConditionOperator::NotEqual => (true, ""),
            ConditionOperator::Greater | ConditionOperator::Less => (value.is_number(), "must be a number"),
            ConditionOperator::In | ConditionOperator::NotIn => (value.is_array(), "must be a list"),
            ConditionOperator::Contains => (value.is_string(), "must be a text"),
        };
        faults.require(fits, format!("{at}.Value"), rule);
    }
}

impl ConditionOperator {
    /// Compares. `None` if the values can't be compared.
    fn compare(self, found: &Value, value: &Value) -> Option<bool> {
        match self {
            Self::Equal => Some(is_equal(found, value)),
            Self::NotEqual => Some(!is_equal(found, value)),
            Self::Greater => Some(order(found, value)? == Ordering::Greater),
            Self::Less => Some(order(found, value)? == Ordering::Less),
            Self::In => Some(value.as_array()?.iter().any(|item| is_equal(found, item))),
            Self::NotIn => Some(!value.as_array()?.iter().any(|item| is_equal(found, item))),
            Self::Contains => Some(found.as_str()?.contains(value.as_str()?)),
        }
    }
}

/// True for equal values. `1` and `1.0` are equal numbers.
fn is_equal(one: &Value, other: &Value) -> bool {
    one == other || order(one, other) == Some(Ordering::Equal)
}

/// Returns the order of two numbers.
fn order(one: &Value, other: &Value) -> Option<Ordering> {
    one.as_f64()?.partial_cmp(&other.as_f64()?)
}

/// The approval that a call of a turn needs, as the turn stores it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct CallApproval {
    /// The id.
    pub id: ApprovalId,
    /// The call.
    pub call: ExactCall,
    /// The rules of the answer.
    pub rules: AnswerRules,
    /// The time at which it was asked for.
    pub created: Timestamp,
    /// The time from which it can't be answered.
    pub expires: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(when: &Value) -> ApprovalPolicy {
        serde_json::from_value(json!({ "Policy": "when", "When": when })).unwrap()
    }

    fn asks(condition: Value, arguments: &Value, earlier: Option<&[Value]>) -> bool {
        let user = "ada".parse().unwrap();
        policy(&json!([condition])).asks(&CallFacts { user: &user, arguments, earlier })
    }

    fn faults(policy: &Value) -> Vec<String> {
        let policy: ApprovalPolicy = serde_json::from_value(policy.clone()).unwrap();
        let mut faults = FaultCollector::default();
        Typed::check(&policy, "Approval", &mut faults);
        policy.check_rules("Approval", &mut faults);
        faults
            .finish()
            .err()
            .map_or_else(Vec::new, |faults| faults.as_slice().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn conditions_compare_arguments_user_calls_and_sums() {
        let call = json!({ "amount": 50, "to": { "country": "DE" }, "note": "a refund" });
        let earlier = [json!({ "amount": 30 }), json!({ "amount": 25.5 })];
        let of = |of: &str, argument: Option<&str>, operator: &str, value: Value| json!({ "Of": of, "Argument": argument, "Operator": operator, "Value": value });
        let cases = [
            (of("argument", Some("/amount"), "greater", json!(49.5)), true),
            (of("argument", Some("/amount"), "greater", json!(50)), false),
            (of("argument", Some("/amount"), "less", json!(51)), true),
            (of("argument", Some("/amount"), "equal", json!(50.0)), true),
            (of("argument", Some("/to/country"), "not_in", json!(["DE", "FR"])), false),
            (of("argument", Some("/to/country"), "in", json!(["DE", "FR"])), true),
            (of("argument", Some("/to/country"), "not_equal", json!("DE")), false),
            (of("argument", Some("/note"), "contains", json!("refund")), true),
            (of("user", None, "in", json!(["bob"])), false),
            (of("user", None, "equal", json!("ada")), true),
            (of("calls", None, "greater", json!(2)), true),
            (of("calls", None, "greater", json!(3)), false),
            (of("sum", Some("/amount"), "greater", json!(105)), true),
            (of("sum", Some("/amount"), "greater", json!(105.5)), false),
        ];
        for (condition, expected) in cases {
            assert_eq!(asks(condition.clone(), &call, Some(&earlier)), expected, "{condition}");
        }
    }

    #[test]
    fn condition_that_cannot_be_evaluated_asks() {
        let call = json!({ "amount": "50" });
        let greater = |pointer: &str| json!({ "Of": "argument", "Argument": pointer, "Operator": "greater", "Value": 1000 });
        assert!(asks(greater("/amount"), &call, Some(&[])), "a text isn't a number");
        assert!(asks(greater("/missing"), &call, Some(&[])));
        let calls = json!({ "Of": "calls", "Operator": "greater", "Value": 1000 });
        assert!(asks(calls.clone(), &call, None) && !asks(calls, &call, Some(&[])));
        let sum = json!({ "Of": "sum", "Argument": "/amount", "Operator": "greater", "Value": 1000 });
        assert!(asks(sum, &call, Some(&[])));
    }

    #[test]
    fn policy_is_checked() {
        assert!(faults(&json!({ "Policy": "always" })).is_empty());
        for wrong in [
            json!({ "Policy": "when" }),
            json!({ "Policy": "always", "FourEyes": true }),
            json!({ "Policy": "always", "Roles": [] }),
            json!({ "Policy": "always", "Users": [".."] }),
            json!({ "Policy": "always", "ExpiresAfterSeconds": 0 }),
            json!({ "Policy": "when", "When": [{ "Of": "argument", "Operator": "equal", "Value": 1 }] }),
            json!({ "Policy": "when", "When": [{ "Of": "user", "Argument": "/a", "Operator": "equal", "Value": 1 }] }),
            json!({ "Policy": "when", "When": [{ "Of": "calls", "Operator": "greater", "Value": "1" }] }),
            json!({ "Policy": "when", "When": [{ "Of": "user", "Operator": "in", "Value": "a" }] }),
        ] {
            assert_eq!(faults(&wrong).len(), 1, "{wrong}: {:?}", faults(&wrong));
        }
    }
}
