//! What the members of an error document are for, by their names.

/// A place for a text, in the order in which they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Slot {
    Message,
    /// What an object named `error` says.
    ErrorObject,
    Error,
    ErrorDescription,
    ErrorMessages,
    Detail,
    Title,
    Reason,
    Msg,
    UpperMessage,
    ErrorMessage,
    Description,
    Fault,
    /// Other spellings that servers use.
    Other,
    /// What an object around the error says.
    Wrapped,
}

impl Slot {
    pub(crate) const COUNT: usize = Self::Wrapped as usize + 1;

    /// Returns whether the name may as well be that of a field of a form.
    pub(crate) const fn is_weak(self) -> bool {
        matches!(
            self,
            Self::Title | Self::Reason | Self::Description | Self::Other
        )
    }
}

/// How good a code is; the smallest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    Code,
    Status,
    Number,
    Type,
}

/// What a member is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Text(Slot),
    Error,
    /// `errors`, whose strings are texts whatever they are named; it can do without a heading.
    Errors,
    /// The like by other names.
    OtherErrors,
    /// `details` and the like, which may hold more than texts.
    Details,
    /// A code, or details.
    Issue,
    /// A map of fields, whose strings may be what was submitted.
    Fields,
    /// A map from the name of a rule to a text.
    Constraints,
    Fault,
    Wrapper,
    /// What HAL puts beside the texts.
    Embedded,
    /// Which part of the request it was about; a minor one may mean something else.
    Place {
        minor: bool,
    },
    Resource,
    Code(Rank),
    AwsType,
    /// Members that only GraphQL and Google's details have.
    Extensions,
    Locations,
    TypeUrl,
    Lang,
    Value,
    /// Echoes of the request, internals of the server: never looked into.
    Skip,
    Unknown,
}

/// Names are compared without namespace, case, `_`, `-` and `.`, in a buffer of this size.
const LONGEST: usize = 20;

/// Returns what the member named `key` is for.
pub(crate) fn field(key: &str) -> Field {
    match key {
        "message" => return Field::Text(Slot::Message),
        "__type" => return Field::AwsType,
        "@type" => return Field::TypeUrl,
        _ => {}
    }
    // Most names are small letters and no more.
    if key.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return named(key, key.as_bytes());
    }
    let mut buffer = [0; LONGEST];
    match plain(key, &mut buffer) {
        Some(name) => named(key, name),
        None => Field::Unknown,
    }
}

/// As [`field`], of a `name` in small letters that was `key`.
#[inline]
fn named(key: &str, name: &[u8]) -> Field {
    match name {
        b"message" => Field::Text(Slot::UpperMessage),
        b"error" | b"err" | b"odataerror" => Field::Error,
        b"errordescription" => Field::Text(Slot::ErrorDescription),
        b"errormessages" => Field::Text(Slot::ErrorMessages),
        // Beside a `Message` it is the longer text of the two, and comes second like that of `message`.
        b"detail" if key.starts_with('D') => Field::Text(Slot::Description),
        b"detail" => Field::Text(Slot::Detail),
        // What a document in JSON-LD has for a detail.
        b"description" if key.starts_with("hydra:") => Field::Text(Slot::Detail),
        b"title" => Field::Text(Slot::Title),
        b"reason" => Field::Text(Slot::Reason),
        b"msg" => Field::Text(Slot::Msg),
        b"errormessage" | b"errormsg" | b"errmsg" => Field::Text(Slot::ErrorMessage),
        b"description" => Field::Text(Slot::Description),
        b"faultstring" => Field::Text(Slot::Fault),
        b"defaultmessage" | b"usermessage" | b"developermessage" | b"localizedmessage"
        | b"displaymessage" | b"exceptionmessage" | b"statusmessage" | b"statustext"
        | b"errorsummary" | b"errortext" | b"errordetail" | b"errorreason" | b"errorstring"
        | b"errorinfo" | b"messages" | b"diagnostics" | b"summary" | b"explanation" | b"cause" => {
            Field::Text(Slot::Other)
        }

        b"errors" => Field::Errors,
        b"errorlist" | b"errorcodes" | b"fielderrors" | b"formerrors" | b"validationerrors"
        | b"modelstate" => Field::OtherErrors,
        b"details" | b"errordetails" | b"causes" | b"errorcauses" | b"causedby" | b"rootcause"
        | b"suberrors" | b"fieldviolations" | b"violations" | b"invalidparams"
        | b"invalidparameters" | b"issues" | b"problems" | b"reasons" | b"children"
        | b"errorchain" => Field::Details,
        b"issue" => Field::Issue,
        b"fields" => Field::Fields,
        b"constraints" => Field::Constraints,

        b"fault" => Field::Fault,
        b"data" | b"meta" | b"result" | b"response" | b"failure" | b"problem" | b"payload"
        | b"errorresponse" | b"responsestatus" | b"serviceexception" | b"requesterror"
        | b"apierror" | b"json" => Field::Wrapper,
        b"embedded" => Field::Embedded,

        b"field" | b"fieldname" | b"loc" | b"param" | b"parameter" | b"property"
        | b"propertypath" | b"propertyname" | b"pointer" | b"attribute" | b"attr" => {
            Field::Place { minor: false }
        }
        b"name" | b"path" | b"target" | b"expression" => Field::Place { minor: true },
        b"resource" => Field::Resource,

        b"code" | b"errorcode" | b"errcode" | b"faultcode" | b"scimtype" => Field::Code(Rank::Code),
        b"status" => Field::Code(Rank::Status),
        b"type" | b"errortype" | b"id" => Field::Code(Rank::Type),

        b"extensions" => Field::Extensions,
        b"locations" => Field::Locations,
        b"lang" => Field::Lang,
        b"value" => Field::Value,
        _ if is_private(name) => Field::Skip,
        _ => Field::Unknown,
    }
}

/// Returns whether what a member holds may not be looked into, nor stand in an excerpt.
pub(crate) fn is_hidden(key: &str) -> bool {
    let mut buffer = [0; LONGEST];
    plain(key, &mut buffer).is_some_and(|name| is_private(name) || is_secret(name))
}

fn is_private(name: &[u8]) -> bool {
    matches!(
        name,
        b"input"
            | b"ctx"
            | b"body"
            | b"request"
            | b"paymentintent"
            | b"source"
            | b"stack"
            | b"trace"
            | b"stacktrace"
            | b"stackentries"
            | b"backtrace"
            | b"traceback"
            | b"exception"
            | b"debug"
            | b"config"
            | b"headers"
            | b"rejectedvalue"
            | b"innererror"
    )
}

fn is_secret(name: &[u8]) -> bool {
    matches!(
        name,
        b"password"
            | b"passwd"
            | b"secret"
            | b"clientsecret"
            | b"token"
            | b"accesstoken"
            | b"refreshtoken"
            | b"idtoken"
            | b"apikey"
            | b"authorization"
            | b"cookie"
            | b"privatekey"
            | b"signature"
            | b"awsaccesskeyid"
            | b"stringtosign"
    )
}

/// Writes `key` in lower case without its namespace and its separators; `None` if it is too long to be one of ours.
fn plain<'b>(key: &str, buffer: &'b mut [u8; LONGEST]) -> Option<&'b [u8]> {
    let mut length = 0;
    let name = key.rsplit_once(':').map_or(key, |(_, name)| name);
    for byte in name.bytes() {
        if !matches!(byte, b'_' | b'-' | b'.') {
            *buffer.get_mut(length)? = byte.to_ascii_lowercase();
            length += 1;
        }
    }
    buffer.get(..length)
}
