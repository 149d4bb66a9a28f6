//! The OpenAPI 3.1 document, built from the table of operations.

use utoipa::openapi::{
    Components, ComponentsBuilder, Info, InfoBuilder, License, LicenseBuilder, OpenApi, OpenApiBuilder, Ref,
    RefOr, SecurityRequirement, Server, ServerBuilder,
    path::{HttpMethod, Operation, OperationBuilder, Parameter, PathItem, Paths},
    security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    server::ServerVariableBuilder,
    tag::{Tag, TagBuilder},
};

use crate::{bodies, parameters, responses, schemas};
use contracts::operations::{self, Method, Operation as Row, Parameter as RowParameter, TAGS};

const BEARER: &str = "bearerAuth";

const DESCRIPTION: &str = "Run turns of AI agents and read their sessions.\n\nEvery JSON response is an \
    `InvokeResult` with a `Result` or with `Errors`. Each error names the member, the rule and the fix, and \
    all errors of a request are returned at once. The HTTP status repeats the outcome. A resource that doesn't \
    exist and one that the caller may not see both return a 404.\n\nEach error has retry advice in `Retry`: \
    send the same request again, or send its input under a new `TurnId`. `RetryAfterSeconds`, which equals the \
    `Retry-After` header, says when. A turn is run and paid for once, however often its request is \
    sent.\n\nLinks (`Url`, `FullAgentAnswerUrl` and the like, and links in an answer's text) are URLs relative \
    to the API's base URL: a server's URL as listed here, with a slash at its end. `new URL(link, base)` \
    resolves them on every stage. They require the same token as the rest of the API.";

/// Builds the document of the whole HTTP API, citations included.
#[must_use]
pub fn document() -> OpenApi {
    let mut paths = Paths::new();
    for row in operations::all() {
        let item = PathItem::new(http_method(row.method), operation(row));
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

fn http_method(method: Method) -> HttpMethod {
    match method {
        Method::Get => HttpMethod::Get,
        Method::Head => HttpMethod::Head,
        Method::Put => HttpMethod::Put,
        Method::Post => HttpMethod::Post,
        Method::Delete => HttpMethod::Delete,
        Method::Patch => HttpMethod::Patch,
    }
}

fn operation(row: &Row) -> Operation {
    let parameters = row.parameters.iter().chain([&RowParameter::CORRELATION_ID]).map(|parameter| {
        RefOr::<Parameter>::Ref(Ref::new(format!("#/components/parameters/{}", parameter.name)))
    });
    let mut operation = OperationBuilder::new()
        .operation_id(Some(row.id))
        .tag(row.tag)
        .summary(Some(row.summary))
        .description(Some(row.description))
        .request_body(row.body.map(bodies::request_body))
        .responses(responses::for_operation(row))
        .build();
    operation.parameters = Some(parameters.collect()).filter(|all: &Vec<_>| !all.is_empty());
    operation
}

fn components() -> Components {
    let mut all = ComponentsBuilder::new().schemas_from_iter(schemas()).security_scheme(BEARER, bearer());
    let of_operations = operations::all().flat_map(|row| row.parameters);
    for parameter in of_operations.chain([&RowParameter::CORRELATION_ID]) {
        all = all.parameter(parameter.name, parameters::parameter(parameter));
    }
    for (name, header) in responses::headers() {
        all = all.header(name, header);
    }
    let used = |code: &str| {
        operations::all().any(|row| {
            let statuses = row.error_codes();
            statuses.values().any(|codes| matches!(codes.as_slice(), [only] if only.as_str() == code))
        })
    };
    for (name, response) in responses::shared_responses().filter(|(name, _)| used(name)) {
        all = all.response(name, response);
    }
    all.build()
}

fn bearer() -> SecurityScheme {
    let description = "A signed token that names the tenant and the user. On AWS: an ID token of the Cognito \
        user pool. On a local cloud: the output of `cargo run -p aptix -- token`.";
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
            .parameter("port", variable("9000", "Value of `--port`."))
            .build(),
        ServerBuilder::new()
            .url("https://{api}.execute-api.{region}.amazonaws.com/live")
            .description(Some("A deployment on AWS: the stack's output `ApiUrl`."))
            .parameter("api", variable("api", "Id of the REST API."))
            .parameter("region", variable("us-east-1", "AWS region."))
            .build(),
    ]
}

fn tag(name: &str, what: &str) -> Tag {
    TagBuilder::new().name(name).description(Some(what)).build()
}
