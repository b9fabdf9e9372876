//! Files whose content goes through a filter, which is not run.

use crate::error::WorktreeError;
use crate::lfs;
use crate::parse;
use crate::path::RepoPath;
use crate::special::Special;
use crate::status::Look;
use crate::status::budget::FILES_MAX;
use crate::store::Store;

/// Finds changed files with a `filter` attribute. Their filter is not run, so that what we would save is raw.
pub(crate) async fn find_filtered(
    store: &Store,
    look: &mut Look,
    paths: &[RepoPath],
) -> Result<(), WorktreeError> {
    let mut through_lfs = Vec::new();
    // Git answers with more than it is asked: what can be listed at once need not be answered at once.
    for some in paths.chunks(FILES_MAX) {
        let mut names = Vec::new();
        for path in some {
            names.extend_from_slice(path.as_bytes());
            names.push(0);
        }
        let ask = look
            .call(store, "check-attr")
            .args(["check-attr", "-z", "--stdin", "filter"]);
        let out = store.git.ok(ask.stdin(names)).await?;
        let fields: Vec<&[u8]> = parse::z_fields(&out).collect();
        for answer in fields.chunks_exact(3) {
            let path = RepoPath::from_bytes(answer[0]);
            match answer[2] {
                b"unspecified" | b"unset" => {}
                lfs::FILTER => through_lfs.push(path),
                _ => look.special.push(Special::Filtered(path)),
            }
        }
    }
    lfs::settle(store, look, through_lfs).await
}
