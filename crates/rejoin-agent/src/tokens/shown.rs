//! How a model is shown a tool, which is not the JSON that is sent.

use std::fmt::Write;

use serde_json::Value;

use crate::providers::ToolSpec;

/// How a tool is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolForm {
    /// As a type declaration, as OpenAI's models see it.
    Types,
    /// With its schema as it is.
    Schema,
}

impl ToolForm {
    /// The text of a tool.
    pub(super) fn of(self, tool: &ToolSpec) -> String {
        match self {
            Self::Types => types(tool),
            Self::Schema => format!("{}\n{}\n{}", tool.name, tool.description, tool.input_schema.as_str()),
        }
    }
}

fn types(tool: &ToolSpec) -> String {
    let schema: Value = tool.input_schema.to().unwrap_or_default();
    let mut text = String::new();
    if !tool.description.is_empty() {
        let _ = writeln!(text, "// {}", tool.description);
    }
    let has_input = schema["properties"].as_object().is_some_and(|properties| !properties.is_empty());
    let input = if has_input { format!("_: {}", kind(&schema, DEPTH)) } else { String::new() };
    let _ = write!(text, "type {} = ({input}) => any;\n\n", tool.name);
    if let Some(definitions) = schema["$defs"].as_object() {
        for (name, definition) in definitions {
            let _ = writeln!(text, "{name} = {}", kind(definition, DEPTH));
        }
    }
    text
}

/// Schemas that are nested deeper are not followed.
const DEPTH: usize = 16;

fn kind(schema: &Value, depth: usize) -> String {
    if depth == 0 {
        return "any".to_owned();
    }
    let any = |choices: &[Value]| {
        choices.iter().map(|choice| kind(choice, depth - 1)).collect::<Vec<_>>().join(" | ")
    };
    if let Some(name) = schema["$ref"].as_str() {
        return name.rsplit('/').next().unwrap_or(name).to_owned();
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ");
    }
    if let Some(choices) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        return any(choices);
    }
    match schema["type"].as_str() {
        Some("object") => object(schema, depth),
        Some("array") => format!("{}[]", kind(&schema["items"], depth - 1)),
        Some("integer") => "number".to_owned(),
        Some(name) => name.to_owned(),
        None => "any".to_owned(),
    }
}

fn object(schema: &Value, depth: usize) -> String {
    let Some(properties) = schema["properties"].as_object().filter(|properties| !properties.is_empty())
    else {
        return "object".to_owned();
    };
    let required = schema["required"].as_array();
    let mut text = "{\n".to_owned();
    for (name, property) in properties {
        if let Some(description) = property["description"].as_str() {
            let _ = writeln!(text, "// {description}");
        }
        let is_required =
            required.is_some_and(|names| names.iter().any(|required| required.as_str() == Some(name)));
        let mark = if is_required { "" } else { "?" };
        let _ = writeln!(text, "{name}{mark}: {},", kind(property, depth - 1));
    }
    text + "}"
}
