//! `aptix gc`: lists and deletes unreferenced objects.

use std::time::Duration;

use clap::Args;

use crate::failure::Failure;
use crate::output::print;
use crate::store_args::StoreArgs;

#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Delete the listed objects
    #[arg(long)]
    remove: bool,
    /// Minimum age of an object in seconds; while turns are running, at least a function's timeout
    #[arg(long, value_name = "SECONDS", default_value_t = 86_400)]
    older_than: u64,
    #[command(flatten)]
    stores: StoreArgs,
}

pub(crate) async fn run(arguments: Gc) -> Result<(), Failure> {
    let Gc { remove, older_than, stores } = arguments;
    let is_unverified_pair = stores.is_unverified_pair();
    let stores = stores.open().await?;
    let print_key = |key: &str| {
        let _ = print(&format!("{key}\n"));
    };
    let min_age = Duration::from_secs(older_than);
    if remove && is_unverified_pair {
        local::gc::check_pair(&stores, min_age).await?;
    }
    let report = local::gc::run(&stores, min_age, remove, print_key).await?;
    let action = if remove { "deleted" } else { "delete them with --remove" };
    let text = format!(
        "{} of {} objects are unreferenced ({} bytes; {action}). Skipped: {} younger than {older_than} s, {} with an unrecognized key.",
        report.unreferenced, report.objects, report.bytes, report.recent, report.foreign
    );
    Ok(print(&format!("{text}\n"))?)
}
