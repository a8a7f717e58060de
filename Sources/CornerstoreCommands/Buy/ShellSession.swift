import Foundation
import StoreKit
import StoreServer
import StoreWire

/// A device that is signed in to a store, for requests that StoreKit does not make.
struct ShellSession {
    /// The store's base URL.
    let base: String
    /// The account that is signed in.
    let account: AccountDescription
    private let token: String

    /// Signs in, runs `body`, and signs out.
    /// - Parameter deviceID: the device's own id; nil for a device that is used once.
    /// - Throws: ``CommandError`` when no store answers, or when it refuses a request.
    static func with<Result>(
        _ customer: StoreCredentials, at base: String, deviceID: UUID? = nil,
        _ body: (ShellSession) async throws -> Result
    ) async throws -> Result {
        let request = SignInRequest(
            email: customer.email, password: customer.password, deviceID: deviceID ?? UUID())
        let signedIn: SignInResponse = try await send(.signIn, base, token: nil, request)
        let session = ShellSession(base: base, account: signedIn.account, token: signedIn.token)
        do {
            let result = try await body(session)
            await session.signOut()
            return result
        } catch {
            await session.signOut()
            throw error
        }
    }

    /// Sends a request without a body.
    /// - Throws: ``CommandError`` with the store's reason.
    func send<Answer: Decodable>(_ route: StoreRoute) async throws -> Answer {
        try await Self.send(route, base, token: token, String?.none)
    }

    /// Sends a request.
    /// - Throws: ``CommandError`` with the store's reason.
    func send<Answer: Decodable>(_ route: StoreRoute, _ body: some Encodable) async throws -> Answer {
        try await Self.send(route, base, token: token, body)
    }

    private func signOut() async {
        _ = try? await PlainHTTP.send(
            StoreRoute.signOut.method.rawValue, base + StoreRoute.signOut.path, body: nil,
            headers: [("Authorization", "Bearer \(token)")], limit: 1 << 20)
    }

    private static func send<Answer: Decodable>(
        _ route: StoreRoute, _ base: String, token: String?, _ body: (some Encodable)?
    ) async throws -> Answer {
        let answer = try await PlainHTTP.send(
            route.method.rawValue, base + route.path, body: try body.map { try JSONEncoder().encode($0) },
            headers: token.map { [("Authorization", "Bearer \($0)")] } ?? [], limit: 16 << 20)
        guard (200..<300).contains(answer.status) else {
            let error = try? JSONDecoder().decode(WireError.self, from: answer.body)
            throw CommandError(
                .refused, error.map { Style.printable($0.message) } ?? "\(base) answered HTTP \(answer.status).")
        }
        guard let decoded = try? JSONDecoder().decode(Answer.self, from: answer.body) else {
            throw CommandError(
                .failed, "Cannot read the store's response. Use the same version of cornerstore as the server.")
        }
        return decoded
    }
}
