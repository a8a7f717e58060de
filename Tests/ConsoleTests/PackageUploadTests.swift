import CornerstoreEncoding
import Crypto
import Foundation
import HTTPSupport
import Hummingbird
import Logging
import Store
import TestSupport
import Testing

@testable import Console

@Suite(.timeLimit(.minutes(1))) struct PackageUploadTests {
    private static let place = "/sandbox/content/com.example.monkeys/hats"

    /// A browser at the page of a product whose hosting is on.
    private func hosted(_ console: RunningConsole) async throws -> TestBrowser {
        let browser = console.browser()
        try await console.store.desk.setHosting(true, of: ContentProduct("hats", of: RunningConsole.bundleID))
        return browser
    }

    private func fields(_ package: [UInt8], offset: Int) -> [(String, String)] {
        [
            ("sha256", Hexadecimal.encoded(SHA256.hash(data: package))), ("length", "\(package.count)"),
            ("offset", "\(offset)"),
        ]
    }

    @Test func aBrowserWithoutScriptsSendsAPackageWhole() async throws {
        try await RunningConsole.with { console in
            let browser = try await hosted(console)
            let page = try await browser.get(Self.place)
            #expect(page.text.contains("data-pieces") && page.text.contains("/assets/upload-"))
            let done = try await browser.upload(
                page, "\(Self.place)/upload", [], file: try SampleContent.package("hats", "1.0"))
            #expect(done.status == 303, "\(done.text.prefix(3000))")
            let shown = try await browser.follow(done)
            #expect(shown.text.contains("Version 1.0 arrived.") && shown.text.contains("Submit version 1.0"))
            // Turning hosting off would remove it, so the form asks.
            let off = try await browser.submit(shown, "\(Self.place)/hosting")
            #expect(off.status == 422 && off.text.contains("Turning hosting off deletes the uploaded files."))
            #expect(try await browser.get(Self.place).text.contains("Submit version 1.0"))
            // The same file again is the same version.
            let again = try await browser.upload(
                page, "\(Self.place)/upload", [], file: try SampleContent.package("hats", "1.0"))
            #expect(again.status == 303)
            let agreed = try await browser.submit(shown, "\(Self.place)/hosting", [("remove", "yes")])
            #expect(agreed.status == 303)
            #expect(try await !browser.get(Self.place).text.contains("Submit version 1.0"))
        }
    }

    @Test func piecesGoOnWhereTheStoreHasThem() async throws {
        try await RunningConsole.with { console in
            let browser = try await hosted(console)
            let page = try await browser.get(Self.place)
            let package = try SampleContent.package("hats", "1.0", size: 100_000)
            func send(_ range: Range<Int>) async throws -> TestBrowser.Page {
                try await browser.upload(
                    page, "\(Self.place)/upload", fields(package, offset: range.lowerBound),
                    file: Array(package[range]))
            }
            #expect(try await send(0..<40_000).text == #"{"offset":40000}"#)
            // A piece whose answer was lost is sent again, and so is one of a browser that starts anew.
            #expect(try await send(0..<40_000).text == #"{"offset":40000}"#)
            #expect(try await send(0..<50_000).text == #"{"offset":50000}"#)
            // A piece that leaves a gap is not taken.
            #expect(try await send(60_000..<package.count).text == #"{"offset":50000}"#)
            let uploads = try await browser.get(Self.place)
            #expect(uploads.text.contains("50 kB of"))
            let done = try await send(50_000..<package.count)
            #expect(try await browser.follow(done).text.contains("Version 1.0 arrived."), "\(done.text.prefix(2000))")
            // All of them again lead to the same page.
            #expect(try await send(0..<40_000).status == 303)
        }
    }

    @Test func aRefusedPackageSaysWhatToDo() async throws {
        try await RunningConsole.with { console in
            let browser = try await hosted(console)
            let page = try await browser.get(Self.place)
            let other = try SampleContent.package("credits5", "1.0")
            let refused = try await browser.upload(page, "\(Self.place)/upload", [], file: other)
            #expect(refused.status == 422 && refused.text.contains("The package is invalid: 1 finding."))
            #expect(refused.text.contains("credits5") && refused.text.contains("aria-invalid"))
            let noise = try await browser.upload(
                page, "\(Self.place)/upload", fields([1, 2, 3], offset: 0), file: [1, 2, 3])
            #expect(noise.status == 200 && noise.text.contains(#""problem":"The package is invalid"#), "\(noise.text)")
            let large = try await browser.upload(
                page, "\(Self.place)/upload", [], file: [UInt8](repeating: 0, count: 9 << 20))
            #expect(large.status == 413 && large.text.contains("it takes at most 8 MB. Use the command below."))
            #expect(large.form("\(Self.place)/upload") != nil)
            let empty = try await browser.upload(page, "\(Self.place)/upload", [], file: [])
            #expect(empty.status == 422 && empty.text.contains("Choose a package."))
            for wrong in [("sha256", "abc"), ("length", "-1"), ("length", "3000000000")] {
                let values = fields([1, 2, 3], offset: 0).map { $0.0 == wrong.0 ? wrong : $0 }
                let answer = try await browser.upload(page, "\(Self.place)/upload", values, file: [1, 2, 3])
                #expect(answer.status == 200 && answer.text.contains(#"{"problem":"#), "\(wrong): \(answer.text)")
            }
            // An offset of any size is no more than one that the store does not have.
            let far = try await browser.upload(
                page, "\(Self.place)/upload", fields(other, offset: Int.max), file: [1, 2, 3])
            #expect(far.text == #"{"offset":0}"# || far.text.contains("problem"), "\(far.text)")
            #expect(try await browser.get(Self.place).text.contains("Rejected"))
        }
    }

    @Test func aProductWithoutHostingTakesNoPackage() async throws {
        try await RunningConsole.with { console in
            let browser = try await hosted(console)
            let page = try await browser.get(Self.place)
            try await console.store.desk.setHosting(
                false, of: ContentProduct("hats", of: RunningConsole.bundleID))
            let refused = try await browser.upload(
                page, "\(Self.place)/upload", [], file: try SampleContent.package("hats", "1.0"))
            #expect(refused.status == 422 && refused.text.contains("Hosting is off. Turn it on below"))
        }
    }

    /// The script sends a piece again after a status of 500 or more. When it gives up, it shows the last `problem`.
    @Test func `a failure of the store keeps its status and its reason for the script`() async throws {
        try await RunningConsole.with { console in
            _ = try await hosted(console)
            var logger = Logger(label: "test") { StreamLogHandler.standardError(label: $0) }
            logger.logLevel = .critical
            let application = ConsoleApplication(
                ConsoleConfiguration(limits: ServerLimits()),
                ConsoleBackends(control: FullControl(calls: console.store.inProcessControl)),
                now: { console.now.date }, logger: logger, onReady: { _ in })
            let browser = TestBrowser(responder: application.router().buildResponder())
            let page = try await browser.get(Self.place)
            let answer = try await browser.upload(
                page, "\(Self.place)/upload", fields([1, 2, 3], offset: 0), file: [1, 2, 3])
            #expect(
                answer.status == 502 && answer.text == #"{"problem":"Content storage is unavailable."}"#,
                "\(answer.text)")
        }
    }
}

/// A control port whose storage takes no pieces of packages.
private struct FullControl: APICalls {
    let calls: any APICalls

    func send(
        _ method: String, _ path: String, body: [UInt8]?, type: String, token: String?, for caller: APICaller
    ) async throws -> APIAnswer {
        guard type == "application/octet-stream" else {
            return try await calls.send(method, path, body: body, type: type, token: token, for: caller)
        }
        let problem = #"{"code":"unavailable","message":"Content storage is unavailable."}"#
        return APIAnswer(status: 503, body: Data(problem.utf8))
    }

    func stream(_ path: String, for caller: APICaller) async throws -> Response {
        try await calls.stream(path, for: caller)
    }
}
