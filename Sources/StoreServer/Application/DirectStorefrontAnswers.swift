import HTTPSupport
import NIOCore
import Store

/// Answers lookups without the router, which would take longer than a lookup of one item. A storefront with a rate
/// limit leaves all lookups to the router, because a request that is declined here would count twice.
struct DirectStorefrontAnswers: DirectAnswering {
    let finder: ItemFinder

    private static let lookup = "/lookup?"

    func bodyLimit(of request: DirectRequest) -> Int? {
        // The router reads the query up to a fragment.
        request.method == .GET && request.path.hasPrefix(Self.lookup) && !request.path.utf8.contains(0x23) ? 0 : nil
    }

    func answer(
        _ request: DirectRequest, body: ByteBuffer, from address: SocketAddress?, on eventLoop: any EventLoop
    ) -> DirectOutcome {
        let parameters = QueryParameters(query: request.path.dropFirst(Self.lookup.utf8.count))
        guard let answer = try? finder.lookup(parameters, country: nil), answer.isValid else { return .declined }
        return .answer(
            DirectAnswer(
                contentType: SearchController.contentType, fields: SearchController.fields,
                body: ByteBuffer(bytes: answer.body)))
    }
}
