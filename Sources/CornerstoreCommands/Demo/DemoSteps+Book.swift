import Foundation
import StoreServer
import StoreWire

/// The steps with Book Chapters: content is prepared, hosted, bought, downloaded through trouble, and brought up to date.
extension DemoSteps {
    static let chapter = "com.example.bookchapters.chapter1"

    func hostChapters() async throws {
        teller.begin("The store hosts the chapters of a book")
        teller.explain(
            "A chapter is a folder. It is built into a package, checked, uploaded, and the reviewer approves it:")
        for product in [Self.chapter, "com.example.bookchapters.chapter2"] {
            try await publish(product, folder: product, version: "1.0")
        }
        let status = try await cornerstore(["content", "status", Self.chapter])
        teller.show(status.all)
        try teller.check("version 1.0 is approved", status.output.contains("Approved"), status.all)
    }

    /// Builds, checks, uploads and approves one folder of the sample's.
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
            try teller.check("that is done", result.status == 0, "\(result.status): \(result.all)")
        }
    }

    func downloadThroughTrouble() async throws {
        teller.begin("A chapter is bought, and its download is killed half-way")
        teller.explain(
            "The operator has the next downloads cut after 12,000 bytes. The app goes on each time, until it is killed:"
        )
        try await cutDownloads()
        teller.show("book-chapters --buy 1 --crash-at 10")
        let killed = try await books.run(["--buy", "1", "--crash-at", "10"])
        teller.show(killed.all)
        try teller.check("the app ended hard", killed.status == 9, "\(killed.status): \(killed.all)")
        let unread = try await books.run(["--read", "1"])
        teller.show(unread.all)
        try teller.check("there is nothing to read, and nothing half of it", unread.status == 1, unread.all)
        teller.explain("The next launch goes on where it stopped; now the reader pauses it:")
        try await cutDownloads()
        let paused = try await books.run(["--download", "--pause-at", "10"])
        teller.show(paused.all)
        try teller.check(
            "it is paused, and did not begin at 0",
            paused.status == 0 && paused.output.contains("paused")
                && !paused.output.contains(": 0 %"), "\(paused.status): \(paused.all)")
        try await control.perform("DELETE", ControlClient.path(.sandbox, "faults"))
        teller.show("book-chapters --download")
        let done = try await books.run(["--download"])
        teller.show(done.all)
        try teller.check(
            "and the rest comes", done.status == 0 && done.output.contains("is yours, in version 1.0"),
            "\(done.status): \(done.all)")
        let read = try await books.run(["--read", "1"])
        teller.show(read.output.split(separator: "\n").prefix(3).joined(separator: "\n") + "\n…")
        let original = try? String(
            contentsOf: places.content.appendingPathComponent("\(Self.chapter)/Contents/chapter.txt"), encoding: .utf8)
        try teller.check("the chapter can be read, to the letter", read.output == original, read.all)
        let unfinished = try await transactions().filter { $0.productId == Self.chapter && $0.finishedDate == nil }
        try teller.check("its transaction is finished", unfinished.isEmpty, "\(unfinished)")
    }

    private func cutDownloads() async throws {
        try await control.perform("DELETE", ControlClient.path(.sandbox, "faults"))
        try await control.perform(
            "POST", ControlClient.path(.sandbox, "faults"),
            ControlAPI.Fault(operation: "download", cutAfter: 12_000, count: 3))
    }

    func updateChapter() async throws {
        teller.begin("A second version of the chapter")
        try await publish(Self.chapter, folder: "\(Self.chapter)-2.0", version: "2.0")
        let list = try await books.run(["--list"])
        teller.show(list.all)
        try teller.check(
            "the app sees that there is something newer", list.output.contains("yours, version 1.0; 2.0 is there"),
            list.all)
        let old = try await books.run(["--read", "1"])
        try teller.check(
            "version 1.0 can be read meanwhile", old.status == 0 && !old.output.contains("second can, which"), old.all)
        teller.show("book-chapters --update")
        let updated = try await books.run(["--update"])
        teller.show(updated.all)
        try teller.check(
            "a restore brings it, at no price",
            updated.status == 0 && updated.output.contains("Chapter 1 is yours, in version 2.0"),
            "\(updated.status): \(updated.all)")
        let new = try await books.run(["--read", "1"])
        try teller.check("and it is read from now on", new.output.contains("second can, which"), new.all)
    }

    /// Runs this very program on the demonstration's store.
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
