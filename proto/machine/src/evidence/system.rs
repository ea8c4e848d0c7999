//! Machine as a whole, and access to its files and programs.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use netdiv_contract::v1::Machine;

use crate::evidence::identity;

/// Maximum time that a program may take to report on the hardware.
const PATIENCE: Duration = Duration::from_secs(20);

/// Maximum number of bytes read from a file: `/proc/cpuinfo` of thousands of processors.
const LONGEST_FILE: u64 = 16 << 20;

/// Files and programs of a system, as sources of evidence.
#[derive(Debug, Clone)]
pub struct System {
    root: PathBuf,
    programs: Programs,
}

/// Programs that report on the hardware.
#[derive(Debug, Clone)]
enum Programs {
    /// No program is run.
    None,
    /// Programs installed on this machine.
    Installed,
    /// Shell scripts in a folder, named after the programs that they replace.
    Scripts(PathBuf),
}

impl Default for System {
    /// Creates a system for this machine.
    fn default() -> Self {
        Self { root: "/".into(), programs: Programs::Installed }
    }
}

impl System {
    /// Creates a system whose files are under a folder. It runs no programs.
    pub fn under(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), programs: Programs::None }
    }

    /// Like `self`, but runs shell scripts in a folder instead of the programs with their names.
    pub fn with_scripts(self, folder: impl Into<PathBuf>) -> Self {
        Self { programs: Programs::Scripts(folder.into()), ..self }
    }

    /// Folder that contains `proc` and `sys`.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Reads the description of the machine, except its routes to peers.
    pub fn machine(&self) -> Machine {
        let dmi = |name| self.read(&format!("sys/class/dmi/id/{name}"));
        let product = match (dmi("sys_vendor"), dmi("product_name")) {
            (Some(vendor), Some(name)) => Some(format!("{vendor} {name}")),
            (vendor, name) => vendor.or(name),
        };
        let (accelerators, accelerator_count) = self.accelerators();
        let serial = |name| dmi(name).and_then(|serial| identity::board_serial(&serial));
        let mut machine = Machine {
            machine_id: self.read("etc/machine-id").and_then(|id| identity::machine_id(&id)),
            board_serial: serial("board_serial").or_else(|| serial("product_serial")),
            product,
            virtual_machine: self.virtual_machine(),
            bios_version: dmi("bios_version"),
            memory_bytes: self.memory_bytes(),
            memory_ecc: self.memory_ecc(),
            accelerators,
            accelerator_count,
            interfaces: self.interfaces(),
            container_image: std::env::var("NETDIV_CONTAINER_IMAGE").ok().filter(|s| !s.is_empty()),
            ..self.identity()
        };
        self.add_processors(&mut machine);
        machine
    }

    /// Reads only the machine's name, boot and operating system, which runs no program.
    pub fn identity(&self) -> Machine {
        let kernel = |name| self.read(&format!("proc/sys/kernel/{name}"));
        let (name, release) = (kernel("ostype"), kernel("osrelease"));
        Machine {
            host_name: kernel("hostname"),
            boot_id: kernel("random/boot_id"),
            kernel: name.zip(release).map(|(name, release)| format!("{name} {release}")),
            operating_system: self.operating_system(),
            ..Machine::default()
        }
    }

    fn operating_system(&self) -> Option<String> {
        let text = self.read("etc/os-release")?;
        let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
        Some(name.trim_matches('"').to_owned())
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Returns a file's text without surrounding white space, or `None` if it is unreadable or
    /// empty.
    pub(crate) fn read(&self, path: &str) -> Option<String> {
        read(&self.path(path))
    }

    /// Returns the names in a folder, in order.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Returns the output of a program, or `None` if it is missing, fails or takes too long.
    pub(crate) fn run_program(&self, program: &str, arguments: &[&str]) -> Option<String> {
        self.ask_for(PATIENCE, program, arguments)
    }

    fn ask_for(&self, patience: Duration, program: &str, arguments: &[&str]) -> Option<String> {
        let mut command = match &self.programs {
            Programs::None => return None,
            Programs::Installed => Command::new(program),
            Programs::Scripts(folder) => {
                let mut shell = Command::new("sh");
                shell.arg(folder.join(program));
                shell
            }
        };
        let mut child = command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut pipe = child.stdout.take()?;
        let read_all = move || {
            let mut text = String::new();
            pipe.read_to_string(&mut text).map(|_| text)
        };
        let Ok(reading) = thread::Builder::new().name(program.into()).spawn(read_all) else {
            end(&mut child);
            return None;
        };
        let deadline = Instant::now() + patience;
        let status = loop {
            match child.try_wait().ok()? {
                Some(status) => break status,
                None if Instant::now() > deadline => {
                    end(&mut child);
                    return None;
                }
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        let text = reading.join().ok()?.ok()?;
        status.success().then_some(text)
    }
}

/// Ends a program that took too long.
fn end(child: &mut Child) {
    // The program may have ended already.
    let _ = child.kill();
    let _ = child.wait();
}

fn read(path: &Path) -> Option<String> {
    // Reading a pipe may never end, and opening one may block.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    fs::File::open(path).ok()?.take(LONGEST_FILE).read_to_string(&mut text).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
impl System {
    /// Creates a system with these files. They exist as long as the returned folder.
    pub(crate) fn of_files<P: AsRef<Path>, T: AsRef<[u8]>>(
        files: impl IntoIterator<Item = (P, T)>,
    ) -> (tempfile::TempDir, Self) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let system = Self::under(root.path());
        (root, system)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_unknown() {
        let (_root, system) = System::of_files([("", ""); 0]);
        let machine = system.machine();
        assert_eq!(Machine { container_image: None, ..machine }, Machine::default());
    }

    #[test]
    fn identities_leave_the_machine_as_digests() {
        let (_root, system) = System::of_files([
            ("etc/machine-id", "00112233445566778899aabbccddeeff\n"),
            ("sys/class/dmi/id/board_serial", "To be filled by O.E.M.\n"),
            ("sys/class/dmi/id/product_serial", "S123\n"),
        ]);
        let machine = system.machine();
        assert_eq!(machine.board_serial, identity::board_serial("S123"));
        assert_eq!(machine.machine_id, identity::machine_id("00112233445566778899aabbccddeeff"));
        let said = format!("{machine:?}");
        assert!(!said.contains("S123") && !said.contains("00112233"), "{said}");
    }

    #[test]
    fn a_program_that_is_missing_fails_or_hangs_says_nothing() {
        let system = System::default();
        assert_eq!(system.run_program("no-such-program", &[]), None);
        assert_eq!(system.run_program("false", &[]), None);
        assert_eq!(system.run_program("echo", &["a"]).as_deref(), Some("a\n"));
        let started = Instant::now();
        assert_eq!(system.ask_for(Duration::from_millis(100), "sleep", &["60"]), None);
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}
