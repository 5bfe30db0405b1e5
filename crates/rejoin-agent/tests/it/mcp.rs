//! MCP servers that behave, and some that do not: real processes that speak over their pipes.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rejoin::{Block, Fields, Media, MediaKind};
use rejoin_agent::{Decision, Environment, Output, Prepared, ServerSpec, Servers, Subject, Toolbox};
use serde_json::{Value, json};

use crate::approval_stage::Stage;
use crate::skip::skip;
use crate::tools_run::{alive, gone, group_in};
use crate::tools_workshop::{json as input, text};

/// Long enough for a loaded machine.
const LONG: Duration = Duration::from_secs(60);

fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        skip("there is no python3");
    }
    found
}

fn server(name: &str, arguments: &[&str]) -> ServerSpec {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mcp_server.py");
    let script = script.to_str().unwrap().to_owned();
    ServerSpec {
        name: name.to_owned(),
        command: "python3".to_owned(),
        arguments: [script]
            .into_iter()
            .chain(arguments.iter().map(|argument| (*argument).to_owned()))
            .collect(),
        environment: vec![("GIVEN".to_owned(), "a value".to_owned())],
    }
}

fn toolbox(specs: Vec<ServerSpec>) -> Toolbox {
    Toolbox::default().with_servers(
        Servers::new(specs, std::env::temp_dir(), Environment::default()).with_limits(LONG, LONG, LONG),
    )
}

async fn names(toolbox: &Toolbox) -> Vec<String> {
    toolbox.specs().await.into_iter().map(|spec| spec.name).collect()
}

async fn call(toolbox: &Toolbox, name: &str, arguments: Value) -> Output {
    let tool = toolbox.named(name).unwrap_or_else(|| panic!("no {name}: {:?}", toolbox.troubles()));
    tool.prepare(&input(&arguments)).unwrap().run().await
}

#[tokio::test]
async fn tools_of_a_server_are_listed_page_by_page_with_names_that_providers_accept() {
    if !has_python() {
        return;
    }
    let toolbox = toolbox(vec![server("test", &[])]);

    let specs = toolbox.specs().await;

    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names.len(), 14, "{names:?} {:?}", toolbox.troubles());
    assert_eq!(names[..3], ["mcp__test__add", "mcp__test__both", "mcp__test__cancelled"]);
    assert!(names.contains(&"mcp__test__odd_name_with_signs_bb91bf31"), "{names:?}");
    assert_eq!(
        (specs[0].description.as_str(), specs[0].input_schema.to::<Value>().unwrap()["required"].clone()),
        ("Adds two numbers.", json!(["a", "b"]))
    );
    assert_eq!(toolbox.troubles(), Vec::<String>::new());
}

#[tokio::test]
async fn results_of_every_kind_reach_the_model() {
    if !has_python() {
        return;
    }
    let toolbox = toolbox(vec![server("test", &[])]);
    toolbox.specs().await;
    let ask =
        async |name: &str, arguments: Value| call(&toolbox, &format!("mcp__test__{name}"), arguments).await;

    let picture = Media {
        kind: MediaKind::Image,
        mime_type: "image/png".to_owned(),
        data: Some("aGVsbG8h".to_owned()),
        uri: None,
        extra: Fields::new(),
    };
    assert_eq!(ask("add", json!({"a": 1, "b": 2})).await, Output::text("3"));
    assert_eq!(ask("fail", json!({})).await, Output::failure("it went wrong"));
    assert_eq!(
        ask("picture", json!({})).await,
        Output { media: vec![Block::Media(picture)], ..Output::text("look:\n[image image/png, 6 bytes]") }
    );
    assert_eq!(ask("structured", json!({})).await, Output::text("{\"sum\":3}"));
    assert_eq!(ask("both", json!({})).await, Output::text("{\"sum\": 3}"));
    assert_eq!(
        ask("resources", json!({})).await,
        Output::text("[resource a: file:///a]\n[file:///b]\nwords of b")
    );
    assert_eq!(ask("nonsense", json!({})).await, Output::text("after nonsense"));
    assert_eq!(ask("add", json!({"a": 2, "b": 2})).await, Output::text("4"));
    let large = text(&ask("large", json!({})).await);
    assert!(large.len() < 101_000 && large.contains("[900000 bytes left out]"));
}

#[tokio::test]
async fn a_server_runs_where_and_with_what_it_is_told() {
    if !has_python() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut spec = server("test", &[]);
    spec.command = String::from_utf8(Command::new("which").arg("python3").output().unwrap().stdout)
        .unwrap()
        .trim()
        .to_owned();
    let resolved =
        Command::new(&spec.command).args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    spec.command = String::from_utf8(resolved.stdout).unwrap().trim().to_owned();
    let servers = Servers::new(vec![spec], directory.path(), Environment::without(["PATH"]))
        .with_limits(LONG, LONG, LONG);
    let toolbox = Toolbox::default().with_servers(servers);
    toolbox.specs().await;

    let output = call(&toolbox, "mcp__test__environment", json!({})).await;

    let seen: Value = serde_json::from_str(&text(&output)).unwrap();
    let cwd = directory.path().canonicalize().unwrap();
    assert_eq!(seen, json!({"cwd": cwd.to_str().unwrap(), "given": "a value", "path": null}));
}

#[tokio::test]
async fn a_call_is_planned_by_the_names_of_the_server_and_asks() {
    if !has_python() {
        return;
    }
    let toolbox = toolbox(vec![server("test", &[])]);
    toolbox.specs().await;
    let tool = toolbox.named("mcp__test__fail").unwrap();

    let Prepared { plan, subject, .. } = tool.prepare(&input(&json!({"x": 1}))).unwrap();
    let missing = toolbox.named("mcp__test__add").unwrap().prepare(&input(&json!({"a": 1}))).unwrap_err();

    let expected = Subject::Mcp { server: "test".to_owned(), tool: "fail".to_owned() };
    assert_eq!(
        (plan.summary.as_str(), plan.rule.as_str(), plan.is_harmless),
        ("Use `fail` of `test`", "mcp(test/fail)", false)
    );
    assert_eq!((subject, plan.detail.as_deref()), (expected, Some("{\n  \"x\": 1\n}")));
    assert_eq!(missing.to_string(), "the input does not fit: `b` is missing");
}

#[tokio::test]
async fn a_call_is_approved_and_recorded_like_any_other() {
    if !has_python() {
        return;
    }
    let stage = Stage::new();
    let toolbox = toolbox(vec![server("test", &[])]);
    let calls = [("mcp__test__add", json!({"a": 20, "b": 3}))];

    let refused = stage.turn(&toolbox, &calls, |_| None).await;
    let allowed = stage.turn(&toolbox, &calls, |_| Some(Decision::Always)).await;
    let again = stage.turn(&toolbox, &calls, |_| None).await;

    assert!(refused.results[0].0, "{refused:?}");
    assert_eq!(allowed.results, [(false, "23".to_owned())]);
    assert_eq!((again.results, again.asked.len()), (vec![(false, "23".to_owned())], 0));
}

#[tokio::test]
async fn servers_that_do_not_work_leave_the_others_their_tools() {
    if !has_python() {
        return;
    }
    let missing = ServerSpec { command: "/nowhere/to/be/found".to_owned(), ..server("missing", &[]) };
    let specs = vec![
        server("dead", &["dead"]),
        server("silent", &["silent"]),
        server("garbage", &["garbage"]),
        server("listless", &["listless"]),
        missing,
        server("good", &[]),
    ];
    let short = Duration::from_secs(20);
    let servers =
        Servers::new(specs, std::env::temp_dir(), Environment::default()).with_limits(short, LONG, LONG);
    let toolbox = Toolbox::default().with_servers(servers);

    let names = names(&toolbox).await;

    assert_eq!(names.len(), 14, "{names:?}");
    assert_eq!(
        toolbox.troubles(),
        [
            "The MCP server `dead` did not start: it ended before it answered.",
            "The MCP server `silent` did not start: it did not answer within 20 seconds.",
            "The MCP server `garbage` did not start: it did not answer within 20 seconds.",
            "The MCP server `listless` did not tell its tools: Mcp error: -32603: no list today.",
            "The MCP server `missing` did not start: cannot run `/nowhere/to/be/found`: No such file or directory (os error 2).",
        ]
    );
}

#[tokio::test]
async fn a_server_that_dies_is_told_and_started_again() {
    if !has_python() {
        return;
    }
    let toolbox = toolbox(vec![server("test", &[])]);
    toolbox.specs().await;

    let died = call(&toolbox, "mcp__test__die", json!({})).await;
    let dead = call(&toolbox, "mcp__test__add", json!({"a": 1, "b": 1})).await;
    toolbox.specs().await;
    let alive = call(&toolbox, "mcp__test__add", json!({"a": 1, "b": 1})).await;

    let ended = Output::failure("the MCP server `test` has ended");
    assert_eq!((died, dead, alive), (ended.clone(), ended, Output::text("2")));
}

#[tokio::test]
async fn a_server_is_not_started_in_a_directory_that_took_the_projects_place() {
    if !has_python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let project = root.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let toolbox = || {
        let servers = Servers::new(vec![server("test", &[])], &project, Environment::default());
        Toolbox::default().with_servers(servers.with_limits(LONG, LONG, LONG))
    };
    let (before, replaced) = (toolbox(), toolbox());

    let started = names(&before).await;
    std::fs::rename(&project, root.path().join("old")).unwrap();
    std::fs::create_dir(&project).unwrap();
    let not_started = names(&replaced).await;

    assert_eq!((started.len(), not_started.len()), (14, 0));
    let told = replaced.troubles().join(" ");
    assert!(told.contains("was replaced or is gone"), "{told}");
}

#[tokio::test]
async fn a_call_that_hangs_ends_at_its_limit_and_the_server_is_told() {
    if !has_python() {
        return;
    }
    let servers = Servers::new(vec![server("test", &[])], std::env::temp_dir(), Environment::default());
    let toolbox = Toolbox::default().with_servers(servers.with_limits(LONG, LONG, Duration::from_secs(1)));
    toolbox.specs().await;

    let hung = call(&toolbox, "mcp__test__hang", json!({})).await;
    let dropped =
        tokio::time::timeout(Duration::from_millis(200), call(&toolbox, "mcp__test__hang", json!({}))).await;
    let started = Instant::now();
    let mut told = String::new();
    while told.matches(',').count() < 1 && started.elapsed() < LONG {
        told = text(&call(&toolbox, "mcp__test__cancelled", json!({})).await);
    }

    assert_eq!(hung, Output::failure("the MCP server `test` did not answer within 1 seconds"));
    assert!(dropped.is_err());
    assert_eq!(serde_json::from_str::<Vec<u64>>(&told).unwrap().len(), 2);
}

#[tokio::test]
async fn a_changed_list_of_tools_is_asked_for_again() {
    if !has_python() {
        return;
    }
    let toolbox = toolbox(vec![server("test", &[])]);
    let before = names(&toolbox).await;

    call(&toolbox, "mcp__test__grow", json!({})).await;
    let after = names(&toolbox).await;
    let grown = toolbox.named("mcp__test__grown").is_some();

    assert_eq!((before.len(), after.len(), grown), (14, 15, true));
}

#[test]
fn a_server_ends_with_its_children_when_nobody_needs_it_even_if_it_will_not() {
    if !has_python() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let pid = directory.path().join("pid");
    let toolbox = toolbox(vec![server("test", &["stubborn", pid.to_str().unwrap()])]);

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let id = runtime.block_on(async {
        toolbox.specs().await;
        group_in(&pid).await
    });
    let before = alive(id).len();
    drop(runtime);
    drop(toolbox);

    assert_eq!((before, alive(id)), (2, Vec::new()));
}

#[tokio::test]
async fn a_server_ends_while_the_program_goes_on() {
    if !has_python() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let pid = directory.path().join("pid");
    let toolbox = toolbox(vec![server("test", &["good", pid.to_str().unwrap()])]);
    toolbox.specs().await;
    let id = group_in(&pid).await;

    drop(toolbox);

    assert!(gone(id).await);
}

#[test]
fn variables_of_a_server_are_not_shown() {
    let shown = format!("{:?}", server("test", &[]));

    assert!(shown.contains("GIVEN") && !shown.contains("a value"), "{shown}");
}

/// The server that most people write: the `mcp` package from PyPI, in an
/// environment of its own below `target`.
fn stock_python() -> Option<String> {
    let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-venv");
    let python = venv.join("bin/python").to_str().unwrap().to_owned();
    let has_package = || {
        Command::new(&python).args(["-c", "import mcp"]).output().is_ok_and(|output| output.status.success())
    };
    if !has_package() {
        let made = Command::new("python3").args(["-m", "venv"]).arg(&venv).output();
        let installed =
            made.and_then(|_| Command::new(&python).args(["-m", "pip", "install", "-q", "mcp"]).output());
        if !installed.is_ok_and(|output| output.status.success()) || !has_package() {
            skip("the package `mcp` cannot be installed");
            return None;
        }
    }
    Some(python)
}

const STOCK: &str = r#"
try:
    from mcp.server.fastmcp import FastMCP as Server
    from mcp.server.fastmcp import Image
except ImportError:
    from mcp.server import MCPServer as Server
    from mcp.server.mcpserver import Image

server = Server("stock")

@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b

@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("it went wrong")

@server.tool()
def picture() -> Image:
    """Shows something."""
    return Image(data=b"hello!", format="png")

server.run()
"#;

#[tokio::test]
async fn the_stock_python_server_is_understood() {
    if !has_python() {
        return;
    }
    let Some(python) = stock_python() else { return };
    let arguments = vec!["-c".to_owned(), STOCK.to_owned()];
    let spec = ServerSpec { name: "stock".to_owned(), command: python, arguments, environment: Vec::new() };
    let toolbox = toolbox(vec![spec]);

    let names = names(&toolbox).await;
    assert_eq!(
        names,
        ["mcp__stock__add", "mcp__stock__fail", "mcp__stock__picture"],
        "{:?}",
        toolbox.troubles()
    );
    let sum = call(&toolbox, "mcp__stock__add", json!({"a": 1, "b": 2})).await;
    let failed = call(&toolbox, "mcp__stock__fail", json!({})).await;
    let picture = call(&toolbox, "mcp__stock__picture", json!({})).await;
    let wrong = call(&toolbox, "mcp__stock__add", json!({"a": "x", "b": 2})).await;

    assert_eq!(sum, Output::text("3"));
    assert!(failed.is_error && text(&failed).starts_with("Error executing tool fail"), "{failed:?}");
    assert!(wrong.is_error, "{wrong:?}");
    assert!(
        matches!(&picture.media[..], [Block::Media(media)] if media.data.as_deref() == Some("aGVsbG8h")),
        "{picture:?}"
    );
}
