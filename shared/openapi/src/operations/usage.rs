//! Usage, budgets and settings of an org, with the tag `Usage`.

use contracts::paths;
use utoipa::openapi::path::HttpMethod;

use super::row::{Body, ResponseKind, Row};
use crate::{
    error_groups::{ANYWHERE, BODY, PRECONDITION},
    parameters::Param,
};

pub(super) const OPERATIONS: &[Row] = &[
    Row {
        id: "readUsage",
        method: HttpMethod::Get,
        path: paths::USAGE,
        tag: "Usage",
        summary: "Report usage",
        description: "Returns turns, model calls, tokens and costs of the turns that ended in a range of days, by \
        day, user, agent or model. Operators get the usage of their org, or of one user. Others get their own. \
        `from` and `to` name the first and the last day by any time in it, in UTC. Without `to` the range ends \
        today, and without `from` it has 30 days. It has at most 366 days. A turn counts about a second after \
        it ended, and usage is stored for 800 days.",
        parameters: &[Param::By, Param::User, Param::From, Param::To],
        body: None,
        response: ResponseKind::Report("UsageReport"),
        links: &[],
        errors: &[ANYWHERE],
    },
    Row {
        id: "readBudgets",
        method: HttpMethod::Get,
        path: paths::BUDGETS,
        tag: "Usage",
        summary: "Read budgets",
        description: "Returns the budgets of the caller's org. The `ETag` identifies their content. For operators.",
        parameters: &[Param::IfNoneMatch],
        body: None,
        response: ResponseKind::Cacheable("Budgets"),
        links: &[],
        errors: &[ANYWHERE],
    },
    Row {
        id: "setBudgets",
        method: HttpMethod::Put,
        path: paths::BUDGETS,
        tag: "Usage",
        summary: "Replace budgets",
        description: "Replaces the budgets of the caller's org, which take effect within ten seconds. For \
            operators. A turn reserves 1 % of each limit when it starts and counts what it used once it has \
            ended. At a limit, new turns are refused with `BudgetExceeded` until the window ends, and a \
            running turn fails with `TurnOverBudget` before its next model call. A budget of money is refused \
            while an agent in its scope has no price in `Currency`, and refuses turns of such models with \
            `ForbiddenByPolicy`, unless its `Unpriced` is `allow`. The same budgets again change nothing.",
        parameters: &[Param::IfMatch, Param::IfNoneMatch],
        body: Some(Body::Json("Budgets")),
        response: ResponseKind::Json("Budgets"),
        links: &[],
        errors: &[ANYWHERE, BODY, PRECONDITION],
    },
    Row {
        id: "readBudgetUse",
        method: HttpMethod::Get,
        path: paths::BUDGET_USE,
        tag: "Usage",
        summary: "Report the use of budgets",
        description: "Returns what the meters of the budgets count in their current windows: what ended turns used, \
            and what is reserved for others. Operators get the budgets of their org, with the 20 users and agents \
            who used most, or with `userId` those of one user. Others get the budgets that limit each user. A user \
            or agent is listed once a turn of theirs has ended in the window.",
        parameters: &[Param::User],
        body: None,
        response: ResponseKind::Json("BudgetUseReport"),
        links: &[],
        errors: &[ANYWHERE],
    },
    Row {
        id: "readOrgSettings",
        method: HttpMethod::Get,
        path: paths::ORG_SETTINGS,
        tag: "Usage",
        summary: "Read the org's settings",
        description: "Returns the settings of the caller's org, which are empty before the first change. The `ETag` \
            identifies their content. For operators.",
        parameters: &[Param::IfNoneMatch],
        body: None,
        response: ResponseKind::Cacheable("OrgSettings"),
        links: &[],
        errors: &[ANYWHERE],
    },
    Row {
        id: "setOrgSettings",
        method: HttpMethod::Put,
        path: paths::ORG_SETTINGS,
        tag: "Usage",
        summary: "Replace the org's settings",
        description: "Replaces the settings of the caller's org, which take effect within a minute. `Policy` lists \
            what turns may use, and `Disabled` stops new turns of the org, or of users, agents and models. A turn \
            that isn't allowed is refused with `ForbiddenByPolicy` or `DisabledByOperator` before it is stored. \
            Turns that have started may finish. The same settings again change nothing. For operators.",
        parameters: &[Param::IfMatch, Param::IfNoneMatch],
        body: Some(Body::Json("OrgSettings")),
        response: ResponseKind::Json("OrgSettings"),
        links: &[],
        errors: &[ANYWHERE, BODY, PRECONDITION],
    },
];
