import Foundation
import HTTPSupport
import Hummingbird
import Merchant
import MerchantWire

/// Lists, makes and revokes API keys.
extension BackendController {
    func addKeys(to router: Router<MerchantRequestContext>) {
        add(.apiKeys, to: router) { [authentication] _, _ in
            try .json(APIKeyList(keys: try await authentication.keys.all().map(APIKeyDescription.init)))
        }
        router.add(.makeAPIKey) { [authentication, now] request, _ in
            let caller = try await authentication.require(.makeAPIKey, request)
            let body = try await request.decodeJSON(APIKeyRequest.self, upTo: MerchantLimits.request)
            let scopes = try body.apiScopes()
            // Otherwise the scope “keys” would be all scopes.
            guard caller.scopes.isSuperset(of: scopes) else {
                let missing = scopes.subtracting(caller.scopes).map(\.rawValue).sorted().joined(separator: ", ")
                throw MerchantError(
                    .forbidden, "A key can only give scopes that it has itself. This key lacks \(missing).")
            }
            do {
                let made = try await authentication.keys.make(name: body.name, scopes: scopes, at: now())
                return try .json(
                    MadeAPIKey(name: made.name, scopes: made.scopes.map(\.rawValue).sorted(), key: made.text),
                    status: .created)
            } catch let error as MerchantServerError where error.code == .invalidConfiguration {
                throw MerchantError(.invalidRequest, error.detail)
            }
        }
        add(.revokeAPIKey(""), to: router) { [authentication, now] _, context in
            let name = try context.parameter("key")
            guard !name.utf8.contains(0), try await authentication.keys.revoke(name: name, at: now()) else {
                throw MerchantError(.notFound, "No active key has this name.")
            }
            return Response(status: .noContent)
        }
    }
}

extension APIKeyRequest {
    /// The scopes of the request.
    /// - Throws: ``MerchantError`` `invalid_request` for an unknown scope.
    fileprivate func apiScopes() throws -> Set<APIScope> {
        Set(
            try scopes.map { text in
                guard let scope = APIScope(rawValue: text) else {
                    let known = APIScope.allCases.map(\.rawValue).joined(separator: ", ")
                    throw MerchantError(.invalidRequest, "A scope must be one of \(known).")
                }
                return scope
            })
    }
}

extension APIKeyDescription {
    /// Describes a stored key.
    public init(_ record: APIKeyRecord) {
        self.init(
            name: record.name, scopes: record.scopes, createdAt: record.createdAt, revokedAt: record.revokedAt)
    }
}
