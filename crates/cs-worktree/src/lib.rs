//! cs-worktree
