//! Memory that node and worker share: a file without a name, which the kernel frees with the last
//! process that has it. The worker maps it; the node reads and writes it like a file, so that it
//! holds no reference to memory that another process may change.

use std::{io, io::IoSlice, os::fd::OwnedFd};

use rustix::{
    fs::{
        FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, ftruncate, memfd_create,
    },
    io::{Errno, pread, pwritev},
};

use crate::ground::error::EngineError;

/// Maximum number of pieces of a write.
const MAX_PIECES: usize = 1024;

/// Shared memory.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    pub(crate) file: OwnedFd,
}

impl SharedMemory {
    /// Creates memory of a fixed size. The system reserves it now, so that a machine without enough
    /// of it fails here and not in a write.
    pub(crate) fn new(bytes: u64) -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("netdiv-engine", flags)?;
        ftruncate(&file, bytes)?;
        fallocate(&file, FallocateFlags::empty(), 0, bytes)?;
        // A shorter file would end the process that has mapped it.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok(Self { file })
    }

    /// Writes pieces, one after the other, from `at` on.
    pub(crate) fn write<'a>(
        &self,
        pieces: impl Iterator<Item = &'a [u8]>,
        mut at: u64,
    ) -> Result<(), EngineError> {
        let mut pieces: Vec<_> = pieces.map(IoSlice::new).collect();
        let mut left = &mut pieces[..];
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            match pwritev(&self.file, &left[..left.len().min(MAX_PIECES)], at) {
                Ok(0) => return Err(failed(io::ErrorKind::WriteZero.into())),
                Ok(count) => {
                    at += count as u64;
                    IoSlice::advance_slices(&mut left, count);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(failed(error.into())),
            }
        }
        Ok(())
    }

    /// Reads `bytes` bytes from `at` on.
    pub(crate) fn read(&self, at: u64, bytes: usize) -> Result<Vec<u8>, EngineError> {
        let mut buffer = vec![0; bytes];
        let mut filled = 0;
        while filled < bytes {
            match pread(&self.file, &mut buffer[filled..], at + filled as u64) {
                Ok(0) => return Err(failed(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(failed(error.into())),
            }
        }
        Ok(buffer)
    }
}

fn failed(error: io::Error) -> EngineError {
    EngineError::Failed(format!("the shared memory: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_in_pieces_is_read_again() {
        let memory = SharedMemory::new(1 << 20).unwrap();
        let pieces: Vec<_> = (0..3000_u32).map(|number| number.to_ne_bytes().to_vec()).collect();
        memory.write([&[][..]].into_iter().chain(pieces.iter().map(|one| &one[..])), 64).unwrap();
        assert_eq!(memory.read(64, 12_000).unwrap(), pieces.concat());
        assert_eq!(memory.read(0, 64).unwrap(), [0; 64]);
        assert!(memory.read(1 << 20, 1).is_err());
        assert!(memory.write([&[1_u8][..]].into_iter(), 1 << 20).is_err());
    }
}
