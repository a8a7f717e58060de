import Foundation

extension ControlAPI {
    /// A product with hosted content.
    public struct HostedProduct: Codable, Sendable, Equatable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product.
        public var productId: String
        /// Whether hosting is turned on.
        public var hosted: Bool
        /// Whether any version was ever approved.
        public var wasLive: Bool
        /// How submitted versions are reviewed: `manual` or `automatic`.
        public var review: String
        /// The state of the newest version, in App Store Connect's words such as `READY_TO_SUBMIT`.
        public var state: String
        /// The version that production delivers now.
        public var productionVersion: String?
        /// The version that the sandbox delivers now.
        public var sandboxVersion: String?
        /// The product's versions, newest first.
        public var versions: [ContentVersion]
        /// Uploads in progress, and uploads that were refused in the last seven days.
        public var uploads: [ContentUpload]

        /// Creates a product.
        public init(
            bundleId: String, productId: String, hosted: Bool, wasLive: Bool, review: String, state: String,
            productionVersion: String?, sandboxVersion: String?, versions: [ContentVersion], uploads: [ContentUpload]
        ) {
            self.bundleId = bundleId
            self.productId = productId
            self.hosted = hosted
            self.wasLive = wasLive
            self.review = review
            self.state = state
            self.productionVersion = productionVersion
            self.sandboxVersion = sandboxVersion
            self.versions = versions
            self.uploads = uploads
        }
    }

    /// A version of hosted content.
    public struct ContentVersion: Codable, Sendable, Equatable {
        /// A change of the version's state.
        public struct Moment: Codable, Sendable, Equatable {
            /// The new state.
            public var state: String
            /// The date of the change.
            public var date: String
            /// The reviewer's reason for a rejection.
            public var reason: String?

            /// Creates a change.
            public init(state: String, date: String, reason: String?) {
                self.state = state
                self.date = date
                self.reason = reason
            }
        }

        /// The version's identifier, which names it in the paths.
        public var versionId: UUID
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product.
        public var productId: String
        /// The `ContentVersion` of the package.
        public var version: String
        /// The state, in App Store Connect's words.
        public var state: String
        /// The length of the package, in bytes.
        public var length: Int64
        /// The length of all unpacked files, in bytes.
        public var unpackedLength: Int64
        /// The SHA-256 of the package, as 64 lower-case hexadecimal digits.
        public var sha256: String
        /// The changes of the state, oldest first.
        public var history: [Moment]

        /// Creates a version.
        public init(
            versionId: UUID, bundleId: String, productId: String, version: String, state: String, length: Int64,
            unpackedLength: Int64, sha256: String, history: [Moment]
        ) {
            self.versionId = versionId
            self.bundleId = bundleId
            self.productId = productId
            self.version = version
            self.state = state
            self.length = length
            self.unpackedLength = unpackedLength
            self.sha256 = sha256
            self.history = history
        }
    }

    /// An upload of a package.
    public struct ContentUpload: Codable, Sendable, Equatable {
        /// The upload's identifier, which names it in the paths.
        public var uploadId: UUID
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product.
        public var productId: String
        /// The length of the package, in bytes.
        public var length: Int64
        /// The SHA-256 of the package, as 64 lower-case hexadecimal digits.
        public var sha256: String
        /// How many bytes have arrived; the next bytes start there. 0 when they are elsewhere.
        public var offset: Int64
        /// Whether another process of the store has the bytes that have arrived; nil when none has.
        public var isElsewhere: Bool?
        /// `WAITING_FOR_UPLOAD` or `PROCESSING_CONTENT`; nil when the upload is completed or refused.
        public var state: String?
        /// The version that the upload became; nil until then.
        public var versionId: UUID?
        /// The findings for which the package was refused.
        public var findings: [Finding]?
        /// The date on which the upload began.
        public var createdDate: String

        /// Creates an upload.
        public init(
            uploadId: UUID, bundleId: String, productId: String, length: Int64, sha256: String, offset: Int64,
            state: String?, versionId: UUID?, findings: [Finding]?, createdDate: String, isElsewhere: Bool? = nil
        ) {
            self.uploadId = uploadId
            self.bundleId = bundleId
            self.productId = productId
            self.length = length
            self.sha256 = sha256
            self.offset = offset
            self.state = state
            self.versionId = versionId
            self.findings = findings
            self.createdDate = createdDate
            self.isElsewhere = isElsewhere
        }
    }

    /// A problem with a package.
    public struct Finding: Codable, Sendable, Equatable {
        /// The name of the rule that the package breaks.
        public var rule: String
        /// The path in the package; nil when the problem is not in one file.
        public var path: String?
        /// A sentence about the problem.
        public var message: String
        /// A sentence about the correction.
        public var advice: String

        /// Creates a finding.
        public init(rule: String, path: String?, message: String, advice: String) {
            self.rule = rule
            self.path = path
            self.message = message
            self.advice = advice
        }
    }

    /// The body of a 422 response to ``ControlRoute/completeUpload(_:)``.
    public struct RefusedContent: Codable, Sendable, Equatable {
        /// The error's code, `invalid_content`.
        public var code: String
        /// A sentence about the error.
        public var message: String
        /// The request's id, by which the log names it.
        public var requestId: String?
        /// The problems with the package.
        public var findings: [Finding]

        /// Creates the body.
        public init(code: String, message: String, requestId: String?, findings: [Finding]) {
            self.code = code
            self.message = message
            self.requestId = requestId
            self.findings = findings
        }
    }

    /// The body of a 409 response to ``ControlRoute/appendToUpload(_:offset:)`` with another offset.
    public struct WrongOffset: Codable, Sendable, Equatable {
        /// The error's code, `wrong_offset`.
        public var code: String
        /// A sentence about the error.
        public var message: String
        /// The request's id, by which the log names it.
        public var requestId: String?
        /// How many bytes have arrived.
        public var offset: Int64

        /// Creates the body.
        public init(code: String, message: String, requestId: String?, offset: Int64) {
            self.code = code
            self.message = message
            self.requestId = requestId
            self.offset = offset
        }
    }

    /// A request that begins an upload, or continues an earlier upload of the same file.
    public struct NewContentUpload: Codable, Sendable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product.
        public var productId: String
        /// The length of the package, in bytes.
        public var length: Int64
        /// The SHA-256 of the package, as 64 lower-case hexadecimal digits.
        public var sha256: String

        /// Creates a request for an upload.
        public init(bundleId: String, productId: String, length: Int64, sha256: String) {
            self.bundleId = bundleId
            self.productId = productId
            self.length = length
            self.sha256 = sha256
        }
    }

    /// A request that turns hosting on or off.
    public struct Hosting: Codable, Sendable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product.
        public var productId: String
        /// Whether the product's content is hosted.
        public var hosted: Bool

        /// Creates a request that turns hosting on or off.
        public init(bundleId: String, productId: String, hosted: Bool) {
            self.bundleId = bundleId
            self.productId = productId
            self.hosted = hosted
        }
    }

    /// The review rule of an app or product.
    public struct ContentRule: Codable, Sendable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The product; nil for every product of the app without its own rule.
        public var productId: String?
        /// How submitted versions are reviewed: `manual` or `automatic`.
        public var review: String

        /// Creates a rule.
        public init(bundleId: String, productId: String?, review: String) {
            self.bundleId = bundleId
            self.productId = productId
            self.review = review
        }
    }

    /// A rejection of a version.
    public struct Rejection: Codable, Sendable {
        /// The reason for the rejection.
        public var reason: String

        /// Creates a rejection.
        public init(reason: String) { self.reason = reason }
    }
}
