//! All files together.

use super::{
    known::{NODE, RUN, SUBMISSION, Template, USER_CONF},
    node_toml, run_toml, submission_toml, user_conf,
};

/// The files, each with its name.
pub fn files(template: &Template<'_>) -> [(&'static str, String); 4] {
    [
        (RUN, run_toml::text(template)),
        (NODE, node_toml::text(template)),
        (USER_CONF, user_conf::text(template)),
        (SUBMISSION, submission_toml::text(template)),
    ]
}
