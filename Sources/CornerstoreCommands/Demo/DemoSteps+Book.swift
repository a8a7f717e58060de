import ControlWire
import Foundation
import StoreWire

/// The steps with Book Chapters: content is built, hosted, bought, downloaded with interruptions, and updated.
extension DemoSteps {
    static let chapter = "com.example.bookchapters.chapter1"

    func hostChapters() async throws {
        teller.begin("The store hosts the chapters of a book")
        teller.explain(
            "A chapter is a folder. The commands build a package from it, check it, upload it and approve it:")
        for product in [Self.chapter, "com.example.bookchapters.chapter2"] {
            try await publish(product, folder: product, version: "1.0")
        }
        let status = try await cornerstore(["content", "status", Self.chapter])
        teller.show(status.all)
        try teller.check("version 1.0 is approved", status.output.contains("Approved"), status.all)
    }

    /// Builds, checks, uploads and approves one content folder of the sample app.
    private func publish(_ product: String, folder: String, version: String) async throws {
        let source = places.content.appendingPathComponent(folder)
        let package = places.path("\(product)-\(version).pkg")
        let commands = [
            ["content", "build", source.path, "--output", package.path],
            ["content", "check", package.path, "--product", product],
            ["content", "upload", package.path],
            ["content", "submit", product],
            ["content", "review", product],
            ["content", "approve", product],
        ]
        for arguments in commands {
            teller.show(
                "cornerstore "
                    + arguments.map { $0.hasPrefix("/") ? URL(fileURLWithPath: $0).lastPathComponent : $0 }
                    .joined(separator: " "))
            let result = try await cornerstore(arguments)
            teller.show(result.output)
            try teller.check("the command succeeded", result.status == 0, "\(result.status): \(result.all)")
        }
    }

    func downloadThroughTrouble() async throws {
        teller.begin("The reader buys a chapter, and the app is killed during the download")
        teller.explain(
            "A fault cuts the next downloads after 12,000 bytes. The app resumes each time, until it is killed:"
        )
        try await cutDownloads()
        teller.show("book-chapters --buy 1 --crash-at 10")
        let killed = try await books.run(["--buy", "1", "--crash-at", "10"])
        teller.show(killed.all)
        try teller.check("the app was killed", killed.status == 9, "\(killed.status): \(killed.all)")
        let unread = try await books.run(["--read", "1"])
        teller.show(unread.all)
        try teller.check("the app shows no part of the incomplete chapter", unread.status == 1, unread.all)
        teller.explain("The next launch resumes the download. Now the reader pauses it:")
        try await cutDownloads()
        let paused = try await books.run(["--download", "--pause-at", "10"])
        teller.show(paused.all)
        try teller.check(
            "the download is paused, and did not restart at 0 %",
            paused.status == 0 && paused.output.contains("paused")
                && !paused.output.contains(": 0 %"), "\(paused.status): \(paused.all)")
        try await control.perform(.clearFaults(.sandbox))
        teller.show("book-chapters --download")
        let done = try await books.run(["--download"])
        teller.show(done.all)
        try teller.check(
            "the download completes", done.status == 0 && done.output.contains("is yours, in version 1.0"),
            "\(done.status): \(done.all)")
        let read = try await books.run(["--read", "1"])
        teller.show(read.output.split(separator: "\n").prefix(3).joined(separator: "\n") + "\n…")
        let original = try? String(
            contentsOf: places.content.appendingPathComponent("\(Self.chapter)/Contents/chapter.txt"), encoding: .utf8)
        try teller.check("the chapter's text is identical to the original", read.output == original, read.all)
        let unfinished = try await transactions().filter { $0.productId == Self.chapter && $0.finishedDate == nil }
        try teller.check("the transaction is finished", unfinished.isEmpty, "\(unfinished)")
    }

    private func cutDownloads() async throws {
        try await control.perform(.clearFaults(.sandbox))
        try await control.perform(
            .orderFault(.sandbox), ControlAPI.Fault(operation: "download", cutAfter: 12_000, count: 3))
    }

    func updateChapter() async throws {
        teller.begin("A second version of the chapter")
        try await publish(Self.chapter, folder: "\(Self.chapter)-2.0", version: "2.0")
        let list = try await books.run(["--list"])
        teller.show(list.all)
        try teller.check(
            "the app shows that a newer version exists", list.output.contains("yours, version 1.0; 2.0 is there"),
            list.all)
        let old = try await books.run(["--read", "1"])
        try teller.check(
            "version 1.0 can still be read", old.status == 0 && !old.output.contains("second can, which"), old.all)
        teller.show("book-chapters --update")
        let updated = try await books.run(["--update"])
        teller.show(updated.all)
        try teller.check(
            "a restore delivers version 2.0 for free",
            updated.status == 0 && updated.output.contains("Chapter 1 is yours, in version 2.0"),
            "\(updated.status): \(updated.all)")
        let new = try await books.run(["--read", "1"])
        try teller.check("the app shows the text of version 2.0", new.output.contains("second can, which"), new.all)
    }

    /// Runs this program as a child process on the demo's store.
    func cornerstore(_ arguments: [String]) async throws -> ChildProcess.Result {
        try await ChildProcess(
            executable: places.ownProgram, arguments: arguments,
            environment: [
                "PATH": Console.current.environment["PATH"] ?? "/usr/bin:/bin", "HOME": places.data.path,
                "LANG": "en_US.UTF-8", "CORNERSTORE_DATA": places.data.path,
            ], input: ""
        ).run(within: .seconds(60))
    }
}
