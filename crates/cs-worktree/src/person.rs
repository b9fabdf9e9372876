//! Who the user is to git.

use crate::error::WorktreeError;
use crate::runner::{Call, Git, World};

impl Git {
    /// The user's `user.email`, as git knows it outside any repository; `None` when it is not set.
    ///
    /// # Errors
    /// Git could not be run.
    pub async fn user_email(&self) -> Result<Option<String>, WorktreeError> {
        let ask = Call::new(World::User, "config").reads_only();
        let answer = self
            .run(ask.args(["config", "--global", "--includes", "user.email"]))
            .await?;
        let email = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        Ok((answer.code == 0 && !email.is_empty()).then_some(email))
    }
}
