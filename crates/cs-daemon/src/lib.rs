//! cs-daemon
