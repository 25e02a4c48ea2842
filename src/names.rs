//! The one way in which an enum of ours is spelled: `as_str`, `Display`, `FromStr`, `Serialize`.

use std::{error::Error, fmt};

/// A text that names no variant of the enum it was parsed as.
///
/// Holds what was expected, never the text itself, which may come from a stranger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownName {
    expected: &'static str,
}

impl UnknownName {
    pub(crate) const fn new(expected: &'static str) -> Self {
        Self { expected }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not the name of {}", self.expected)
    }
}

impl Error for UnknownName {}

/// Gives an enum its stable names. The enum itself stays written out, so that it can be found.
///
/// A macro, against the habit of this house, because eight enums would say the same twenty lines.
macro_rules! names {
    ($name:ident, $what:literal, { $($variant:ident => $text:literal),+ $(,)? }) => {
        impl $name {
            /// Every variant, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the stable name, as it is serialized and parsed.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::names::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(crate::names::UnknownName::new($what)),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

pub(crate) use names;
