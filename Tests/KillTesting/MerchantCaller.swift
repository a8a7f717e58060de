import AsyncHTTPClient
import Foundation
import MerchantWire
import NIOCore

/// Asks a merchant, once or until it has answered.
package struct MerchantCaller: Sendable {
    package struct Reply: Sendable {
        package var status: Int
        package var body: [UInt8]

        package var code: String? { try? decoded(MerchantWireError.self).code.rawValue }

        package func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try JSONDecoder().decode(type, from: Data(body))
        }
    }

    package let merchant: MerchantProcess

    package init(_ merchant: MerchantProcess) { self.merchant = merchant }

    /// One attempt.
    package func ask(
        _ route: MerchantRoute, as bearer: String?, _ body: [UInt8]? = nil, type: String = "application/json"
    ) async throws -> Reply {
        var request = HTTPClientRequest(url: merchant.address + route.path)
        request.method = .init(rawValue: route.method.rawValue)
        request.headers.add(name: "Content-Type", value: type)
        if let bearer { request.headers.add(name: "Authorization", value: "Bearer \(bearer)") }
        if let body { request.body = .bytes(body) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let bytes = try await response.body.collect(upTo: 16 << 20)
        return Reply(status: Int(response.status.code), body: [UInt8](bytes.readableBytesView))
    }

    /// As often as it takes to be answered, as clients do: a merchant that is away, or busy, is asked again.
    /// - Throws: ``KillTestError`` when there is no answer for a minute.
    package func settle(
        _ route: MerchantRoute, as bearer: String?, _ body: [UInt8]? = nil, type: String = "application/json"
    ) async throws -> Reply {
        let end = ContinuousClock.now + .seconds(60)
        var last = ""
        while ContinuousClock.now < end {
            do {
                let reply = try await ask(route, as: bearer, body, type: type)
                if reply.status < 500 { return reply }
                last = "\(reply.status) \(String(decoding: reply.body.prefix(300), as: UTF8.self))"
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                last = "\(error)"
            }
            await merchant.up()
            // A connection may break before the end of the process is known here.
            try await Task.sleep(for: .milliseconds(10))
        }
        throw KillTestError("\(route) was not answered: \(last)")
    }

    /// All entries of a user, newest first.
    package func history(of user: UserID, key: String) async throws -> [LedgerEntry] {
        var entries: [LedgerEntry] = []
        var before: Int64?
        repeat {
            let page = try await settle(.userHistory(user, "coins", before: before), as: key).decoded(HistoryPage.self)
            entries += page.entries
            before = page.next
        } while before != nil
        return entries
    }
}
