/// The keys of the App Store Server API.
extension ControlAPI {
    /// A key with which an app's server signs its requests.
    public struct APIKey: Codable, Sendable, Equatable {
        /// The key's identifier, `kid` of its tokens.
        public var keyId: String
        /// The issuer's identifier, `iss` of its tokens.
        public var issuerId: String
        /// The bundle identifier of the app that the key may ask about.
        public var bundleId: String
        /// The public half as SubjectPublicKeyInfo in PEM; nil from an older store.
        public var publicKey: String?
        /// When the key was created, in ISO 8601.
        public var createdDate: String
        /// When the key was revoked, in ISO 8601; nil while it is good.
        public var revokedDate: String?

        /// Creates a key.
        public init(
            keyId: String, issuerId: String, bundleId: String, publicKey: String?, createdDate: String,
            revokedDate: String? = nil
        ) {
            self.keyId = keyId
            self.issuerId = issuerId
            self.bundleId = bundleId
            self.publicKey = publicKey
            self.createdDate = createdDate
            self.revokedDate = revokedDate
        }
    }

    /// A key to create.
    public struct NewAPIKey: Codable, Sendable, Equatable {
        /// The app's bundle identifier.
        public var bundleId: String

        /// Creates an order.
        public init(bundleId: String) { self.bundleId = bundleId }
    }

    /// A new key. The store does not keep its private half.
    public struct CreatedAPIKey: Codable, Sendable, Equatable {
        /// The key.
        public var key: APIKey
        /// The private half as PKCS#8 in PEM: the contents of the `.p8` file.
        public var privateKey: String

        /// Creates the answer.
        public init(key: APIKey, privateKey: String) {
            self.key = key
            self.privateKey = privateKey
        }
    }
}
