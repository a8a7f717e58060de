import Hummingbird
import NIOCore

/// What a request of this server carries.
public struct MerchantRequestContext: RequestContext {
    public var coreContext: CoreRequestContextStorage
    /// The connection that it came by.
    let channel: any Channel

    public init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}
