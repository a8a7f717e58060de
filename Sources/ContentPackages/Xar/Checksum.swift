import CornerstoreEncoding
import Crypto
import Foundation

/// The algorithm of a checksum in a xar archive. New packages use SHA-256 only; the others are read in older ones.
enum ChecksumStyle: String, Sendable {
    case none
    case md5
    case sha1
    case sha256
    case sha512

    /// Reads the `style` attribute, which older archives write in upper case, and some with a hyphen. Returns nil for
    /// an unknown algorithm.
    init?(style: String) {
        self.init(rawValue: style.lowercased().replacing("-", with: ""))
    }

    /// The length of a checksum in bytes.
    var length: Int {
        switch self {
        case .none: 0
        case .md5: 16
        case .sha1: 20
        case .sha256: 32
        case .sha512: 64
        }
    }
}

/// An expected checksum.
struct Checksum: Sendable, Hashable {
    var style: ChecksumStyle
    var bytes: [UInt8]

    static let none = Checksum(style: .none, bytes: [])

    var hexadecimal: String { Hexadecimal.encoded(bytes) }
}

/// A checksum that is being computed.
enum RunningChecksum {
    case none
    case md5(Insecure.MD5)
    case sha1(Insecure.SHA1)
    case sha256(SHA256)
    case sha512(SHA512)

    init(_ style: ChecksumStyle) {
        self =
            switch style {
            case .none: .none
            case .md5: .md5(Insecure.MD5())
            case .sha1: .sha1(Insecure.SHA1())
            case .sha256: .sha256(SHA256())
            case .sha512: .sha512(SHA512())
            }
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        switch self {
        case .none: break
        case .md5(var sum):
            sum.update(bufferPointer: bytes)
            self = .md5(sum)
        case .sha1(var sum):
            sum.update(bufferPointer: bytes)
            self = .sha1(sum)
        case .sha256(var sum):
            sum.update(bufferPointer: bytes)
            self = .sha256(sum)
        case .sha512(var sum):
            sum.update(bufferPointer: bytes)
            self = .sha512(sum)
        }
    }

    func finish() -> [UInt8] {
        switch self {
        case .none: []
        case .md5(let sum): Array(sum.finalize())
        case .sha1(let sum): Array(sum.finalize())
        case .sha256(let sum): Array(sum.finalize())
        case .sha512(let sum): Array(sum.finalize())
        }
    }

    static func of(_ bytes: UnsafeRawBufferPointer, _ style: ChecksumStyle) -> [UInt8] {
        var sum = RunningChecksum(style)
        sum.update(bytes)
        return sum.finish()
    }
}
