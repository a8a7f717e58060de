import Foundation

/// Keeps the pipes of one program that a test starts out of another that starts at the same time.
///
/// In a new child, Foundation's `Process` closes the descriptors up to the highest that was open a moment before. The
/// pipe that another thread opens in that moment may have a higher number, and has no `O_CLOEXEC`. A child that lives
/// long would keep the pipe's end, and the other thread would wait for the end of its output, and Foundation for the
/// end of its program, until that child ends. With one descriptor far above all others, each child closes them all.
public enum ChildDescriptors {
    private static let highest: Int32 = {
        let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        return fcntl(file, F_DUPFD_CLOEXEC, 900)
    }()

    /// Holds the descriptor for as long as this process lives. To be called before a program that lives long is run.
    public static func closeAll() { _ = highest }
}
