//! `aptix sam-env`: writes the files of `sam local` and `cargo lambda`.

use std::path::PathBuf;

use clap::Args;
use local::{Model, sam_env};

use crate::failure::{Failure, InvalidOption};
use crate::folder_args::FolderArgs;
use crate::model_args::ModelArgs;
use crate::output::print;

#[derive(Debug, Args)]
pub(crate) struct SamEnv {
    /// Host name or address of this machine inside a container, such as `host.docker.internal` with Docker Desktop
    /// [default: the services' address]
    #[arg(long, value_name = "ADDRESS")]
    host: Option<String>,
    /// SAM template
    #[arg(long, value_name = "FILE", default_value = "template.yaml")]
    template: PathBuf,
    /// Build folder, with a subfolder for each function named after its resource
    #[arg(long, value_name = "FOLDER", default_value = ".aws-sam/build")]
    build_dir: PathBuf,
    #[command(flatten)]
    folder: FolderArgs,
    #[command(flatten)]
    model: ModelArgs,
}

pub(crate) async fn run(arguments: SamEnv) -> Result<(), Failure> {
    let SamEnv { host, template, build_dir, folder, model } = arguments;
    let model = model.resolve().await?;
    if let Model::Bedrock { .. } = model {
        let reason = "sam-env can't hand AWS credentials to functions outside the local cloud";
        return Err(InvalidOption::new(reason).into());
    }
    let request = sam_env::Request { data: folder.find()?.data, host, template, build_dir, model };
    let sam_env::OutputFiles { template, variables, env_file } = sam_env::write(&request)?;
    let (template, variables) = (template.display(), variables.display());
    let text = format!(
        "sam local start-api --template {template} --env-vars {variables}
sam local invoke ExecuteFunction --event events/execute.json --template {template} --env-vars {variables}
cargo lambda watch --invoke-address 127.0.0.1 --invoke-port 9001 --ignore-changes --env-file {env_file}",
        env_file = env_file.display()
    );
    Ok(print(&format!("{text}\n"))?)
}
