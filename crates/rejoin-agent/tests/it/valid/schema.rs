//! The providers' published schemas, read by the stock Python clients' own types.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rejoin_agent::Api;
use serde_json::{Value, json};

use crate::python::with_package;

/// The schemas of the three APIs.
#[derive(Debug)]
pub(crate) struct Schemas {
    anthropic: PathBuf,
    openai: PathBuf,
}

impl Schemas {
    /// None, said out loud, where the clients cannot be had.
    pub(crate) fn find() -> Option<Self> {
        Some(Self { anthropic: with_package("anthropic")?, openai: with_package("openai")? })
    }

    /// What is wrong with each request; none where nothing is.
    pub(crate) fn complaints(&self, requests: &[(Api, Value)]) -> Vec<Option<String>> {
        let is_anthropic = |request: &&(Api, Value)| request.0 == Api::Anthropic;
        let mut anthropic = self.ask(&self.anthropic, requests.iter().filter(is_anthropic)).into_iter();
        let mut openai =
            self.ask(&self.openai, requests.iter().filter(|request| !is_anthropic(request))).into_iter();
        let answers = requests.iter().map(|request| {
            let answer = if is_anthropic(&request) { anthropic.next() } else { openai.next() };
            answer.expect("each request is answered")
        });
        answers.collect()
    }

    fn ask<'a>(
        &self,
        python: &PathBuf,
        requests: impl Iterator<Item = &'a (Api, Value)>,
    ) -> Vec<Option<String>> {
        let lines: String =
            requests.map(|(api, request)| format!("{}\n", json!([api.as_str(), request]))).collect();
        let mut child = Command::new(python)
            .arg("-c")
            .arg(include_str!("schema.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        // The script reads everything before it writes, so this cannot wait for ever.
        input.write_all(lines.as_bytes()).unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "the schemas cannot be read");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}
