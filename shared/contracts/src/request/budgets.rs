//! Budgets of an org: limits on what its turns may consume.

use serde::{Deserialize, Serialize};

#[cfg(feature = "openapi")]
use super::schemas;
use super::{
    body::{json_request, parse_body, validate},
    field_table::{Field, Scenario, read_object, slot, table},
    json::Json,
    kind::{Kind, Shape, Words, integer, line, word},
    limits::{
        MAX_BUDGET_ID_CHARS, MAX_BUDGETS, MAX_CONCURRENT_TURNS, MAX_ENTITY_TAG_CHARS, MAX_SAFE_INTEGER,
    },
    value::{self, list},
    violations::{Location, Violations},
};
use crate::{
    error::{Error, ErrorCode},
    id::MAX_ID_CHARS,
    schema::Schema,
};

table! {
    /// The budgets of an org.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Budgets as "Budgets", Draft {
        /// Entity tag of the budgets. A write may leave it out; otherwise it must be the stored one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        optional "ETag" etag: Option<String> = line(MAX_ENTITY_TAG_CHARS),
        /// ISO 4217 code of the currency of budgets with the unit `money`. Costs in other currencies can't be counted.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        optional "Currency" currency: Option<String> = CURRENCY,
        /// Budgets. The first one that is used up refuses a turn.
        #[serde(default)]
        required "Budgets" budgets: Vec<Budget> = BUDGETS,
    }
}

table! {
    /// A limit on what turns may consume.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Budget as "Budget", BudgetDraft {
        /// Name of the budget, unique in the org. Errors and warnings show it.
        required "Id" id: String = line(MAX_BUDGET_ID_CHARS),
        /// Turns that share the limit: all of the org, or those of each user, agent or session.
        required "Scope" scope: BudgetScope = SCOPE,
        /// Id of the only user, agent or session that the budget is for. Absent: every one has a limit of its own.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        optional "Subject" subject: Option<String> = line(MAX_ID_CHARS),
        /// Time in which the limit holds, in UTC.
        required "Window" window: BudgetWindow = WINDOW,
        /// Unit of the limit.
        required "Unit" unit: BudgetUnit = UNIT,
        /// Limit: a number of tokens or turns, or of millionths of the currency.
        required "Limit" limit: u64 = LIMIT,
        /// What happens at the limit.
        #[serde(default)]
        defaulted "Action" action: BudgetAction = ACTION,
        /// What happens to turns of a model without a price in `Currency`. For money only.
        #[serde(default, skip_serializing_if = "BudgetUnpriced::is_refuse")]
        defaulted "Unpriced" unpriced: BudgetUnpriced = UNPRICED,
    }
}

/// The turns that share a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum BudgetScope {
    /// All turns of the org.
    Org,
    /// The turns of a user.
    User,
    /// The turns of an agent context.
    Agent,
    /// The turns of a session.
    Session,
}

/// The time in which a budget holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum BudgetWindow {
    /// One turn.
    Turn,
    /// No time: the turns that are being processed at the same moment.
    Concurrent,
    /// A minute.
    Minute,
    /// A day.
    Day,
    /// A calendar month.
    Month,
}

/// The unit of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum BudgetUnit {
    /// Input and output tokens.
    Tokens,
    /// Millionths of the currency.
    Money,
    /// Turns.
    Turns,
}

/// The effect of a budget that is used up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum BudgetAction {
    /// New turns are refused, and running ones stop before their next model call.
    #[default]
    Stop,
    /// Turns get a warning.
    Warn,
}

/// What a budget of money does with turns that it can't count, because their model has no price in its currency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum BudgetUnpriced {
    /// Turns are refused, or warned if `Action` is `warn`.
    #[default]
    Refuse,
    /// Turns are started, and don't count. The use of the budget shows their number.
    Allow,
}

impl Words for BudgetScope {
    const WORDS: &[(&str, Self)] =
        &[("org", Self::Org), ("user", Self::User), ("agent", Self::Agent), ("session", Self::Session)];
}

impl Words for BudgetWindow {
    const WORDS: &[(&str, Self)] = &[
        ("turn", Self::Turn),
        ("concurrent", Self::Concurrent),
        ("minute", Self::Minute),
        ("day", Self::Day),
        ("month", Self::Month),
    ];
}

impl Words for BudgetUnit {
    const WORDS: &[(&str, Self)] =
        &[("tokens", Self::Tokens), ("money", Self::Money), ("turns", Self::Turns)];
}

impl Words for BudgetAction {
    const WORDS: &[(&str, Self)] = &[("stop", Self::Stop), ("warn", Self::Warn)];
}

impl Words for BudgetUnpriced {
    const WORDS: &[(&str, Self)] = &[("refuse", Self::Refuse), ("allow", Self::Allow)];
}

impl BudgetScope {
    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Org => "org",
            Self::User => "user",
            Self::Agent => "agent",
            Self::Session => "session",
        }
    }
}

impl BudgetUnpriced {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_refuse(&self) -> bool {
        *self == Self::Refuse
    }
}

impl BudgetWindow {
    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Concurrent => "concurrent",
            Self::Minute => "minute",
            Self::Day => "day",
            Self::Month => "month",
        }
    }
}

impl BudgetUnit {
    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Money => "money",
            Self::Turns => "turns",
        }
    }
}

const CURRENCY: Kind<String> = Kind {
    shape: line(3).shape,
    read: |shape, json, at, violations| {
        let code = value::line(json, shape.max(), at, violations)?;
        if code.len() != shape.max() || !code.bytes().all(|letter| letter.is_ascii_uppercase()) {
            violations.invalid(at, "must be an ISO 4217 code such as EUR");
            return None;
        }
        Some(code.to_owned())
    },
};

const BUDGETS: Kind<Vec<Budget>> = Kind {
    shape: Shape::List { items: Schema::of::<Budget>("Budget"), min: 0, max: MAX_BUDGETS },
    read: |shape, json, at, violations| list(json, shape.max(), at, violations, budget),
};

const SCOPE: Kind<BudgetScope> = word(Schema::of::<BudgetScope>("BudgetScope"));
const WINDOW: Kind<BudgetWindow> = word(Schema::of::<BudgetWindow>("BudgetWindow"));
const UNIT: Kind<BudgetUnit> = word(Schema::of::<BudgetUnit>("BudgetUnit"));
const ACTION: Kind<BudgetAction> = word(Schema::of::<BudgetAction>("BudgetAction"));
const UNPRICED: Kind<BudgetUnpriced> = word(Schema::of::<BudgetUnpriced>("BudgetUnpriced"));
const LIMIT: Kind<u64> = Kind {
    shape: integer::<u64>(1, MAX_SAFE_INTEGER),
    read: |shape, json, at, violations| {
        let limit = shape.integer(json);
        if limit.is_none() {
            violations
                .invalid(at, "must be a whole number from 1 on; money is in millionths of the currency");
        }
        limit
    },
};

json_request!(Budgets);

impl Budgets {
    /// Parses a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order. Never empty.
    ///
    /// # Examples
    /// ```
    /// use contracts::request::Budgets;
    ///
    /// let body = br#"{"Budgets": [{"Id": "daily", "Scope": "user", "Window": "day", "Unit": "tokens", "Limit": 50000}]}"#;
    /// let budgets = Budgets::parse(body).expect("a budget");
    /// assert_eq!(budgets.budgets[0].limit, 50_000);
    /// assert!(Budgets::parse(br#"{"Budgets": [{"Id": "daily"}]}"#).is_err());
    /// ```
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_body(body)?, budgets)
    }
}

fn budgets(json: &Json<'_>, violations: &mut Violations) -> Option<Budgets> {
    let budgets = Draft::read(json, &Location::ROOT, violations).build()?;
    let at = Location::ROOT.member("Budgets");
    for (index, budget) in budgets.budgets.iter().enumerate() {
        if budgets.budgets.iter().take(index).any(|other| other.id == budget.id) {
            violations.invalid(&at.item(index).member("Id"), "must be unique, and another budget has it");
        }
        if budget.unit == BudgetUnit::Money && budgets.currency.is_none() && violations.is_clean() {
            let rule = "is required with a budget of money";
            violations.add(ErrorCode::MemberRequired, &Location::ROOT.member("Currency"), rule);
        }
    }
    Some(budgets)
}

fn budget(json: &Json<'_>, at: &Location<'_>, violations: &mut Violations) -> Option<Budget> {
    let draft = BudgetDraft::read(json, at, violations);
    let BudgetDraft { scope, window, unit, limit, action, unpriced, .. } = draft;
    if unpriced.is_some() && unit.is_some_and(|unit| unit != BudgetUnit::Money) {
        violations.invalid(&at.member("Unpriced"), "must be left out unless the Unit is money");
    }
    if window == Some(BudgetWindow::Turn) && unit == Some(BudgetUnit::Turns) {
        violations.invalid(&at.member("Unit"), "must be tokens or money with the window turn");
    }
    if window == Some(BudgetWindow::Turn) && action == Some(BudgetAction::Warn) {
        // A warning is given at a turn's start, and nothing is used by then.
        violations.invalid(&at.member("Action"), "must be stop with the window turn");
    }
    if window == Some(BudgetWindow::Concurrent) {
        if unit.is_some_and(|unit| unit != BudgetUnit::Turns) {
            violations.invalid(&at.member("Unit"), "must be turns with the window concurrent");
        }
        if scope == Some(BudgetScope::Session) {
            let rule =
                "must be org, user or agent with the window concurrent; a session has one turn at a time";
            violations.invalid(&at.member("Scope"), rule);
        }
        if limit.is_some_and(|limit| limit > MAX_CONCURRENT_TURNS) {
            let rule = format!("must be at most {MAX_CONCURRENT_TURNS} with the window concurrent");
            violations.invalid(&at.member("Limit"), &rule);
        }
    }
    if scope == Some(BudgetScope::Org) && draft.subject.is_some() {
        violations.invalid(&at.member("Subject"), "must be left out with the scope org");
    }
    draft.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(body: &str) -> Vec<(ErrorCode, String)> {
        let errors = Budgets::parse(body.as_bytes()).unwrap_err();
        errors.into_iter().map(|error| (error.error_code, error.details.unwrap_or_default())).collect()
    }

    #[test]
    fn budgets_round_trip_and_words_match_their_names() {
        let body = r#"{"Currency":"EUR","Budgets":[{"Id":"m","Scope":"org","Window":"month","Unit":"money","Limit":5,"Action":"warn"},{"Id":"t","Scope":"agent","Subject":"a/1","Window":"turn","Unit":"tokens","Limit":9,"Action":"stop"}]}"#;
        let budgets = Budgets::parse(body.as_bytes()).unwrap();
        assert_eq!(serde_json::to_string(&budgets).unwrap(), body);
        assert_eq!(serde_json::from_str::<Budgets>(body).unwrap(), budgets);
        assert_eq!(Budgets::parse(br#"{"Budgets":[]}"#).unwrap(), Budgets::default());
        assert_eq!(Budgets::parse(br#"{"ETag":"t","Budgets":[]}"#).unwrap().etag.as_deref(), Some("t"));
        assert!(BudgetScope::WORDS.iter().all(|(word, scope)| *word == scope.name()));
        assert!(BudgetWindow::WORDS.iter().all(|(word, window)| *word == window.name()));
        assert!(BudgetUnit::WORDS.iter().all(|(word, unit)| *word == unit.name()));
    }

    #[test]
    fn unpriced_is_for_budgets_of_money_alone() {
        let body = |unit: &str| {
            format!(
                r#"{{"Currency":"EUR","Budgets":[{{"Id":"m","Scope":"org","Window":"day","Unit":"{unit}","Limit":5,"Action":"stop","Unpriced":"allow"}}]}}"#
            )
        };
        let money = Budgets::parse(body("money").as_bytes()).unwrap();
        assert_eq!(money.budgets[0].unpriced, BudgetUnpriced::Allow);
        assert_eq!(serde_json::to_string(&money).unwrap(), body("money"));
        let faults = violations(&body("tokens"));
        assert_eq!(faults, [(ErrorCode::MemberInvalid, "Budgets[0].Unpriced".to_owned())]);
    }

    #[test]
    fn budget_violations_reported_together() {
        let faults = violations(
            r#"{"Currency":"eur","Budgets":[
                {"Id":"","Scope":"team","Window":"turn","Unit":"turns","Limit":0},
                {"Id":"b","Scope":"org","Subject":"x","Window":"year","Unit":"tokens","Limit":1.5,"Colour":"red"}]}"#,
        );
        let members: Vec<&str> = faults.iter().map(|(_, at)| at.as_str()).collect();
        assert_eq!(
            members,
            [
                "Currency",
                "Budgets[0].Id",
                "Budgets[0].Scope",
                "Budgets[0].Limit",
                "Budgets[0].Unit",
                "Budgets[1].Window",
                "Budgets[1].Limit",
                "Budgets[1].Colour",
                "Budgets[1].Subject",
            ]
        );
    }

    #[test]
    fn budget_of_single_turns_cannot_warn() {
        let faults = violations(
            r#"{"Budgets":[{"Id":"t","Scope":"org","Window":"turn","Unit":"tokens","Limit":5,"Action":"warn"}]}"#,
        );
        assert_eq!(faults, [(ErrorCode::MemberInvalid, "Budgets[0].Action".to_owned())]);
    }

    #[test]
    fn concurrent_turns_are_counted_per_org_user_or_agent() {
        let faults = violations(
            r#"{"Budgets":[{"Id":"c","Scope":"session","Window":"concurrent","Unit":"tokens","Limit":501}]}"#,
        );
        let members: Vec<&str> = faults.iter().map(|(_, at)| at.as_str()).collect();
        assert_eq!(members, ["Budgets[0].Unit", "Budgets[0].Scope", "Budgets[0].Limit"]);
        let most =
            r#"{"Budgets":[{"Id":"c","Scope":"user","Window":"concurrent","Unit":"turns","Limit":500}]}"#;
        assert!(Budgets::parse(most.as_bytes()).is_ok());
    }

    #[test]
    fn money_needs_a_currency_and_ids_are_unique() {
        let money = r#"{"Id":"m","Scope":"org","Window":"day","Unit":"money","Limit":5}"#;
        let faults = violations(&format!(r#"{{"Budgets":[{money}]}}"#));
        assert_eq!(faults, [(ErrorCode::MemberRequired, "Currency".to_owned())]);
        let faults = violations(&format!(r#"{{"Currency":"USD","Budgets":[{money},{money}]}}"#));
        assert_eq!(faults, [(ErrorCode::MemberInvalid, "Budgets[1].Id".to_owned())]);
    }
}
