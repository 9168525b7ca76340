//! Files: written beside the old one and put in its place, read after a look at the header.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::header::{Head, MOST_HEADER_BYTES};
use crate::error::{Error, ErrorKind, Result, try_with_capacity};

/// A name that some other process has left behind is passed over so many times.
const ATTEMPTS: usize = 100;
/// Most symbolic links from one to the next: Linux has 40.
const MOST_LINKS: usize = 40;

/// Counts the files that this process has written.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// The error of the system about a file.
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

/// A file that is removed unless it gets its name.
struct Temporary {
    path: PathBuf,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Fails where the file has got its name: there is then nothing to remove.
        let _ = fs::remove_file(&self.path);
    }
}

/// The folder of a file.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What is at `path`, with all links followed, if there is anything.
///
/// # Errors
/// What is there is neither a regular file nor a folder: a device, a named pipe or a socket, which a file of the same name
/// would replace, and which may never end when it is read.
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

/// A file that nobody else can read yet, where it takes the place of an old one, whose mode may be as strict.
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

/// Gives a new file the owner, the group and the mode of the old one whose place it takes.
///
/// Where the system does not let this process give files away, the file is its own; where it cannot have the group either,
/// the group may do what all may.
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
    // After the owner, as long as the process may.
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn take_over(_file: &File, _old: &Metadata) -> io::Result<()> {
    Ok(())
}

/// A new file beside `path`, of a name that no other process uses. `old` is the file whose place it will take.
fn create_beside(path: &Path, old: Option<&Metadata>) -> io::Result<(File, Temporary)> {
    let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "the path ends with no name of a file");
    path.file_name().ok_or_else(no_name)?;
    let mut attempts = 0;
    loop {
        // Not made of the name of the file, which may be as long as names can be.
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let temporary = format!(".spinney-{}-{number}.tmp", std::process::id());
        let path = folder(path).join(temporary);
        attempts += 1;
        match create_new(&path, old) {
            Ok(file) => return Ok((file, Temporary { path })),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempts < ATTEMPTS => {}
            Err(error) => return Err(error),
        }
    }
}

/// The path itself, or what the symbolic link at `path` leads to, of however many links: there may be no file yet.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut end = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&end) {
            // What is relative is so to the folder of the link.
            Ok(next) => end = folder(&end).join(next),
            // No link. Where it cannot be looked at, neither can it be written, and the system says why.
            Err(_) => return Ok(end),
        }
    }
    // Links that lead to each other: the system has words for it.
    fs::metadata(path).map(|_| end)
}

/// Puts a file of these bytes at `path` as [`ModelFile::save`](super::ModelFile::save) does with a model: whoever opens it
/// sees the old file or the whole new one. For files that hold a model beside other things, such as a pipeline.
///
/// # Errors
///
/// [`ErrorKind::File`] with what the system says; the old file is as it was.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    write(path, std::iter::once(bytes))
}

/// Puts a file of these parts at `path`: whoever opens it sees the old file or the whole new one, also after a crash. Of a
/// symbolic link the file that it leads to is written, and the link stays. The new file has the mode and, where the system
/// allows it, the owner of the old one.
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
        // Some systems do not rename files that are open.
        drop(file);
        fs::rename(&temporary.path, path)
    })();
    written.map_err(|error| failed(path, error))?;
    // The new name lasts once the folder is written, too. Some systems cannot; the file is whole in any case.
    let _ = File::open(folder(path)).and_then(|folder| folder.sync_all());
    Ok(())
}

/// A file of which the header was read and proven.
pub(super) struct Opened {
    /// Bytes of the file.
    pub(super) length: u64,
    pub(super) head: Head,
    pub(super) disk: Disk,
}

/// The arrays of a file.
#[derive(Debug)]
pub(super) struct Disk {
    path: PathBuf,
    file: File,
    /// Bytes before the arrays.
    n_before: u64,
}

/// Reads the header of the file at `path`.
pub(super) fn open(path: &Path) -> Result<Opened> {
    let in_file = |error: io::Error| failed(path, error);
    look(path).map_err(in_file)?;
    let mut file = File::open(path).map_err(in_file)?;
    let length = file.metadata().map_err(in_file)?.len();
    let mut start = try_with_capacity("the header of the model", 8)?;
    // Of a folder this is where the system says so.
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
    /// Place in the file of a byte of the arrays.
    pub(super) fn place(&self, byte: usize) -> u64 {
        self.n_before + byte as u64
    }

    /// Fills `bytes` with those of the file that begin at `place`.
    pub(super) fn read(&self, place: u64, bytes: &mut [u8]) -> Result<()> {
        let mut file = &self.file;
        let read = file.seek(SeekFrom::Start(place)).and_then(|_| file.read_exact(bytes));
        read.map_err(|error| match error.kind() {
            // It was as long as the header tells when it was opened.
            io::ErrorKind::UnexpectedEof => cut_short(),
            _ => failed(&self.path, error),
        })
    }
}

fn cut_short() -> Error {
    Error::corrupt("the file is cut short")
}

fn out_of_memory(bytes: usize) -> Error {
    ErrorKind::OutOfMemory { what: "the file of the model", bytes }.into()
}

/// Length of the header of a file of `length` bytes that begins with `start`.
pub(super) fn header_bytes(start: &[u8], length: u64) -> Result<usize> {
    let n_header = u64::from_le_bytes(*start.first_chunk::<8>().ok_or_else(cut_short)?);
    if n_header > MOST_HEADER_BYTES {
        return Err(Error::corrupt(format!("the header is {n_header} bytes long, more than {MOST_HEADER_BYTES}")));
    }
    if length < 8 + n_header {
        return Err(cut_short());
    }
    usize::try_from(n_header).map_err(|_| cut_short())
}
