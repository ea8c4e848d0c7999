//! What is spoken with a serving engine: requests go out, and answers come as chunks.

use hyper::body::Incoming;
use netdiv_words::PrefixCaching;

use crate::{
    engine::{
        remote::{refused::Refused, servers::Server},
        served::{
            chunk::{Chunk, Chunks},
            openai, vllm_grpc,
        },
    },
    settings::served::{Protocol, ServedConfig},
};

pub(super) enum Wire {
    Openai(Box<openai::client::Client>),
    VllmGrpc(Box<vllm_grpc::client::Client>),
}

/// An answer as it comes.
pub(super) enum Answer {
    Openai(openai::answer::Answer<Incoming>),
    VllmGrpc(vllm_grpc::answer::Answer),
}

impl Wire {
    pub(super) fn new(settings: &ServedConfig) -> Self {
        match settings.protocol {
            Protocol::Openai(dialect) => {
                Self::Openai(Box::new(openai::client::Client::new(settings, dialect)))
            }
            Protocol::VllmGrpc => {
                Self::VllmGrpc(Box::new(vllm_grpc::client::Client::new(settings)))
            }
        }
    }

    /// Sends a prompt, and waits until the answer begins.
    pub(super) async fn ask(&self, server: &Server, prompt: &[i64]) -> Result<Answer, Refused> {
        Ok(match self {
            Self::Openai(client) => Answer::Openai(client.ask(server, prompt).await?),
            Self::VllmGrpc(client) => Answer::VllmGrpc(client.ask(server, prompt).await?),
        })
    }

    /// What the server is.
    pub(super) fn product(&self) -> &'static str {
        match self {
            Self::Openai(client) => client.api.product,
            Self::VllmGrpc(_) => "vLLM",
        }
    }

    /// How to turn prefix caching off.
    pub(super) fn no_caching(&self) -> &'static str {
        match self {
            Self::Openai(client) => client.api.no_caching,
            Self::VllmGrpc(_) => "--no-enable-prefix-caching",
        }
    }

    /// Whether the server has the model, where requests do not name it.
    pub(super) async fn check_model(&self, server: &Server) -> Result<(), Refused> {
        match self {
            Self::Openai(_) => Ok(()),
            Self::VllmGrpc(client) => client.check_model(server).await,
        }
    }

    /// What the server says about how it was started.
    pub(super) async fn stated_caching(&self, server: &Server) -> PrefixCaching {
        match self {
            Self::Openai(client) => client.stated_caching(server).await,
            Self::VllmGrpc(_) => PrefixCaching::CannotTell,
        }
    }
}

impl Chunks for Answer {
    async fn next(&mut self) -> Result<Option<Chunk>, String> {
        match self {
            Self::Openai(answer) => answer.next().await,
            Self::VllmGrpc(answer) => answer.next().await,
        }
    }
}
