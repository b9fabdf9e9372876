//! cs-record
