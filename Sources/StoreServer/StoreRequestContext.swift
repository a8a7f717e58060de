import HTTPSupport
import Hummingbird
public import NIOCore

/// What a request of this server carries.
public struct StoreRequestContext: ConnectionRequestContext {
    public var coreContext: CoreRequestContextStorage
    public let channel: any Channel

    public init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}
