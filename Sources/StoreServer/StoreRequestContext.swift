import HTTPSupport
import Hummingbird
public import NIOCore

/// The context of a request to the store server: Hummingbird's own storage and the connection.
public struct StoreRequestContext: ConnectionRequestContext {
    /// Hummingbird's storage, with the request's id and logger.
    public var coreContext: CoreRequestContextStorage
    /// The connection that the request arrived on.
    public let channel: any Channel
    /// The handler's description of the change that it makes; nil where changes are not recorded.
    var note: AuditNote?

    /// Creates the context of a request.
    public init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}
