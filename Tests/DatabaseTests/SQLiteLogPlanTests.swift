import Foundation
import TestSupport
import Testing

@testable import Database

@Suite(.timeLimit(.minutes(1))) struct SQLiteLogPlanTests {
    typealias Standing = SQLiteLogPlan.Standing
    typealias Action = SQLiteLogPlan.Action

    /// 40 pages begin a checkpoint, fewer than 20 are moved by the writer, 200 are the most.
    private static let settings: SQLiteSettings = {
        var settings = SQLiteSettings()
        settings.checkpointPages = 40
        settings.longestLog = 200
        settings.standstillPages = 30
        return settings
    }()

    struct Course: Sendable, CustomTestStringConvertible {
        var name: String
        /// The log's length after a batch, where the checkpointer stands, and what is done.
        var steps: [(Int, Standing, Action)]
        var testDescription: String { name }
    }

    private static let courses = [
        Course(name: "a short log is left alone", steps: [(0, .idle, .nothing), (39, .idle, .nothing)]),
        Course(
            name: "the checkpointer moves pages, the writer the rest, and the log starts again",
            steps: [
                (40, .idle, .begin), (45, .busy, .nothing), (50, .moved(40), .restart), (3, .idle, .nothing),
                (41, .idle, .begin),
            ]),
        Course(
            name: "while many pages are left, the checkpointer goes on",
            steps: [
                (40, .idle, .begin), (90, .moved(40), .begin), (99, .busy, .nothing), (100, .moved(90), .restart),
            ]),
        Course(
            name: "a reader in the way is not hurried",
            steps: [
                (40, .idle, .begin), (50, .moved(10), .nothing), (59, .idle, .nothing), (60, .idle, .begin),
                (90, .moved(10), .begin), (100, .moved(10), .nothing), (110, .idle, .begin),
            ]),
        Course(
            name: "after an attempt that a reader foiled, the log has to grow a little",
            steps: [
                (40, .idle, .begin), (50, .moved(40), .restart), (52, .idle, .nothing), (69, .idle, .nothing),
                (70, .idle, .begin),
            ]),
        Course(
            name:
                "too long a log is moved at last, whatever the checkpointer does, and again when it grew by a quarter",
            steps: [
                (200, .idle, .restartAtLast), (240, .busy, .nothing), (250, .busy, .restartAtLast),
                (300, .moved(10), .restartAtLast), (5, .idle, .nothing), (199, .idle, .begin),
            ]),
        Course(
            name: "what was moved of an earlier log is forgotten",
            steps: [
                (40, .idle, .begin), (3, .moved(40), .nothing), (45, .idle, .begin), (46, .busy, .nothing),
                (2, .moved(46), .nothing), (40, .idle, .begin),
            ]),
    ]

    @Test(arguments: courses) func eachBatchIsFollowedByTheLogsNextStep(_ course: Course) {
        var plan = SQLiteLogPlan(Self.settings)
        for (index, (pages, standing, action)) in course.steps.enumerated() {
            #expect(plan.step(pages: pages, standing) == action, "step \(index)")
        }
    }

    /// The log starts again only when the checkpointer has nothing to do, or after a wait for its end.
    @Test func theLogNeverRestartsDuringACheckpoint() {
        var random = SeededGenerator(seed: 4)
        for _ in 0..<500 {
            var plan = SQLiteLogPlan(Self.settings)
            var pages = 0
            for _ in 0..<200 {
                pages = Int.random(in: 0..<10, using: &random) == 0 ? 0 : pages + Int.random(in: 0..<40, using: &random)
                let standing =
                    [Standing.idle, .busy, .moved(Int.random(in: 0...300, using: &random))]
                    .randomElement(using: &random) ?? .idle
                switch plan.step(pages: pages, standing) {
                case .begin: #expect(standing != .busy && pages >= 40)
                case .restart: #expect(standing != .busy && standing != .idle && pages >= 40)
                case .restartAtLast: #expect(pages >= 200)
                case .nothing: break
                }
            }
        }
    }

    /// With SQLite before 3.51.3 the log must not start again while a checkpoint is asked for and has not begun.
    @Test func restWaitsForTheRequestedCheckpoint() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let path = directory.path("a.sqlite")
            let session = try SQLiteSession(path: path, .create, cache: 100)
            try session.useWriteAheadLog()
            try session.run("CREATE TABLE t (a)")
            let checkpointer = SQLiteCheckpointer(path, SQLiteSettings(), .silent)
            for _ in 0..<50 {
                try session.run("INSERT INTO t VALUES (1)")
                checkpointer.begin()
                checkpointer.rest()
                #expect(checkpointer.take() == .idle)
            }
            checkpointer.begin()
            try await until { checkpointer.take() != .busy }
            #expect(checkpointer.take() == .idle, "a result is given once")
            checkpointer.close()
        }
    }
}
