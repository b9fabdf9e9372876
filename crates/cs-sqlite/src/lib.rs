//! cs-sqlite
