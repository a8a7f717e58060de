import HTTPSupport
import NIOCore
import TestSupport
import Testing

@testable import Console

@Suite(.timeLimit(.minutes(1))) struct FormBodyTests {
    private static func read(_ body: String, _ type: String = "multipart/form-data; boundary=B") throws -> FormBody {
        try FormBody(ByteBuffer(string: body.replacing("\n", with: "\r\n")), type: type)
    }

    private static let whole = """
        --B
        Content-Disposition: form-data; name="text"

        a
        b
        --B
        Content-Disposition: form-data; name="file"; filename="a.bin"
        Content-Type: application/octet-stream

        \u{0}-B
        --
        --B--

        """

    @Test func fieldsAndTheFileAreRead() throws {
        let form = try Self.read(Self.whole)
        #expect(form.values.all == ["text": "a\r\nb"] && form.file == Array("\u{0}-B\r\n--".utf8))
        let encoded = try FormBody(ByteBuffer(string: "text=a+%26"), type: "application/x-www-form-urlencoded")
        #expect(encoded.values.all == ["text": "a &"] && encoded.file == nil)
        #expect(try FormBody(ByteBuffer(string: "text=a"), type: nil).values["text"] == "a")
    }

    /// Bodies of other programs than browsers, and of none, that are read all the same.
    @Test(
        arguments: [
            ("--B--", [:], nil), ("preamble\n--B--\nepilogue", [:], nil),
            ("--B\nContent-Disposition: form-data; name=\"a\"\n\n1\n--B--", ["a": "1"], nil),
            ("--B\ncontent-disposition:form-data;name=\"a\"\nX: y\n\n1\n--B--", ["a": "1"], nil),
            // The first of two with one name counts.
            (
                "--B\nContent-Disposition: form-data; name=\"a\"\n\n1\n"
                    + "--B\nContent-Disposition: form-data; name=\"a\"\n\n2\n--B--", ["a": "1"], nil
            ),
            // No file was chosen.
            ("--B\nContent-Disposition: form-data; name=\"a\"; filename=\"\"\n\n\n--B--", [:], nil),
            ("--B\nContent-Disposition: form-data; name=\"a\"; filename=x\"\\\"\n\n1\n--B--", [:], "1"),
            ("--B\nContent-Disposition: form-data; name=\"a\"; filename*=utf-8''x\n\n1\n--B--", [:], "1"),
        ] as [(String, [String: String], String?)])
    func otherBodiesAreRead(body: String, values: [String: String], file: String?) throws {
        let form = try Self.read(body)
        #expect(form.values.all == values && form.file == file.map { Array($0.utf8) })
    }

    @Test(arguments: [
        "multipart/form-data; boundary=\"B\"", "Multipart/Form-Data; charset=utf-8; BOUNDARY=B",
        "multipart/form-data;boundary=B; x=y",
    ]) func boundariesAreRead(type: String) throws {
        #expect(try Self.read(Self.whole, type).values["text"] == "a\r\nb")
    }

    @Test(arguments: [
        "multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"\"",
        "multipart/form-data; boundary=C", "multipart/form-data; boundary=BB", "multipart/form-data; boundary=é",
        "multipart/form-data; boundary=" + String(repeating: "B", count: 100),
    ]) func otherBoundariesAreRefused(type: String) {
        #expect(throws: HTTPProblem.self) { try Self.read(Self.whole, type) }
    }

    @Test(arguments: [
        "", "text=a", "--B", "--B\n", "--B\n\n", "--B\n\n\n--B--",
        "--BContent-Disposition: form-data; name=\"a\"\n\n1\n--B--",
        "--B\nContent-Disposition: form-data; name=\"a\"\n--B--", "--B\nContent-Disposition: form-data\n\n1\n--B--",
        "--B\nContent-Disposition: form-data; name=a\n\n1\n--B--", "--B\nContent-Type: text/plain\n\n1\n--B--",
        "--B\nContent-Disposition: attachment; name=\"a\"\n\n1\n--B--",
        "--B\nContent-Disposition: form-data; name=\"a\"; x=y\n\n1\n--B--",
        "--B\nContent-Disposition: form-data; name=\"a\"\n\n1\n--B-", "x--B--",
        "--B\nX: " + String(repeating: "y", count: FormBody.largestHead)
            + "\nContent-Disposition: form-data; name=\"a\"\n\n1\n--B--",
        String(repeating: "--B\nContent-Disposition: form-data; name=\"a\"\n\n1\n", count: FormBody.mostParts + 1)
            + "--B--",
    ]) func malformedBodiesAreRefused(body: String) {
        #expect(throws: HTTPProblem.self) { try Self.read(body) }
    }

    @Test func severalFilesAreRefused() throws {
        let file = "--B\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\n\n1\n"
        let none = "--B\nContent-Disposition: form-data; name=\"file\"; filename=\"\"\n\n\n"
        #expect(try Self.read(none + file + none + "--B--").file == Array("1".utf8))
        let problem = try #require(throws: HTTPProblem.self) { try Self.read(file + file + "--B--") }
        #expect(problem.status == .badRequest && problem.message.contains("several files"))
    }

    /// Every form comes out as it went in, and none of its beginnings is taken for a whole one.
    @Test(arguments: 0..<20) func formsOfAllKindsAreReadOrRefused(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        // Bytes of which boundaries and heads consist are frequent.
        let alphabet = Array("\r\n--B:;\"=".utf8) + [0, 0xC3, 0xFF]
        func bytes(_ most: Int) -> [UInt8] {
            (0..<Int.random(in: 0...most, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? 0 }
        }
        var values: [String: String] = [:]
        for index in 0..<Int.random(in: 0...4, using: &random) {
            values["f\(index)"] = String(decoding: bytes(40), as: UTF8.self)
        }
        let content = bytes(200)
        var form = MultipartForm(
            values.sorted { $0.key < $1.key }, files: [.init(name: "file", content: content)])
        let read = try FormBody(ByteBuffer(bytes: form.bytes), type: form.type)
        #expect(read.values.all == values && read.file == (content.isEmpty ? nil : content))
        for count in 0..<form.bytes.count - 2 {
            #expect(throws: HTTPProblem.self, "\(count)") {
                try FormBody(ByteBuffer(bytes: form.bytes.prefix(count)), type: form.type)
            }
        }
        // Changed bytes end in a form or in a problem, and in nothing else.
        for _ in 0..<200 {
            let place = Int.random(in: 0..<form.bytes.count, using: &random)
            form.bytes[place] = alphabet.randomElement(using: &random) ?? 0
            do { _ = try FormBody(ByteBuffer(bytes: form.bytes), type: form.type) } catch is HTTPProblem {}
        }
    }
}
