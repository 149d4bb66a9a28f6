//! Calls that are refused by their name.

/// Methods of a service's trait that are answered with "not implemented".
macro_rules! unsupported {
    ($($method:ident($request:ty) -> $response:ty;)*) => {$(
        // As `async_trait` writes it: the attribute does not see what a macro makes.
        fn $method<'life0, 'async_trait>(
            &'life0 self,
            _: tonic::Request<$request>,
        ) -> std::pin::Pin<
            Box<
                dyn std::future::Future<Output = Result<tonic::Response<$response>, tonic::Status>>
                    + Send
                    + 'async_trait,
            >,
        >
        where
            'life0: 'async_trait,
            Self: 'async_trait,
        {
            let refusal = $crate::refusal::Refusal::Unsupported(concat!("`", stringify!($method), "`"));
            Box::pin(std::future::ready(Err(refusal.into())))
        }
    )*};
}

pub(super) use unsupported;
