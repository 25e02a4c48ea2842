use crate::framed::FRAME;

/// What grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Calls that wait at the same time.
    AtOnce,
    /// Headers of the request, all of the client's configuration.
    Headers,
    /// The same, half of them made for the request.
    FreshHeaders,
    /// Bytes of the request's body, in frames.
    Upload,
    /// Bytes of the answer's body, in frames.
    Download,
}

impl Axis {
    pub const ALL: [Self; 5] = [
        Self::AtOnce,
        Self::Headers,
        Self::FreshHeaders,
        Self::Upload,
        Self::Download,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::AtOnce => "at once",
            Self::Headers => "headers",
            Self::FreshHeaders => "fresh headers",
            Self::Upload => "upload",
            Self::Download => "download",
        }
    }

    pub fn sizes(self) -> &'static [usize] {
        match self {
            Self::AtOnce => &[1, 10, 100, 1_000, 10_000],
            Self::Headers | Self::FreshHeaders => &[1, 10, 50, 100],
            Self::Upload | Self::Download => &[0, 1024, 64 * 1024, 1024 * 1024],
        }
    }

    /// What the cost of a call should not depend on, or be a line of: nothing, headers, frames.
    pub fn units(self, size: usize) -> Option<usize> {
        match self {
            Self::AtOnce => None,
            Self::Headers | Self::FreshHeaders => Some(size),
            Self::Upload | Self::Download => Some(size.div_ceil(FRAME)),
        }
    }

    /// How many calls a measurement makes, always whole rounds of those at once.
    pub fn calls(self, size: usize) -> u64 {
        match self {
            Self::AtOnce => size.max(200) as u64,
            _ => 50,
        }
    }
}
