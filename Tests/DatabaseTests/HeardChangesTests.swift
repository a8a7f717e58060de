import Testing

@testable import Database

private func announcement(_ detail: String) -> Announcement { Announcement(topic: "apps.t", detail: detail) }

private func notice(_ node: Int, _ version: Int64, _ details: String...) -> ChangeNotice {
    ChangeNotice(node: node, version: version, announcements: details.map(announcement))
}

/// The changes under test.
private final class Subject {
    private var changes = HeardChanges()

    func begin(at versions: [Int: Int64]) { changes.begin(at: versions) }
    func hear(_ notice: ChangeNotice) { changes.hear(notice) }
    func finish(isDone: Bool) { changes.finish(isDone: isDone) }
    func acknowledge(of node: Int) -> [Int: Int64] { changes.takeAcknowledgements(of: node) }
    func confirm() -> HeardChanges.Confirmation? { changes.takeConfirmation() }

    /// Whether the beat notices a loss.
    func beat(_ versions: [Int: Int64], _ confirmation: HeardChanges.Confirmation) -> Bool {
        changes.beat(versions, confirmation)
    }

    func next() -> HeardChanges.Work { changes.next() }
}

@Suite(.timeLimit(.minutes(1))) struct HeardChangesTests {
    private let now = ContinuousClock.now

    private func confirmation(_ seconds: Int = 0, isCertain: Bool = true) -> HeardChanges.Confirmation {
        HeardChanges.Confirmation(asked: now + .seconds(seconds), isCertain: isCertain)
    }

    /// Changes that began at versions and have read everything once.
    private func begun(at versions: [Int: Int64]) -> Subject {
        let subject = Subject()
        subject.begin(at: versions)
        #expect(subject.next() == .everything)
        subject.finish(isDone: true)
        return subject
    }

    @Test func atFirstEverythingIsRead() {
        let changes = Subject()
        changes.begin(at: [1: 7])
        #expect(!changes.beat([1: 7], confirmation()))
        #expect(changes.confirm() == nil)
        #expect(changes.next() == .everything)
        // One piece of work at a time.
        #expect(changes.next() == .nothing)
        changes.finish(isDone: true)
        #expect(changes.confirm() == confirmation())
        #expect(changes.confirm() == nil)
        #expect(changes.acknowledge(of: 0) == [1: 7])
        #expect(changes.acknowledge(of: 0).isEmpty)
    }

    @Test func changesAreAppliedInTheirOrder() {
        let changes = begun(at: [:])
        changes.hear(notice(1, 1, "a"))
        changes.hear(notice(2, 1, "b", "c"))
        #expect(changes.next() == .changes([announcement("a"), announcement("b"), announcement("c")]))
        changes.hear(notice(1, 2, "d"))
        changes.finish(isDone: true)
        #expect(changes.acknowledge(of: 0) == [1: 1, 2: 1])
        #expect(changes.next() == .changes([announcement("d")]))
        changes.finish(isDone: true)
        #expect(changes.acknowledge(of: 0) == [1: 2])
        #expect(changes.next() == .nothing)
    }

    @Test func whatWasReadAlreadyHasNoEffect() {
        let changes = begun(at: [1: 5])
        changes.hear(notice(1, 4, "a"))
        changes.hear(notice(1, 5, "b"))
        #expect(changes.next() == .nothing)
    }

    @Test func aGapMakesEverythingBeReadAgain() {
        let changes = begun(at: [1: 5])
        changes.hear(notice(1, 6, "a"))
        changes.hear(notice(1, 8, "b"))
        #expect(changes.next() == .everything)
        changes.finish(isDone: true)
        changes.hear(ChangeNotice(node: 1, version: 9, announcements: nil))
        #expect(changes.next() == .everything)
        changes.finish(isDone: true)
        #expect(changes.acknowledge(of: 0) == [1: 9])
    }

    @Test func tooManyChangesAreReadTogether() {
        let changes = begun(at: [:])
        for version in 1...1_001 { changes.hear(notice(1, Int64(version), "\(version)")) }
        #expect(changes.next() == .everything)
    }

    @Test func aBeatNoticesALostNotification() {
        let changes = begun(at: [1: 5])
        // Its notification may be on the way.
        #expect(!changes.beat([1: 6], confirmation(1)))
        #expect(changes.next() == .nothing && changes.confirm() == nil)
        #expect(changes.beat([1: 7], confirmation(2)))
        #expect(changes.next() == .everything)
        changes.finish(isDone: true)
        #expect(changes.confirm() == confirmation(2))
        // It comes late.
        changes.hear(notice(1, 6, "a"))
        #expect(changes.next() == .nothing)
    }

    @Test func aBeatConfirmsWhenItsChangesAreApplied() {
        let changes = begun(at: [1: 5])
        changes.hear(notice(1, 6, "a"))
        #expect(!changes.beat([1: 6], confirmation(1)))
        #expect(changes.next() == .changes([announcement("a")]))
        changes.hear(notice(1, 7, "b"))
        #expect(!changes.beat([1: 7], confirmation(2, isCertain: false)))
        changes.finish(isDone: true)
        #expect(changes.confirm() == confirmation(1))
        #expect(changes.next() == .changes([announcement("b")]))
        changes.finish(isDone: true)
        #expect(changes.confirm() == confirmation(2, isCertain: false))
    }

    @Test func aFailureMakesEverythingBeReadAgain() {
        let changes = begun(at: [1: 5])
        changes.hear(notice(1, 6, "a"))
        #expect(changes.next() == .changes([announcement("a")]))
        changes.finish(isDone: false)
        _ = changes.acknowledge(of: 0)
        #expect(changes.next() == .everything)
        changes.finish(isDone: true)
        #expect(changes.acknowledge(of: 0) == [1: 6])
    }

    @Test func aNewConnectionBeginsAgain() {
        let changes = begun(at: [1: 5])
        _ = changes.acknowledge(of: 0)
        changes.hear(notice(1, 6, "a"))
        #expect(changes.next() == .changes([announcement("a")]))
        changes.begin(at: [1: 9])
        // The work of the former connection still ends first.
        #expect(changes.next() == .nothing)
        changes.finish(isDone: true)
        #expect(!changes.beat([1: 9], confirmation()))
        #expect(changes.confirm() == nil)
        #expect(changes.next() == .everything)
        changes.finish(isDone: true)
        #expect(changes.confirm() == confirmation())
        #expect(changes.acknowledge(of: 0) == [1: 9])
    }

    @Test func aServerThatWentBackBeginsAgain() {
        let changes = begun(at: [1: 9])
        _ = changes.acknowledge(of: 0)
        changes.hear(notice(1, 10, "a"))
        #expect(changes.next() == .changes([announcement("a")]))
        // A standby that lagged was promoted.
        changes.begin(at: [1: 7])
        changes.finish(isDone: true)
        #expect(!changes.beat([1: 7], confirmation()))
        #expect(changes.confirm() == nil && changes.acknowledge(of: 0).isEmpty)
        #expect(changes.next() == .everything)
        changes.finish(isDone: true)
        #expect(changes.confirm() == confirmation() && changes.acknowledge(of: 0) == [1: 7])
        changes.hear(notice(1, 8, "b"))
        #expect(!changes.beat([1: 8], confirmation(1)))
        #expect(changes.confirm() == nil && changes.acknowledge(of: 0).isEmpty)
        #expect(changes.next() == .changes([announcement("b")]))
        changes.finish(isDone: true)
        #expect(changes.confirm() == confirmation(1) && changes.acknowledge(of: 0) == [1: 8])
    }

    @Test func aProcessAcknowledgesNothingToItself() {
        let changes = begun(at: [0: 3, 1: 4])
        #expect(changes.acknowledge(of: 0) == [1: 4])
    }
}

@Suite(.timeLimit(.minutes(1))) struct AnnouncementTests {
    @Test(
        arguments: [
            [announcement("")], [announcement("a b  c"), Announcement(topic: "sandbox.accounts", detail: "ß")], nil,
        ] as [[Announcement]?])
    func noticesAreReadBack(announcements: [Announcement]?) {
        let notice = ChangeNotice(node: 63, version: .max, announcements: announcements)
        #expect(ChangeNotice(payload: notice.payload) == notice)
    }

    @Test func whatDoesNotFitIsLeftOut() throws {
        let many = (0..<100).map { announcement("\($0)" + String(repeating: "x", count: 190)) }
        let payload = ChangeNotice(node: 1, version: 2, announcements: many).payload
        #expect(payload.utf8.count < 100)
        #expect(try #require(ChangeNotice(payload: payload)).announcements == nil)
    }

    @Test(arguments: ["", "1", "1 2", "x 2\n*", "1 y\n*", "1 2 3\n*"])
    func otherNotificationsAreNotRead(payload: String) {
        #expect(ChangeNotice(payload: payload) == nil)
    }

    @Test(arguments: [
        ("", ""), ("Accounts", ""), ("a b", ""), (String(repeating: "a", count: 41), ""), ("a", "b\nc"), ("a", "b\0c"),
        ("a", String(repeating: "x", count: 501)),
    ])
    func malformedAnnouncementsAreRefused(topic: String, detail: String) {
        #expect(!Announcement(topic: topic, detail: detail).isWellFormed)
    }

    @Test func wellFormedOnesAreNot() {
        #expect(Announcement(topic: "accounts", detail: "").isWellFormed)
        #expect(Announcement(topic: "a.b", detail: String(repeating: "x", count: 500)).isWellFormed)
    }
}

@Suite(.timeLimit(.minutes(1))) struct ProcessFactsTests {
    private let facts = ProcessFacts(
        version: "1", name: "one", storefront: "https://s", blobs: "s3://b",
        renewals: ["--sandbox-retry-days": "1,2"], hasMerchant: true, startedAt: 1)

    @Test func processesWithTheSameSettingsMayRunTogether() {
        var other = facts
        (other.name, other.node, other.address, other.place) = ("two", 5, "http://a", "/p")
        (other.catalog, other.buildsFeeds, other.startedAt) = ("c", true, 2)
        #expect(facts.conflict(with: other) == nil)
    }

    @Test func theSettingThatDiffersIsNamed() {
        let changes: [(String, (inout ProcessFacts) -> Void)] = [
            ("version", { $0.version = "2" }), ("--storefront-url", { $0.storefront = nil }),
            ("--ocsp-url", { $0.ocsp = "http://o" }), ("--blobs", { $0.blobs = "s3://c" }),
            ("--no-merchant", { $0.hasMerchant = false }),
            ("--sandbox-retry-days is 1,2 here and 3 there", { $0.renewals = ["--sandbox-retry-days": "3"] }),
        ]
        for (name, change) in changes {
            var other = facts
            change(&other)
            #expect(facts.conflict(with: other)?.contains(name) == true, "\(name)")
        }
    }

    @Test func aFolderCannotBeShared() {
        var one = facts
        one.blobs = ProcessFacts.privateBlobs + "/content"
        #expect(one.conflict(with: one)?.contains("--blobs") == true)
    }
}
