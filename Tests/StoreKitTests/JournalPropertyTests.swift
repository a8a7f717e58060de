import Foundation
import StoreWire
import TestSupport
import Testing

@testable import StoreKit

/// The journal against a dictionary: whatever is written and taken out, and wherever the process is killed, what is
/// read at the next launch is what was written before, all or none of the last change.
@Suite("The journal survives", .timeLimit(.minutes(1)))
struct JournalPropertyTests {
    /// A journal with a model of what it holds.
    private struct Subject {
        var random: SeededGenerator
        let root: URL
        var folder: URL
        var journal: SQLitePaymentJournal
        var model: [UUID: PaymentQueueEntry] = [:]
        var nextNumber = 0
        var kills = 0

        static let name = "sandbox.journal"

        init(seed: UInt64, root: URL) throws {
            random = SeededGenerator(seed: seed)
            self.root = root
            folder = root.appendingPathComponent("0")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            journal = try Self.open(folder)
        }

        static func open(_ folder: URL) throws -> SQLitePaymentJournal {
            try SQLitePaymentJournal(folder: folder, name: name) { Issue.record("\($0)") }
        }

        var expected: [PaymentQueueEntry] { model.values.sorted { $0.position < $1.position } }

        mutating func entry(_ number: Int) -> PaymentQueueEntry {
            var entry = PaymentQueueEntry(
                key: TestDevice.key(number), position: Int64(number),
                payment: PaymentValues(
                    productIdentifier: "p\(number)", quantity: .random(in: 1...10, using: &random),
                    applicationUsername: Bool.random(using: &random) ? "Ünï \(number)" : nil),
                phase: PaymentQueueEntry.Phase.allCases.randomElement(using: &random) ?? .queued)
            if Bool.random(using: &random) {
                // Some are larger than a page of the file.
                entry.transactionReceipt = Data(
                    repeating: UInt8(number & 255), count: .random(in: 0...9000, using: &random))
            }
            return entry
        }

        /// Writes new and changed entries, or takes some out.
        mutating func change() throws {
            let known = expected.map(\.key).shuffled(using: &random)
            if Int.random(in: 0..<3, using: &random) == 0, !known.isEmpty {
                let gone = Array(known.prefix(.random(in: 1...8, using: &random))) + [TestDevice.key(1_000_000)]
                try journal.forget(gone)
                for key in gone { model[key] = nil }
                return
            }
            var entries: [PaymentQueueEntry] = []
            for key in known.prefix(.random(in: 0...4, using: &random)) {
                guard let position = model[key]?.position else { continue }
                entries.append(entry(Int(position)))
            }
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                nextNumber += 1
                entries.append(entry(nextNumber))
            }
            try journal.save(entries, isGate: false)
            for entry in entries { model[entry.key] = entry }
        }

        private func size(_ suffix: String) -> Int {
            let path = folder.appendingPathComponent(Self.name + suffix).path
            return (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
        }

        /// Makes a change and is killed in the middle or right after it: the next launch finds the files as they lay on
        /// the disk then, the log perhaps cut off anywhere in what the change wrote.
        mutating func changeAndDie() throws {
            let before = (model, size("-wal"))
            try change()
            let after = (model, size("-wal"))
            kills += 1
            let next = root.appendingPathComponent("\(kills)")
            try FileManager.default.createDirectory(at: next, withIntermediateDirectories: true)
            for suffix in ["", "-wal"] {
                let file = folder.appendingPathComponent(Self.name + suffix)
                var bytes = try Data(contentsOf: file)
                // A log that was begun anew says nothing of where the change's own bytes begin.
                if suffix == "-wal", after.1 > before.1 {
                    bytes = bytes.prefix(.random(in: before.1...after.1, using: &random))
                }
                try bytes.write(to: next.appendingPathComponent(Self.name + suffix))
            }
            journal.close()
            folder = next
            journal = try Self.open(folder)
            let found = try journal.load()
            model = before.0
            if found != expected { model = after.0 }
            #expect(found == expected, "after kill \(kills)")
        }

        mutating func run(changes: Int) throws {
            for _ in 0..<changes {
                switch Int.random(in: 0..<10, using: &random) {
                case 0...1: try changeAndDie()
                case 2:
                    journal.close()
                    journal = try Self.open(folder)
                default: try change()
                }
                #expect(try journal.load() == expected)
            }
            journal.close()
        }
    }

    @Test(arguments: 0..<12 as Range<UInt64>)
    func `written entries can be read after a kill at any point`(seed: UInt64) throws {
        let device = try TestDevice()
        var subject = try Subject(seed: seed, root: device.folder)
        try subject.run(changes: 60)
        #expect(subject.kills > 0 && subject.nextNumber > 50)
    }
}
