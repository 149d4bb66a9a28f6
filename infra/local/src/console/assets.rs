//! Static files of the console, embedded from `clients` without a build step. Libraries of others are in its folder `vendor`.

use std::collections::BTreeSet;

use axum::Router;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::routing::get;

use crate::http_server::FRAME_SCRIPTS;

/// Path of the page.
pub(super) const PAGE: &str = "console/index.html";

/// The library that the page needs from the start. The others are loaded on demand.
const MARKDOWN_LIBRARY: &str = "console/vendor/markdown-it.min.js";

/// Page of the hidden frame that draws diagrams. Its library builds markup and inserts styles, so the frame is sandboxed:
/// its origin is its own, and it loads its two scripts alone.
pub(super) const FRAME: &str = "console/diagram-frame.html";
/// Policy of the page in that frame.
pub const FRAME_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts";

/// Embeds files of `clients` together with their paths.
macro_rules! files {
    ($($path:literal),* $(,)?) => {
        [$(($path, include_bytes!(concat!("../../../../clients/", $path)).as_slice())),*]
    };
}

/// Every file of the console, and the files of the SDK, which run in a browser without a bundler.
pub(super) const FILES: &[(&str, &[u8])] = &files![
    "console/activity.js",
    "console/agent-documents.js",
    "console/agent-form.js",
    "console/agent-wizard.js",
    "console/agents.js",
    "console/always.js",
    "console/answer-files.js",
    "console/approval-card.js",
    "console/approvals.js",
    "console/argument-rows.js",
    "console/attachments.js",
    "console/attributes.js",
    "console/bar-chart.js",
    "console/branch-tree.js",
    "console/branches.js",
    "console/budget-dialog.js",
    "console/budgets.js",
    "console/chat.css",
    "console/chat.js",
    "console/claims.js",
    "console/compare.js",
    "console/composer.js",
    "console/connection-form.js",
    "console/connection.js",
    "console/connections.js",
    "console/context-editor.js",
    "console/context-page.js",
    "console/curl.js",
    "console/dead-letters.js",
    "console/diagram-frame.html",
    "console/diagram-frame.js",
    "console/diagram.js",
    "console/diff.js",
    "console/dom.js",
    "console/drafts.js",
    "console/feedback.js",
    "console/first-tokens.js",
    "console/forecast.js",
    "console/format.js",
    "console/handoff.js",
    "console/highlight.js",
    "console/hosted-sign-in.js",
    "console/icon.svg",
    "console/icons.js",
    "console/identity.js",
    "console/index.html",
    "console/instruction.js",
    "console/json-path.js",
    "console/knowledge.js",
    "console/local.js",
    "console/log-lines.js",
    "console/main.js",
    "console/markdown-parser.js",
    "console/markdown.js",
    "console/maths.js",
    "console/menu.js",
    "console/meter.js",
    "console/model-io.js",
    "console/model-setup.js",
    "console/modes.js",
    "console/near.js",
    "console/not-allowed.js",
    "console/not-found.js",
    "console/operations.js",
    "console/page-tools.js",
    "console/pages.css",
    "console/palette.js",
    "console/partial-answers.js",
    "console/picker.js",
    "console/playground.js",
    "console/preview.js",
    "console/reachability.js",
    "console/read-marks.js",
    "console/reasoning.js",
    "console/recent-store.js",
    "console/saved-theme.js",
    "console/scaled-image.js",
    "console/schema-form.js",
    "console/script-help.js",
    "console/session-actions.js",
    "console/session-groups.js",
    "console/session-match.js",
    "console/sessions.js",
    "console/shortcuts.js",
    "console/sidebar.js",
    "console/sources.js",
    "console/step-view.js",
    "console/style.css",
    "console/test-panel.js",
    "console/theme.js",
    "console/timeline.js",
    "console/title.js",
    "console/tool-agents.js",
    "console/tool-card.js",
    "console/tool-choices.js",
    "console/tool-fields.js",
    "console/tool-offers.js",
    "console/tool-results.js",
    "console/tool-trial.js",
    "console/trace.js",
    "console/turn-footer.js",
    "console/turn-log.js",
    "console/turn-runner.js",
    "console/turn-view.js",
    "console/unknown-effects.js",
    "console/usage-charts.js",
    "console/usage-series.js",
    "console/usage-times.js",
    "console/usage.js",
    "console/value-view.js",
    "console/vendor/highlight-license.txt",
    "console/vendor/highlight.min.js",
    "console/vendor/katex-license.txt",
    "console/vendor/katex.min.js",
    "console/vendor/markdown-it-license.txt",
    "console/vendor/markdown-it.min.js",
    "console/vendor/mermaid-license.txt",
    "console/vendor/mermaid.min.js",
    "console/vendor/oauth4webapi-license.txt",
    "console/vendor/oauth4webapi.js",
    "console/vendor/stix-two-math-license.txt",
    "console/vendor/stix-two-math.woff2",
    "console/versions.js",
    "console/webhooks.js",
    "console/welcome.js",
    "console/workspace-files.js",
    "console/workspace.js",
    "javascript/src/approvals.js",
    "javascript/src/errors.js",
    "javascript/src/events.js",
    "javascript/src/follow.js",
    "javascript/src/http.js",
    "javascript/src/id.js",
    "javascript/src/index.js",
    "javascript/src/patch.js",
    "javascript/src/paths.js",
    "javascript/src/queue.js",
    "javascript/src/request.js",
    "javascript/src/resume-store.js",
    "javascript/src/retry.js",
    "javascript/src/session.js",
    "javascript/src/sse.js",
    "javascript/src/testing.js",
    "javascript/src/tools.js",
    "javascript/src/turn.js",
    "javascript/src/wire.js",
];

/// Returns a route for each file, and `/` for the page.
pub(super) fn router(policy: &str) -> Router {
    let mut router = Router::new();
    for &(path, bytes) in FILES {
        let headers = headers(path, policy);
        let served = get(move || std::future::ready((headers.clone(), bytes)));
        router = router.route(&if path == PAGE { "/".to_owned() } else { format!("/{path}") }, served);
    }
    router
}

/// Returns true for a script of the frame, which the browser requests on behalf of another origin.
fn is_frame_script(path: &str) -> bool {
    FRAME_SCRIPTS.iter().any(|script| script.strip_prefix('/') == Some(path))
}

/// Cache header of a file. The files change with the program while the address stays the same.
pub(super) const CACHE_CONTROL: &str = "no-cache";

/// Returns the media type of a file.
pub(super) fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "text/javascript; charset=utf-8",
    }
}

/// Returns the headers of a file. `policy` is the content security policy of the page.
fn headers(path: &str, policy: &str) -> HeaderMap {
    let readers = if is_frame_script(path) { "cross-origin" } else { "same-origin" };
    let fixed: [(HeaderName, &'static str); 5] = [
        (header::CONTENT_TYPE, content_type(path)),
        (header::CACHE_CONTROL, CACHE_CONTROL),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), readers),
    ];
    let fixed = fixed.map(|(name, value)| (name, HeaderValue::from_static(value)));
    let of_pages = match path {
        PAGE => vec![(header::CONTENT_SECURITY_POLICY, policy.to_owned()), (header::LINK, link_header())],
        FRAME => vec![(header::CONTENT_SECURITY_POLICY, FRAME_POLICY.to_owned())],
        _ => vec![],
    };
    let of_pages =
        of_pages.into_iter().filter_map(|(name, value)| Some((name, HeaderValue::try_from(value).ok()?)));
    fixed.into_iter().chain(of_pages).collect()
}

/// Module that runs before the first paint.
const THEME: &str = "console/saved-theme.js";
/// Module that imports the others.
const MAIN: &str = "console/main.js";

/// Returns the modules that the main module imports, directly or through others. Pages that it imports on demand, and what
/// they alone import, aren't among them.
fn initial_modules() -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    let mut open = vec![MAIN.to_owned()];
    while let Some(path) = open.pop() {
        if let Some((_, bytes)) = FILES.iter().find(|(other, _)| *other == path)
            && let Ok(text) = str::from_utf8(bytes)
            && modules.insert(path.clone())
        {
            open.extend(imports(&path, text));
        }
    }
    modules
}

/// Returns the paths of the modules that a module imports when it is loaded.
fn imports(path: &str, text: &str) -> Vec<String> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let parent = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
    let is_code = |line: &&str| !line.trim_start().starts_with(['*', '/']);
    let imported = text.lines().filter(is_code).filter_map(|line| line.split_once(" from '"));
    let names = imported.filter_map(|(_, rest)| rest.split('\'').next());
    let path = |name: &str| match name.strip_prefix("../") {
        Some(rest) => Some(format!("{parent}/{rest}")),
        None => name.strip_prefix("./").map(|rest| format!("{folder}/{rest}")),
    };
    names.filter_map(path).map(|path| path.trim_start_matches('/').to_owned()).collect()
}

/// A file that the browser requests with the page, instead of one import after another.
pub(super) enum Preload {
    Style(&'static str),
    Module(&'static str),
}

/// Returns the page's preloads. The first paint waits for those at the front.
pub(super) fn preloads() -> Vec<Preload> {
    let paths = || FILES.iter().map(|(path, _)| *path);
    let styles = paths().filter(|path| path.ends_with(".css"));
    let initial = initial_modules();
    let is_module = |path: &str| path == MARKDOWN_LIBRARY || initial.contains(path);
    let modules = paths().filter(|path| is_module(path));
    styles.map(Preload::Style).chain(std::iter::once(THEME).chain(modules).map(Preload::Module)).collect()
}

/// Returns the page's `Link` header.
fn link_header() -> String {
    let link = |preload| match preload {
        Preload::Style(path) => format!("</{path}>; rel=preload; as=style"),
        Preload::Module(path) => format!("</{path}>; rel=modulepreload"),
    };
    preloads().into_iter().map(link).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Libraries of others. `clients/console/vendor/packages.json` has their checksums.
    const VENDOR: &str = "console/vendor/";

    /// Folders whose files are not served.
    const UNSERVED: [&str; 3] = ["/test", "/node_modules", "/vendor"];

    /// Files of the console and the SDK, with their texts.
    fn texts() -> impl Iterator<Item = (&'static str, &'static str)> {
        let own = FILES.iter().filter(|(path, _)| !path.starts_with(VENDOR));
        own.map(|(path, bytes)| (*path, str::from_utf8(bytes).unwrap()))
    }

    fn files(folder: &str) -> BTreeSet<String> {
        let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients");
        let entries = std::fs::read_dir(clients.join(folder)).unwrap();
        let names = entries.map(|entry| format!("{folder}/{}", entry.unwrap().file_name().display()));
        names.filter(|name| !UNSERVED.iter().any(|other| name.ends_with(other))).collect()
    }

    #[test]
    fn all_console_files_and_imported_modules_are_served() {
        let served: BTreeSet<String> = FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
        let all: BTreeSet<String> = ["console", "console/vendor"]
            .into_iter()
            .flat_map(files)
            .filter(|name| !name.ends_with(".json"))
            .collect();
        let console: BTreeSet<String> =
            served.iter().filter(|name| name.starts_with("console/")).cloned().collect();
        assert_eq!(console, all);
        for (path, text) in texts() {
            for imported in imports(path, text) {
                assert!(served.contains(&imported), "{path} imports {imported}");
            }
        }
        let initial = initial_modules();
        assert!(initial.contains("console/chat.js") && initial.contains("javascript/src/http.js"));
    }

    #[test]
    fn page_preloads_its_modules_and_no_library_but_markdown() {
        let page = headers(PAGE, "default-src 'none'");
        let links = page.get(header::LINK).unwrap().to_str().unwrap();
        assert!(links.contains("</console/main.js>; rel=modulepreload"));
        assert!(links.contains("</javascript/src/index.js>") && links.contains(MARKDOWN_LIBRARY));
        assert_eq!(links.matches("vendor").count(), 1);
        assert!(links.contains("console/diagram.js") && !links.contains("diagram-frame"));
        for page in ["usage", "agents", "context-page"] {
            assert!(!links.contains(&format!("console/{page}.js")), "{page} is loaded on demand");
        }
        let place = |path: &str| links.find(path).unwrap();
        assert!(place("console/style.css") < place(THEME) && place(THEME) < place("console/activity.js"));
        assert!(!headers("console/main.js", "").contains_key(header::LINK));
    }

    #[test]
    fn only_the_sandboxed_frame_may_insert_styles() {
        let policy = |path| headers(path, "default-src 'none'").get(header::CONTENT_SECURITY_POLICY).cloned();
        assert_eq!(policy(PAGE).unwrap(), "default-src 'none'");
        let frame = policy(FRAME).unwrap();
        assert!(frame.to_str().unwrap().ends_with("; sandbox allow-scripts"));
        assert_eq!(FILES.iter().filter(|(path, _)| policy(path).is_some()).count(), 2);
    }

    #[test]
    fn page_has_no_inline_code_and_scripts_never_build_markup() {
        // The page's policy enforces the same at run time, for libraries too.
        for (path, text) in texts() {
            if path.ends_with(".html") {
                assert!(
                    !text.contains("<style") && !text.contains("style=") && !text.contains(" on"),
                    "{path}"
                );
                let scripts =
                    ["<script type=\"module\" src=", "<script src="].map(|tag| text.matches(tag).count());
                assert_eq!(text.matches("<script").count(), scripts.iter().sum::<usize>());
            }
            // The frame's sandbox takes the place of this rule.
            if is_frame_script(path) {
                continue;
            }
            for markup in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"]
            {
                assert!(!text.contains(markup), "{path}: {markup}");
            }
            let code = text.lines().filter(|line| !line.trim_start().starts_with(['*', '/']));
            let loads = |line: &str| ["import", "src=", "href="].iter().any(|word| line.contains(word));
            let outside: Vec<&str> = code.filter(|line| line.contains("://") && loads(line)).collect();
            assert_eq!(outside, Vec::<&str>::new(), "{path} loads from elsewhere");
        }
    }
}
