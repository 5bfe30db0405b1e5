//! A real Chromium, spoken to over its pipe: what a page compiled, asked for and became.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::skip::skip;

/// The one script that a page has.
pub(super) const SCRIPT: &str = include_str!("../../../../rejoin/src/ops/export/html/copy.js");

/// How long a browser on a busy machine may be silent.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page. It goes away with its value.
pub(super) struct Browser {
    child: Child,
    input: File,
    /// What it tells, read by a thread so that waiting has an end.
    output: Receiver<Vec<u8>>,
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
        // Open for both, a pipe does not wait for a browser that never comes,
        // nor ends before one that comes late.
        let open = |name: &str| File::options().read(true).write(true).open(pipe(name)).unwrap();
        let input = open("in");
        let output = listen(open("out"));
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
        let told = self.output.recv_timeout(PATIENCE);
        let ended = self.child.try_wait();
        let bytes = told.unwrap_or_else(|_| panic!("the browser tells nothing; its end: {ended:?}"));
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Opens a file, and returns everything that happened which a page cannot do without network, and with
    /// no script but the one of Rejoin.
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
        let scripts = self.events.iter().filter(|event| event["method"] == "Debugger.scriptParsed");
        let scripts: Vec<Value> = scripts.map(|event| event["params"]["scriptId"].clone()).collect();
        let own: Option<Value> = scripts.into_iter().find(|script| {
            self.call("Debugger.getScriptSource", json!({"scriptId": script}))["scriptSource"] == SCRIPT
        });
        let is_own_script = |event: &Value| Some(&event["params"]["scriptId"]) == own.as_ref();
        let is_own = |event: &Value| {
            let url = &event["params"]["request"]["url"];
            url.as_str().is_some_and(|url| url == address || url.starts_with("data:image/"))
        };
        let acts = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => !is_own(event),
            "Debugger.scriptParsed" => !is_own_script(event),
            "Page.javascriptDialogOpening" | "Debugger.scriptFailedToParse" => true,
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

    /// Does something in the page as a person would, and waits for what it promises.
    pub(super) fn act(&mut self, expression: &str) -> Value {
        let permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"];
        let session = std::mem::take(&mut self.session);
        self.call("Browser.grantPermissions", json!({"permissions": permissions}));
        self.session = session;
        self.call("Emulation.setFocusEmulationEnabled", json!({"enabled": true}));
        let asked = json!({
            "expression": expression, "returnByValue": true, "userGesture": true, "awaitPromise": true,
        });
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

/// Passes on every message, until nobody wants them any more.
fn listen(pipe: File) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        BufReader::new(pipe).split(0).map_while(Result::ok).try_for_each(|message| sender.send(message))
    });
    receiver
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
