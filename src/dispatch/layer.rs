use tower_layer::Layer;

use super::service::Dispatch;

/// Notes every attempt of a call. See the [module](crate::dispatch).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DispatchLayer {
    is_silent: bool,
    passes_unready: bool,
}

impl DispatchLayer {
    /// Creates the layer. There is nothing to configure.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            is_silent: false,
            passes_unready: false,
        }
    }

    /// Notes nothing: another layer of this kind stands further in.
    pub(crate) const fn silent() -> Self {
        Self {
            is_silent: true,
            passes_unready: false,
        }
    }

    /// Passes on an error of `poll_ready`, to a layer of ours that keeps it itself: between two attempts
    /// it has a result that is worth more.
    pub(crate) const fn passing_unready(self) -> Self {
        Self {
            passes_unready: true,
            ..self
        }
    }
}

impl<S> Layer<S> for DispatchLayer {
    type Service = Dispatch<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Dispatch::new(inner, self.is_silent, self.passes_unready)
    }
}
