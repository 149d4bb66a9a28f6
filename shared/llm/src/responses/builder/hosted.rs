//! The hosted tools of a request.

use agent::model::hosted_tools::{CodeInterpreter, FileSearch, HostedTool, Mcp, WebSearch};

use crate::responses::request as wire;

pub(super) fn tool(tool: &HostedTool) -> wire::ToolSpec<'_> {
    wire::ToolSpec::Hosted(match tool {
        HostedTool::WebSearch(WebSearch { search_context_size, allowed_domains }) => {
            wire::Hosted::WebSearch {
                filters: some(allowed_domains).map(|allowed_domains| wire::Domains { allowed_domains }),
                search_context_size: *search_context_size,
            }
        }
        HostedTool::FileSearch(FileSearch { vector_store_ids, max_num_results }) => {
            wire::Hosted::FileSearch { vector_store_ids, max_num_results: *max_num_results }
        }
        HostedTool::CodeInterpreter(CodeInterpreter { file_ids, memory_limit }) => {
            wire::Hosted::CodeInterpreter {
                container: wire::Container { file_ids: some(file_ids), memory_limit: *memory_limit },
            }
        }
        HostedTool::Mcp(Mcp { server_label, server_url, server_description, allowed_tools }) => {
            wire::Hosted::Mcp {
                server_label,
                server_url,
                server_description: server_description.as_deref(),
                allowed_tools: some(allowed_tools),
                require_approval: "never",
            }
        }
    })
}

fn some(list: &[String]) -> Option<&[String]> {
    (!list.is_empty()).then_some(list)
}
