//! cs-journal
