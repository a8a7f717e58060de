import AsyncHTTPClient
import ControlWire
import CornerstoreEncoding
import Crypto
import Foundation
import NIOCore
import StoreWire

/// Uploads a file in as few requests as possible. After a broken connection, the upload resumes at the store's offset.
struct ContentUploadAction {
    enum Outcome {
        case kept(ControlAPI.ContentVersion)
        case refused(ControlAPI.RefusedContent)
    }

    var file: URL
    var bundleID: String
    var product: String
    var client: ControlClient
    /// The number of attempts without progress before the upload fails.
    var attempts = 6
    /// The pause after the first attempt without progress. It doubles after each further one.
    var pause = Duration.milliseconds(500)

    func run() async throws -> Outcome {
        let console = Console.current
        let (length, digest) = try await Progress.during("Reading \(file.lastPathComponent)") {
            try await Self.measure(file)
        }
        var upload: ControlAPI.ContentUpload = try await client.send(
            .beginUpload,
            ControlAPI.NewContentUpload(bundleId: bundleID, productId: product, length: length, sha256: digest))
        if upload.offset > 0, upload.offset < length {
            console.remark("Resuming at byte \(upload.offset) of \(length).")
        }
        let display = TransferDisplay("Uploading", total: length, done: upload.offset, console: console)
        var failures = 0
        while upload.offset < length {
            let before = upload.offset
            do {
                upload.offset = try await client.append(file, to: upload, display)
            } catch let error as CommandError where error.code == .failed {
                upload.offset = try await offset(of: upload, after: error)
            }
            failures = upload.offset > before ? 0 : failures + 1
            guard failures < attempts else {
                display.end()
                throw CommandError(
                    .failed,
                    "The upload stopped at byte \(upload.offset). Run the same command again later to resume it.")
            }
            if failures > 0 { try await Task.sleep(for: pause * (1 << (failures - 1))) }
        }
        display.end()
        return try await Progress.during("The store is checking the package", saysSoInLogs: true) {
            try await client.complete(upload)
        }
    }

    /// Asks the store for the upload's offset, and retries until the store answers.
    /// - Throws: the last error when the store does not answer.
    private func offset(of upload: ControlAPI.ContentUpload, after error: CommandError) async throws -> Int64 {
        for attempt in 0..<attempts {
            do {
                let now: ControlAPI.ContentUpload = try await client.send(.upload(upload.uploadId))
                return now.offset
            } catch let error as CommandError where error.code == .failed {
                try await Task.sleep(for: pause * (1 << attempt))
            }
        }
        throw error
    }

    /// Returns a file's length in bytes and its SHA-256 in hexadecimal.
    static func measure(_ file: URL) async throws -> (length: Int64, digest: String) {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        var hash = SHA256()
        var length: Int64 = 0
        while let piece = try handle.read(upToCount: 1 << 20), !piece.isEmpty {
            hash.update(data: piece)
            length += Int64(piece.count)
            try Task.checkCancellation()
        }
        return (length, Hexadecimal.encoded(hash.finalize()))
    }
}

/// A file's bytes from an offset on, in pieces of 256 KiB. `onRead` is called with the position before each piece.
struct FilePieces: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let file: URL
    let offset: Int64
    let onRead: @Sendable (Int64) -> Void

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(file: file, position: offset, onRead: onRead) }

    struct AsyncIterator: AsyncIteratorProtocol {
        let file: URL
        var position: Int64
        let onRead: @Sendable (Int64) -> Void
        var handle: FileHandle?

        mutating func next() async throws -> ByteBuffer? {
            let handle = try self.handle ?? FileHandle(forReadingFrom: file)
            if self.handle == nil {
                try handle.seek(toOffset: UInt64(position))
                self.handle = handle
            }
            onRead(position)
            guard let piece = try handle.read(upToCount: 256 << 10), !piece.isEmpty else {
                try handle.close()
                return nil
            }
            position += Int64(piece.count)
            return ByteBuffer(bytes: piece)
        }
    }
}
