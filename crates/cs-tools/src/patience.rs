//! How long a call is tried.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use crate::call::Answer;

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(200);
const NOBODY: &str = "Nobody could carry this out in time; it may be done later all the same. Call it again later, or end your turn with \
                      your question or your result as text: nothing is lost.";

/// Makes a call until one has an answer or the time is up. It is done once, however often it is made.
pub(crate) async fn until_answered<F, T>(within: Duration, once: F) -> Answer
where
    F: Fn() -> T,
    T: Future<Output = Option<Answer>>,
{
    let deadline = Instant::now() + within;
    loop {
        match timeout_at(deadline, once()).await {
            Ok(Some(answer)) => return answer,
            Ok(None) if Instant::now() + PAUSE < deadline => sleep(PAUSE).await,
            Ok(None) | Err(_) => return Answer::refused(NOBODY),
        }
    }
}
