import Foundation

/// Copies of this process's descriptors of one file, as a child process has them until it runs its program.
public final class DescriptorCopies {
    private let copies: [Int32]

    /// Copies those that are open now; on a system without `/proc`, none.
    public init(of file: URL) {
        let path = file.resolvingSymlinksInPath().path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        let found = names.compactMap { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
            return target == path ? Int32(name) : nil
        }
        // Afterwards, since a copy gets the number that the listing itself had.
        copies = found.map { dup($0) }
    }

    /// How many there are.
    public var count: Int { copies.count }

    deinit { for copy in copies { close(copy) } }
}
