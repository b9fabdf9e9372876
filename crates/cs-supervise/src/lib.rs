//! cs-supervise
