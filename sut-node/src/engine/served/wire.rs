//! What is spoken with a serving engine: requests go out, and answers come as chunks.

use netdiv_words::PrefixCaching;

use crate::{
    engine::{
        remote::{refused::Refused, servers::Server},
        served::{
            chunk::{Chunk, Chunks},
            grpc,
            openai::{self, dialect::api},
        },
    },
    settings::served::{Protocol, ServedConfig},
};

pub(super) enum Wire {
    Openai(Box<openai::client::Client>),
    Grpc(Box<grpc::client::Client>),
}

/// An answer as it comes.
pub(super) enum Answer {
    Openai(Box<openai::answer::Answer<openai::client::Content>>),
    Grpc(grpc::answer::Answer),
}

impl Wire {
    pub(super) fn new(settings: &ServedConfig) -> Self {
        match settings.protocol {
            Protocol::Openai(dialect) => {
                Self::Openai(Box::new(openai::client::Client::new(settings, dialect)))
            }
            Protocol::Grpc(service) => {
                Self::Grpc(Box::new(grpc::client::Client::new(settings, service)))
            }
        }
    }

    /// Sends a prompt, and waits until the answer begins.
    pub(super) async fn ask(&self, server: &Server, prompt: &[i64]) -> Result<Answer, Refused> {
        Ok(match self {
            Self::Openai(client) => Answer::Openai(Box::new(client.ask(server, prompt).await?)),
            Self::Grpc(client) => Answer::Grpc(client.ask(server, prompt).await?),
        })
    }

    /// What the server is.
    pub(super) fn product(&self) -> &'static str {
        match self {
            Self::Openai(client) => client.api.product,
            Self::Grpc(client) => api(client.service.dialect()).product,
        }
    }

    /// How to turn prefix caching off.
    pub(super) fn no_caching(&self) -> &'static str {
        match self {
            Self::Openai(client) => client.api.no_caching,
            Self::Grpc(client) => api(client.service.dialect()).no_caching,
        }
    }

    /// Whether the server has the model, where requests do not name it.
    pub(super) async fn check_model(&self, server: &Server) -> Result<(), Refused> {
        match self {
            Self::Openai(_) => Ok(()),
            Self::Grpc(client) => client.check_model(server).await,
        }
    }

    /// What the server says about how it was started.
    pub(super) async fn stated_caching(&self, server: &Server) -> PrefixCaching {
        match self {
            Self::Openai(client) => client.stated_caching(server).await,
            Self::Grpc(_) => PrefixCaching::CannotTell,
        }
    }
}

impl Chunks for Answer {
    async fn next(&mut self) -> Result<Option<Chunk>, String> {
        match self {
            Self::Openai(answer) => answer.next().await,
            Self::Grpc(answer) => answer.next().await,
        }
    }
}
