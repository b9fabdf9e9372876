//! cs-testkit
