import Database
import Foundation
import HTTPSupport
import Store
import StoreWire
import Testing

@testable import StoreServer

@Suite("What another process has", .timeLimit(.minutes(1))) struct OtherProcessTests {
    /// The process 10 builds the feeds and has the uploads of a folder.
    private static func processes(
        besides node: Int, address: String = "http://10.0.0.2:8080"
    ) throws -> OtherProcess {
        let facts = """
            {"node": 10, "version": "1", "name": "process 4711 on store-1", "address": "\(address)",
             "place": "FOLDER", "catalog": "", "blobs": "s3://bucket", "hasMerchant": false, "buildsFeeds": true,
             "startedAt": 0}
            """
        let other = try JSONDecoder().decode(ProcessFacts.self, from: Data(facts.utf8))
        return OtherProcess(node: node) { [other] }
    }

    private static func problem(_ body: () throws -> Void) throws -> HTTPProblem? {
        do {
            try body()
            return nil
        } catch let problem as HTTPProblem {
            return problem
        }
    }

    @Test func anIdentifierNamesItsProcess() {
        for node in [0, 10, 63] {
            let id = ProcessID.make(node: node)
            #expect(id.utf8.count == 32 && id == id.lowercased() && ProcessID.node(in: id) == node)
            #expect(ProcessID.make(node: node) != id)
        }
        #expect(ProcessID.make(node: 10).hasPrefix("0a"))
        for other in ["", "0a", String(repeating: "x", count: 32), String(repeating: "0", count: 33)] {
            #expect(ProcessID.node(in: other) == nil)
        }
    }

    @Test func theProcessThatHasItIsNamed() throws {
        let processes = try Self.processes(besides: 3)
        let id = ProcessID.make(node: 10)
        let problem = try #require(try Self.problem { try processes.check(id: id) })
        #expect(problem.status.code == 421 && problem.code == "other_process")
        #expect(problem.headers[.cornerstoreProcess] == "0a")
        // Customers learn neither the address of the control port nor the name of the machine.
        #expect(!problem.message.contains("10.0.0.2") && !problem.message.contains("store-1"))
        let upload = try #require(try Self.problem { try processes.check(place: "FOLDER") })
        #expect(upload.status.code == 421)
        #expect(upload.message.contains("0a of this store (process 4711 on store-1, http://10.0.0.2:8080). "))
        #expect(try Self.problem { try processes.checkFeeds(tellsAddress: false) }?.status.code == 421)
    }

    /// Another machine's loopback address would lead the operator to this one.
    @Test(arguments: ["http://127.0.0.1:8400", "http://[::1]:8400", "http://localhost:8400"])
    func aLoopbackAddressIsNotNamed(_ address: String) throws {
        let processes = try Self.processes(besides: 3, address: address)
        let upload = try #require(try Self.problem { try processes.check(place: "FOLDER") })
        #expect(upload.message.contains("0a of this store (process 4711 on store-1). "))
    }

    @Test func whatNoOtherProcessHasIsNotRefused() throws {
        let processes = try Self.processes(besides: 3)
        // Its own, one of a process that does not run, and a text of another form.
        for id in [ProcessID.make(node: 3), ProcessID.make(node: 4), "0a"] { try processes.check(id: id) }
        try processes.check(place: "ANOTHER")
        let alone = OtherProcess(nil)
        try alone.check(id: ProcessID.make(node: 10))
        try alone.check(place: "FOLDER")
        try alone.checkFeeds(tellsAddress: true)
    }

    @Test func boardsNameTheirProcess() throws {
        let sheets = SheetBoard(node: 10, now: { .now })
        let sheet = try #require(sheets.post(SheetQuestion(kind: .confirm, title: "Hats", lines: ["$2.99"])))
        #expect(ProcessID.node(in: sheet) == 10)
        let visits = VisitBoard(node: 63, now: { .now })
        let visit = visits.open(Visit(environment: .sandbox, accountID: "a", token: "t", item: 1))
        #expect(ProcessID.node(in: visit) == 63)
    }

    @Test func hintsOfOthersRefreshPagesAndAreNotRepeated() {
        let changes = Changes()
        let (before, own) = (changes.snapshot, changes.ownSnapshot)
        changes.hear(["sandbox.transactions", "no such topic"])
        #expect(changes.snapshot.changed(since: before).map(\.name) == ["sandbox.transactions"])
        #expect(Changes.names(changedFrom: own, to: changes.ownSnapshot).isEmpty)
        changes.record(ChangeTopic(.accounts, .production))
        changes.record(ChangeTopic(.requests, nil))
        #expect(Changes.names(changedFrom: own, to: changes.ownSnapshot) == ["production.accounts"])
    }
}
