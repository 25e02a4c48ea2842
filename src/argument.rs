//! Arguments that are refused before any network call.

use std::{error::Error, fmt};

use crate::text::{one_line, write_cut};

/// An argument that cannot be right, found before anything was sent.
///
/// Classed as [`ProxyPolicy`](crate::ErrorClass::ProxyPolicy) with the caller at fault, and not repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidArgument {
    tool: Box<str>,
    parameter: Box<str>,
    problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Problem {
    NotAUuid { length: usize },
}

impl InvalidArgument {
    /// Returns the tool or operation that was called.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the parameter that was refused.
    #[must_use]
    pub fn parameter(&self) -> &str {
        &self.parameter
    }
}

impl fmt::Display for InvalidArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_cut(f, &one_line(&self.tool), 60)?;
        f.write_str(": ")?;
        write_cut(f, &one_line(&self.parameter), 60)?;
        match self.problem {
            Problem::NotAUuid { length } => write!(
                f,
                " must be a full UUID of 36 characters like \
                 123e4567-e89b-12d3-a456-426614174000, got {length} characters"
            ),
        }
    }
}

impl Error for InvalidArgument {}

/// Returns an error unless `value` is a whole UUID in its hyphenated form ([RFC 9562 §4]): a
/// shortened or decorated id is refused before it costs a call.
///
/// Upper and lower case are both accepted. The value itself is never repeated in the error.
///
/// # Errors
///
/// [`InvalidArgument`], which names the tool, the parameter and the length of what came.
///
/// ```
/// use tower_diagnose::require_full_uuid;
///
/// assert!(require_full_uuid("resolve", "commentId", "123e4567-e89b-12d3-a456-426614174000").is_ok());
/// let error = require_full_uuid("resolve", "commentId", "123e4567").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "resolve: commentId must be a full UUID of 36 characters like \
///      123e4567-e89b-12d3-a456-426614174000, got 8 characters",
/// );
/// ```
///
/// [RFC 9562 §4]: https://www.rfc-editor.org/rfc/rfc9562#section-4
pub fn require_full_uuid(tool: &str, parameter: &str, value: &str) -> Result<(), InvalidArgument> {
    let is_uuid = value.len() == 36
        && value.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    if is_uuid {
        return Ok(());
    }
    Err(InvalidArgument {
        tool: tool.into(),
        parameter: parameter.into(),
        problem: Problem::NotAUuid {
            length: value.chars().count(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_uuid_passes() {
        for (value, passes) in [
            ("123e4567-e89b-12d3-a456-426614174000", true),
            ("123E4567-E89B-12D3-A456-426614174000", true),
            ("00000000-0000-0000-0000-000000000000", true),
            ("", false),
            ("123e4567", false),
            ("123e4567e89b12d3a456426614174000", false),
            ("{123e4567-e89b-12d3-a456-426614174000}", false),
            ("123e4567-e89b-12d3-a456-42661417400g", false),
            ("123e4567-e89b-12d3-a456_426614174000", false),
            ("123e4567-e89b-12d3-a456-426614174000\n", false),
            ("１23e4567-e89b-12d3-a456-4266141740", false),
        ] {
            assert_eq!(
                require_full_uuid("t", "p", value).is_ok(),
                passes,
                "{value:?}"
            );
        }
    }
}
