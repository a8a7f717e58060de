import CornerstoreEncoding
import Foundation
import Logging

/// The format of a server's log on standard error.
enum LogFormat: String, CaseIterable {
    /// Text for people.
    case text
    /// One JSON object per line, for programs (``JSONLogHandler``).
    case json
}

/// Writes each log record as one line of JSON: `time` (RFC 3339, UTC, milliseconds), `level`, `logger`, `message` and
/// `metadata`. The metadata contains the request id under `hb.request.id`.
struct JSONLogHandler: LogHandler {
    var logLevel = Logger.Level.notice
    var metadata: Logger.Metadata = [:]
    private let label: String
    private let write: @Sendable (Data) -> Void

    /// - Parameter write: writes one line, which includes its line break.
    init(label: String, write: @escaping @Sendable (Data) -> Void = writer(to: .standardError)) {
        self.label = label
        self.write = write
    }

    /// Returns a function that writes lines to a file. It ignores errors, because a closed reader or a full disk must
    /// not end the server; `FileHandle.write(_:)` traps there.
    static func writer(to file: FileHandle) -> @Sendable (Data) -> Void {
        { try? file.write(contentsOf: $0) }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    private struct Record: Encodable {
        var time: String
        var level: String
        var logger: String
        var message: String
        var metadata: [String: Value]
    }

    private enum Value: Encodable {
        case text(String)
        case list([Value])
        case members([String: Value])

        init(_ value: Logger.MetadataValue) {
            switch value {
            case .string(let text): self = .text(text)
            case .stringConvertible(let convertible): self = .text(convertible.description)
            case .array(let values): self = .list(values.map(Value.init))
            case .dictionary(let members): self = .members(members.mapValues(Value.init))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .list(let values): try container.encode(values)
            case .members(let members): try container.encode(members)
            }
        }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let record = Record(
            time: Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
            level: event.level.rawValue,
            logger: label, message: event.message.description, metadata: all.mapValues(Value.init))
        guard var line = try? JSONEncoder.compact.encode(record) else { return }
        line.append(UInt8(ascii: "\n"))
        write(line)
    }
}
