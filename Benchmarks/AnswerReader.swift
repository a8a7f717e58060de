import NIOCore

/// Finds the end of an HTTP/1.1 answer with little work. It supports only `Content-Length`, which the measured servers
/// send.
struct AnswerReader {
    private var received = ByteBuffer()
    /// The status and the body's range; nil until the whole head was read.
    private var head: (status: Int, body: Int, end: Int)?

    /// Adds received bytes. Returns the status and the body once the answer is complete.
    mutating func read(_ bytes: ByteBuffer) throws -> (status: Int, body: ByteBuffer)? {
        if received.readableBytes == 0 { received = bytes } else { received.writeImmutableBuffer(bytes) }
        if head == nil { head = try Self.head(of: received.readableBytesView) }
        guard let head, received.readableBytes >= head.end else { return nil }
        guard received.readableBytes == head.end else {
            throw BenchmarkError("the server sent more bytes than one answer")
        }
        self.head = nil
        let body = received.getSlice(at: received.readerIndex + head.body, length: head.end - head.body) ?? ByteBuffer()
        received = ByteBuffer()
        return (head.status, body)
    }

    private static func head(of bytes: ByteBufferView) throws -> (status: Int, body: Int, end: Int)? {
        try bytes.withUnsafeBytes { bytes in
            var status: Int?
            var length: Int?
            var start = 0
            var index = 0
            while index + 1 < bytes.count {
                guard bytes[index] == 0x0D, bytes[index + 1] == 0x0A else {
                    index += 1
                    continue
                }
                let line = UnsafeRawBufferPointer(rebasing: bytes[start..<index])
                if line.isEmpty {
                    guard let status, let length else {
                        throw BenchmarkError("an answer has no status or Content-Length")
                    }
                    return (status, index + 2, index + 2 + length)
                }
                if status == nil {
                    status = number(line.dropFirst(9).prefix(3))
                } else if line.count > 16, isContentLength(line) {
                    length = number(line.dropFirst(15))
                }
                index += 2
                start = index
            }
            guard bytes.count < 65_536 else { throw BenchmarkError("the head of an answer does not end") }
            return nil
        }
    }

    private static func isContentLength(_ line: UnsafeRawBufferPointer) -> Bool {
        zip(line, "content-length:".utf8).allSatisfy { ($0 == 0x2D || $0 == 0x3A ? $0 : $0 | 0x20) == $1 }
    }

    private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> Int? {
        var value = 0
        for byte in digits where byte != 0x20 {
            guard (0x30...0x39).contains(byte), value < 1 << 40 else { return nil }
            value = value * 10 + Int(byte - 0x30)
        }
        return value
    }
}
