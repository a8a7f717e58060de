import CZlib
import HTTPTypes
import Hummingbird
import NIOCore

/// Compresses whole answers with gzip.
///
/// NIOHTTPCompression's `HTTPResponseCompressor` is no alternative: it ends the process when an answer belongs to no
/// request, as `100 Continue` and the answer to a malformed request do, and it prefers deflate to gzip.
enum GzipCoding {
    /// The sizes of the answers that are compressed, in bytes. Smaller ones do not become smaller, and larger ones
    /// would occupy a thread for too long.
    static let sizes = 256...(4 << 20)
    /// Higher levels take more time and save little more of a page or of an answer to a search.
    private static let level: Int32 = 4

    /// The bytes as a gzip file (RFC 1952); nil when that is not smaller, or when memory cannot be allocated.
    static func compressed(_ bytes: ByteBuffer) -> ByteBuffer? {
        guard sizes.contains(bytes.readableBytes) else { return nil }
        // zlib stores the address of the stream in its state, so the stream must not move.
        var stream = z_stream()
        return withUnsafeMutablePointer(to: &stream) { stream in
            // 16 more than the window's bits makes zlib write gzip's header and checksum.
            let result = deflateInit2_(
                stream, level, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                Int32(MemoryLayout<z_stream>.size))
            guard result == Z_OK else { return nil }
            defer { deflateEnd(stream) }
            var packed = ByteBuffer()
            var isWhole = false
            let bound = Int(deflateBound(stream, UInt(bytes.readableBytes)))
            packed.writeWithUnsafeMutableBytes(minimumWritableBytes: bound) { output in
                bytes.withUnsafeReadableBytes { input in
                    stream.pointee.next_in = UnsafeMutablePointer(
                        mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
                    stream.pointee.avail_in = UInt32(input.count)
                    stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
                    stream.pointee.avail_out = UInt32(output.count)
                    isWhole = deflate(stream, Z_FINISH) == Z_STREAM_END
                    return output.count - Int(stream.pointee.avail_out)
                }
            }
            return isWhole && packed.readableBytes < bytes.readableBytes ? packed : nil
        }
    }

    /// Whether a client that sent this `Accept-Encoding` accepts gzip (RFC 9110, section 12.5.3).
    static func isAccepted(_ field: String?) -> Bool {
        guard let field, field.utf8.count <= 1_024 else { return false }
        var acceptsAny = false
        for coding in field.lowercased().split(separator: ",") {
            let parts = coding.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            switch parts.first {
            case "gzip", "x-gzip": return weight > 0
            case "*": acceptsAny = weight > 0
            default: break
            }
        }
        return acceptsAny
    }
}

extension Response {
    /// Creates a response with a text, which is compressed when the client accepts gzip and that makes it smaller.
    ///
    /// Do not use it for a text that contains both a secret and words of other people: who sees the lengths of many
    /// such answers can guess the secret (the BREACH attack).
    public init(
        status: HTTPResponse.Status, headers: HTTPFields, compressing text: ByteBuffer, for request: Request
    ) {
        var headers = headers
        headers[.vary] = "Accept-Encoding"
        guard GzipCoding.isAccepted(request.headers[.acceptEncoding]), let packed = GzipCoding.compressed(text) else {
            self.init(status: status, headers: headers, body: ResponseBody(byteBuffer: text))
            return
        }
        headers[.contentEncoding] = "gzip"
        self.init(status: status, headers: headers, body: ResponseBody(byteBuffer: packed))
    }
}
