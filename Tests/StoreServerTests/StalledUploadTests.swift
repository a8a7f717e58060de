import ControlWire
import HTTPSupport
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite("Uploads that stand still", .timeLimit(.minutes(1))) struct StalledUploadTests {
    @Test func anUploadWhoseClientGoesSilentIsEndedAndGoesOnLater() async throws {
        let (minutes, minute) = AsyncStream.makeStream(of: Void.self)
        try await withServer {
            $0.stallPatience = StallWatch.Rule(window: .seconds(60)) { _ in
                for await _ in minutes { return }
                throw CancellationError()
            }
        } _: { server async throws in
            try await server.host("hats")
            let package = try SamplePackage("hats", "1.0", size: 10_000)
            let upload = try await server.begin(package)
            let path = "/control/v1/content/uploads/\(upload.uploadId)"
            let head =
                "PATCH \(path)?offset=0 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n"
                + "Content-Length: \(package.bytes.count)\r\n\r\n"
            let port = server.port(server.addresses.control)
            async let ending = RawConnection.run {
                let connection = try RawConnection(port: port)
                connection.write(Array(head.utf8) + package.bytes.prefix(1_000))
                let answer = connection.read(until: "never")
                return (answer, connection.isAtEnd)
            }
            var offset: Int64 = 0
            while offset < 1_000 {
                offset = try await server.control("GET", path).decoded(ControlAPI.ContentUpload.self).offset
            }
            minute.yield()
            let (answer, isEnded) = try await ending
            #expect(isEnded && !answer.contains("HTTP/1.1 200"), "\(answer)")
            // The bytes that arrived are kept.
            #expect(try await server.begin(package).offset == 1_000)
            #expect(try await server.append(package.bytes[1_000...], to: upload, at: 1_000).status == 200)
            #expect(try await server.complete(upload).status == 200)
        }
    }
}
