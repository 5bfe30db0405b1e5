//! Reads what a model wrote as the input of a tool.

use rejoin::Json;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::{Error, ErrorKind, Result};
use crate::providers::ToolSpec;

/// The input in the shape that the tool needs, or an error that tells the model what is wrong.
pub(super) fn read<T: DeserializeOwned>(input: &Json) -> Result<T> {
    let value = object(input)?;
    serde_json::from_value(Value::Object(value))
        .map_err(|cause| wrong(format!("the input does not fit: {cause}")))
}

/// The input as an object.
pub(crate) fn object(input: &Json) -> Result<serde_json::Map<String, Value>> {
    // A string is what a provider keeps of arguments that are not JSON.
    match serde_json::from_str(input.as_str()) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(Value::Null) => Ok(serde_json::Map::new()),
        Ok(Value::String(text)) => match serde_json::from_str::<Value>(&text) {
            Err(cause) => Err(wrong(format!("the input is not valid JSON: {cause}"))),
            Ok(_) => Err(wrong("the input must be a JSON object, not a string".to_owned())),
        },
        Ok(_) => Err(wrong("the input must be a JSON object".to_owned())),
        Err(cause) => Err(wrong(format!("the input is not valid JSON: {cause}"))),
    }
}

/// A specification with these properties, some of them required.
pub(super) fn spec(name: &str, description: &str, properties: Value, required: &[&str]) -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    let input_schema = Json::of(&schema).expect("a schema is JSON");
    ToolSpec { name: name.to_owned(), description: description.to_owned(), input_schema }
}

pub(super) fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}
