//! The OpenAPI 3.1 document, assembled from the table of operations.

use utoipa::openapi::{
    Components, ComponentsBuilder, Info, InfoBuilder, License, LicenseBuilder, OpenApi, OpenApiBuilder, Ref,
    RefOr, SecurityRequirement, Server, ServerBuilder,
    path::{Operation, OperationBuilder, Parameter, PathItem, Paths},
    security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    server::ServerVariableBuilder,
    tag::{Tag, TagBuilder},
};

use super::{
    answers, bodies, error_groups,
    operations::{OPERATIONS, Row, TAGS},
    parameters::{OF_EVERY_REQUEST, Takes},
    schemas,
};

const BEARER: &str = "bearerAuth";

const DESCRIPTION: &str = "Runs turns of AI agents and reads the sessions they make up.\n\n\
    Every JSON body is an `InvokeResult`: a `Result`, or `Errors` that name the member, the rule and the fix, \
    all faults of a request at once (AGN-033 §2.1). The status repeats the outcome. Unknown and not the \
    caller's are the same 404. Each error says by `Retry` whether the \
    very same request may be sent again, or its input under a new `TurnId`, and by `RetryAfterSeconds`, as the header \
    `Retry-After`, when. A turn is run and paid for once, however often its request comes.\n\n\
    Links (`Url`, `FullAgentAnswerUrl` and the like, and those in an answer's text) are URLs relative to the API's \
    base: a server's URL as it is listed here, with a slash at its end. `new URL(link, base)` finds them, whatever \
    the stage. They take the same token as everything else.";

/// The document of the whole HTTP surface, with the clauses that its words come from.
#[must_use]
pub fn document() -> OpenApi {
    let mut paths = Paths::new();
    for row in OPERATIONS {
        let item = PathItem::new(row.method.clone(), operation(row));
        match paths.paths.get_mut(row.path) {
            Some(there) => there.merge_operations(item),
            None => {
                paths.paths.insert(row.path.to_owned(), item);
            }
        }
    }
    OpenApiBuilder::new()
        .info(info())
        .servers(Some(servers()))
        .tags(Some(TAGS.iter().map(|(name, what)| tag(name, what))))
        .security(Some([SecurityRequirement::new::<_, [&str; 0], _>(BEARER, [])]))
        .paths(paths)
        .components(Some(components()))
        .build()
}

fn operation(row: &Row) -> Operation {
    let parameters = row.takes.iter().chain([&OF_EVERY_REQUEST]).map(|takes| {
        RefOr::<Parameter>::Ref(Ref::new(format!("#/components/parameters/{}", takes.parameter().name)))
    });
    let mut operation = OperationBuilder::new()
        .operation_id(Some(row.id))
        .tag(row.tag)
        .summary(Some(row.summary))
        .description(Some(row.description))
        .request_body(row.body.map(bodies::request_body))
        .responses(answers::responses(row))
        .build();
    operation.parameters = Some(parameters.collect()).filter(|all: &Vec<_>| !all.is_empty());
    operation
}

fn components() -> Components {
    let mut all = ComponentsBuilder::new().schemas_from_iter(schemas()).security_scheme(BEARER, bearer());
    let takes = OPERATIONS.iter().flat_map(|row| row.takes).copied().chain([OF_EVERY_REQUEST]);
    for parameter in takes.map(Takes::parameter) {
        all = all.parameter(parameter.name.clone(), parameter);
    }
    for (name, header) in answers::headers() {
        all = all.header(name, header);
    }
    let used = |code: &str| {
        OPERATIONS.iter().any(|row| {
            let statuses = error_groups::by_status(row.errors);
            statuses.values().any(|codes| matches!(codes.as_slice(), [only] if only.as_str() == code))
        })
    };
    for (name, response) in answers::shared().filter(|(name, _)| used(name)) {
        all = all.response(name, response);
    }
    all.build()
}

fn bearer() -> SecurityScheme {
    let description = "A signed token that names the tenant and the user: on AWS an ID token of the Cognito \
        user pool, on the local cloud what `cargo run -p aptix -- token` prints.";
    SecurityScheme::Http(
        HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some(description))
            .build(),
    )
}

fn info() -> Info {
    InfoBuilder::new()
        .title("Aptix agent API")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
        .license(Some(license()))
        .build()
}

fn license() -> License {
    LicenseBuilder::new().name(env!("CARGO_PKG_LICENSE")).identifier(Some(env!("CARGO_PKG_LICENSE"))).build()
}

fn servers() -> [Server; 2] {
    let variable = |default: &str, what: &str| {
        ServerVariableBuilder::new().default_value(default).description(Some(what))
    };
    [
        ServerBuilder::new()
            .url("http://127.0.0.1:{port}")
            .description(Some("The local cloud: `cargo run -p aptix`."))
            .parameter("port", variable("9000", "What `--port` says."))
            .build(),
        ServerBuilder::new()
            .url("https://{api}.execute-api.{region}.amazonaws.com/live")
            .description(Some("A deployment on AWS; the stack's output `ApiUrl`."))
            .parameter("api", variable("api", "The REST API's id."))
            .parameter("region", variable("us-east-1", "The region."))
            .build(),
    ]
}

fn tag(name: &str, what: &str) -> Tag {
    TagBuilder::new().name(name).description(Some(what)).build()
}
