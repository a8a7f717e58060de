import HTTPSupport
import Hummingbird
public import NIOCore

/// The context of a request to the merchant's server: Hummingbird's own storage and the connection.
public struct MerchantRequestContext: ConnectionRequestContext {
    /// Hummingbird's storage, with the request's id and logger.
    public var coreContext: CoreRequestContextStorage
    /// The connection that the request arrived on.
    public let channel: any Channel

    /// Creates the context of a request.
    public init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}
