import HTTPSupport
import Hummingbird
import NIOCore

/// The context of a request to the console: Hummingbird's own storage, the connection and the session.
struct ConsoleRequestContext: ConnectionRequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    /// The value of the session's cookie; empty before ``SessionMiddleware`` ran.
    var cookie = ""

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}
