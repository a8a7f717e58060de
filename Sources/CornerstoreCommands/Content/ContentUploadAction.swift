import AsyncHTTPClient
import Crypto
import Foundation
import NIOCore
import StoreServer
import StoreWire

/// Sends a file in as few requests as the network allows, and goes on after each break where the store says.
struct ContentUploadAction {
    enum Outcome {
        case kept(ControlAPI.ContentVersion)
        case refused(ControlAPI.RefusedContent)
    }

    var file: URL
    var bundleID: String
    var product: String
    var client: ControlClient
    /// How often it is begun again without a byte getting through, and how long it is waited between.
    var attempts = 6
    var pause = Duration.milliseconds(500)

    func run() async throws -> Outcome {
        let console = Console.current
        let (length, digest) = try await Progress.during("Reading \(file.lastPathComponent)") {
            try await Self.measure(file)
        }
        var upload: ControlAPI.ContentUpload = try await client.send(
            "POST", "/content/uploads",
            ControlAPI.NewContentUpload(bundleId: bundleID, productId: product, length: length, sha256: digest))
        if upload.offset > 0, upload.offset < length {
            console.remark("Going on at byte \(upload.offset) of \(length).")
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
                    .failed, "The upload does not get on at byte \(upload.offset). Give the same command again later.")
            }
            if failures > 0 { try await Task.sleep(for: pause * (1 << (failures - 1))) }
        }
        display.end()
        return try await Progress.during("The store checks the package", saysSoInLogs: true) {
            try await client.complete(upload)
        }
    }

    /// Where the store stands, as soon as it answers again.
    private func offset(of upload: ControlAPI.ContentUpload, after error: CommandError) async throws -> Int64 {
        for attempt in 0..<attempts {
            do {
                let now: ControlAPI.ContentUpload = try await client.get(
                    "/content/uploads/\(upload.uploadId.uuidString)")
                return now.offset
            } catch let error as CommandError where error.code == .failed {
                try await Task.sleep(for: pause * (1 << attempt))
            }
        }
        throw error
    }

    /// A file's length and SHA-256.
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
        return (length, hash.finalize().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
    }
}

/// A file's bytes from an offset on, in pieces; tells how far it is.
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
