import Hummingbird
import HummingbirdCore

/// The bounds that every server here keeps: on headers, and on connections that say nothing.
public enum ServerLimits {
    /// A connection is closed after 60 idle seconds; headers have at most 16 KiB and 100 fields.
    public static var server: HTTPServerBuilder {
        .http1(
            configuration: .init(
                idleTimeout: .seconds(60),
                httpDecoderConfiguration: .init(maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 16 << 10, maxHeaderFieldCount: 100)))
    }
}
