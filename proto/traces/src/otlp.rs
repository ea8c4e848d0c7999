//! What sends traces, by OpenTelemetry's SDK: from a bounded queue, by a thread of its own. What does not fit is dropped, and
//! the SDK says so in the log, as it does when the collector does not answer.

use std::{
    borrow::Cow,
    sync::OnceLock,
    thread,
    time::{Duration, Instant, SystemTime},
};

use opentelemetry::{
    Context, KeyValue, Value,
    trace::{Span as _, SpanBuilder, TraceContextExt as _, Tracer as _, TracerProvider as _},
};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{Sampler, SdkTracer, SdkTracerProvider},
};
use tokio::{
    runtime::{Builder, Runtime},
    sync::oneshot,
};

use crate::{Fact, Settings, Stage, StartError, Trace};

/// How long the collector may take for what it is sent at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the end of the process may wait for it.
const LAST_PATIENCE: Duration = Duration::from_secs(2);

/// Set once traces are sent.
static TRACER: OnceLock<SdkTracer> = OnceLock::new();

/// What sends them.
#[derive(Debug)]
pub(crate) struct Sending {
    provider: SdkTracerProvider,
    /// The connection's thread ends with it.
    _connection: oneshot::Sender<()>,
}

impl Drop for Sending {
    fn drop(&mut self) {
        // What went wrong is in the log.
        let _ = self.provider.shutdown_with_timeout(LAST_PATIENCE);
    }
}

pub(crate) fn start(
    settings: &Settings,
    service: &'static str,
    instance: &str,
) -> Result<Sending, StartError> {
    let failed = |error: &dyn std::fmt::Display| StartError::Failed(error.to_string());
    let runtime =
        Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
    let exporter = exporter(&runtime, settings).map_err(|error| failed(&error))?;
    let (connection, ended) = oneshot::channel::<()>();
    // The connection is served here; samples have threads of their own.
    let serve = move || {
        let _ = runtime.block_on(ended);
    };
    thread::Builder::new().name("traces".into()).spawn(serve).map_err(|error| failed(&error))?;
    let resource = Resource::builder_empty()
        .with_service_name(service)
        .with_attribute(KeyValue::new("service.instance.id", instance.to_owned()))
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    let provider = SdkTracerProvider::builder()
        .with_resource(resource.build())
        .with_sampler(Sampler::TraceIdRatioBased(settings.ratio))
        .with_batch_exporter(exporter)
        .build();
    TRACER
        .set(provider.tracer("netdiv"))
        .map_err(|_| StartError::Failed("they are sent already".into()))?;
    Ok(Sending { provider, _connection: connection })
}

fn exporter(
    runtime: &Runtime,
    settings: &Settings,
) -> Result<SpanExporter, opentelemetry_otlp::ExporterBuildError> {
    let _inside = runtime.enter();
    let exporter = SpanExporter::builder().with_tonic().with_endpoint(&settings.url);
    exporter.with_timeout(PATIENCE).build()
}

pub(crate) fn record(trace: impl FnOnce() -> Trace) {
    let Some(tracer) = TRACER.get() else { return };
    let Trace { whole, facts, stages } = trace();
    let clock = (Instant::now(), SystemTime::now());
    let builder = |stage: &Stage| {
        SpanBuilder::from_name(Cow::Borrowed(stage.name)).with_start_time(at(clock, stage.from))
    };
    let facts = facts.into_iter().map(|(key, fact)| KeyValue::new(key, Value::from(fact)));
    let span = tracer.build_with_context(builder(&whole).with_attributes(facts), &Context::new());
    if !span.is_recording() {
        return;
    }
    let context = Context::new().with_span(span);
    for stage in &stages {
        let mut span = tracer.build_with_context(builder(stage), &context);
        span.end_with_timestamp(at(clock, stage.to));
    }
    context.span().end_with_timestamp(at(clock, whole.to));
}

/// The time of day of an instant in the past.
fn at((now, today): (Instant, SystemTime), instant: Instant) -> SystemTime {
    let ago = now.saturating_duration_since(instant);
    today.checked_sub(ago).unwrap_or(today)
}

impl From<Fact> for Value {
    fn from(fact: Fact) -> Self {
        match fact {
            Fact::Count(count) => i64::try_from(count).unwrap_or(i64::MAX).into(),
            Fact::Word(word) => word.into(),
        }
    }
}
