//! `aptix approvals`: the calls of tools that wait for a person.

use std::fmt::Write;

use clap::{Args, Subcommand};
use client::Request;
use contracts::paths;
use contracts::read::{Approval, ApprovalStatus, ListResponse};
use serde_json::{Value, json};

use crate::api_args::AccessArgs;
use crate::escape::escape_line;
use crate::failure::Failure;
use crate::output::print;

/// The most approvals on a page of the API.
const PAGE_SIZE: &str = "100";

#[derive(Debug, Subcommand)]
pub(crate) enum Approvals {
    /// List the calls that you may approve or deny, those that expire first at the start
    List(List),
    /// Show an approval: the exact call, its hash, and the answer
    Show(Named),
    /// Approve a call, which is sent once; prints what is sent
    Approve(Approve),
    /// Deny a call; the model gets the reason
    Deny(Deny),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// List those of the whole org, as an operator
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// Id of the approval, as the list and the waiting turn have it
    approval: String,
    #[command(flatten)]
    access: AccessArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Approve {
    /// Id of the approval
    approval: String,
    /// Hash of the call that you saw, as `show` prints it
    hash: String,
    /// Arguments to send in place of the model's, as JSON
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,
    #[command(flatten)]
    access: AccessArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Deny {
    /// Id of the approval
    approval: String,
    /// Reason, which the model gets
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    access: AccessArgs,
}

/// Runs the command and prints its output.
pub(crate) async fn run(command: Approvals) -> Result<(), Failure> {
    let text = match command {
        Approvals::List(arguments) => list(arguments).await?,
        Approvals::Show(Named { approval, access }) => {
            describe(&call(access, Request::get(paths::APPROVAL.fill(&approval))).await?)?
        }
        Approvals::Approve(Approve { approval, hash, arguments, access }) => {
            let mut body = json!({ "Hash": hash });
            add(&mut body, "ArgumentsJson", arguments);
            describe(&call(access, Request::post(paths::APPROVE.fill(&approval), &body)).await?)?
        }
        Approvals::Deny(Deny { approval, reason, access }) => {
            let mut body = json!({});
            add(&mut body, "Reason", reason);
            describe(&call(access, Request::post(paths::DENY.fill(&approval), &body)).await?)?
        }
    };
    print(&text)?;
    Ok(())
}

fn add(body: &mut Value, member: &str, value: Option<String>) {
    if let (Value::Object(body), Some(value)) = (body, value) {
        body.insert(member.to_owned(), value.into());
    }
}

async fn call(access: AccessArgs, request: Request) -> Result<Approval, Failure> {
    Ok(serde_json::from_value(access.connect().await?.call(&request).await?)?)
}

/// Lists approvals, a line for each with the arguments below it.
pub(crate) async fn list(List { all, access }: List) -> Result<String, Failure> {
    let (api, mut text, mut token) = (access.connect().await?, String::new(), None::<String>);
    loop {
        let mut query = vec![("pageSize", PAGE_SIZE), ("scope", if all { "all" } else { "mine" })];
        query.extend(token.as_deref().map(|token| ("continuationToken", token)));
        let page = api.call(&Request::get(paths::APPROVALS).with_query(&query)).await?;
        let page: ListResponse<Approval> = serde_json::from_value(page)?;
        for approval in page.items {
            writeln!(
                text,
                "{}  {}  until {}\n  {}",
                approval.approval_id,
                escape_line(&approval.tool),
                approval.expires_date,
                escape_line(&approval.arguments_json),
            )?;
        }
        token = page.continuation_token;
        if token.is_none() {
            break;
        }
    }
    Ok(if text.is_empty() { "No call waits for an approval.\n".to_owned() } else { text })
}

fn describe(approval: &Approval) -> Result<String, Failure> {
    let status = match approval.status {
        ApprovalStatus::Pending => "waits for an answer",
        ApprovalStatus::Approved => "approved",
        ApprovalStatus::Denied => "denied",
        ApprovalStatus::Expired => "expired",
        ApprovalStatus::Closed => "closed: its turn has ended",
    };
    let mut text = format!(
        "{}  {}\n  call       {} (connection {}, version {})\n  arguments  {}\n",
        approval.approval_id,
        status,
        escape_line(&approval.tool),
        escape_line(&approval.connection_id),
        approval.connection_version,
        escape_line(&approval.arguments_json),
    );
    if let Some(edited) = &approval.edited_arguments_json {
        writeln!(text, "  sent       {}", escape_line(edited))?;
    }
    writeln!(text, "  hash       {}", approval.hash)?;
    writeln!(text, "  turn       {} {}", approval.session_id, approval.turn_id)?;
    writeln!(text, "  asked by   {}, until {}", approval.asked_by_user_id, approval.expires_date)?;
    if let (Some(by), Some(at)) = (&approval.answered_by_user, approval.answered_date) {
        writeln!(text, "  answered   by {} at {at}", escape_line(&by.text))?;
    }
    if let Some(reason) = &approval.reason {
        writeln!(text, "  reason     {}", escape_line(reason))?;
    }
    Ok(text)
}
