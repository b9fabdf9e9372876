//! The whole crate against the real git program.

#[cfg(test)]
mod bench;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod files;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod landing;
#[cfg(test)]
mod life;
#[cfg(test)]
mod person;
#[cfg(test)]
mod races;
#[cfg(test)]
mod repository;
#[cfg(test)]
mod special;
