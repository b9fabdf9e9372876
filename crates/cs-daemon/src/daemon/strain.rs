//! Trouble with carrying something on: how often in a row, and how long it is then left in peace.

use std::time::Duration;

use tokio::time::Instant;

/// The rest after the first trouble; each one in a row doubles it.
const REST_FIRST: Duration = Duration::from_secs(1);
/// The longest rest.
const REST_MAX: Duration = Duration::from_secs(30);
/// So much trouble in a row is too much for a daemon that is to end.
const IN_ROW_MAX: u32 = 5;

/// What could not be carried on last.
#[derive(Debug, Default)]
pub(super) struct Strain(Option<Last>);

#[derive(Debug)]
struct Last {
    what: String,
    in_row: u32,
    until: Instant,
}

impl Strain {
    /// Notes trouble, and begins a rest.
    pub(super) fn add(&mut self, what: String) {
        let in_row = self.0.as_ref().map_or(1, |last| last.in_row.saturating_add(1));
        let rest = REST_FIRST.saturating_mul(1 << (in_row - 1).min(16)).min(REST_MAX);
        self.0 = Some(Last {
            what,
            in_row,
            until: Instant::now() + rest,
        });
    }

    /// Notes that something was carried to its end, or that nothing is left to carry on.
    pub(super) fn is_over(&mut self) {
        self.0 = None;
    }

    /// Ends the rest: somebody waits.
    pub(super) fn wake(&mut self) {
        if let Some(last) = &mut self.0 {
            last.until = Instant::now();
        }
    }

    /// Says whether there was trouble and nothing has gone well since.
    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Returns how much is left of a rest; nothing when what is left in the ledger may be taken up.
    pub(super) fn rest(&self) -> Option<Duration> {
        let until = self.0.as_ref()?.until;
        let rest = until.saturating_duration_since(Instant::now());
        (!rest.is_zero()).then_some(rest)
    }

    /// Returns what has failed so often in a row that a daemon that is to end gives up.
    pub(super) fn too_much(&self) -> Option<&str> {
        let last = self.0.as_ref().filter(|last| last.in_row >= IN_ROW_MAX)?;
        Some(&last.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_rest_is_longer_up_to_the_longest() {
        let mut strain = Strain::default();
        let mut rests = Vec::new();
        for _ in 0..8 {
            strain.add("run 1".to_owned());
            rests.push(strain.rest().expect("a rest").as_secs());
        }
        assert_eq!(rests, [1, 2, 4, 8, 16, 30, 30, 30]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_rest_ends_by_itself_or_when_somebody_waits() {
        let mut strain = Strain::default();
        strain.add("run 1".to_owned());
        tokio::time::advance(REST_FIRST).await;
        assert_eq!(strain.rest(), None);
        strain.add("run 1".to_owned());
        strain.wake();
        assert_eq!((strain.rest(), strain.is_on()), (None, true));
    }

    #[tokio::test(start_paused = true)]
    async fn trouble_in_a_row_is_too_much_and_success_forgets_it() {
        let mut strain = Strain::default();
        for _ in 0..IN_ROW_MAX - 1 {
            strain.add("run 1".to_owned());
        }
        assert_eq!(strain.too_much(), None);
        strain.add("run 2".to_owned());
        assert_eq!(strain.too_much(), Some("run 2"));
        strain.is_over();
        assert_eq!((strain.too_much(), strain.is_on()), (None, false));
    }
}
