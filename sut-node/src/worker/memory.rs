//! Memory that node and worker share: a file without a name, which the kernel frees with the last
//! process that has it. Both map it. The node copies bytes in and out, and holds no reference to
//! memory that another process may change.

use std::{fs::File, io};

use netdiv_node_common::resources::memory;
use rustix::{
    fs::{
        FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, ftruncate, memfd_create,
    },
    io::Errno,
    process::{Resource, getrlimit},
};
use vm_memory::{FileOffset, MmapRegion, VolatileMemory as _, VolatileSlice};

use crate::ground::error::EngineError;

#[derive(Debug)]
pub(crate) struct SharedMemory {
    file: FileOffset,
    mapping: MmapRegion,
}

impl SharedMemory {
    /// Creates memory of a fixed size. The system reserves it now, so that a machine without enough
    /// of it fails here and not in a write.
    pub(crate) fn new(bytes: u64) -> io::Result<Self> {
        memory::check(bytes)?;
        // The limit on files holds for this memory too, and the system enforces it with a signal.
        if getrlimit(Resource::Fsize).current.is_some_and(|most| bytes > most) {
            return Err(Errno::FBIG.into());
        }
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("netdiv-engine", flags)?;
        ftruncate(&file, bytes)?;
        fallocate(&file, FallocateFlags::empty(), 0, bytes)?;
        // A shorter file would end the processes that have mapped it.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let file = FileOffset::new(File::from(file), 0);
        let size = usize::try_from(bytes).map_err(io::Error::other)?;
        let mapping = MmapRegion::from_file(file.clone(), size).map_err(io::Error::other)?;
        Ok(Self { file, mapping })
    }

    pub(crate) fn file(&self) -> &File {
        self.file.file()
    }

    /// Writes pieces, one after the other, from `at` on.
    pub(crate) fn write<'a>(
        &self,
        pieces: impl Iterator<Item = &'a [u8]>,
        mut at: u64,
    ) -> Result<(), EngineError> {
        for piece in pieces {
            self.slice(at, piece.len())?.copy_from(piece);
            at += piece.len() as u64;
        }
        Ok(())
    }

    /// Reads `bytes` bytes from `at` on.
    pub(crate) fn read(&self, at: u64, bytes: usize) -> Result<Vec<u8>, EngineError> {
        let slice = self.slice(at, bytes)?;
        let mut buffer = vec![0; bytes];
        slice.copy_to(&mut buffer);
        Ok(buffer)
    }

    fn slice(&self, at: u64, bytes: usize) -> Result<VolatileSlice<'_>, EngineError> {
        let failed = |why: String| EngineError::Failed(format!("the shared memory: {why}"));
        let at = usize::try_from(at).map_err(|error| failed(error.to_string()))?;
        self.mapping.get_slice(at, bytes).map_err(|error| failed(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;

    #[test]
    fn what_is_written_in_pieces_is_read_again() {
        let memory = SharedMemory::new(1 << 20).unwrap();
        let pieces: Vec<_> = (0..3000_u32).map(|number| number.to_ne_bytes().to_vec()).collect();
        memory.write([&[][..]].into_iter().chain(pieces.iter().map(|one| &one[..])), 64).unwrap();
        assert_eq!(memory.read(64, 12_000).unwrap(), pieces.concat());
        assert_eq!(memory.read(0, 64).unwrap(), [0; 64]);
        assert!(memory.read(1 << 20, 1).is_err());
        assert!(memory.read((1 << 20) - 1, 2).is_err());
        assert!(memory.read(u64::MAX, 2).is_err());
        assert!(memory.write([&[1_u8][..]].into_iter(), 1 << 20).is_err());
        let error = SharedMemory::new(1 << 60).unwrap_err().to_string();
        assert!(error.contains("1152921504606846976 bytes of memory are needed"), "{error}");
    }

    #[test]
    fn the_mapping_and_the_file_are_the_same_memory() {
        let memory = SharedMemory::new(4096).unwrap();
        memory.write([&b"batch"[..]].into_iter(), 100).unwrap();
        let mut read = [0; 5];
        memory.file().read_exact_at(&mut read, 100).unwrap();
        assert_eq!(&read, b"batch");
        memory.file().write_all_at(b"output", 200).unwrap();
        assert_eq!(memory.read(200, 6).unwrap(), b"output");
    }
}
