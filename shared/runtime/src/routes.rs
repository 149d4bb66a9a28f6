//! Routers that take paths, methods and preconditions from the rows of operations.

use axum::{
    Router,
    handler::Handler,
    middleware::from_fn,
    routing::{MethodFilter, on},
};
use contracts::operations::{Method, Operation};

use crate::refuse_conditions;

/// A router whose routes are operations.
pub trait OperationRoutes<S> {
    /// Serves an operation with a handler. A write that takes no precondition refuses them.
    #[must_use]
    fn serve<H, T>(self, operation: &Operation, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static;
}

impl<S: Clone + Send + Sync + 'static> OperationRoutes<S> for Router<S> {
    fn serve<H, T>(self, operation: &Operation, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        let methods = match operation.method {
            Method::Get => MethodFilter::GET,
            Method::Head => MethodFilter::HEAD,
            Method::Put => MethodFilter::PUT,
            Method::Post => MethodFilter::POST,
            Method::Delete => MethodFilter::DELETE,
            Method::Patch => MethodFilter::PATCH,
        };
        let route = on(methods, handler);
        let is_read = operation.method == Method::Get;
        if is_read || operation.takes_preconditions() {
            self.route(operation.path, route)
        } else {
            self.route(operation.path, route.route_layer(from_fn(refuse_conditions)))
        }
    }
}
