//! Usage, budgets and settings of an org, with the tag `Usage`.

use super::{
    error_groups::{ANYWHERE, BODY, PRECONDITION},
    operation::{Body, Method, Operation, ResponseKind, operations},
    parameters::Parameter,
};
use crate::{
    budget_use::BudgetUseReport,
    read::UsageReport,
    request::{Budgets, OrgSettings},
    schema::Schema,
};

operations![
    READ_USAGE = Operation {
        id: "readUsage",
        method: Method::Get,
        path: "/api/ai/agent/usage",
        tag: "Usage",
        summary: "Report usage",
        description: "Returns turns, model calls, tokens and costs of the turns that ended in a range of days, by \
        day, user, agent or model. Operators get the usage of their org, or of one user. Others get their own. \
        `from` and `to` name the first and the last day by any time in it, in UTC. Without `to` the range ends \
        today, and without `from` it has 30 days. It has at most 366 days. A turn counts about a second after \
        it ended, and usage is stored for 800 days.",
        parameters: &[Parameter::BY, Parameter::USER, Parameter::FROM, Parameter::TO],
        body: None,
        response: ResponseKind::Report(Schema::of::<UsageReport>("UsageReport")),
        links: &[],
        errors: &[ANYWHERE],
    },
    READ_BUDGETS = Operation {
        id: "readBudgets",
        method: Method::Get,
        path: "/api/ai/agent/budgets",
        tag: "Usage",
        summary: "Read budgets",
        description: "Returns the budgets of the caller's org. The `ETag` identifies their content. For operators.",
        parameters: &[Parameter::IF_NONE_MATCH],
        body: None,
        response: ResponseKind::Cacheable(Schema::of::<Budgets>("Budgets")),
        links: &[],
        errors: &[ANYWHERE],
    },
    SET_BUDGETS = Operation {
        id: "setBudgets",
        method: Method::Put,
        path: "/api/ai/agent/budgets",
        tag: "Usage",
        summary: "Replace budgets",
        description: "Replaces the budgets of the caller's org, which take effect within ten seconds. For \
            operators. A turn reserves 1 % of each limit when it starts and counts what it used once it has \
            ended. At a limit, new turns are refused with `BudgetExceeded` until the window ends, and a \
            running turn fails with `TurnOverBudget` before its next model call. A budget of money is refused \
            while an agent in its scope has no price in `Currency`, and refuses turns of such models with \
            `ForbiddenByPolicy`, unless its `Unpriced` is `allow`. The same budgets again change nothing.",
        parameters: &[Parameter::IF_MATCH, Parameter::IF_NONE_MATCH],
        body: Some(Body::Json(Schema::of::<Budgets>("Budgets"))),
        response: ResponseKind::Json(Schema::of::<Budgets>("Budgets")),
        links: &[],
        errors: &[ANYWHERE, BODY, PRECONDITION],
    },
    READ_BUDGET_USE = Operation {
        id: "readBudgetUse",
        method: Method::Get,
        path: "/api/ai/agent/budgets/use",
        tag: "Usage",
        summary: "Report the use of budgets",
        description: "Returns what the meters of the budgets count in their current windows: what ended turns used, \
            and what is reserved for others. Operators get the budgets of their org, with the 20 users and agents \
            who used most, or with `userId` those of one user. Others get the budgets that limit each user. A user \
            or agent is listed once a turn of theirs has ended in the window.",
        parameters: &[Parameter::USER],
        body: None,
        response: ResponseKind::Json(Schema::of::<BudgetUseReport>("BudgetUseReport")),
        links: &[],
        errors: &[ANYWHERE],
    },
    READ_ORG_SETTINGS = Operation {
        id: "readOrgSettings",
        method: Method::Get,
        path: "/api/ai/agent/org-settings",
        tag: "Usage",
        summary: "Read the org's settings",
        description: "Returns the settings of the caller's org, which are empty before the first change. The `ETag` \
            identifies their content. For operators.",
        parameters: &[Parameter::IF_NONE_MATCH],
        body: None,
        response: ResponseKind::Cacheable(Schema::of::<OrgSettings>("OrgSettings")),
        links: &[],
        errors: &[ANYWHERE],
    },
    SET_ORG_SETTINGS = Operation {
        id: "setOrgSettings",
        method: Method::Put,
        path: "/api/ai/agent/org-settings",
        tag: "Usage",
        summary: "Replace the org's settings",
        description: "Replaces the settings of the caller's org, which take effect within a minute. `Policy` lists \
            what turns may use, and `Disabled` stops new turns of the org, or of users, agents and models. A turn \
            that isn't allowed is refused with `ForbiddenByPolicy` or `DisabledByOperator` before it is stored. \
            Turns that have started may finish. The same settings again change nothing. For operators.",
        parameters: &[Parameter::IF_MATCH, Parameter::IF_NONE_MATCH],
        body: Some(Body::Json(Schema::of::<OrgSettings>("OrgSettings"))),
        response: ResponseKind::Json(Schema::of::<OrgSettings>("OrgSettings")),
        links: &[],
        errors: &[ANYWHERE, BODY, PRECONDITION],
    },
];
