//! Opens a file in the editor that the user has chosen.

use std::path::Path;

use crate::context::Context;
use crate::error::Failure;

/// Opens a file in `$VISUAL`, else `$EDITOR`, else vi, and waits until the editor is left.
pub(crate) fn open(path: &Path, context: &Context) -> Result<(), Failure> {
    let named = ["VISUAL", "EDITOR"].iter().find_map(|name| context.surroundings.variable(name)?.to_str());
    let editor = named.unwrap_or("vi");
    let attempt = || format!("run the editor `{editor}`");
    // The shell splits `code --wait` into words, as every program does that reads these variables.
    let status = context
        .environment()
        .command("sh")
        .args(["-c", &format!("{editor} \"$@\""), "editor"])
        .arg(path)
        .status()
        .map_err(|error| Failure::io(attempt(), error))?;
    if !status.success() {
        return Err(Failure::invalid(attempt())
            .because(format!("it ended with {status}"))
            .hint("set `VISUAL` or `EDITOR` to the editor you use"));
    }
    Ok(())
}
