//! A file that holds the key of a program that seals what it writes.
//!
//! A key is never an argument, which every program on the machine can see, and never shown or logged.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rejoin::formats::Key;
use rejoin::store::Foreign;
use rustix::fs::OFlags;

use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::private;
use crate::ui::quote;

/// Longer than a key in any form; more is a file that was named by mistake.
const LONGEST: u64 = 1024;

/// Reads a key from a file that nobody but its owner may read.
pub(crate) fn read(path: &Path, context: &Context) -> Result<Key, Failure> {
    let failed = |error| Failure::io(format!("read the key file `{}`", path.display()), error);
    // A pipe in its place would be waited for.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(context.surroundings.working_directory.join(path))
        .map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(Failure::invalid(format!("the key file `{}` is not a file", path.display())));
    }
    if let Some(foreign) = Foreign::check(path, &metadata).filter(Foreign::is_of_another) {
        return Err(private::refusal(format!("read the key file `{}`", path.display()), &foreign));
    }
    if metadata.mode() & 0o077 != 0 {
        let mode = metadata.mode() & 0o777;
        return Err(Failure::new(
            Kind::Denied,
            format!("others may read the key file `{}` (mode {mode:o})", path.display()),
        )
        .hint(format!("run `chmod 600 {}`", quote::path(path))));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).map_err(failed)?;
    Key::parse(&bytes).map_err(|error| {
        Failure::from(error)
            .during(format!("read the key file `{}`", path.display()))
            .hint("it holds 32 bytes as they are, as 64 hexadecimal digits, or in base64")
    })
}
