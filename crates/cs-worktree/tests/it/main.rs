//! The whole crate against the real git program.

#[cfg(test)]
mod along;
#[cfg(test)]
mod base;
#[cfg(test)]
mod bench;
#[cfg(test)]
mod borders;
#[cfg(test)]
mod caps;
#[cfg(test)]
mod carried;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod files;
#[cfg(test)]
mod forget;
#[cfg(test)]
mod gathered;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod inside;
#[cfg(test)]
mod landing;
#[cfg(test)]
mod lfs;
#[cfg(test)]
mod life;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod methods;
#[cfg(test)]
mod partial;
#[cfg(test)]
mod person;
#[cfg(test)]
mod publish;
#[cfg(test)]
mod races;
#[cfg(test)]
mod removal;
#[cfg(test)]
mod repository;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod saved;
#[cfg(test)]
mod special;
#[cfg(test)]
mod split;
#[cfg(test)]
mod states;
#[cfg(test)]
mod unseen;
#[cfg(test)]
mod upkeep;
#[cfg(test)]
mod verify;
#[cfg(test)]
mod workers;
