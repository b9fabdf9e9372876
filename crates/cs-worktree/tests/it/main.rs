//! The whole crate against the real git program.

#[cfg(test)]
mod bench;
#[cfg(test)]
mod life;
