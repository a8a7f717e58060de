import Foundation
import Testing

/// `scripts/run-readme` on a README of its own, beside a reader's files.
@Suite("The README's commands", .timeLimit(.minutes(1)))
struct RunReadmeTests {
    private static let files = [
        "README.md": "```sh\necho bought >receipt.der   # a remark\ncat receipt.der\ncornerstore buy\n```\n",
        ".build/debug/cornerstore": "#!/bin/sh\nmkdir -p \"$CORNERSTORE_DATA\" && echo \"data in $CORNERSTORE_DATA\"\n",
        // The script adds `make bench`.
        "Makefile": "bench:\n",
        "receipt.der": "the reader's",
    ]

    @Test func `a run keeps the receipt and the store of a reader, and leaves no file behind`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "cornerstore-test-\(UUID().uuidString)")
        let temporary = folder.appending(path: "temporary")
        let script = "scripts/run-readme"
        defer { try? FileManager.default.removeItem(at: folder) }
        for made in [temporary, folder.appending(path: "scripts"), folder.appending(path: ".build/debug")] {
            try FileManager.default.createDirectory(at: made, withIntermediateDirectories: true)
        }
        try FileManager.default.copyItem(
            at: SourceTree.root.appending(path: script), to: folder.appending(path: script))
        for (name, text) in Self.files { try Data(text.utf8).write(to: folder.appending(path: name)) }
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: folder.appending(path: ".build/debug/cornerstore").path)

        let (status, said) = try Shell.run(
            [script], in: folder, environment: ["PATH": "/usr/bin:/bin", "TMPDIR": temporary.path])

        #expect(status == 0, "\(said)")
        #expect(said.split(separator: "\n").contains("bought"))
        #expect(said.contains("data in \(temporary.path)/"))
        let receipt = try Data(contentsOf: folder.appending(path: "receipt.der"))
        #expect(String(decoding: receipt, as: UTF8.self) == "the reader's")
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path).isEmpty)
    }
}
