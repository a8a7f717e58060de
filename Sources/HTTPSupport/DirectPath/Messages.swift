import CornerstoreEncoding
import HTTPTypes
import Hummingbird
import NIOCore

// The direct path and the router read and write a message with the same code, which the message's type has.

extension ByteBuffer {
    /// Reads a message.
    /// - Throws: ``HTTPProblem`` 400 that names the wrong member.
    package func message<Message: JSONReadable>(_ type: Message.Type) throws(HTTPProblem) -> Message {
        do throws(FlatJSONScanner.Failure) {
            return try Message(json: Array(buffer: self))
        } catch {
            throw HTTPProblem(.badRequest, code: "invalid_request", message: error.sentence)
        }
    }
}

extension Request {
    /// Reads the body as a message.
    /// - Throws: ``HTTPProblem`` 400 that names the wrong member, 413, 408, or 503.
    package func message<Message: JSONReadable>(_ type: Message.Type, upTo limit: Int) async throws -> Message {
        try await boundedBody(upTo: limit).message(type)
    }
}

extension Response {
    /// Makes a response of status 200 from a message.
    package static func message(_ message: some JSONWritable) -> Response {
        let answer = DirectAnswer(message)
        return Response(
            status: .ok, headers: [.contentType: answer.contentType], body: ResponseBody(byteBuffer: answer.body))
    }
}

extension DirectAnswer {
    /// Creates an answer from a message. The router makes its response from the same answer.
    package init(_ message: some JSONWritable) {
        self.init(contentType: "application/json", body: ByteBuffer(bytes: message.json))
    }
}
