import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite(.timeLimit(.minutes(1))) struct OCSPServerTests {
    private static let malformed: [UInt8] = [0x30, 3, 0x0a, 1, 1]
    private static let unauthorized: [UInt8] = [0x30, 3, 0x0a, 1, 6]
    /// A request about a certificate of nobody, by SHA-1. Its Base64 has slashes and ends in padding.
    private static let stranger: [UInt8] = {
        let hash = Array(repeating: UInt8(0xff), count: 20)
        let algorithm: [UInt8] = [0x30, 7, 6, 5, 0x2b, 0x0e, 3, 2, 0x1a]
        let heads: [UInt8] = [0x30, 65, 0x30, 63, 0x30, 61, 0x30, 59, 0x30, 57]
        let parts: [[UInt8]] = [heads, algorithm, [4, 20], hash, [4, 20], hash, [2, 2, 5, 5]]
        return parts.flatMap { $0 }
    }()

    @Test func bothPortsAnswerPostAndGet() async throws {
        try await TemporaryDirectory.with { directory async throws in
            try await RunningServer.with(directory.url) { server async throws in
                for port in [server.addresses.production, server.addresses.sandbox] {
                    let posted = try await server.send(
                        "POST", "\(port)/ocsp", headers: [("Content-Type", "application/ocsp-request")],
                        body: Self.stranger)
                    #expect(posted.status == 200 && posted.body == Self.unauthorized)
                    #expect(posted.headers["Content-Type"] == ["application/ocsp-response"])
                    let text = Data(Self.stranger).base64EncodedString()
                    #expect(text.contains("/") && text.hasSuffix("="))
                    let encoded = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
                    for path in [text, encoded] {
                        let got = try await server.send("GET", "\(port)/ocsp/\(path)")
                        #expect(got.status == 200 && got.body == Self.unauthorized)
                    }
                    for path in ["AAAA", "%25", "-", String(repeating: "A", count: 5_000)] {
                        let got = try await server.send("GET", "\(port)/ocsp/\(path)")
                        #expect(got.status == 200 && got.body == Self.malformed, "\(path.prefix(10))")
                    }
                    let large = try await server.send(
                        "POST", "\(port)/ocsp", body: Array(repeating: 0x30, count: OCSPResponder.largestRequest + 1))
                    #expect(large.status == 413)
                }
            }
        }
    }

    @Test func certificatesNameTheAddressOfEachStart() async throws {
        try await TemporaryDirectory.with { directory async throws in
            @Sendable func names(_ server: RunningServer, _ address: String) -> [Bool] {
                server.application.authority.jwsIdentity(for: .sandbox).certificates.map {
                    Data($0).range(of: Data(address.utf8)) != nil
                }
            }
            let root = try await RunningServer.with(directory.url) { server async throws in
                #expect(names(server, "\(server.addresses.production)/ocsp") == [true, true, false])
                return server.application.authority.jwsRoot
            }
            let url = "https://store.example/ocsp"
            try await RunningServer.with(directory.url, { $0.ocspURL = url }) { server async throws in
                #expect(names(server, url) == [true, true, false])
                #expect(server.application.authority.jwsRoot == root)
            }
        }
    }
}
