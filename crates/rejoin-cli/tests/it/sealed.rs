//! Records that Agent Voice sealed: a key in a file opens and seals them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::world::{Outcome, World};

/// The key of the bytes 0 to 31.
const HEX: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const BASE64: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// A record with one frame, sealed by the crypto module of Node 20 with that key.
const RECORD: &str = r#"{"conversationId":"3f2b8c1e-9d4a-4f6b-8a7e-1c2d3e4f5a6b","schemaVersion":1,"cipherText":"Mzm9CRefM+xNAyuBtQsjmWD4JDntXpFKxODJZcLHkSm53Sb2Lj+jZcqWVQ6ecK78fm/+0kF8IwrW09qznfLM5Wau4T/6aU9s/wOIYSuodYMGDXhTzqvq5rmQX6gSfSlx+hThCklhmh3Bn7+xx2n5nAARoi3xS4wZg0m+g+vgOP4Ir6iSWQJsG/l5DCelojDj5bO0KCQu9PNS5RcijlDR2KoTFWyi6czRW3WTxrhEmvSmwfeZAp1i/0hbM2Tg8H68vkZlg9h0GnUxXVE4PhibbGJytHf0PX6Qln1ktZmJZcliBdCUzuAJBDjZL7Tad6zzNL9025+llIWmnX9JGByj9AJR991RC/mzznu3453VPCrz8G9M114dAJAnZGhNHHVR/9ZmDgkQ2IYD/XSmwtv02Wh9PstzJzurf6tMNvSzA0fUNIOFOTIzu+qhI1zpWRNN0shpSuxuifjSt8LqRtipKfio9P0aclmM1PX1kXg/y0o2+5F6rvbChTdDz4EC+tLRTSpheoSjmhC/4ADnMqrb9q8ePHbzGfeR3TlRA5pNW1IEZxUP0B+aR+059cS9cpsaF+tp/sgIK5JumOPNAx2EOlU5fiXqVz0FYKI=","iv":"ZGVmZ2hpamtsbW5v","authTag":"S59fKp59/6opuU0IAdiGsw==","createdAt":"2025-10-21T09:00:05.000Z","checksum":"24d764073c601fe39d6145bdfde6d199742003ae19e287f840f0eb453ebe289c"}"#;

/// A file that only its owner can read.
fn key_file(world: &World, bytes: &[u8]) -> PathBuf {
    let path = world.path("home/voice.key");
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

fn sealed() -> World {
    let world = World::new();
    world.started("other");
    world.write("project/a.vpconv", RECORD);
    world
}

fn import(world: &World) -> Outcome {
    world.rejoin(["import", "a.vpconv", "--key-file", "../home/voice.key"]).run()
}

#[test]
fn without_its_key_a_sealed_record_is_refused_and_the_next_step_told() {
    let world = sealed();

    let outcome = world.rejoin(["import", "a.vpconv"]).run();

    let expected = "error: could not import `[world]/project/a.vpconv`: could not read `[world]/project/a.vpconv` as Agent Voice: it is sealed; opening it takes the key that Agent Voice keeps in the editor's secret storage \
                    as `agentvoice.conversation.key`\n\
                    hint: write the key to a file that only you can read, and run \
                    `rejoin import --key-file FILE [world]/project/a.vpconv`\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
}

#[test]
fn a_key_opens_a_record_in_whichever_form_its_file_holds_it() {
    let raw: Vec<u8> = (0..32).collect();
    let forms = [
        raw.clone(),
        [&raw[..], b"\n"].concat(),
        HEX.into(),
        format!("{}\n", HEX.to_uppercase()).into(),
        BASE64.into(),
        format!("{BASE64}\n").into(),
    ];

    let told = forms.map(|form| {
        let world = sealed();
        key_file(&world, &form);
        import(&world)
    });

    let expected = || Outcome::answer("Imported 1 message of 1 new conversation from 1 file.\n");
    assert_eq!(told, [(); 6].map(|()| expected()));
}

#[test]
fn a_key_that_others_may_read_is_not_read() {
    let world = sealed();
    let path = key_file(&world, HEX.as_bytes());

    let told = [0o640, 0o604, 0o620].map(|mode| {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        import(&world)
    });

    let expected = ["640", "604", "620"].map(|mode| {
        Outcome::failure(
            1,
            &format!(
                "error: others may read the key file `../home/voice.key` (mode {mode})\n\
                 hint: run `chmod 600 ../home/voice.key`\n"
            ),
        )
    });
    assert_eq!(told, expected);
}

#[test]
fn what_is_no_key_is_told_and_never_shown() {
    let world = sealed();
    let wrong = "ff".repeat(32);

    let missing = import(&world);
    key_file(&world, b"correct horse battery staple");
    let no_key = import(&world);
    key_file(&world, wrong.as_bytes());
    let other = import(&world);

    assert!(missing.stderr.contains(": No such file or directory"), "{missing:?}");
    let expected = "error: could not read the key file `../home/voice.key`: the key is not 32 bytes, nor those in hexadecimal digits or base64\n\
                    hint: it holds 32 bytes as they are, as 64 hexadecimal digits, or in base64\n";
    assert_eq!(no_key, Outcome::failure(1, expected));
    assert!(
        other.stderr.contains("the key does not decrypt the record, or the record was changed"),
        "{other:?}"
    );
    assert!(!other.stderr.contains("rejoin verify"), "{other:?}");
    let said = format!("{no_key:?}{other:?}");
    assert!(!said.contains("horse") && !said.contains(&wrong), "{said}");
}

#[test]
fn a_scan_opens_what_is_sealed_and_one_that_stays_shut_does_not_stop_the_others() {
    let world = World::new();
    world.started("other");
    let below = "home/.config/Code/User/workspaceStorage/1/agentvoice/conversations";
    world.write(&format!("{below}/a.vpconv"), RECORD);
    world.write(&format!("{below}/b.vpconv"), &RECORD.replace("\"S59f", "\"AAAA"));
    key_file(&world, HEX.as_bytes());

    let shut = world.rejoin(["import", "--scan", "--yes"]).run();
    let opened = world.rejoin(["import", "--scan", "--yes", "--key-file", "../home/voice.key"]).run();

    assert_eq!((shut.code, opened.code), (1, 1), "{shut:?} {opened:?}");
    assert!(shut.stderr.contains("2 of 2 files could not be imported"), "{shut:?}");
    assert!(shut.stderr.contains("`rejoin import --key-file FILE "), "{shut:?}");
    assert!(opened.stdout.contains("Imported 1 message of 1 new conversation from 1 file."), "{opened:?}");
    assert!(opened.stderr.contains("1 of 2 files could not be imported"), "{opened:?}");
}

#[test]
fn what_is_exported_with_a_key_is_sealed_and_opens_with_it() {
    let world = World::new();
    let id = world.started("Lisbon");
    world.append(&id, r#"{"role":"user","content":"Where to eat?"}"#);
    key_file(&world, HEX.as_bytes());
    let options = ["--format", "agent-voice", "--output", "out.vpconv", "--key-file", "../home/voice.key"];

    let exported =
        world.rejoin(["export", &id, options[0], options[1], options[2], options[3], options[4], options[5]]);
    let exported = exported.run();
    let text = world.read("project/out.vpconv");
    let elsewhere = world.url_in(&world.path("elsewhere"));
    let back = world
        .rejoin(["--store", &elsewhere, "import", "out.vpconv", "--key-file", "../home/voice.key"])
        .run();

    assert_eq!(exported.code, 0, "{exported:?}");
    assert!(text.contains("cipherText") && !text.contains("Where to eat"), "{text}");
    assert!(back.stdout.contains("Imported 1 message of 1 new conversation from 1 file."), "{back:?}");
}

#[test]
fn only_what_can_be_sealed_takes_a_key() {
    let world = World::new();
    let id = world.started("Lisbon");
    key_file(&world, HEX.as_bytes());

    let outcome = world.rejoin(["export", &id, "--key-file", "../home/voice.key"]).run();

    let expected = "error: `markdown` is not sealed, and takes no key\n\
                    hint: omit `--key-file`, or use `--format agent-voice`\n";
    assert_eq!(outcome, Outcome::failure(2, expected));
}
