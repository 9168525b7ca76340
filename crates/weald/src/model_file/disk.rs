//! Files. A new file is written next to the old one and then replaces it. A file is read after its header has been
//! checked.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::header::{Head, MOST_HEADER_BYTES};
use crate::error::{Error, ErrorKind, Purpose, Result};

/// The number of names that are tried. A name is skipped if another process has left a file with this name.
const ATTEMPTS: usize = 100;
/// The maximum number of symbolic links that are followed. Linux follows 40.
const MOST_LINKS: usize = 40;

/// The number of files that this process has written.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Returns the error for an error of the operating system about a file.
fn failed(path: &Path, error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::OutOfMemory {
        return ErrorKind::OutOfMemory { what: "the file of the model", bytes: 0 }.into();
    }
    let kind = ErrorKind::File {
        path: path.to_path_buf(),
        kind: error.kind(),
        code: error.raw_os_error(),
        message: error.to_string(),
    };
    Error::from(kind).caused_by(error)
}

/// A file that is removed unless it is renamed.
struct Temporary {
    path: PathBuf,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // This fails if the file has been renamed; there is then nothing to remove.
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the folder of a file.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns what is at `path`, after following all links, or `None` if nothing is there.
///
/// # Errors
/// It is an error if there is something other than a regular file or a folder: a device, a named pipe or a socket.
/// Writing would replace it by a file, and reading may never end.
fn look(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Ok(about) if about.is_file() || about.is_dir() => Ok(Some(about)),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "must be a regular file, got a device, a named pipe or a socket",
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Creates a file. If it will replace an old one, whose mode may be strict, nobody else can read it yet.
#[cfg(unix)]
fn create_new(path: &Path, old: Option<&Metadata>) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mode = if old.is_some() { 0o600 } else { 0o666 };
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

#[cfg(not(unix))]
fn create_new(path: &Path, _old: Option<&Metadata>) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Gives a new file the owner, the group and the mode of the old one that it replaces.
///
/// If the operating system does not let this process change the owner, the process owns the file. If it cannot set the
/// group either, the group gets only the rights that everybody has.
#[cfg(unix)]
fn take_over(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let new = file.metadata()?;
    let mut mode = old.mode() & 0o777;
    let other_owner = new.uid() != old.uid() || new.gid() != old.gid();
    if other_owner && fchown(file, Some(old.uid()), Some(old.gid())).is_err() {
        let has_group = new.gid() == old.gid() || fchown(file, None, Some(old.gid())).is_ok();
        if !has_group {
            mode = mode & 0o707 | (mode & 0o007) << 3;
        }
    }
    // The mode is set after the owner, because changing the owner may reset it.
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn take_over(_file: &File, _old: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Creates a new file next to `path`, with a name that no other process uses. `old` is the file that it will replace.
fn create_beside(path: &Path, old: Option<&Metadata>) -> io::Result<(File, Temporary)> {
    let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "the path ends with no name of a file");
    path.file_name().ok_or_else(no_name)?;
    let mut attempts = 0;
    loop {
        // The name does not contain the name of the file, which may already have the maximum length.
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let temporary = format!(".weald-{}-{number}.tmp", std::process::id());
        let path = folder(path).join(temporary);
        attempts += 1;
        match create_new(&path, old) {
            Ok(file) => return Ok((file, Temporary { path })),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempts < ATTEMPTS => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns the path itself or, if there is a symbolic link at `path`, its target after following all links. There may
/// be no file at the target yet.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut end = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&end) {
            // A relative target is relative to the folder of the link.
            Ok(next) => end = folder(&end).join(next),
            // This is not a link. If it cannot be read, it cannot be written either, and writing reports the reason.
            Err(_) => return Ok(end),
        }
    }
    // The links form a cycle; the operating system reports this error.
    fs::metadata(path).map(|_| end)
}

/// Writes a file with these bytes to `path`, as [`ModelFile::save`](super::ModelFile::save) does for a model: whoever
/// opens the file sees either the old one or the whole new one. This is for files that contain a model among other
/// things, such as a pipeline.
///
/// # Errors
///
/// Returns [`ErrorKind::File`] with the message of the operating system. The old file is then unchanged.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    write(path, std::iter::once(bytes))
}

/// Writes a file with these parts to `path`. Whoever opens it sees either the old file or the whole new one, even after
/// a crash. If `path` is a symbolic link, its target is written, and the link stays. The new file has the mode and,
/// where the operating system allows it, the owner of the old one.
pub(super) fn write<'p>(path: &Path, parts: impl Iterator<Item = &'p [u8]>) -> Result<()> {
    let old = look(path).map_err(|error| failed(path, error))?;
    let path = &end_of_links(path).map_err(|error| failed(path, error))?;
    let (mut file, temporary) = create_beside(path, old.as_ref()).map_err(|error| failed(path, error))?;
    let written = (|| {
        for part in parts {
            file.write_all(part)?;
        }
        if let Some(old) = &old {
            take_over(&file, old)?;
        }
        file.sync_all()?;
        // Some operating systems cannot rename open files.
        drop(file);
        fs::rename(&temporary.path, path)
    })();
    written.map_err(|error| failed(path, error))?;
    // The new name is durable once the folder is written, too. Some operating systems do not support this; the file is
    // complete in any case.
    let _ = File::open(folder(path)).and_then(|folder| folder.sync_all());
    Ok(())
}

/// A file whose header has been read and checked.
pub(super) struct Opened {
    /// The length of the file in bytes.
    pub(super) length: u64,
    pub(super) head: Head,
    pub(super) disk: Disk,
}

/// The arrays of a file.
#[derive(Debug)]
pub(super) struct Disk {
    path: PathBuf,
    file: File,
    /// The number of bytes before the arrays.
    n_before: u64,
}

/// Reads the header of the file at `path`.
pub(super) fn open(path: &Path) -> Result<Opened> {
    let in_file = |error: io::Error| failed(path, error);
    look(path).map_err(in_file)?;
    let mut file = File::open(path).map_err(in_file)?;
    let length = file.metadata().map_err(in_file)?.len();
    let mut start = Purpose("the header of the model").with_capacity(8)?;
    // For a folder, the operating system reports the error here.
    (&mut file).take(8).read_to_end(&mut start).map_err(in_file)?;
    let n_header = header_bytes(&start, length)?;
    start.try_reserve_exact(n_header).map_err(|_| out_of_memory(n_header))?;
    (&mut file).take(n_header as u64).read_to_end(&mut start).map_err(in_file)?;
    if start.len() != 8 + n_header {
        return Err(cut_short());
    }
    let n_before = start.len() as u64;
    let head = Head::parse(&start[8..], length - n_before)?;
    Ok(Opened { length, head, disk: Disk { path: path.to_path_buf(), file, n_before } })
}

impl Disk {
    /// Returns the position in the file of a byte of the arrays.
    pub(super) fn place(&self, byte: usize) -> u64 {
        self.n_before + byte as u64
    }

    /// Fills `bytes` with the bytes of the file that start at `place`.
    pub(super) fn read(&self, place: u64, bytes: &mut [u8]) -> Result<()> {
        let mut file = &self.file;
        let read = file.seek(SeekFrom::Start(place)).and_then(|_| file.read_exact(bytes));
        read.map_err(|error| match error.kind() {
            // When the file was opened, it had the length that the header requires.
            io::ErrorKind::UnexpectedEof => cut_short(),
            _ => failed(&self.path, error),
        })
    }
}

fn cut_short() -> Error {
    Error::corrupt("the file is cut short, or not a model")
}

fn out_of_memory(bytes: usize) -> Error {
    ErrorKind::OutOfMemory { what: "the file of the model", bytes }.into()
}

/// Returns the length of the header of a file of `length` bytes that begins with `start`.
pub(super) fn header_bytes(start: &[u8], length: u64) -> Result<usize> {
    let n_header = u64::from_le_bytes(*start.first_chunk::<8>().ok_or_else(cut_short)?);
    if n_header > MOST_HEADER_BYTES {
        return Err(Error::corrupt(format!(
            "the header is {n_header} bytes long, more than {MOST_HEADER_BYTES}, or the file is not a model"
        )));
    }
    if length < 8 + n_header {
        return Err(cut_short());
    }
    usize::try_from(n_header).map_err(|_| cut_short())
}
