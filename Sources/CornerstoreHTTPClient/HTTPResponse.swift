/// A response whose body is still arriving. The connection is closed if the response is released before its body was
/// read to the end.
package final class HTTPResponse: Sendable {
    /// The status, such as 200.
    package let status: Int
    /// The header fields, as the server wrote them.
    package let fields: [(name: String, value: String)]
    let stream: ResponseStream

    init(_ head: HTTPHead, _ stream: ResponseStream) {
        status = head.status
        fields = head.fields
        self.stream = stream
    }

    deinit { stream.cancel() }

    /// The value of the first field with this name, compared without regard to case; nil without such a field.
    package func first(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// Waits for the next bytes of the body; nil at its end. The server is slowed down while nobody waits.
    ///
    /// - Throws: ``HTTPClientError``. Bytes that arrived before a connection was lost are returned first.
    package func next() async throws(HTTPClientError) -> [UInt8]? { try await stream.next() }

    /// Reads the body to its end.
    ///
    /// - Parameter limit: the largest number of bytes.
    /// - Throws: ``HTTPClientError``; `bodyTooLarge` when the body has more bytes.
    package func collect(upTo limit: Int) async throws(HTTPClientError) -> [UInt8] {
        if let announced = first("Content-Length").flatMap(Int.init), announced > limit { throw tooLarge() }
        var bytes: [UInt8] = []
        while let more = try await stream.next() {
            guard bytes.count + more.count <= limit else { throw tooLarge() }
            bytes += more
        }
        return bytes
    }

    private func tooLarge() -> HTTPClientError {
        stream.cancel()
        return .bodyTooLarge
    }
}
