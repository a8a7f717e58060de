import Foundation
import Testing

/// `scripts/install-packages` on a machine that has none of the programs on PATH.
@Suite("The packages that are installed", .timeLimit(.minutes(1)))
struct InstallPackagesTests {
    /// The user is not root, so that the script only names what is missing.
    private static let programs = ["apt-get": "#!/bin/sh\nexit 1\n", "id": "#!/bin/sh\necho 1000\n"]

    /// Programs that Debian does not have from the start, by the group whose targets run them.
    @Test(arguments: [("build", ["git", "make", "openssl"]), ("test", ["perl"]), ("browser", ["curl", "python3"])])
    func `a missing program is named with its package`(group: String, packages: [String]) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "cornerstore-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in Self.programs {
            let file = folder.appending(path: name)
            try Data(text.utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
        }

        let script = SourceTree.root.appending(path: "scripts/install-packages").path
        let (status, said) = try Shell.run([script, group], environment: ["PATH": folder.path])

        #expect(status == 1, "\(said)")
        #expect(said.contains("Run as root: apt-get install"), "\(said)")
        let named = Set(said.split { $0 == " " || $0 == "." || $0 == "\n" }.map(String.init))
        #expect(named.isSuperset(of: packages), "\(said)")
    }
}
