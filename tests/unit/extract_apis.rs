//! Error bodies of well-known services, and what a person would want to read of them.

use http::{HeaderMap, StatusCode, header};

use super::{Rules, extract};

/// Service, status, content type, body, the message.
const SERVICES: &[(&str, u16, &str, &str, Option<&str>)] = &[
    ("stripe", 402, "application/json", r#"{"error":{"code":"card_declined","decline_code":"insufficient_funds","doc_url":"https://stripe.com/docs/error-codes/card-declined","message":"Your card has insufficient funds.","param":"","payment_intent":{"id":"pi_1","client_secret":"pi_1_secret_SENTINEL"},"type":"card_error"}}"#, Some("Your card has insufficient funds.")),
    ("shopify", 422, "application/json; charset=utf-8", r#"{"errors":{"title":["can't be blank"],"vendor":["is too long"]}}"#, Some("title: can't be blank; vendor: is too long")),
    ("shopify, one text", 404, "application/json", r#"{"errors":"Not Found"}"#, None),
    ("shopify, a text", 401, "application/json", r#"{"errors":"[API] Invalid API key or access token"}"#, Some("[API] Invalid API key or access token")),
    ("salesforce", 400, "application/json;charset=UTF-8", r#"[{"message":"Required fields are missing: [LastName]","errorCode":"REQUIRED_FIELD_MISSING","fields":["LastName"]}]"#, Some("Required fields are missing: [LastName]")),
    ("jira", 400, "application/json;charset=UTF-8", r#"{"errorMessages":[],"errors":{"project":"valid project is required","summary":"You must specify a summary of the issue."}}"#, Some("project: valid project is required; summary: You must specify a summary of the issue.")),
    ("jira, messages", 404, "application/json", r#"{"errorMessages":["Issue does not exist or you do not have permission to see it."],"errors":{}}"#, Some("Issue does not exist or you do not have permission to see it.")),
    ("confluence", 404, "application/json", r#"{"statusCode":404,"data":{"authorized":false,"valid":true,"errors":[],"successful":false},"message":"No content found with id: ContentId{id=1}"}"#, Some("No content found with id: ContentId{id=1}")),
    ("box", 409, "application/json", r#"{"type":"error","status":409,"code":"item_name_in_use","context_info":{"conflicts":[{"type":"folder","id":"1","name":"secret plans"}]},"help_url":"http://developers.box.com/docs/#errors","message":"Item with the same name already exists","request_id":"r1"}"#, Some("Item with the same name already exists")),
    ("dropbox", 409, "application/json", r#"{"error_summary":"path/not_found/..","error":{".tag":"path","path":{".tag":"not_found"}}}"#, Some("path/not_found/..")),
    ("zendesk", 422, "application/json", r#"{"error":"RecordInvalid","description":"Record validation errors","details":{"email":[{"description":"Email: joe is not properly formatted","error":"InvalidValue"}]}}"#, Some("RecordInvalid: Record validation errors: email: InvalidValue: Email: joe is not properly formatted")),
    ("hubspot", 400, "application/json", r#"{"status":"error","message":"Property values were not valid","correlationId":"c-1","category":"VALIDATION_ERROR","errors":[{"message":"Email address joe is invalid","in":"email","code":"INVALID_EMAIL"}]}"#, Some("Property values were not valid: Email address joe is invalid")),
    ("sendgrid", 400, "application/json", r#"{"errors":[{"message":"The from email does not contain a valid address.","field":"from.email","help":"http://sendgrid.com/docs"}]}"#, Some("from.email: The from email does not contain a valid address.")),
    ("mailgun", 400, "application/json", r#"{"message":"'from' parameter is not a valid address. please check documentation"}"#, Some("'from' parameter is not a valid address. please check documentation")),
    ("cloudflare", 403, "application/json", r#"{"success":false,"errors":[{"code":9109,"message":"Invalid access token"}],"messages":[],"result":null}"#, Some("Invalid access token")),
    ("cloudflare, chain", 400, "application/json", r#"{"success":false,"errors":[{"code":6003,"message":"Invalid request headers","error_chain":[{"code":6103,"message":"Invalid format for X-Auth-Key header"}]}],"messages":[],"result":null}"#, Some("Invalid request headers; Invalid format for X-Auth-Key header")),
    ("digitalocean", 404, "application/json", r#"{"id":"not_found","message":"The resource you were accessing could not be found."}"#, Some("The resource you were accessing could not be found.")),
    ("heroku", 429, "application/json", r#"{"id":"rate_limit","message":"Your account reached the API rate limit","url":"https://devcenter.heroku.com"}"#, Some("Your account reached the API rate limit")),
    ("gitlab", 400, "application/json", r#"{"message":{"bio":["is too long (maximum is 255 characters)"]}}"#, Some("bio: is too long (maximum is 255 characters)")),
    ("gitlab, status in it", 404, "application/json", r#"{"message":"404 Project Not Found"}"#, Some("404 Project Not Found")),
    ("gitlab, oauth", 401, "application/json", r#"{"error":"invalid_token","error_description":"Token was revoked. You have to re-authorize from the user."}"#, Some("invalid_token: Token was revoked. You have to re-authorize from the user.")),
    ("bitbucket", 404, "application/json", r#"{"type":"error","error":{"message":"Repository team/x not found","detail":"There is no API hosted at this URL."}}"#, Some("Repository team/x not found")),
    ("bitbucket, fields", 400, "application/json", r#"{"type":"error","error":{"fields":{"name":["This field is required."]},"message":"Bad request"}}"#, Some("name: This field is required.")),
    ("spotify", 401, "application/json", r#"{"error":{"status":401,"message":"The access token expired"}}"#, Some("The access token expired")),
    ("twitch", 400, "application/json", r#"{"error":"Bad Request","status":400,"message":"The parameter \"id\" was malformed"}"#, Some("The parameter \"id\" was malformed")),
    ("facebook", 400, "application/json; charset=UTF-8", r#"{"error":{"message":"Unsupported get request.","type":"GraphMethodException","code":100,"error_subcode":33,"fbtrace_id":"A1"}}"#, Some("Unsupported get request.")),
    ("linkedin", 403, "application/json", r#"{"serviceErrorCode":100,"message":"Not enough permissions to access: GET /me","status":403}"#, Some("Not enough permissions to access: GET /me")),
    ("square", 400, "application/json", r#"{"errors":[{"category":"INVALID_REQUEST_ERROR","code":"MISSING_REQUIRED_PARAMETER","detail":"Missing required parameter.","field":"idempotency_key"}]}"#, Some("idempotency_key: Missing required parameter.")),
    ("paypal", 422, "application/json", r#"{"name":"UNPROCESSABLE_ENTITY","details":[{"field":"/purchase_units/0/amount","value":"1.001","issue":"DECIMAL_PRECISION","description":"If the currency supports decimals, only two decimal place precision is supported."}],"message":"The requested action could not be performed.","debug_id":"d1","links":[]}"#, Some("The requested action could not be performed. purchase_units.0.amount: If the currency supports decimals, only two decimal place precision is supported.")),
    ("adyen", 422, "application/json", r#"{"status":422,"errorCode":"14_006","message":"Required object 'paymentMethod' is not provided.","errorType":"validation","pspReference":"P1"}"#, Some("Required object 'paymentMethod' is not provided.")),
    ("okta", 400, "application/json", r#"{"errorCode":"E0000001","errorSummary":"Api validation failed: login","errorLink":"E0000001","errorId":"oae1","errorCauses":[{"errorSummary":"login: An object with this field already exists in the current organization"}]}"#, Some("Api validation failed: login: login: An object with this field already exists in the current organization")),
    ("auth0", 403, "application/json", r#"{"statusCode":403,"error":"Forbidden","message":"Insufficient scope, expected any of: read:users","errorCode":"insufficient_scope"}"#, Some("Insufficient scope, expected any of: read:users")),
    ("keycloak", 409, "application/json", r#"{"errorMessage":"User exists with same username"}"#, Some("User exists with same username")),
    ("vault", 403, "application/json", r#"{"errors":["1 error occurred:\n\t* permission denied\n\n"]}"#, Some("1 error occurred:\n\t* permission denied")),
    ("vault, warnings", 404, "application/json", r#"{"errors":[]}"#, None),
    ("consul", 403, "text/plain", "Permission denied: token with AccessorID '1' lacks permission", None),
    ("etcd", 400, "application/json", r#"{"error":"etcdserver: key is not provided","code":3,"message":"etcdserver: key is not provided"}"#, Some("etcdserver: key is not provided")),
    ("influxdb", 400, "application/json; charset=utf-8", r#"{"code":"invalid","message":"unable to parse 'x': missing fields"}"#, Some("unable to parse 'x': missing fields")),
    ("clickhouse", 404, "text/plain; charset=UTF-8", "Code: 60. DB::Exception: Table default.x does not exist. (UNKNOWN_TABLE)", None),
    ("atlas", 401, "application/json", r#"{"detail":"You are not authorized for this resource.","error":401,"errorCode":"USER_UNAUTHORIZED","parameters":["a"],"reason":"Unauthorized"}"#, Some("You are not authorized for this resource.")),
    ("pinecone", 400, "application/json", r#"{"error":{"code":"INVALID_ARGUMENT","message":"Vector dimension 2 does not match the dimension of the index 3"},"status":400}"#, Some("Vector dimension 2 does not match the dimension of the index 3")),
    ("anthropic", 529, "application/json", r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#, Some("Overloaded")),
    ("cohere", 400, "application/json", r#"{"id":"1","message":"invalid request: model not set"}"#, Some("invalid request: model not set")),
    ("mistral", 422, "application/json", r#"{"object":"error","message":{"detail":[{"type":"missing","loc":["body","model"],"msg":"Field required","input":{"messages":"SENTINEL"}}]},"type":"invalid_request_error","param":null,"code":null}"#, Some("body.model: Field required")),
    ("ollama", 404, "application/json; charset=utf-8", r#"{"error":"model \"llama9\" not found, try pulling it first"}"#, Some("model \"llama9\" not found, try pulling it first")),
    ("huggingface", 503, "application/json", r#"{"error":"Model x is currently loading","estimated_time":20.0}"#, Some("Model x is currently loading")),
    ("huggingface, list", 400, "application/json", r#"{"error":["Error in `inputs`: field required"]}"#, Some("Error in `inputs`: field required")),
    ("airtable", 422, "application/json", r#"{"error":{"type":"INVALID_REQUEST_UNKNOWN","message":"Invalid request: parameter validation failed. Check your request data."}}"#, Some("Invalid request: parameter validation failed. Check your request data.")),
    ("airtable, code", 404, "application/json", r#"{"error":"NOT_FOUND"}"#, Some("NOT_FOUND")),
    ("notion", 400, "application/json", r#"{"object":"error","status":400,"code":"validation_error","message":"body failed validation: body.parent should be defined.","request_id":"1"}"#, Some("body failed validation: body.parent should be defined.")),
    ("asana", 403, "application/json", r#"{"errors":[{"message":"project: Not a recognized ID: 1","help":"For more information on API status codes see the docs"}]}"#, Some("project: Not a recognized ID: 1")),
    ("monday", 400, "application/json", r#"{"error_code":"InvalidColumnIdException","status_code":400,"error_message":"This column ID doesn't exist for the board","error_data":{"column_id":"x"}}"#, Some("This column ID doesn't exist for the board")),
    ("servicenow", 404, "application/json;charset=UTF-8", r#"{"error":{"message":"No Record found","detail":"Record doesn't exist or ACL restricts the record retrieval"},"status":"failure"}"#, Some("No Record found")),
    ("sap odata", 400, "application/json", r#"{"error":{"code":"005056A509B11EE1B9A8FEC11C21D78E","message":{"lang":"en","value":"Resource not found for the segment 'X'."},"innererror":{"transactionid":"t"}}}"#, Some("Resource not found for the segment 'X'.")),
    ("odata v3", 404, "application/json", r#"{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":"The specified resource does not exist.\nRequestId:r"}}}"#, Some("The specified resource does not exist.\nRequestId:r")),
    ("microsoft graph", 401, "application/json", r#"{"error":{"code":"InvalidAuthenticationToken","message":"Access token has expired or is not yet valid.","innerError":{"date":"2026-01-01","request-id":"1","client-request-id":"1"}}}"#, Some("Access token has expired or is not yet valid.")),
    ("azure devops", 404, "application/json; charset=utf-8", r#"{"$id":"1","innerException":null,"message":"TF401019: The Git repository with name or identifier x does not exist","typeName":"Microsoft.TeamFoundation.Git.Server.GitRepositoryNotFoundException","typeKey":"GitRepositoryNotFoundException","errorCode":0,"eventId":3000}"#, Some("TF401019: The Git repository with name or identifier x does not exist")),
    ("axum rejection", 422, "text/plain; charset=utf-8", "Failed to deserialize the JSON body into the target type: missing field `id`", None),
    ("rocket", 422, "application/json", r#"{"error":{"code":422,"reason":"Unprocessable Entity","description":"The request was well-formed but was unable to be followed due to semantic errors."}}"#, Some("The request was well-formed but was unable to be followed due to semantic errors.")),
    ("rails", 500, "application/json", r#"{"status":500,"error":"Internal Server Error","exception":"#<RuntimeError: SENTINEL>","traces":{"Application Trace":[{"exception_object_id":1,"id":0,"trace":"app/x.rb:1"}]}}"#, None),
    ("hasura", 400, "application/json", r#"{"path":"$.selectionSet.x","error":"field \"x\" not found in type: 'query_root'","code":"validation-failed"}"#, Some("field \"x\" not found in type: 'query_root'")),
    ("hasura, graphql", 400, "application/json", r#"{"errors":[{"extensions":{"path":"$.selectionSet.x","code":"validation-failed"},"message":"field 'x' not found in type: 'query_root'"}]}"#, Some("field 'x' not found in type: 'query_root'")),
    ("postgrest", 409, "application/json", r#"{"code":"23505","details":"Key (id)=(1) already exists.","hint":null,"message":"duplicate key value violates unique constraint \"films_pkey\""}"#, Some("duplicate key value violates unique constraint \"films_pkey\": Key (id)=(1) already exists.")),
    ("supabase auth", 400, "application/json", r#"{"code":400,"error_code":"invalid_credentials","msg":"Invalid login credentials"}"#, Some("Invalid login credentials")),
    ("kong", 401, "application/json; charset=utf-8", r#"{"message":"No API key found in request","request_id":"1"}"#, Some("No API key found in request")),
    ("kong admin", 400, "application/json", r#"{"code":2,"name":"schema violation","message":"schema violation (host: required field missing)","fields":{"host":"required field missing"}}"#, Some("schema violation (host: required field missing)")),
    ("tyk", 403, "application/json", r#"{"error":"Access to this API has been disallowed"}"#, Some("Access to this API has been disallowed")),
    ("traefik", 404, "text/plain; charset=utf-8", "404 page not found\n", None),
    ("wordpress", 404, "application/json", r#"{"code":"rest_no_route","message":"No route was found matching the URL and request method.","data":{"status":404}}"#, Some("No route was found matching the URL and request method.")),
    ("instagram", 400, "application/json", r#"{"meta":{"code":400,"error_type":"APINotFoundError","error_message":"this user does not exist"}}"#, Some("this user does not exist")),
    ("twitter v2", 400, "application/json", r#"{"errors":[{"parameters":{"id":["x"]},"message":"The `id` query parameter value [x] is not valid"}],"title":"Invalid Request","detail":"One or more parameters to your request was invalid.","type":"https://api.twitter.com/2/problems/invalid-request"}"#, Some("The `id` query parameter value [x] is not valid")),
    ("twitter v1", 404, "application/json", r#"{"errors":[{"code":34,"message":"Sorry, that page does not exist."}]}"#, Some("Sorry, that page does not exist.")),
    ("telegram", 400, "application/json", r#"{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}"#, Some("Bad Request: chat not found")),
    ("quickbooks", 400, "application/json", r#"{"Fault":{"Error":[{"Message":"Duplicate Name Exists Error","Detail":"The name supplied already exists.","code":"6240"}],"type":"ValidationFault"},"time":"2026"}"#, Some("Duplicate Name Exists Error")),
    ("xero", 400, "application/json", r#"{"ErrorNumber":10,"Type":"ValidationException","Message":"A validation exception occurred","Elements":[{"ValidationErrors":[{"Message":"Email address must be valid."}]}]}"#, Some("A validation exception occurred")),
    ("asp.net", 400, "application/problem+json; charset=utf-8", r#"{"type":"https://tools.ietf.org/html/rfc9110#section-15.5.1","title":"One or more validation errors occurred.","status":400,"errors":{"Name":["The Name field is required."]},"traceId":"00-1"}"#, Some("Name: The Name field is required.")),
    ("asp.net web api", 400, "application/json", r#"{"Message":"The request is invalid.","ModelState":{"order.Qty":["The value 'x' is not valid for Qty."]}}"#, Some("The request is invalid. order.Qty: The value 'x' is not valid for Qty.")),
    ("json:api", 422, "application/vnd.api+json", r#"{"errors":[{"status":"422","source":{"pointer":"/data/attributes/firstName"},"title":"Invalid Attribute","detail":"First name must contain at least two characters."}]}"#, Some("First name must contain at least two characters.")),
    ("zod", 400, "application/json", r#"{"success":false,"error":{"issues":[{"code":"invalid_type","expected":"string","received":"undefined","path":["user","name"],"message":"Required"}],"name":"ZodError"}}"#, Some("user.name: Required")),
    ("joi", 400, "application/json", r#"{"statusCode":400,"error":"Bad Request","message":"Validation failed","validation":{"body":{"source":"body","keys":["a"],"message":"\"a\" is required"}}}"#, Some("Validation failed")),
    ("mongoose", 400, "application/json", r#"{"errors":{"name":{"name":"ValidatorError","message":"Path `name` is required.","properties":{"message":"Path `name` is required.","type":"required","path":"name"},"kind":"required","path":"name","value":"SENTINEL"}},"_message":"User validation failed","name":"ValidationError","message":"User validation failed: name: Path `name` is required."}"#, Some("User validation failed: name: Path `name` is required.")),
    ("express-validator", 400, "application/json", r#"{"errors":[{"type":"field","value":"SENTINEL","msg":"Invalid value","path":"email","location":"body"}]}"#, Some("email: Invalid value")),
    ("django", 400, "application/json", r#"{"email":["Enter a valid email address."],"address":{"street":["This field is required."]}}"#, Some("email: Enter a valid email address.; address.street: This field is required.")),
    ("django, many", 400, "application/json", r#"[{},{"name":["This field may not be blank."]}]"#, Some("name: This field may not be blank.")),
    ("soap 1.1", 500, "text/xml; charset=utf-8", r#"<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body><soap:Fault><faultcode>soap:Client</faultcode><faultstring>Invalid &lt;order&gt; &#39;7&#39;</faultstring><detail><internal>SENTINEL</internal></detail></soap:Fault></soap:Body></soap:Envelope>"#, Some("Invalid <order> '7'")),
    ("soap 1.2", 500, "application/soap+xml", r#"<env:Envelope xmlns:env="http://www.w3.org/2003/05/soap-envelope"><env:Body><env:Fault><env:Code><env:Value>env:Sender</env:Value></env:Code><env:Reason><env:Text xml:lang="en">Processing error</env:Text></env:Reason></env:Fault></env:Body></env:Envelope>"#, Some("Processing error")),
    ("azure storage", 404, "application/xml", "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>BlobNotFound</Code><Message>The specified blob does not exist.\nRequestId:r\nTime:t</Message></Error>", Some("BlobNotFound: The specified blob does not exist.\nRequestId:r\nTime:t")),
    ("s3 lambda", 404, "application/json", r#"{"Type":"User","message":"Function not found: arn:aws:lambda:x","Message":"Function not found: arn:aws:lambda:x"}"#, Some("Function not found: arn:aws:lambda:x")),
    ("aws api gateway", 403, "application/json", r#"{"message":"Missing Authentication Token"}"#, Some("Missing Authentication Token")),
    ("cosmos", 404, "application/json", r#"{"code":"NotFound","message":"Message: {\"Errors\":[\"Resource Not Found. Learn more\"]}\r\nActivityId: 1"}"#, Some("Message: {\"Errors\":[\"Resource Not Found. Learn more\"]}\r\nActivityId: 1")),
    ("docker registry", 404, "application/json", r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown","detail":{"Tag":"v9"}}]}"#, Some("manifest unknown")),
    ("npm", 404, "application/json", r#"{"error":"Not found"}"#, None),
    ("crates.io", 403, "application/json", r#"{"errors":[{"detail":"must be logged in to perform that action"}]}"#, Some("must be logged in to perform that action")),
    ("pagerduty", 400, "application/json", r#"{"error":{"message":"Invalid Input Provided","code":2001,"errors":["Name must be unique.","Description is too long."]}}"#, Some("Invalid Input Provided: Name must be unique.; Description is too long.")),
    ("datadog", 403, "application/json", r#"{"status":"error","code":403,"errors":["Forbidden"],"statuspage":"http://status.datadoghq.com"}"#, None),
    ("mailchimp", 400, "application/problem+json; charset=utf-8", r#"{"type":"https://mailchimp.com/developer/marketing/docs/errors/","title":"Invalid Resource","status":400,"detail":"The resource submitted could not be validated.","instance":"i","errors":[{"field":"email","message":"This value should not be blank."}]}"#, Some("email: This value should not be blank.")),
    ("snowflake", 422, "application/json", r#"{"code":"001003","message":"SQL compilation error:\nsyntax error line 1","sqlState":"42000","statementHandle":"h"}"#, Some("SQL compilation error:\nsyntax error line 1")),
    ("grafana", 400, "application/json", r#"{"message":"bad request data","messageId":"m","statusCode":400,"traceID":""}"#, Some("bad request data")),
    ("loki", 400, "text/plain; charset=utf-8", "parse error at line 1, col 5: syntax error", None),
    ("fastify", 400, "application/json", r#"{"statusCode":400,"code":"FST_ERR_VALIDATION","error":"Bad Request","message":"body must have required property 'name'"}"#, Some("body must have required property 'name'")),
    ("litellm", 400, "application/json", r#"{"error":{"message":"litellm.BadRequestError: OpenAIException - bad model","type":null,"param":null,"code":"400"}}"#, Some("litellm.BadRequestError: OpenAIException - bad model")),
    ("gemini stream", 400, "text/event-stream", "data: {\"error\":{\"code\":400,\"message\":\"API key not valid.\",\"status\":\"INVALID_ARGUMENT\"}}\r\n\r\n", Some("API key not valid.")),
    ("vertex", 400, "application/json", r#"{"error":{"code":400,"message":"Request contains an invalid argument.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"parent","description":"must not be empty"}]}]}}"#, Some("Request contains an invalid argument. parent: must not be empty")),
    ("google, old", 403, "application/json", r#"{"error":{"errors":[{"domain":"usageLimits","reason":"dailyLimitExceeded","message":"Daily Limit Exceeded"}],"code":403,"message":"Daily Limit Exceeded"}}"#, Some("Daily Limit Exceeded")),
    ("github token", 200, "application/x-www-form-urlencoded", "error=bad_verification_code&error_description=The+code+passed+is+incorrect+or+expired.&error_uri=https%3A%2F%2Fdocs", Some("bad_verification_code: The code passed is incorrect or expired.")),
    ("temporal", 404, "application/json", r#"{"code":5,"message":"workflow not found for ID: x","details":[{"@type":"type.googleapis.com/temporal.api.errordetails.v1.NotFoundFailure","currentCluster":"a","activeCluster":"b"}]}"#, Some("workflow not found for ID: x")),
    ("spring bean validation", 400, "application/json", r#"{"timestamp":1,"status":400,"error":"Bad Request","errors":[{"codes":["NotNull.order.qty","NotNull"],"arguments":[{"codes":["order.qty","qty"],"defaultMessage":"qty","code":"qty"}],"defaultMessage":"must not be null","objectName":"order","field":"qty","rejectedValue":"SENTINEL","bindingFailure":false,"code":"NotNull"}],"message":"","path":"/orders"}"#, Some("qty: must not be null")),
    ("quarkus", 400, "application/json", r#"{"title":"Constraint Violation","status":400,"violations":[{"field":"create.order.qty","message":"must be greater than 0"}]}"#, Some("Constraint Violation: create.order.qty: must be greater than 0")),
    ("api platform", 422, "application/problem+json", r#"{"@context":"/contexts/ConstraintViolationList","@type":"ConstraintViolationList","title":"An error occurred","detail":"name: This value should not be blank.","violations":[{"propertyPath":"name","message":"This value should not be blank.","code":"c1051bb4"}]}"#, Some("name: This value should not be blank.")),
];

#[test]
fn says_of_services_what_a_person_wants_to_read() {
    let mut wrong = String::new();
    let mut right = 0;
    for (service, status, content_type, body, wanted) in SERVICES {
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, content_type.parse().unwrap())]);
        let status = StatusCode::from_u16(*status).unwrap();
        let extracted = extract(status, &headers, body.as_bytes(), true, &Rules::default());
        let shown = format!("{:?}{:?}{:?}", extracted.message, extracted.code, extracted.text);
        if extracted.message.as_deref() != *wanted || shown.contains("client_secret\":\"pi") {
            wrong.push_str(&format!("{service}\n  wanted {wanted:?}\n  got    {:?}\n", extracted.message));
        } else {
            right += 1;
        }
    }
    assert!(wrong.is_empty(), "{right} of {} right\n{wrong}", SERVICES.len());
}
