//! The command line of `sut-node`: serves, or executes a subcommand.

use std::{
    ffi::OsString,
    path::PathBuf,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context as _;
use clap::{CommandFactory as _, Parser, Subcommand};
use netdiv_machine::doctor::{ReportArgs, ReportWriteError};
use netdiv_node_common::{
    process::{
        CommandSettings, Lines, LogArgs, ShellCommand, columns, fold_tables, parse, pin,
        report_usage_error, say, start_logging, wait_for_stop_signal,
    },
    resources::{descriptors, threads},
};
use netdiv_plugin::{end_without_destructors, is_device_lost};
use tracing::{error, warn};

use crate::{
    bench::BenchArgs,
    check::check,
    engine::{
        devices,
        list::{EngineChoice, EngineName},
        plugin::settings::PluginFile,
    },
    help,
    process::{
        error::NodeError,
        health::{NotReady, health},
        server::run,
        sockets::Sockets,
    },
    settings::{args::Args, config::Config},
    try_engine::try_engine,
};

/// Serve as a SUT node of the MLPerf Inference Network division
///
/// Receives samples from a LoadGen node, batches them, runs the model, and sends the responses
/// back.
#[derive(Debug, Parser)]
#[command(name = "sut-node", version, args_conflicts_with_subcommands = true, after_help = help::PROGRAM)]
struct Cli {
    #[command(flatten)]
    log: LogArgs,
    #[command(subcommand)]
    command: Option<Command>,
    /// Load the engine and try it as at a start, print what it runs, and exit
    #[arg(long, help_heading = "Settings")]
    check: bool,
    #[command(flatten)]
    settings: CommandSettings<Args>,
}

/// Subcommands, which do not serve.
#[derive(Debug, Subcommand)]
enum Command {
    /// List the devices that an engine finds
    #[command(next_help_heading = "Engine and model", after_help = help::DEVICES)]
    Devices {
        /// torch, or the file of a plug-in
        #[arg(long, default_value = "torch")]
        engine: EngineChoice,
        /// Folder of libtorch 2.11, for torch [default: $LIBTORCH, else python3's torch]
        #[arg(long, value_name = "DIR")]
        libtorch: Option<PathBuf>,
    },
    /// Check whether the node with these settings is ready to serve
    ///
    /// Reads the metrics of the node on this machine.
    #[command(after_help = help::HEALTH)]
    Health(Box<CommandSettings<Args>>),
    /// Find causes of bad measurements on this machine
    ///
    /// Shows what keeps a node with these settings from measuring well, what that costs, and what
    /// fixes it. It changes nothing, and loads no model.
    #[command(after_help = help::DOCTOR)]
    Doctor {
        #[command(flatten)]
        settings: Box<CommandSettings<Args>>,
        #[command(flatten)]
        doctor: ReportArgs,
    },
    /// Measure the engines and the batcher without a network
    #[command(after_help = help::BENCH)]
    Bench {
        #[command(flatten)]
        settings: Box<CommandSettings<Args>>,
        #[command(flatten)]
        bench: BenchArgs,
    },
    /// Completions and man pages.
    #[command(flatten)]
    Shell(ShellCommand),
}

/// Executes the command line `args`, which begins with the program's name, and returns the exit
/// code. The form of the log depends on the arguments of the process, not on `args`. `version` is
/// what `--version` prints.
pub fn main_with(args: impl IntoIterator<Item = OsString>, version: &'static str) -> ExitCode {
    let logging = match start_logging("info", Lines::FewASecond) {
        Ok(logging) => logging,
        Err(code) => return code,
    };
    let program = Cli::command().long_version(version);
    let cli: Cli = match parse(program, args) {
        Ok(cli) => cli,
        Err(error) => return report_usage_error(&error),
    };
    let done = execute(cli, version);
    // A thread may still be inside a library that loads the model.
    let is_loading = done.as_ref().is_err_and(|error: &anyhow::Error| {
        matches!(error.downcast_ref(), Some(NodeError::Stopped(_)))
    });
    let code = done.unwrap_or_else(|error| {
        error!("{error:#}");
        let of_node = error.downcast_ref().map(NodeError::exit_code);
        let code = of_node.or_else(|| error.is::<NotReady>().then_some(EXIT_NOT_READY));
        let is_unwritten = error.is::<ReportWriteError>();
        code.unwrap_or(if is_unwritten { EXIT_FAILED } else { EXIT_REFUSED })
    });
    drop(logging);
    if is_loading || is_device_lost() {
        end_without_destructors(code);
    }
    ExitCode::from(code)
}

/// Exit code of `health` if the node is not ready.
const EXIT_NOT_READY: u8 = 1;

/// Exit code for invalid settings or files.
const EXIT_REFUSED: u8 = 2;

/// Exit code when a report cannot be written.
const EXIT_FAILED: u8 = 3;

/// Executes the command and returns the exit code.
fn execute(cli: Cli, version: &'static str) -> anyhow::Result<u8> {
    let done = match cli.command {
        None => match resolve(&cli.settings)? {
            Some(config) if cli.check => say(try_engine(&config)?).context("standard output"),
            config => config.map_or(Ok(()), |config| serve(config, version)),
        },
        Some(Command::Devices { engine, libtorch }) => {
            let file = match engine {
                EngineChoice::Word(EngineName::Torch) => PluginFile::Torch { libtorch },
                EngineChoice::File(file) => PluginFile::File(file),
                EngineChoice::Word(word) => anyhow::bail!(
                    "--engine {word}: it has no devices to list; write torch, or the file of a plug-in"
                ),
            };
            say(fold_tables(devices(&file)?.trim_end(), columns())).context("standard output")
        }
        Some(Command::Health(settings)) => {
            settings.resolve(Args::metrics_address)?.map_or(Ok(()), health)
        }
        Some(Command::Doctor { settings, doctor }) => {
            let without_model = |args: &Args| resolve_checked(args.without_model(), false);
            let Some(config) = settings.resolve(without_model)? else { return Ok(0) };
            let report = crate::doctor::doctor(&config);
            let (text, code) = doctor.put(&report, report.to_string())?;
            let path = PathBuf::from("standard output");
            say(text).map_err(|error| ReportWriteError { path, error })?;
            return Ok(code);
        }
        Some(Command::Bench { settings, bench }) => {
            let Some(config) = resolve(&settings)? else { return Ok(0) };
            let measured = crate::bench::bench(&config, &bench)?.to_string();
            say(fold_tables(&measured, columns())).context("standard output")
        }
        Some(Command::Shell(command)) => Ok(command.execute(Cli::command())?),
    };
    done.map(|()| 0)
}

/// Resolves the settings that the settings file and the command line state together. Returns `None`
/// if the command line only asks to print them.
fn resolve(settings: &CommandSettings<Args>) -> anyhow::Result<Option<Config>> {
    let runs_code = !settings.only_prints();
    settings.resolve(|args: &Args| resolve_checked(args.clone(), runs_code))
}

/// Resolves the settings and checks their files. Fails if two settings contradict each other, or if
/// a file is missing.
fn resolve_checked(args: Args, runs_code: bool) -> anyhow::Result<Config> {
    let config = args.resolve_with(runs_code)?;
    check(&config)?;
    Ok(config)
}

fn serve(config: Config, version: &'static str) -> anyhow::Result<()> {
    if let Err(error) = descriptors::raise_limit() {
        warn!(%error, "cannot raise the soft limit of open files");
    }
    // Besides the workers, a thread loads the model and a thread reads its files.
    threads::check(config.node.io_threads.saturating_add(2))?;
    let (cores, workers) = (config.node.pin.clone(), config.node.io_threads);
    let started = Arc::new(AtomicUsize::new(0));
    let next = started.clone();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(config.node.io_threads)
        .on_thread_start(move || match next.fetch_add(1, Ordering::Relaxed) {
            worker if worker < workers => pin(&cores, worker),
            // This thread loads the model. The threads that it starts must run on any core.
            _ => {}
        })
        .enable_all()
        .build()?;
    // Threads that load the model start later, and are not bound to cores.
    while started.load(Ordering::Relaxed) < workers {
        std::thread::yield_now();
    }
    if config.node.busy_poll {
        (0..workers).for_each(|_| drop(runtime.spawn(netdiv_transport::busy_poll())));
    }
    let served = runtime.block_on(async {
        let listen = config.network.listen;
        let sockets = Sockets::bind(&config.network)
            .await
            .with_context(|| format!("cannot listen on {listen}; is the port in use?"))?;
        anyhow::Ok(run(config, version, sockets, asked_to_end()).await?)
    });
    // Dropping the runtime would wait for the thread that loads the model.
    runtime.shutdown_background();
    served
}

/// Waits for a signal and returns its name. A second signal ends the process.
async fn asked_to_end() -> &'static str {
    match wait_for_stop_signal().await {
        Ok(signal) => {
            tokio::spawn(end_when_asked_again());
            signal
        }
        Err(error) => {
            error!(%error, "cannot wait for signals; ending");
            "no signal can be waited for"
        }
    }
}

/// Maximum time between signals that count as one: a shell may signal a process and its group.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// Ends the process at once on a second signal: the operator does not want to wait for samples in
/// flight.
async fn end_when_asked_again() {
    let first = Instant::now();
    while let Ok(signal) = wait_for_stop_signal().await {
        if first.elapsed() > ONE_REQUEST {
            error!(signal, "second signal; ending at once and dropping samples in flight");
            // The first signal may be waiting for a device.
            end_without_destructors(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_options_and_the_operators_page_are_complete() {
        crate::command_line::check(&Cli::command());
    }
}
