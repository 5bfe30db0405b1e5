//! Exported pages in a real browser: nothing runs, nothing is asked for, and
//! there is nothing but what Rejoin writes.

use std::fs;
use std::path::{Path, PathBuf};

use rejoin::Conversation;
use rejoin::formats::{SourceBranch, SourceConversation, SourceMessage, SourceParent, Tree};
use serde_json::{Value, json};

use crate::hostile::browser::Browser;
use crate::hostile::{payloads, plant, talk};
use crate::world::World;

/// Every element and attribute that is not ours, and every address that leads elsewhere than to a page.
const UNEXPECTED: &str = r##"(() => {
  const elements = new Set(("html head meta title style body a header h1 h2 h3 h4 h5 h6 dl div dt dd nav details summary ol ul li " +
    "main section article span time p pre code blockquote hr br em strong del table thead tbody tr th td figure img figcaption " +
    "input label footer script button").split(" "));
  const attributes = new Set(("class id href rel dir lang role aria-label type name checked for datetime tabindex start src alt " +
    "charset content http-equiv").split(" "));
  const found = [];
  for (const element of document.querySelectorAll("*")) {
    const name = element.localName;
    if (!elements.has(name) || element.namespaceURI !== "http://www.w3.org/1999/xhtml") found.push(`<${name}>`);
    for (const { name: attribute, value } of element.attributes) {
      if (!attributes.has(attribute)) found.push(`${name} ${attribute}=${value}`);
      if (attribute === "href" && !/^(#[mb]\d+-\d+$|#talk$|https?:\/\/|mailto:)/i.test(value)) found.push(`${name} href=${value}`);
      if (attribute === "href" && !value.startsWith("#") && !/noreferrer/.test(element.rel)) found.push(`no rel: ${value}`);
      if (attribute === "src" && !/^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+\/=]*$/.test(value)) found.push(`src=${value}`);
      if (attribute === "type" && value !== (name === "button" ? "button" : "radio")) found.push(`type=${value}`);
    }
  }
  for (const name of ["head", "body", "main", "style", "script", "title"])
    if (document.querySelectorAll(name).length !== 1) found.push(`${document.querySelectorAll(name).length} of ${name}`);
  if (/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/.test(document.documentElement.outerHTML))
    found.push("characters that act");
  return found;
})()"##;

/// The same page without what it forbids itself, so that the writing alone is put to the test.
fn without_policy(page: &Path) -> PathBuf {
    let text = fs::read_to_string(page).unwrap();
    let begin = text.find("<meta http-equiv=\"Content-Security-Policy\"").unwrap();
    let end = begin + text[begin..].find('>').unwrap() + 1;
    let path = page.with_extension("bare.html");
    fs::write(&path, text[..begin].to_owned() + &text[end..]).unwrap();
    path
}

#[test]
fn a_page_with_every_payload_in_every_message_does_nothing() {
    let Some(mut browser) = Browser::open() else { return };
    let world = World::new();
    let id = plant(&world).to_string();
    let page = world.path("page.html");
    let outcome = world.rejoin(["export", &id, "--format", "html", "--output", page.to_str().unwrap()]).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");

    for path in [page.clone(), without_policy(&page)] {
        let happened = browser.visit(&path);
        let unexpected = browser.evaluate(UNEXPECTED);
        let messages = browser.evaluate("document.querySelectorAll('article').length");

        assert_eq!((happened, unexpected), (Vec::<String>::new(), json!([])));
        assert!(messages.as_u64() > Some(400), "{messages}");
    }
}

/// A tree whose title, project, names and ids are a payload.
pub(super) fn tree(payload: &str) -> Tree {
    let text = || payload.to_owned();
    let time = "2026-11-15T19:27:27Z".parse().unwrap();
    let mut main = SourceConversation::new(payload, time);
    main.header = Conversation::titled(payload).in_project(payload);
    main.header.settings.model = Some(text());
    let mut run = SourceConversation::new("run", time);
    let (conversation, message) = (text(), Some(text()));
    run.parent = Some(SourceParent { conversation, message, name: text(), run: text() });
    let said = |conversation: &str, id: &str, parent: Option<&str>, message| SourceMessage {
        conversation: conversation.to_owned(),
        id: id.to_owned(),
        parent: parent.map(str::to_owned),
        message,
        keeps: Vec::new(),
        line: 0,
        source: String::new(),
    };
    let [user, reply, results] = talk(payload);
    Tree {
        conversations: vec![main, run],
        messages: vec![
            said(payload, payload, None, user.clone()),
            said(payload, "a", Some(payload), reply.clone()),
            said(payload, "b", Some("a"), results),
            said(payload, "c", Some(payload), reply),
            said("run", "d", None, user),
        ],
        branches: vec![SourceBranch {
            conversation: text(),
            id: text(),
            title: text(),
            head: "c".to_owned(),
        }],
        ..Tree::default()
    }
}

#[test]
fn a_page_with_a_payload_for_its_title_does_nothing_even_without_its_policy() {
    let Some(mut browser) = Browser::open() else { return };
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("page.html");

    for payload in payloads() {
        fs::write(&page, tree(&payload).to_html().unwrap()).unwrap();
        let happened = browser.visit(&without_policy(&page));
        let unexpected = browser.evaluate(UNEXPECTED);

        assert_eq!((happened, unexpected), (Vec::<String>::new(), json!([])), "{payload:?}");
    }
}

#[test]
fn code_has_its_language_and_a_button_that_copies_it() {
    let Some(mut browser) = Browser::open() else { return };
    let world = World::new();
    let id = world.started("Lisbon");
    let code = "fn main() {\n    println!(\"<b>\");\n}\n";
    let reply = json!({"role": "assistant", "content": format!("So:\n\n```rust,ignore\n{code}```\n")});
    world.append(&id, &format!("{reply}\n"));
    let page = world.path("page.html");
    world.rejoin(["export", &id, "--format", "html", "--output", page.to_str().unwrap()]).run();
    let happened = browser.visit(&page);

    let language = browser.evaluate("document.querySelector('.code > .language').textContent");
    let buttons =
        browser.evaluate("[...document.querySelectorAll('.code > button')].map(b => b.textContent)");
    let pressed = "(async () => { document.querySelector('.code > button').click(); \
                   await new Promise(done => setTimeout(done, 200)); \
                   return [document.querySelector('.code > button').textContent, await navigator.clipboard.readText()]; })()";
    let copied = browser.act(pressed);

    assert_eq!((happened, language, buttons), (Vec::<String>::new(), json!("rust"), json!(["Copy"])));
    assert_eq!(copied, json!(["Copied", code]));
}

#[test]
fn the_path_of_the_project_is_shown_only_on_request() {
    let world = World::new();
    let id = world.started("Lisbon");
    let export = |flags: &[&str]| {
        let page = world.path("page.html");
        let line = ["export", &id, "--format", "html", "--yes", "--output", page.to_str().unwrap()];
        let output = world.program(&[&line, flags].concat()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        fs::read_to_string(page).unwrap().contains(world.path("project").to_str().unwrap())
    };

    assert_eq!([export(&[]), export(&["--show-paths"])], [false, true]);
}

#[test]
fn the_detector_sees_a_page_that_acts() {
    let Some(mut browser) = Browser::open() else { return };
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("page.html");
    fs::write(&page, "<script>window.x = 1</script><img src=http://127.0.0.1:9/x.png onerror=1>").unwrap();

    let happened = browser.visit(&page);

    let saw = |what: &str| happened.iter().any(|event| event.contains(what));
    assert!(saw("scriptParsed") && saw("requestWillBeSent"), "{happened:?}");
    assert_ne!(browser.evaluate(UNEXPECTED), json!([]));
}

#[test]
fn branches_are_switched_without_script_and_print_shows_everything() {
    let Some(mut browser) = Browser::open() else { return };
    let world = World::new();
    let id = world.started("Lisbon");
    let ids = world.append(&id, "{\"role\":\"user\",\"content\":\"Where?\"}\n{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"here\"},{\"type\":\"thinking\",\"text\":\"deep thought\"}]}\n");
    world.rejoin(["append", &id, "--role", "assistant", "--parent", &ids[0], "there"]).run();
    let page = world.path("page.html");
    world.rejoin(["export", &id, "--format", "html", "--output", page.to_str().unwrap()]).run();
    browser.visit(&page);
    let shown = "[...document.querySelectorAll('.way')].map(way => way.checkVisibility())";
    let thinking = "document.querySelector('.thinking .prose').checkVisibility()";

    let before = browser.evaluate(shown);
    browser.evaluate("document.querySelectorAll('.fork > label')[0].click()");
    let after = browser.evaluate(shown);
    let folded = browser.evaluate(thinking);
    let colours = |browser: &mut Browser, scheme: &str| {
        browser.emulate("", scheme);
        browser.evaluate("getComputedStyle(document.body).backgroundColor")
    };
    let (light, dark) = (colours(&mut browser, "light"), colours(&mut browser, "dark"));
    browser.emulate("print", "light");
    let printed = browser.evaluate(shown);
    let unfolded = browser.evaluate(thinking);

    let expected: [Value; 6] = [
        json!([false, true]),
        json!([true, false]),
        json!(false),
        json!([true, true]),
        json!(true),
        json!(true),
    ];
    assert_eq!([before, after, folded, printed, unfolded, json!(light != dark)], expected);
}

#[test]
fn text_can_be_read_in_both_colours() {
    let Some(mut browser) = Browser::open() else { return };
    let world = World::new();
    let id = plant(&world).to_string();
    let page = world.path("page.html");
    world.rejoin(["export", &id, "--format", "html", "--output", page.to_str().unwrap()]).run();
    browser.visit(&page);
    // The contrast of every text with what is behind it, by the formula of
    // WCAG; 4.5 is enough for small text.
    let faint = r##"(() => {
      const channels = colour => colour.match(/[\d.]+/g).map(Number);
      const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
      const behind = element => { for (; element; element = element.parentElement) {
        const c = channels(getComputedStyle(element).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
      const found = new Set();
      for (const element of document.querySelectorAll("body *")) {
        if (![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
        const [a, b] = [light(channels(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
        const contrast = (a + .05) / (b + .05);
        if (contrast < 4.5) found.add(`${element.localName}.${element.className} ${contrast.toFixed(1)}`);
      }
      return [...found];
    })()"##;

    let both = ["light", "dark"].map(|scheme| {
        browser.emulate("", scheme);
        browser.evaluate(faint)
    });

    assert_eq!(both, [json!([]), json!([])]);
}
