import Synchronization
import Testing

@testable import Database
@testable import StoreServer

@Suite("Whether the server can answer requests", .timeLimit(.minutes(1)))
struct StoreHealthTests {
    private struct Failure: Error {}

    /// What the health is asked of, which a test changes.
    private final class Scene: Sendable {
        struct State {
            var isDatabaseThere = true
            var hasStandby = true
            /// How often the database was asked.
            var looks = 0
            var now = ContinuousClock.now
            var process = ProcessState(
                membership: MembershipState(heardAge: .zero, clockOffset: 0, isHeld: true, problem: nil),
                isCurrent: true, others: [],
                own: ProcessFacts(node: 2, version: "1", name: "own", catalog: "a", startedAt: 100))
        }

        let state = Mutex(State())

        func health(requiresStandby: Bool = false) -> StoreHealth {
            var hasStandby: (@Sendable () async throws -> Bool)?
            if requiresStandby { hasStandby = { [self] in state.withLock { $0.hasStandby } } }
            return StoreHealth(
                check: { [self] in
                    let isThere = state.withLock { state in
                        state.looks += 1
                        return state.isDatabaseThere
                    }
                    if !isThere { throw Failure() }
                },
                process: { [self] in state.withLock { $0.process } }, hasStandby: hasStandby,
                now: { [self] in state.withLock { $0.now } }, logger: .quiet)
        }

        /// Changes something, and lets what was found out before become old.
        func change(_ body: (inout State) -> Void) {
            state.withLock { state in
                body(&state)
                state.now += StoreHealth.freshness
            }
        }
    }

    private static func other(_ node: Int, catalog: String, startedAt: Int64) -> ProcessFacts {
        ProcessFacts(node: node, version: "1", name: "other", catalog: catalog, startedAt: startedAt)
    }

    @Test func aServerWhoseDatabaseIsGoneIsNotReady() async {
        let scene = Scene()
        let health = scene.health()
        #expect(await health.problem() == nil)
        scene.change { $0.isDatabaseThere = false }
        #expect(await health.problem() == .database)
        scene.change { $0.isDatabaseThere = true }
        #expect(await health.problem() == nil)
    }

    @Test func manyQuestionsAskTheDatabaseOnce() async {
        let scene = Scene()
        let health = scene.health()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { #expect(await health.problem() == nil) } }
        }
        let early = scene.state.withLock { $0.looks }
        #expect(early == 1)
        // Half a second later it is asked again. What the process knows by itself is never kept.
        scene.state.withLock { $0.isDatabaseThere = false }
        #expect(await health.problem() == nil)
        scene.state.withLock { $0.process.isCurrent = false }
        #expect(await health.problem() == .cannotHear)
        scene.state.withLock { $0.process.isCurrent = true }
        scene.change { _ in }
        #expect(await health.problem() == .database)
        let late = scene.state.withLock { $0.looks }
        #expect(late == 2)
    }

    @Test(arguments: ["cannot_hear", "no_node", "clock_differs", "standby"])
    func theReasonOfTheMembershipIsNamed(_ reason: String) async {
        let scene = Scene()
        // What hinders the process explains why its database does not answer.
        scene.state.withLock {
            $0.process.membership.problem = reason
            $0.isDatabaseThere = false
        }
        #expect(await scene.health().problem()?.rawValue == reason)
    }

    @Test func aReasonOfAnotherVersionIsASilence() async {
        let scene = Scene()
        scene.state.withLock { $0.process.membership.problem = "unheard_of" }
        #expect(await scene.health().problem() == .cannotHear)
    }

    @Test func aProcessThatHasNotHeardYetIsNotReady() async {
        let scene = Scene()
        scene.state.withLock { $0.process.isCurrent = false }
        #expect(await scene.health().problem() == .cannotHear)
    }

    @Test func theYoungerOfTwoProcessesWithOtherCatalogsIsNotReady() async {
        let scene = Scene()
        let health = scene.health()
        scene.state.withLock { $0.process.others = [Self.other(1, catalog: "b", startedAt: 101)] }
        #expect(await health.problem() == nil)
        scene.state.withLock { $0.process.others = [Self.other(1, catalog: "b", startedAt: 99)] }
        #expect(await health.problem() == .catalogDiffers)
        // Of two that began at once, the one with the lower number counts as older.
        scene.state.withLock { $0.process.others = [Self.other(1, catalog: "b", startedAt: 100)] }
        #expect(await health.problem() == .catalogDiffers)
        scene.state.withLock { $0.process.others = [Self.other(3, catalog: "b", startedAt: 100)] }
        #expect(await health.problem() == nil)
        scene.state.withLock { $0.process.others = [Self.other(1, catalog: "a", startedAt: 99)] }
        #expect(await health.problem() == nil)
    }

    @Test func aProcessWhoseFileDescribesAManagedAppIsNotReady() async {
        let scene = Scene()
        let health = scene.health()
        scene.state.withLock { $0.process.doublyDescribed = ["com.example.app"] }
        #expect(await health.problem() == .catalogDiffers)
        scene.state.withLock { $0.process.doublyDescribed = [] }
        #expect(await health.problem() == nil)
    }

    @Test func aMissingStandbyCountsOnlyWhereOneIsRequired() async {
        let scene = Scene()
        scene.state.withLock { $0.hasStandby = false }
        #expect(await scene.health().problem() == nil)
        #expect(await scene.health(requiresStandby: true).problem() == .noStandby)
        scene.state.withLock { $0.hasStandby = true }
        #expect(await scene.health(requiresStandby: true).problem() == nil)
    }

    /// A question to the databases that has no answer until the test gives one.
    private final class Silence: Sendable {
        private let answers = AsyncStream.makeStream(of: Void.self)
        private let questions = AsyncStream.makeStream(of: Void.self)
        private let count = Mutex(0)
        /// How often the databases were asked.
        var asked: Int { count.withLock { $0 } }

        func ask() async {
            count.withLock { $0 += 1 }
            questions.continuation.yield()
            for await _ in answers.stream { return }
        }

        func waitUntilAsked() async {
            for await _ in questions.stream { return }
        }

        func answer() { answers.continuation.yield() }
    }

    @Test func aDatabaseThatDoesNotAnswerHoldsNobodyAndIsAskedOnce() async {
        let silence = Silence()
        let now = Mutex(ContinuousClock.now)
        let health = StoreHealth(
            check: { await silence.ask() }, process: nil, hasStandby: nil, patience: .milliseconds(100),
            now: { now.withLock { $0 } }, logger: .quiet)
        // Only the first look waits. If each waited, all of them would take longer than the suite may.
        for _ in 0..<1_000 {
            #expect(await health.problem() == .database)
            now.withLock { $0 += StoreHealth.freshness }
        }
        await silence.waitUntilAsked()
        #expect(silence.asked == 1)
        silence.answer()
        let end = ContinuousClock.now + .seconds(20)
        var problem: StoreHealth.Problem? = .database
        while problem != nil, ContinuousClock.now < end {
            // The earlier question has its answer, so this one is new, and has an answer, too.
            silence.answer()
            problem = await health.problem()
            now.withLock { $0 += StoreHealth.freshness }
            await Task.yield()
        }
        #expect(problem == nil)
    }

    @Test func aLookThatBeganBeforeTheStopDoesNotSayReady() async {
        let silence = Silence()
        let health = StoreHealth(
            check: { await silence.ask() }, process: nil, hasStandby: nil, patience: .seconds(600), logger: .quiet)
        async let problem = health.problem()
        await silence.waitUntilAsked()
        health.stop()
        silence.answer()
        let found = await problem
        #expect(found == .stopping)
    }

    @Test func aServerThatStopsSaysSoFirst() async {
        let scene = Scene()
        let health = scene.health()
        scene.state.withLock { $0.isDatabaseThere = false }
        health.stop()
        #expect(await health.problem() == .stopping)
    }
}
