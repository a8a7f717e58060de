import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import Logging
import Merchant
import MerchantWire
import NIOCore
import StoreReceipts
import TestSupport
import Testing

@testable import MerchantServer

@Suite("Asking a store about receipts", .timeLimit(.minutes(1)))
struct StoreClientTests {
    private typealias Answer = ScriptedHost.Answer
    private let receipt = Array("a receipt".utf8)
    private let clock = ManualPacing()

    private func client(
        _ production: URL, _ sandbox: URL?, secret: String? = "secret", metrics: PrometheusMetrics? = nil,
        logger: Logger = .silent
    ) throws -> StoreClient {
        StoreClient(
            try StoreHosts.cornerstore(production: production.absoluteString, sandbox: sandbox?.absoluteString),
            sharedSecret: secret, pacing: clock.pacing(), metrics: metrics.map { StoreClientMetrics($0) },
            logger: logger)
    }

    @Test func productionIsAskedAndTheSandboxOnlyOn21007() async throws {
        for (status, askedOfSandbox) in [
            (0, 0), (21_007, 1), (21_002, 0), (21_003, 0), (21_004, 0), (21_006, 0), (21_008, 0), (21_010, 0),
            (21_000, 0), (99, 0),
        ] {
            try await ScriptedHost.with(
                production: [.status(status)], sandbox: [.status(0, ",\"environment\":\"Sandbox\"")]
            ) {
                [receipt, self] production, sandbox in
                let answer = try await client(production.1, sandbox.1).verify(receipt: receipt)
                #expect(production.0.count == 1)
                #expect(sandbox.0.count == askedOfSandbox, "status \(status)")
                let text = String(decoding: answer.json, as: UTF8.self)
                #expect(
                    text
                        == (askedOfSandbox == 1
                            ? "{\"status\":0,\"environment\":\"Sandbox\"}" : "{\"status\":\(status)}"))
                #expect(answer.store == production.1.absoluteString.dropLast())
                // Both are sent the same, with the secret.
                for body in production.0.bodies + sandbox.0.bodies {
                    let request = try VerifyReceiptRequest(body: body)
                    #expect(request.receiptData == receipt)
                    #expect(request.password == "secret")
                }
            }
        }
    }

    @Test func withoutASandbox21007IsTheAnswer() async throws {
        try await ScriptedHost.with(production: [.status(21_007)]) { [receipt, self] production, sandbox in
            let answer = try await client(production.1, nil).verify(receipt: receipt)
            #expect(String(decoding: answer.json, as: UTF8.self) == "{\"status\":21007}")
            #expect(sandbox.0.count == 0)
        }
    }

    /// An answer, and whether it is asked again after it.
    static let answers: [(ScriptedHost.Answer, Bool)] = [
        (.status(21_005), true), (.status(21_009), true), (.status(21_009, ",\"is_retryable\":true"), true),
        (.status(21_009, ",\"is_retryable\":false"), false), (.status(21_100, ",\"is_retryable\":true"), true),
        (.status(21_150, ",\"is_retryable\":1"), true), (.status(21_199, ",\"is-retryable\":\"1\""), true),
        (.status(21_199, ",\"is-retryable\":true"), true), (.status(21_100), false),
        (.status(21_100, ",\"is_retryable\":false"), false), (.status(21_200, ",\"is_retryable\":true"), false),
        (.status(21_002), false), (.http(500), true), (.http(502), true), (.http(503), true), (.http(429), true),
        (.http(408), true),
    ]

    @Test(arguments: answers) func onlyWhatIsRetryableIsRetried(_ answer: ScriptedHost.Answer, isRetried: Bool)
        async throws
    {
        try await ScriptedHost.with(production: [answer, .status(0)]) { [receipt, self] production, sandbox in
            let json = try await client(production.1, sandbox.1).verify(receipt: receipt).json
            #expect(production.0.count == (isRetried ? 2 : 1))
            #expect(String(decoding: json, as: UTF8.self) == (isRetried ? "{\"status\":0}" : answer.body))
            // Half of the pause is certain, and chance gives the middle of the rest.
            #expect(clock.slept == (isRetried ? [.seconds(0.1875)] : []))
            #expect(sandbox.0.count == 0)
        }
    }

    @Test func pausesGrowAndEndWithAnError() async throws {
        try await ScriptedHost.with(production: [.status(21_005)]) { [receipt, self] production, sandbox in
            let error = await #expect(throws: RemoteVerificationError.self) {
                try await client(production.1, sandbox.1).verify(receipt: receipt)
            }
            #expect(error?.code == .unavailable)
            #expect(error?.retryAfter == 2)
            #expect(error?.detail.contains("21005") == true)
            #expect(production.0.count == 4)
            #expect(clock.slept == [.seconds(0.1875), .seconds(0.375), .seconds(0.75)])
        }
    }

    @Test func whenTheStoreSaysLaterItIsLaterOrGivenUp() async throws {
        try await ScriptedHost.with(production: [.http(503, [.retryAfter: "7"]), .status(0)]) {
            [receipt, self] production, sandbox in
            _ = try await client(production.1, sandbox.1).verify(receipt: receipt)
            #expect(clock.slept == [.seconds(7)])
            production.0.answer(.http(429, [.retryAfter: "100"]))
            let error = await #expect(throws: RemoteVerificationError.self) {
                try await client(production.1, sandbox.1).verify(receipt: receipt)
            }
            #expect(error?.retryAfter == 100)
            #expect(production.0.count == 3)
            #expect(clock.slept == [.seconds(7)])
        }
    }

    @Test(arguments: [
        Answer(body: ""), Answer(body: "<html>"), Answer(body: "[]"), Answer(body: "{}"),
        Answer(body: "{\"status\":\"0\"}"),
        Answer(body: "{\"status\":0"), .http(404), .http(400), .http(413), .http(302, [.location: "/verifyReceipt"]),
        Answer(status: .noContent, body: ""),
    ])
    func whatIsNoAnswerOfAStoreIsSaid(_ answer: ScriptedHost.Answer) async throws {
        try await ScriptedHost.with(production: [answer]) { [receipt, self] production, sandbox in
            let client = try client(production.1, sandbox.1)
            // However often it comes, it may be the receipt's fault.
            for _ in 0..<10 {
                let error = await #expect(throws: RemoteVerificationError.self) {
                    try await client.verify(receipt: receipt)
                }
                #expect(error?.code == .malformedAnswer)
                #expect(error?.detail.contains("secret") == false)
            }
            #expect(production.0.count == 10)
            #expect(sandbox.0.count == 0)
            #expect(clock.slept == [])
        }
    }

    /// A status, what the app is told of the receipt, how it is counted, and what the operator is told.
    static let statuses: [(String, MerchantErrorCode, String, Logger.Level?)] = [
        ("21000", .storeUnavailable, "misconfigured", .error), ("21001", .storeUnavailable, "misconfigured", .error),
        ("21002", .malformedReceipt, "rejected", .info), ("21003", .notGenuine, "rejected", .info),
        ("21004", .storeUnavailable, "misconfigured", .error),
        ("21005,\"is_retryable\":false", .notGenuine, "rejected", .info),
        ("21007", .wrongEnvironment, "answered", nil), ("21008", .wrongEnvironment, "answered", nil),
        ("21009,\"is_retryable\":false", .notGenuine, "rejected", .info), ("21010", .notGenuine, "rejected", .info),
        ("21100,\"is_retryable\":false", .notGenuine, "rejected", .info),
        ("21150", .storeUnavailable, "failed", .warning), ("21200", .storeUnavailable, "failed", .warning),
        ("99", .storeUnavailable, "failed", .warning),
    ]

    /// What passes for an iOS 6 receipt until somebody looks into it.
    private static let transaction = Array(#"{ "signature" = "YQ=="; "purchase-info" = "YQ=="; }"#.utf8)

    @Test(arguments: statuses)
    func aStatusThatStandsIsToldCountedAndLogged(
        _ status: String, _ code: MerchantErrorCode, _ outcome: String, _ level: Logger.Level?
    ) async throws {
        try await ScriptedHost.with(production: [Answer(body: "{\"status\":\(status)}")]) {
            [self] production, sandbox in
            let (lines, metrics) = (LogLines(), PrometheusMetrics())
            let client = try client(
                production.1, nil, secret: "secret-of-the-app", metrics: metrics, logger: lines.logger)
            let verifier = try PurchaseVerifier(
                stores: [], bundleIDs: ["com.example.app"], environments: [.production],
                way: .remote(client, anchors: [String(production.1.absoluteString.dropLast()): "there"]))
            let error = await #expect(throws: MerchantError.self) {
                try await verifier.verify(.receipt(Self.transaction))
            }
            #expect(error?.code == code)
            #expect(production.0.count == 1)
            let line = #"merchant_store_requests_total{host="production",outcome="\#(outcome)"} 1"#
            #expect(metrics.text.contains(line), "\(metrics.text)")
            #expect(lines.all.map(\.level) == [level].compactMap { $0 })
            let text = lines.all.map(\.text).joined()
            #expect(level == nil || text.contains(status.prefix { $0 != "," }))
            #expect(!text.contains("secret-of-the-app") && !text.contains("YQ=="))
        }
    }

    @Test func aWrongSecretIsToldOnceAMinute() async throws {
        try await ScriptedHost.with(production: [.status(21_004)]) { [receipt, self] production, sandbox in
            for (secret, words) in [("secret-of-the-app", "is wrong"), (nil, "wants a shared secret")] {
                let lines = LogLines()
                let client = try client(production.1, sandbox.1, secret: secret, logger: lines.logger)
                for _ in 0..<5 { _ = try await client.verify(receipt: receipt) }
                #expect(lines.all.count == 1)
                clock.advance(by: 60)
                for _ in 0..<5 { _ = try await client.verify(receipt: receipt) }
                #expect(lines.all.count == 2)
                for line in lines.all {
                    #expect(line.level == .error && line.text.contains(words) && line.text.contains("21004"))
                    #expect(!line.text.contains("secret-of-the-app"))
                }
            }
        }
    }

    @Test func anAnswerWithoutEndIsCutOff() async throws {
        let router = Router()
        router.post("verifyReceipt") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    let piece = ByteBuffer(repeating: 0x20, count: 1 << 20)
                    for _ in 0..<64 { try await writer.write(piece) }
                    try await writer.finish(nil)
                })
        }
        try await LoopbackServer.with(router) { [receipt, self] url in
            let error = await #expect(throws: RemoteVerificationError.self) {
                try await client(url, nil).verify(receipt: receipt)
            }
            #expect(error?.code == .malformedAnswer)
        }
    }

    @Test func theCircuitOpensAndOneRequestTriesWhetherTheStoreIsBack() async throws {
        try await ScriptedHost.with(production: [.http(500)]) { [receipt, self] production, sandbox in
            let metrics = PrometheusMetrics()
            let client = try client(production.1, sandbox.1, metrics: metrics)
            for _ in 0..<2 {
                await #expect(throws: RemoteVerificationError.self) { try await client.verify(receipt: receipt) }
            }
            #expect(production.0.count == 8)
            for _ in 0..<5 {
                let error = await #expect(throws: RemoteVerificationError.self) {
                    try await client.verify(receipt: receipt)
                }
                #expect(error?.code == .circuitOpen)
                #expect((1...10).contains(error?.retryAfter ?? 0))
            }
            #expect(production.0.count == 8)
            clock.advance(by: 10)
            // The trial fails, and then it rests for twice as long.
            await #expect(throws: RemoteVerificationError.self) { try await client.verify(receipt: receipt) }
            #expect(production.0.count == 9)
            clock.advance(by: 19)
            await #expect(throws: RemoteVerificationError.self) { try await client.verify(receipt: receipt) }
            #expect(production.0.count == 9)
            production.0.answer(.status(0))
            clock.advance(by: 1)
            _ = try await client.verify(receipt: receipt)
            _ = try await client.verify(receipt: receipt)
            #expect(production.0.count == 11)
            let text = metrics.text
            #expect(text.contains(#"merchant_store_requests_total{host="production",outcome="failed"} 9"#), "\(text)")
            #expect(text.contains(#"merchant_store_requests_total{host="production",outcome="answered"} 2"#))
            #expect(text.contains(#"merchant_store_requests_total{host="sandbox",outcome="answered"} 0"#))
        }
    }

    @Test func aHostThatIsNotThereIsUnavailable() async throws {
        // No server that asks for any port gets this one.
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let error = await #expect(throws: RemoteVerificationError.self) {
            try await client(url, nil).verify(receipt: receipt)
        }
        #expect(error?.code == .unavailable)
        #expect(clock.slept.count == 3)
    }

    @Test func onlySafeAddressesAreTaken() throws {
        for good in [
            "https://store.example.com", "https://store.example.com/", "http://127.0.0.1:8402", "http://[::1]:1/",
            "http://localhost:8402",
        ] {
            _ = try StoreHosts.cornerstore(production: good, sandbox: nil)
        }
        for wrong in [
            "http://store.example.com", "http://127.0.0.1.example.com", "ftp://127.0.0.1", "store.example.com", "",
            "https://user:password@store.example.com", "http://127.1", "http://localhost.example.com",
            "file:///etc/passwd",
            "https://", "http://127.0.0.1#x",
        ] {
            #expect(throws: MerchantServerError.self, "\(wrong)") {
                try StoreHosts.cornerstore(production: wrong, sandbox: nil)
            }
        }
        #expect(try StoreHosts.apple().name == "apple")
        #expect(
            try StoreHosts.apple().production.absoluteString == "https://buy.itunes.apple.com/verifyReceipt")
        #expect(
            try StoreHosts.cornerstore(production: "http://127.0.0.1:8402/", sandbox: nil).name
                == "http://127.0.0.1:8402")
    }
}
