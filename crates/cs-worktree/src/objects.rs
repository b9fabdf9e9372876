//! Directories of objects, as git is told of them.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// A directory of objects as git reads it in a list of them, whatever is in its path: in quotes, every byte in octal that could mean
/// something else.
pub(crate) fn quoted(path: &Path) -> OsString {
    let mut quoted = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'"' | b'\\' | 0..=31 | 127 => quoted.extend(format!("\\{byte:03o}").bytes()),
            plain => quoted.push(*plain),
        }
    }
    quoted.push(b'"');
    OsString::from_vec(quoted)
}
