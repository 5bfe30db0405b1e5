//! A real Chromium, spoken to over its pipe: what a page compiled, asked for and became.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::skip::skip;

/// A browser with one page. It goes away with its value.
pub(super) struct Browser {
    child: Child,
    input: File,
    output: BufReader<File>,
    session: String,
    number: u64,
    /// What the browser told and nobody waited for.
    events: Vec<Value>,
    _directory: TempDir,
}

impl Browser {
    /// Starts a browser, or says loudly that there is none.
    pub(super) fn open() -> Option<Self> {
        let program = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
            Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
        });
        let Some(program) = program else {
            skip("chromium is not installed");
            return None;
        };
        let directory = tempfile::tempdir().unwrap();
        let pipe = |name: &str| directory.path().join(name);
        let made = Command::new("mkfifo").args([pipe("in"), pipe("out")]).status().unwrap();
        assert!(made.success());
        // The browser reads from its third stream and writes to its fourth.
        let script = format!(
            "exec {program} --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
             --disable-component-update --disable-extensions --disable-sync --disable-dev-shm-usage \
             --user-data-dir=\"$0/profile\" --remote-debugging-pipe about:blank 3<\"$0/in\" 4>\"$0/out\""
        );
        let child = Command::new("bash")
            .args(["-c", &script, directory.path().to_str().unwrap()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = File::options().write(true).open(pipe("in")).unwrap();
        let output = BufReader::new(File::open(pipe("out")).unwrap());
        let (session, number, events) = (String::new(), 0, Vec::new());
        let mut browser = Self { child, input, output, session, number, events, _directory: directory };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attached);
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Network", "Runtime", "Debugger"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Asks for something and waits for the answer.
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        self.input.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let told = self.read();
            if told["id"] == self.number {
                assert_eq!(told["error"], Value::Null, "{method}");
                return told["result"].clone();
            }
            self.events.push(told);
        }
    }

    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.output.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser went away");
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Opens a file, and returns everything that happened which a page without script and network cannot do.
    pub(super) fn visit(&mut self, path: &Path) -> Vec<String> {
        let address = format!("file://{}", path.display());
        self.events.clear();
        self.call("Page.navigate", json!({"url": address}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let told = self.read();
            if told["method"] == "Page.javascriptDialogOpening" {
                return vec![format!("dialog: {}", told["params"])];
            }
            self.events.push(told);
        }
        let is_own = |event: &Value| {
            let url = &event["params"]["request"]["url"];
            url.as_str().is_some_and(|url| url == address || url.starts_with("data:image/"))
        };
        let acts = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => !is_own(event),
            "Page.javascriptDialogOpening" | "Debugger.scriptParsed" | "Debugger.scriptFailedToParse" => true,
            "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Page.windowOpen" => true,
            "Page.frameRequestedNavigation" | "Page.frameAttached" => true,
            _ => false,
        };
        self.events
            .iter()
            .filter(acts)
            .map(|event| format!("{} {}", event["method"], event["params"]))
            .collect()
    }

    /// The value of an expression in the page. It is evaluated from outside, whatever the page forbids.
    pub(super) fn evaluate(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", asked);
        assert_eq!(answer["exceptionDetails"], Value::Null, "{answer}");
        answer["result"]["value"].clone()
    }

    /// Looks at the page as it would be printed, or in dark colours.
    pub(super) fn emulate(&mut self, media: &str, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"media": media, "features": features}));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
