import Foundation
import StoreWire
import Testing

@testable import Database
@testable import StoreServer

@Suite("The store's metrics", .timeLimit(.minutes(1)))
struct StoreMetricsTests {
    @Test func aServerCountsWhatItAnswers() async throws {
        try await withServer { server async throws in
            let token = try await server.signIn().token
            let purchase = server.purchase("credits5")
            // The router answers the first one, which the header asks for, and the direct path may answer the second.
            let body = [UInt8](try JSONEncoder().encode(purchase))
            for headers in [[("Connection", "keep-alive")], []] {
                let reply = try await server.send(
                    "POST", server.addresses.sandbox + StoreRoute.purchases.path, token: token, headers: headers,
                    body: body)
                #expect(reply.status == 200, "\(reply.text)")
            }
            for headers in [[("Connection", "keep-alive")], []] {
                _ = try await server.send(
                    "POST", server.addresses.production + StoreRoute.verifyReceipt.path, headers: headers,
                    body: Array("{}".utf8))
            }
            _ = try await server.send("GET", server.addresses.sandbox + "/a/path/that/nobody/serves")
            let reply = try await server.control("GET", "/metrics", headers: [])
            #expect(reply.headers.first(name: "Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
            let lines = reply.text.split(separator: "\n").map(String.init)
            for line in [
                #"store_purchases_total{environment="sandbox",state="purchased"} 2"#,
                #"store_purchases_total{environment="production",state="failed"} 0"#,
                #"http_server_requests_total{route="/device/v1/purchases",method="POST",status="200"} 2"#,
                #"http_server_requests_total{route="/verifyReceipt",method="POST",status="200"} 2"#,
                #"database_transactions_repeated_total{environment="production"} 0"#,
            ] {
                #expect(lines.contains(line), "\(line)\n\(reply.text)")
            }
            #expect(lines.contains { $0.hasPrefix(#"database_queue_waiting{environment="sandbox"} "#) })
            let verified = lines.filter { $0.hasPrefix(#"store_verify_receipt_total{environment="production""#) }
            #expect(verified.count == 1 && verified[0].hasSuffix(" 2"), "\(verified)")
            // Neither a path nor a value of a request makes a series.
            #expect(!reply.text.contains("nobody") && !reply.text.contains(token))
            // A store of one process has no others to hear.
            #expect(!reply.text.contains("store_process"))
        }
    }

    @Test func theStateOfTheProcessIsThatOfTheMoment() {
        let other = ProcessFacts(node: 1, version: "1", name: "other", startedAt: 0)
        let metrics = StoreMetrics(
            databases: { [.sandbox: StoreMetrics.DatabaseState(waiting: 3, repeated: 5)] },
            process: {
                ProcessState(
                    membership: MembershipState(
                        heardAge: .milliseconds(250), clockOffset: -1_500, isHeld: true, problem: nil),
                    isCurrent: true, others: [other, other], own: other)
            })
        metrics.notified(.success)
        metrics.notified(.timedOut)
        // What the database counts itself is not counted twice.
        for _ in 0..<2 {
            let lines = metrics.text.split(separator: "\n").map(String.init)
            for line in [
                "store_processes 3", "store_process_heard_age_seconds 0.25", "store_process_clock_offset_seconds -1.5",
                #"database_queue_waiting{environment="sandbox"} 3"#,
                #"database_transactions_repeated_total{environment="sandbox"} 5"#,
                #"store_notifications_total{outcome="success"} 1"#,
                #"store_notifications_total{outcome="timed_out"} 1"#,
            ] {
                #expect(lines.contains(line), "\(line)\n\(lines)")
            }
        }
    }
}
