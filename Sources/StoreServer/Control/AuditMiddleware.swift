import ControlWire
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Store
import Synchronization

/// A handler's description of the change that it makes, for the list of changes.
final class AuditNote: Sendable {
    /// The subject, and the states before and after, in words.
    struct Words: Sendable {
        var subject: String?
        var before: String?
        var after: String?
    }

    private let said = Mutex(Words())

    /// The description.
    var words: Words { said.withLock { $0 } }

    /// Says something about the change. It must contain no secret.
    func say(subject: String? = nil, before: String? = nil, after: String? = nil) {
        said.withLock { said in
            said.subject = subject ?? said.subject
            said.before = before ?? said.before
            said.after = after ?? said.after
        }
    }
}

/// Records each successful request that changes something, and which topic it changed.
///
/// Payment sheets belong to devices and are not recorded, and neither is each piece of an upload.
struct AuditMiddleware: RouterMiddleware {
    typealias Context = StoreRequestContext

    let audit: AuditLog
    let changes: Changes
    let now: @Sendable () -> Date

    /// The topics that the control port's own requests change. The stores record theirs themselves.
    private static let topics: [(prefix: String, subject: ChangeTopic.Subject)] = [
        (ControlRoute.content().template, .content), (ControlRoute.reviews().template, .reviews),
        (ControlRoute.feeds.template, .feeds), (ControlRoute.partners.template, .feeds),
        ("/control/v1/managed", .catalog),
    ]

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard ![.get, .head].contains(request.method) else { return try await next(request, context) }
        var context = context
        let note = AuditNote()
        context.note = note
        let response = try await next(request, context)
        guard (200..<300).contains(response.status.code), let template = context.endpointPath else { return response }
        if let topic = Self.topics.first(where: { template.hasPrefix($0.prefix) }) {
            changes.record(ChangeTopic(topic.subject, nil))
        }
        guard request.method != .patch || !template.hasPrefix(ControlRoute.beginUpload.template),
            !template.hasPrefix(ControlRoute.sheets.template), template != ControlRoute.announceScreen.template,
            !template.hasPrefix("/sheets/")
        else { return response }
        do {
            let date = Int64((now().timeIntervalSince1970 * 1000).rounded(.down))
            try await audit.record(Self.entry(request, template, note.words), at: date)
            changes.record(ChangeTopic(.audit, nil))
        } catch {
            // The change is made already. A failure would tell the operator that it is not.
            context.logger.error("a change is missing in the audit list", metadata: ["error": "\(error)"])
        }
        return response
    }

    private static func entry(_ request: Request, _ template: String, _ words: AuditNote.Words) -> AuditEntry {
        let values = zip(template.split(separator: "/"), request.uri.path.split(separator: "/")).compactMap {
            part, value -> (name: Substring, value: String)? in
            guard part.hasPrefix("{"), part.hasSuffix("}") else { return nil }
            return (part.dropFirst().dropLast(), value.removingPercentEncoding ?? String(value))
        }
        let environment = ControlRoute.Parameter.environment.rawValue
        let subjects = values.filter { $0.name != environment }.map(\.value)
        return AuditEntry(
            operatorName: request.operatorName,
            environment: values.first { $0.name == environment }?.value,
            operation: "\(request.method.rawValue) \(template)",
            subject: words.subject ?? (subjects.isEmpty ? nil : subjects.joined(separator: " ")),
            before: words.before, after: words.after)
    }
}
